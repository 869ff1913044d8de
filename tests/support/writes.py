"""A tree with one of everything, and every way to write into its Context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt.math.arrays import FloatArray

__all__ = ["INPUTS", "SETTINGS", "WRITES", "Boom", "Outside", "Watcher", "make_watched_tree"]

Write = Callable[[Any, Any, np.random.Generator], Any]


class Watcher(mbt.ForceElement):
    """Declares one of everything, and exerts forces that depend on all of it."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__()
        self.joint = joint
        self.count = 0

    def do_declare_parameters(self) -> None:
        self.vector = self.declare_numeric_parameter([1.0, 2.0])
        self.object = self.declare_abstract_parameter(1.0)

    def do_declare_discrete_state(self) -> None:
        self.state = self.declare_discrete_state(0.0)

    def do_declare_cache_entries(self) -> None:
        self.everything = self.declare_cache_entry("everything", self.calc_everything)
        self.settings = self.declare_cache_entry("settings", self.calc_settings, ["parameters"])
        self.motion = self.declare_cache_entry("motion", self.calc_motion, ["time", "q", "v"])
        self.both = self.declare_cache_entry("both", self.calc_both, [self.settings, self.motion])

    def calc_settings(self, context: Any) -> Any:
        self.count += 1
        mass = context.tree.bodies[1].get_mass(context)
        is_locked = float(self.joint.is_locked(context))
        weights = float(context._is_weightless(self.joint.child_body.node_index))
        vector = context.get_numeric_parameter(self.vector)
        own = vector[..., 0] * context.get_abstract_parameter(self.object) + vector[..., 1]
        return mass + 10.0 * is_locked + 100.0 * weights + own

    def calc_motion(self, context: Any) -> Any:
        self.count += 1
        return context.q.sum(-1) + context.v.sum(-1) + context.time

    def calc_both(self, context: Any) -> Any:
        self.count += 1
        return context.eval_cache_entry(self.settings) + context.eval_cache_entry(self.motion)

    def calc_everything(self, context: Any) -> Any:
        self.count += 1
        inputs = context.actuation.sum(-1) + context.get_discrete_state(self.state)[..., 0]
        if context._has_applied_forces:
            inputs = inputs + context.applied_forces.generalized_forces.sum(-1)
        return self.calc_settings(context) + self.calc_motion(context) + inputs

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        tau = context.eval_cache_entry(self.everything) + context.eval_cache_entry(self.both)
        forces.generalized_forces[..., self.joint.velocity_start] += tau


class Outside(mbt.ForceElement):
    """Pulls a body by a force that depends on data outside the Context."""

    def __init__(self, body: mbt.RigidBody) -> None:
        super().__init__()
        self.body = body
        self.force = 0.0

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.body_forces[..., self.body.node_index, 3] += self.force


class Boom(mbt.Frame):
    """A frame at a distance along the x axis of its body."""

    def do_declare_parameters(self) -> None:
        self.length = self.declare_numeric_parameter(1.0)

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        return mbt.math.make_pose([parameters.get_numeric_parameter(self.length)[..., 0], 0, 0])


def make_watched_tree() -> mbt.MultibodyTree:
    """Return an arm of two links, the second one on a frame computed in Python."""
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    M = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)
    link, hand = (tree.add_body(mbt.RigidBody(name, M, arm)) for name in ("link", "hand"))
    hinge = tree.add_joint(
        mbt.RevoluteJoint("hinge", tree.world_frame, link.body_frame, axis=[0, 1, 0], damping=0.1)
    )
    boom = tree.add_frame(Boom("boom", link))
    tree.add_joint(mbt.RevoluteJoint("wrist", boom, hand.body_frame, axis=[1, 0, 0]))
    tree.add_joint_actuator("motor", hinge, rotor_inertia=0.1)
    tree.add_frame(mbt.FixedOffsetFrame("tip", hand, mbt.math.make_pose([1, 0, 0])))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_force_element(mbt.RevoluteSpring(hinge, 0.0, 2.0))
    tree.add_force_element(Watcher(hinge))
    tree.add_force_element(Outside(hand))
    tree.finalize()
    return tree


def _numbers(context: Any, rng: np.random.Generator, *shape: int) -> FloatArray:
    """Return positive numbers, different for the samples of a batch."""
    return rng.uniform(0.5, 2.0, (*context.batch_shape, *shape))


def _number(context: Any, rng: np.random.Generator) -> Any:
    return _numbers(context, rng) if context.batch_shape else float(rng.uniform(0.5, 2.0))


def _pose(rng: np.random.Generator) -> FloatArray:
    return mbt.math.make_pose(rng.uniform(-1, 1, 3), rpy=rng.uniform(-1, 1, 3))


def _set_v(tree: Any, c: Any, rng: np.random.Generator) -> None:
    c.v = np.where(c._locked_dofs(), 0.0, _numbers(c, rng, 2))


def _apply(tree: Any, c: Any, rng: np.random.Generator) -> None:
    forces = mbt.MultibodyForces(tree, c.batch_shape)
    forces.generalized_forces[..., 0] = _number(c, rng)
    c.applied_forces = forces


def _apply_in_place(tree: Any, c: Any, rng: np.random.Generator) -> None:
    c.applied_forces.generalized_forces[..., 0] = _number(c, rng)
    c.applied_forces.body_forces[..., 2, 3] = _number(c, rng)


#: Writes that count as changes of parameters.
SETTINGS: dict[str, Write] = {
    "mass": lambda t, c, rng: t.bodies[1].set_mass(c, _number(c, rng)),
    "damping": lambda t, c, rng: t.joints[0].set_damping_vector(c, _numbers(c, rng, 1)),
    "rotor": lambda t, c, rng: t.joint_actuators[0].set_rotor_inertia(c, _number(c, rng)),
    "pose of a frame": lambda t, c, rng: t.get_frame_by_name("tip").set_pose_in_parent_frame(c, _pose(rng)),
    "user's frame": lambda t, c, rng: c.set_numeric_parameter(
        t.get_frame_by_name("boom").length, _numbers(c, rng, 1)
    ),
    "gravity": lambda t, c, rng: t.force_elements[0].set_gravity_vector(c, _numbers(c, rng, 3)),
    "spring": lambda t, c, rng: t.force_elements[1].set_stiffness(c, _number(c, rng)),
    "numeric parameter": lambda t, c, rng: c.set_numeric_parameter(
        t.force_elements[2].vector, _numbers(c, rng, 2)
    ),
    "abstract parameter": lambda t, c, rng: c.set_abstract_parameter(
        t.force_elements[2].object, float(rng.uniform(1, 2))
    ),
    "lock": lambda t, c, rng: t.joints[rng.integers(2)].lock(c),
    "unlock": lambda t, c, rng: t.joints[rng.integers(2)].unlock(c),
    "gravity on or off": lambda t, c, rng: t.force_elements[0].set_enabled_in(
        c, t.bodies[1].model_instance, bool(rng.integers(2))
    ),
    "reset": lambda t, c, rng: t.set_default_context(c),
}
#: Writes that count as changes of inputs.
INPUTS: dict[str, Write] = {
    "actuation": lambda t, c, rng: setattr(c, "actuation", _numbers(c, rng, 1)),
    "applied forces": _apply,
    "applied forces in place": _apply_in_place,
    "discrete state": lambda t, c, rng: c.set_discrete_state(t.force_elements[2].state, _numbers(c, rng, 1)),
}
#: All of these.
WRITES: dict[str, Write] = {
    **SETTINGS,
    **INPUTS,
    "q": lambda t, c, rng: setattr(c, "q", _numbers(c, rng, 2)),
    "v": _set_v,
    "time": lambda t, c, rng: setattr(c, "time", _number(c, rng)),
}
