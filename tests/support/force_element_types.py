"""Every force element once, built-in and user-written, for tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from support.joint_types import JOINT_TYPES, add_joint_of_type, add_random_body


class Drag(mbt.ForceElement):
    """Air drag at the mass centre of a body, quadratic in its speed: a force without energy methods."""

    def __init__(self, body: mbt.RigidBody, coefficient: float) -> None:
        super().__init__(body.model_instance)
        self.body, self.coefficient = body, coefficient

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        row = self.body.node_index
        v = vc.V_WB[..., row, 3:]
        speed = np.sqrt((v * v).sum(axis=-1, keepdims=True))
        forces.body_forces[..., row, 3:] -= self.coefficient * speed * v


class Well(mbt.ForceElement):
    """A quartic potential draws a body's origin to the origin of World, with damping."""

    def __init__(self, body: mbt.RigidBody, stiffness: float, damping: float) -> None:
        super().__init__(body.model_instance)
        self.body, self.stiffness, self.damping = body, stiffness, damping

    def _p(self, pc: Any) -> Any:
        return pc.X_WB[..., self.body.node_index, :3, 3]

    def _v(self, vc: Any) -> Any:
        return vc.V_WB[..., self.body.node_index, 3:]

    def _pull(self, pc: Any) -> Any:
        p = self._p(pc)
        return -self.stiffness * (p * p).sum(axis=-1, keepdims=True) * p

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        row = self.body.node_index
        forces.body_forces[..., row, 3:] += self._pull(pc) - self.damping * self._v(vc)

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        p = self._p(pc)
        return self.stiffness / 4 * (p * p).sum(axis=-1) ** 2

    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return (self._pull(pc) * self._v(vc)).sum(axis=-1)

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        v = self._v(vc)
        return -self.damping * (v * v).sum(axis=-1)


Bodies, Joints = list[mbt.RigidBody], list[mbt.Joint]


def _bushing(tree: mbt.MultibodyTree, bodies: Bodies, damping: float) -> mbt.ForceElement:
    rng = np.random.default_rng(4)
    X = mbt.math.make_pose([0.3, 0.1, 0.2], rpy=[0.3, -0.2, 0.4])
    frames = [
        tree.add_frame(mbt.FixedOffsetFrame("bush_A", bodies[0], X)),
        tree.add_frame(mbt.FixedOffsetFrame("bush_C", bodies[2], mbt.math.make_pose([0.1, -0.2, 0.1]))),
    ]
    k, d = rng.uniform(2.0, 6.0, (2, 3)), damping * rng.uniform(0.2, 0.6, (2, 3))
    return mbt.LinearBushingRollPitchYaw(*frames, k[0], d[0], k[1], d[1])


def _contact(tree: mbt.MultibodyTree, bodies: Bodies, inboard: int) -> mbt.ForceElement:
    # Deep in the half-space of a body, with slip within a wide stiction range: the motion is smooth there.
    X = mbt.math.make_pose([0.0, 0.0, 9.0], rpy=[0.3, -0.2, 0.4])
    half_space = tree.add_frame(mbt.FixedOffsetFrame(f"half_space_{inboard}", bodies[inboard], X))
    points = [[0.1, 0.2, 0.3], [-0.2, 0.1, 0.0]]
    return mbt.PointContact(
        bodies[3], points, half_space, stiffness=0.3, dissipation=0.02, static_friction=0.7,
        dynamic_friction=0.5, stiction_speed=40.0,
    )  # fmt: skip


def _door(tree: mbt.MultibodyTree, joints: Joints) -> mbt.ForceElement:
    # A catch and a threshold as wide as the motion, so that the motion is smooth at this step.
    return mbt.DoorHinge(
        joints[0],
        mbt.DoorHingeConfig(
            spring_zero_angle_rad=-0.4,
            spring_constant=1.5,
            dynamic_friction_torque=0.5,
            static_friction_torque=0.4,
            viscous_friction=0.3,
            catch_width=1.6,
            catch_torque=2.0,
            motion_threshold=1.5,
        ),
    )


# Name -> element, and whether it dissipates. For World and three bodies in a chain: hinge, any joint, slider.
Maker = Callable[[mbt.MultibodyTree, Bodies, Joints], mbt.ForceElement]
ELEMENTS: dict[str, tuple[Maker, bool]] = {
    "gravity": (lambda t, b, j: mbt.UniformGravityFieldElement([1.0, -2.0, -9.0]), False),
    "gravity of some": (
        lambda t, b, j: mbt.UniformGravityFieldElement(
            [1.0, -2.0, -9.0], disabled_model_instances=[mbt.default_model_instance()]
        ),
        False,
    ),
    "revolute spring": (lambda t, b, j: mbt.RevoluteSpring(j[0], 0.8, 5.0), False),
    "prismatic spring": (lambda t, b, j: mbt.PrismaticSpring(j[2], 0.8, 5.0), False),
    "spring": (
        lambda t, b, j: mbt.LinearSpringDamper(b[0], [0.1, 0.2, 0.3], b[3], [0.2, 0.1, 0.0], 0.3, 6.0, 0.0),
        False,
    ),
    "spring damper": (
        lambda t, b, j: mbt.LinearSpringDamper(b[1], [0.1, 0.2, 0.3], b[3], [0.2, 0.1, 0.0], 0.3, 6.0, 0.9),
        True,
    ),
    "door hinge": (lambda t, b, j: _door(t, j), True),
    # Transition velocities as wide as the motion as well.
    "friction of a hinge": (lambda t, b, j: mbt.JointFriction(j[0], 0.5, 0.8, 0.9, 1.2), True),
    "friction of a slider": (lambda t, b, j: mbt.JointFriction(j[2], 0.5, 0.8, 0.9, 1.2), True),
    "bushing": (lambda t, b, j: _bushing(t, b, 0.0), False),
    "damped bushing": (lambda t, b, j: _bushing(t, b, 1.0), True),
    "contact": (lambda t, b, j: _contact(t, b, 0), True),
    "contact of moving bodies": (lambda t, b, j: _contact(t, b, 1), True),
    "drag": (lambda t, b, j: Drag(b[3], 0.7), True),
    "well": (lambda t, b, j: Well(b[2], 4.0, 0.0), False),
    "damped well": (lambda t, b, j: Well(b[2], 4.0, 0.5), True),
}


USER_WRITTEN = ("drag", "well", "damped well")


def make_everything(*, user_written: bool = True) -> mbt.MultibodyTree:
    """Return a tree of every joint type in both directions, damped, with every force element at once.

    One body has shapes: data that no computation reads.
    """
    rng = np.random.default_rng(11)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body]
    joints = []
    for is_reversed in (False, True):
        for kind in ("revolute", "ball_rpy", "prismatic", *JOINT_TYPES):
            i = len(joints)
            bodies.append(add_random_body(tree, rng, f"body{i}"))
            # The first three make the chain that the elements need; the others branch.
            inboard = bodies[i] if i < 3 else bodies[int(rng.integers(max(0, i - 4), i + 1))]
            joints.append(
                add_joint_of_type(
                    tree, kind, f"joint{i}", inboard, bodies[-1], rng, is_reversed=is_reversed, is_damped=True
                )
            )
    for name, (make, _) in ELEMENTS.items():
        if name in ("gravity of some", "bushing") or (name in USER_WRITTEN and not user_written):
            continue
        tree.add_force_element(make(tree, bodies, joints))
    for i in (0, 2):
        tree.add_joint_actuator(f"motor{i}", joints[i], rotor_inertia=1e-3, gear_ratio=20.0)
    bodies[1].add_visual(mbt.Shape("box", [1, 2, 3], color=[1, 0, 0, 0.5]))
    bodies[1].add_collision(mbt.Shape("mesh", mesh="a.stl", folder="/robots", name="hull"))
    tree.finalize()
    return tree
