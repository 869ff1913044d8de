"""Elements that clone themselves: `do_clone_to_scalar`."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt

CLONES: dict[str, Callable[[mbt.MultibodyTree], mbt.MultibodyTree]] = {
    "clone": lambda tree: tree.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "double": lambda tree: tree.clone_to_scalar("double"),
    "autodiff": lambda tree: tree.to_autodiff(),
    "sympy": lambda tree: tree.to_symbolic(),
}


class Pull(mbt.ForceElement):
    """A constant force along a joint, with a member that cannot be copied, and references of all kinds."""

    def __init__(self, joint: mbt.Joint, force: float) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint
        self.lock = threading.Lock()
        self.method = self.calc_force
        self.default_force = force
        self.num_clones = 0

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Pull:
        clone = type(self)(tree_clone.get_variant(self.joint), self.default_force)
        clone.num_clones = self.num_clones + 1
        return clone

    def do_declare_parameters(self) -> None:
        self.force = self.declare_numeric_parameter(self.default_force)

    def calc_force(self, context: Any) -> Any:
        return context.get_numeric_parameter(self.force)[0]

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[self.joint.velocity_start] += self.method(context)


class Watcher(mbt.ForceElement):
    """An element that refers to elements which clone themselves, before and after it."""

    def __init__(self, *others: Any) -> None:
        super().__init__()
        self.others = list(others)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


class Boom(mbt.Frame):
    """A frame that clones itself, and counts how often."""

    __slots__ = ("count",)

    def __init__(self, name: str, body: mbt.RigidBody, count: int = 0) -> None:
        super().__init__(name, body)
        self.count = count
        self.lock = threading.Lock()

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Boom:
        return Boom("another name", tree_clone.get_variant(self.body), self.count + 1)

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        return mbt.math.make_pose([1, 0, 0])


def make_tree() -> tuple[mbt.MultibodyTree, dict[str, Any]]:
    tree = mbt.MultibodyTree()
    instance = tree.add_model_instance("sled")
    M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)
    body = tree.add_body(mbt.RigidBody("body", M_BBo_B, instance))
    boom = tree.add_frame(Boom("boom", body))
    rail = tree.add_joint(mbt.PrismaticJoint("rail", tree.world_frame, boom, [1, 0, 0]))
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", boom, mbt.math.make_pose([0, 1, 0])))
    watcher = Watcher(boom)
    tree.add_force_element(watcher)
    pull = tree.add_force_element(Pull(rail, 8.0))
    watcher.others += [pull, rail]
    tree.finalize()
    return tree, {"boom": boom, "rail": rail, "tip": tip, "watcher": watcher, "pull": pull}


@pytest.mark.parametrize("how", CLONES)
def test_clones(how: str) -> None:
    tree, e = make_tree()
    attributes = dict(vars(e["pull"]))
    twin = CLONES[how](tree)
    gc.collect()  # What a clone refers to during its construction must survive.
    assert vars(e["pull"]) == attributes
    pull, boom, watcher = (twin.get_variant(e[name]) for name in ("pull", "boom", "watcher"))
    assert pull.num_clones == 1
    assert boom.count == 1
    assert pull.parent_tree is boom.parent_tree is twin
    assert (pull.name, pull.index, pull.model_instance) == (e["pull"].name, 1, e["pull"].model_instance)
    assert (boom.name, boom.index, boom.model_instance) == ("boom", e["boom"].index, e["boom"].model_instance)
    assert twin.get_frame_by_name("boom") is boom
    assert pull.joint is twin.get_variant(e["rail"]) is twin.joints[0]
    # References to them lead to their clones.
    assert watcher.others[0] is boom
    assert watcher.others[1] is pull
    assert twin.get_variant(e["tip"]).parent_frame is boom
    assert twin.joints[0].frame_on_child is boom
    context = twin.create_default_context()
    context.set_numeric_parameter(pull.force, [6.0])
    (vdot,) = twin.calc_forward_dynamics(context)
    assert float(getattr(vdot, "value", vdot)) == 3.0
    again = CLONES[how](twin)
    assert again.get_variant(e["pull"]).num_clones == 2
    assert tree.calc_forward_dynamics(tree.create_default_context()) == 4.0


def test_derivatives_go_the_same_way() -> None:
    tree, _ = make_tree()
    assert tree.calc_forward_dynamics_derivatives(tree.create_default_context())[0] == 0.0
    assert tree._tangent is not None
    assert tree._tangent[0].force_elements[1].num_clones == 1  # type: ignore[attr-defined]


class Slow(mbt.ForceElement):
    """An element that takes the default clone and changes it."""

    def __init__(self, body: mbt.RigidBody) -> None:
        super().__init__()
        self.body = body
        self.bodies = {"first": body}
        self.table = np.ones(3)
        self.nested = [[self]]
        self.is_clone = False

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Slow:
        clone = super().do_clone_to_scalar(tree_clone)
        assert not clone.has_parent_tree
        clone.is_clone = True
        return clone

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


@pytest.mark.parametrize("how", CLONES)
def test_the_default_copies_attributes(how: str) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    slow = tree.add_force_element(Slow(body))
    tree.finalize()
    twin = CLONES[how](tree)
    variant = twin.get_variant(slow)
    assert variant.is_clone
    assert not slow.is_clone
    assert variant.body is twin.bodies[1] is variant.bodies["first"]
    assert variant.table is not slow.table
    np.testing.assert_array_equal(variant.table, slow.table)
    assert variant.nested[0][0].table is variant.table


def test_pickles_and_trees_that_grow_copy_attributes() -> None:
    """A pickle must not run code of other elements, and a tree that is not finalized has no variants."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    slow = tree.add_force_element(Slow(body))
    assert not tree.clone().force_elements[0].is_clone  # type: ignore[attr-defined]
    tree.finalize()
    twin = pickle.loads(pickle.dumps(tree))
    assert not twin.get_variant(slow).is_clone
    assert twin.get_variant(slow).nested == [[twin.get_variant(slow)]]


def wrong(result: Callable[[Any, mbt.MultibodyTree], Any]) -> type[Slow]:
    class Wrong(Slow):
        def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Any:
            return result(self, tree_clone)

    return Wrong


def raising(element: Any, tree_clone: mbt.MultibodyTree) -> Any:
    raise LookupError("a mistake")


WRONG: dict[str, tuple[Callable[[Any, mbt.MultibodyTree], Any], type[Exception], str]] = {
    "nothing": (
        lambda e, t: None,
        mbt.ArgumentTypeError,
        "do_clone_to_scalar: expected a new Wrong, got NoneType",
    ),
    "another class": (
        lambda e, t: Slow(t.get_variant(e.body)),
        mbt.ArgumentTypeError,
        "new Wrong, got <Slow",
    ),
    "itself": (lambda e, t: e, mbt.ForeignElementError, "has a tree already"),
    "the place": (lambda e, t: t.get_variant(e), mbt.ForeignElementError, "has a tree already"),
    "a body of the original": (lambda e, t: type(e)(e.body), mbt.ForeignElementError, "body: .*another tree"),
    "an error": (raising, LookupError, "a mistake"),
    "an addition": (
        lambda e, t: t.add_force_element(type(e)(t.get_variant(e.body))),
        mbt.AlreadyFinalizedError,
        "finalized",
    ),
}


@pytest.mark.parametrize("how", CLONES)
@pytest.mark.parametrize("case", WRONG)
def test_wrong_clones_are_refused(case: str, how: str) -> None:
    result, error, message = WRONG[case]
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    element = tree.add_force_element(wrong(result)(body))
    tree.finalize()
    before = dict(vars(element))
    with pytest.raises(error, match=message):
        CLONES[how](tree)
    assert vars(element) == before
    np.testing.assert_array_equal(tree.calc_forward_dynamics(tree.create_default_context()), np.zeros(6))


def test_a_frame_stays_on_its_body() -> None:
    class Loose(Boom):
        def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Boom:
            return type(self)("boom", tree_clone.world_body)

    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    tree.add_frame(Loose("boom", body))
    tree.finalize()
    with pytest.raises(
        mbt.ArgumentValueError, match="expected a frame of body 'body', got one of body 'world'"
    ):
        tree.to_autodiff()
