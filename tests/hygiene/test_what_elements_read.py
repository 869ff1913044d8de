"""What elements written in Python read from outside may change at any time; no result mixes old and new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.kinds import KINDS, make_context, values_of


class Motor(mbt.ForceElement):
    """Turns a joint and pulls on its body, as commanded from outside."""

    def __init__(self, joint: mbt.Joint, commands: dict[str, float]) -> None:
        super().__init__(joint.model_instance)
        self.joint, self.commands = joint, commands

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Motor:
        return Motor(tree_clone.get_variant(self.joint), self.commands)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., self.joint.velocity_start] += self.commands["torque"]
        forces.body_forces[..., self.joint.child_body.node_index, 5] += self.commands["force"]


def make_tree(commands: dict[str, float]) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)
    wheel = tree.add_body(mbt.RigidBody("wheel", M))
    axle = tree.add_joint(mbt.RevoluteJoint, "axle", tree.world_body, None, wheel, None, axis=[0, 1, 0])
    rod = tree.add_body(mbt.RigidBody("rod", M.shift([-0.5, 0, 0])))
    rim = mbt.math.make_pose([0.5, 0, 0.2])
    tree.add_joint(mbt.RevoluteJoint, "pin", wheel, rim, rod, None, axis=[0, 1, 0])
    tree.add_frame(mbt.FixedOffsetFrame("tip", rod, mbt.math.make_pose([1, 0, 0])))
    tree.add_force_element(Motor(axle, commands))
    tree.finalize()
    return tree


CONSUMERS: dict[str, Callable[[Any, Any], Any]] = {
    "A_WB": lambda t, c: t.eval_acceleration_kinematics(c).A_WB,
    "vdot": lambda t, c: t.eval_acceleration_kinematics(c).vdot,
    "acceleration of a body": lambda t, c: t.eval_body_spatial_acceleration_in_world(c, t.bodies[2]),
    "its own": lambda t, c: t.bodies[2].eval_spatial_acceleration_in_world(c),
    "acceleration of a frame": lambda t, c: t.get_frame_by_name("tip").calc_spatial_acceleration_in_world(c),
    "of the mass centre": lambda t, c: t.calc_center_of_mass_translational_acceleration_in_world(c),
    "forward dynamics": lambda t, c: t.calc_forward_dynamics(c),
    "reaction forces": lambda t, c: t.calc_reaction_forces(c),
    "rate of the energy": lambda t, c: t.calc_energy_report(c).kinetic_energy_rate,
}


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_what_an_element_reads(kind: str, consumer: str) -> None:
    commands = {"torque": 0.6, "force": 0.0}
    context = make_context(make_tree(commands), kind)
    context.v = [0.5, -0.25]
    tree, calc = context.tree, CONSUMERS[consumer]
    # Fill all caches.
    for other in CONSUMERS.values():
        other(tree, context)
    before = values_of(calc(tree, context))
    commands.update(torque=0.8, force=3.0)
    after = values_of(calc(tree, context))
    fresh = context.clone()
    np.testing.assert_allclose(after, values_of(calc(tree, fresh)), rtol=1e-13, atol=1e-13)
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_accelerations_and_reactions_are_of_the_same_forces(kind: str) -> None:
    """A body on a passive hinge: the hinge carries no torque about its axis, whatever pulls."""

    class Gust(mbt.ForceElement):
        """A force that differs at every evaluation."""

        count = 0

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            type(self).count += 1
            forces.body_forces[..., 1, 1] += float(type(self).count)

    tree = mbt.MultibodyTree()
    door = tree.add_body(mbt.RigidBody("door", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, door, None, axis=[0, 1, 0])
    tree.add_force_element(Gust())
    tree.finalize()
    context = make_context(tree, kind)
    count = Gust.count
    reactions = values_of(context.tree.calc_reaction_forces(context))
    assert Gust.count == count + 1
    np.testing.assert_allclose(reactions[..., 0, 1], 0.0, atol=1e-14)


def test_without_such_elements_accelerations_are_kept() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    for kind in KINDS:
        context = make_context(tree, kind)
        ac = context.tree.eval_acceleration_kinematics(context)
        assert context.tree.eval_acceleration_kinematics(context) is ac
