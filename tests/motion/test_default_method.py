"""Which method `simulate` chooses by default."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mbt

BOX = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.2, 0.1, 0.1)


def make_tree(more: Any = None, servo: bool = False, **joint: Any) -> mbt.MultibodyTree:
    """Return a tree with a link on a hinge, a slider on the link and a free body, plus one more thing."""
    tree = mbt.MultibodyTree()
    link, slider, free = (tree.add_body(mbt.RigidBody(name, BOX)) for name in ("link", "slider", "free"))
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 0], **joint
    )
    tree.add_joint(mbt.PrismaticJoint, "slide", link, None, slider, None, axis=[1, 0, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    if more is not None:
        tree.add_force_element(more(hinge, slider, free))
    tree.add_joint_actuator("drive", hinge, **({"stiffness": 10.0} if servo else {}))
    tree.finalize()
    return tree


def find_method(tree: mbt.MultibodyTree, context: Any = None, **options: Any) -> str:
    return mbt.simulate(tree, context or tree.create_default_context(), 2e-3, **options).method


def bushing(hinge: Any, slider: Any, free: Any, damping: float) -> mbt.LinearBushingRollPitchYaw:
    frames, ones = (slider.body_frame, free.body_frame), [1.0, 1.0, 1.0]
    return mbt.LinearBushingRollPitchYaw(*frames, ones, [0.0, 0.0, damping], ones, [0.0, 0.0, 0.0])


def spring(hinge: Any, slider: Any, free: Any, damping: float) -> mbt.LinearSpringDamper:
    return mbt.LinearSpringDamper(slider, [0, 0, 1.0], free, [0, 0, 0], 1.0, 5.0, damping)


def contact(hinge: Any, slider: Any, free: Any) -> mbt.PointContact:
    return mbt.PointContact(
        free.body_frame, [[0, 0, 0.1]], stiffness=1e3, dissipation=0.0, static_friction=0.0
    )


class Drag(mbt.ForceElement):
    """An element in Python, whose behaviour is unknown to mbt."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


KEEP = {
    "nothing": {},
    "a spring on the joint": {"more": lambda hinge, *_: mbt.RevoluteSpring(hinge, 0.0, 10.0)},
    "a spring": {"more": lambda *places: spring(*places, damping=0.0)},
    "a bushing": {"more": lambda *places: bushing(*places, damping=0.0)},
    "dry friction of zero": {"more": lambda hinge, *_: mbt.JointFriction(hinge, 0.0)},
    "an element in Python": {"more": lambda *_: Drag()},
    "an effort limit": {"effort_limit": 5.0},
}
SLOW = {
    "a limit": {"pos_upper_limit": 1.0},
    "damping": {"damping": 0.1},
    "a servo": {"servo": True},
    "friction": {"more": lambda hinge, *_: mbt.JointFriction(hinge, 0.0, 0.1)},
    "a hinge of a door": {"more": lambda hinge, *_: mbt.DoorHinge(hinge)},
    "a damper": {"more": lambda *places: spring(*places, damping=1.0)},
    "a bushing that damps": {"more": lambda *places: bushing(*places, damping=1.0)},
    "contact": {"more": contact},
}  # fmt: skip


@pytest.mark.parametrize("model", KEEP.values(), ids=KEEP)
def test_what_swings_freely_keeps_its_energy(model: Any) -> None:
    assert find_method(make_tree(**model)) == "semi_implicit_euler"


@pytest.mark.parametrize("model", SLOW.values(), ids=SLOW)
def test_what_slows_or_stops_is_implicit(model: Any) -> None:
    assert find_method(make_tree(**model)) == "implicit"


def test_what_is_asked_for_is_done() -> None:
    tree = make_tree(damping=0.1)
    assert find_method(tree, method="rk4") == "rk4"
    assert find_method(make_tree(), method="implicit") == "implicit"
    assert find_method(make_tree(pos_upper_limit=1.0), joint_limits=False) == "semi_implicit_euler"


def test_velocity_limits_that_are_asked_for_act() -> None:
    tree = make_tree().edit()
    tree.get_joint_by_name("hinge").set_velocity_limits([-2.0], [2.0])
    tree.finalize()
    assert find_method(tree) == "semi_implicit_euler"
    assert find_method(make_tree(), velocity_limits=True) == "semi_implicit_euler"
    push = [50.0] + [0.0] * 7
    motion = mbt.simulate(tree, tree.create_default_context(), 0.1, velocity_limits=True, control=push)
    assert motion.method == "implicit"
    k = tree.get_joint_by_name("hinge").velocity_start
    np.testing.assert_allclose(motion.v[-1, k], 2.0, rtol=1e-3)
    with pytest.raises(
        mbt.ArgumentValueError, match="velocity_limits: expected method='implicit', got 'rk4'"
    ):
        find_method(tree, velocity_limits=True, method="rk4")


def test_it_depends_on_the_parameters_of_the_context() -> None:
    tree = make_tree(damping=0.1)
    context = tree.create_default_context()
    tree.joints[0].set_damping(context, 0.0)
    assert find_method(tree, context) == "semi_implicit_euler"
    batch = make_tree().create_default_context(2)
    batch.tree.joints[0].set_damping(batch, [0.0, 0.1])
    assert find_method(batch.tree, batch) == "implicit"
    tree = make_tree(lambda *places: spring(*places, damping=1.0))
    context = tree.create_default_context()
    tree.force_elements[1].set_damping(context, 0.0)
    assert find_method(tree, context) == "semi_implicit_euler"


def test_shapes_that_touch_are_implicit() -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    ball.add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    below = mbt.math.make_pose([0, 0, -0.2])
    contacts = mbt.ShapeContact(
        mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", [], below, name="floor")])
    )
    assert find_method(tree) == "semi_implicit_euler"
    assert find_method(tree, contacts=contacts) == "implicit"


def test_light_links_with_strong_damping_hold_without_a_word() -> None:
    """Explicit steps of this length blow up."""
    tree = mbt.MultibodyTree()
    light = tree.add_body(mbt.RigidBody("light", mbt.SpatialInertia.solid_sphere_with_mass(1e-3, 5e-3)))
    tree.add_joint(
        mbt.RevoluteJoint, "wrist", tree.world_body, None, light, None, axis=[0, 1, 0], damping=1.0
    )
    tree.finalize()
    context = tree.create_default_context()
    context.v = [10.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = mbt.simulate(tree, context, 1.0)
    assert (np.abs(motion.v[1:]) < 1e-2).all()
