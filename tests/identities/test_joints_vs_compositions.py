"""A joint of several degrees of freedom equals a chain of hinges and sliders with massless links.

The chain has the velocities ``S(q) v`` when the joint has v, so its accelerations are ``S vdot + Sdot v``
and the generalized forces of the joint ``S' tau``. This compares the kernels of all types with these two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import mbt
from support.joint_types import AXIS, JOINT_TYPES, add_joint_of_type, add_random_body

X, Y, Z = np.eye(3)
Array = np.ndarray


@dataclass(frozen=True)
class Chain:
    """Hinges (True) and sliders about axes, from F to M, and how they follow from the joint."""

    parts: tuple[tuple[bool, Array], ...]
    positions: Callable[[Array], Array]
    # S(q); the identity unless given.
    map: Callable[[Array], Array] | None = None


def _rpy_rates(q: Array) -> Array:
    """Return S with [yaw', pitch', roll'] = S w_FM: w = z yaw' + Rz y pitch' + Rz Ry x roll'."""
    (_, sp, sy), (_, cp, cy) = np.sin(q[:3]), np.cos(q[:3])
    return np.linalg.inv(np.column_stack([Z, [-sy, cy, 0.0], [cy * cp, sy * cp, -sp]]))


def _floating(S: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Sliders before angles, while v has angular velocity before translation."""

    def both(q: Array) -> Array:
        result = np.zeros((6, 6))
        result[:3, 3:] = np.eye(3)
        result[3:, :3] = S(q)
        return result

    return both


def _rpy_of(q: Array) -> Array:
    """Return the angles of a quaternion."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
            np.arcsin(2 * (w * y - z * x)),
            np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
        ]
    )


HINGES_RPY = ((True, Z), (True, Y), (True, X))
SLIDERS = ((False, X), (False, Y), (False, Z))
AXIS_ = np.array(AXIS)
PITCH = 0.7 / (2 * np.pi)
CHAINS: dict[str, Chain] = {
    "universal": Chain(((True, X), (True, Y)), lambda q: q),
    "planar": Chain(((False, X), (False, Y), (True, Z)), lambda q: q),
    "cylindrical": Chain(((True, AXIS_), (False, AXIS_)), lambda q: q),
    "screw": Chain(
        ((True, AXIS_), (False, AXIS_)),
        lambda q: np.array([q[0], PITCH * q[0]]),
        lambda q: np.array([[1.0], [PITCH]]),
    ),
    "ball_rpy": Chain(HINGES_RPY, lambda q: q[::-1], _rpy_rates),
    "quaternion_ball": Chain(HINGES_RPY, lambda q: _rpy_of(q)[::-1], lambda q: _rpy_rates(_rpy_of(q))),
    "rpy_floating": Chain(
        SLIDERS + HINGES_RPY, lambda q: np.concatenate([q[3:], q[2::-1]]), _floating(_rpy_rates)
    ),
    "quaternion_floating": Chain(
        SLIDERS + HINGES_RPY,
        lambda q: np.concatenate([q[4:], _rpy_of(q[:4])[::-1]]),
        _floating(lambda q: _rpy_rates(_rpy_of(q[:4]))),
    ),
}
# Only the first straight piece of a path, or the first arc, is a slider or a hinge: see below.


def _position(kind: str, rng: np.random.Generator, size: int) -> Array:
    q = rng.uniform(-0.7, 0.7, size)
    if kind.startswith("quaternion"):
        q[:4] = 1.3 * np.array([0.9, *rng.uniform(-0.4, 0.4, 3)])
    return q


class Pair:
    """The same bodies on a joint and on its chain, between a hinge and a slider."""

    def __init__(self, kind: str, chain: Chain, is_reversed: bool) -> None:
        self.joint_tree = self._tree(
            is_reversed,
            lambda tree, parent, child: add_joint_of_type(
                tree, kind, "joint", parent, child, np.random.default_rng(0)
            ),
        )
        joint = self.joint_tree.get_joint_by_name("joint")
        X_PF = joint.frame_on_parent.get_fixed_pose_in_body_frame()
        X_BM = joint.frame_on_child.get_fixed_pose_in_body_frame()
        self.chain_tree = self._tree(
            is_reversed,
            lambda tree, parent, child: add_chain(tree, chain.parts, parent, child, X_PF, X_BM),
        )

    @staticmethod
    def _tree(is_reversed: bool, connect: Callable[..., object]) -> mbt.MultibodyTree:
        rng = np.random.default_rng(1)
        tree = mbt.MultibodyTree()
        first, second, third = (add_random_body(tree, rng, f"body{i}") for i in range(3))
        add_joint_of_type(tree, "revolute", "hinge", tree.world_body, first, rng)
        add_joint_of_type(tree, "prismatic", "slider", second, third, rng)
        connect(tree, *((second, first) if is_reversed else (first, second)))
        tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -9.0]))
        tree.finalize()
        return tree


def add_chain(
    tree: mbt.MultibodyTree,
    parts: tuple[tuple[bool, Array], ...],
    parent: mbt.RigidBody,
    child: mbt.RigidBody,
    X_PF: Array,
    X_BM: Array,
) -> None:
    nothing = mbt.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))
    between = [tree.add_body(mbt.RigidBody(f"between{i}", nothing)) for i in range(len(parts) - 1)]
    bodies = [parent, *between, child]
    for i, (is_hinge, axis) in enumerate(parts):
        tree.add_joint(
            mbt.RevoluteJoint if is_hinge else mbt.PrismaticJoint,
            f"part{i}",
            bodies[i],
            X_PF if i == 0 else None,
            bodies[i + 1],
            X_BM if i == len(parts) - 1 else None,
            axis=axis,
        )


def _gather(tree: mbt.MultibodyTree, names: list[str], array: Array) -> Array:
    """Return the entries of v, or of a vector like v, that belong to some joints."""
    return np.concatenate([tree.get_joint_by_name(name).get_velocities_from_array(array) for name in names])


@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", CHAINS)
def test_same_motion_and_forces(kind: str, is_reversed: bool) -> None:
    chain = CHAINS[kind]
    pair = Pair(kind, chain, is_reversed)
    one, many = pair.joint_tree, pair.chain_tree
    assert set(CHAINS) == set(JOINT_TYPES) - {"weld", "revolute", "prismatic", "curvilinear"}
    rng = np.random.default_rng(2)
    joint = one.get_joint_by_name("joint")
    parts = [f"part{i}" for i in range(len(chain.parts))]
    q = _position(kind, rng, joint.num_positions)
    v, vdot = rng.normal(size=(2, joint.num_velocities))
    others = {name: rng.normal(size=3) for name in ("hinge", "slider")}

    context = one.create_default_context()
    joint.set_positions(context, q)
    qdot = joint.mobilizer.map_velocity_to_qdot(context, v)
    h = 1e-3
    S_of = chain.map or (lambda q: np.eye(joint.num_velocities))
    S, (a, b) = S_of(q), ((S_of(q + k * h * qdot) - S_of(q - k * h * qdot)) / (2 * k * h) for k in (1, 2))
    rates = S @ v
    accelerations = S @ vdot + (4 * a - b) / 3 @ v

    def fill(
        tree: mbt.MultibodyTree, names: list[str], q: Array, v: Array, vdot: Array
    ) -> tuple[mbt.Context, Array]:
        context = tree.create_default_context()
        every_q = context.q.copy()
        every_v, every_vdot = np.zeros((2, tree.num_velocities))
        start = [0, 0]
        for name in [*names, "hinge", "slider"]:
            element = tree.get_joint_by_name(name)
            if name in others:
                values = [others[name][i : i + 1] for i in range(3)]
            else:
                nq, nv = element.num_positions, element.num_velocities
                values = [q[start[0] :][:nq], v[start[1] :][:nv], vdot[start[1] :][:nv]]
                start = [start[0] + nq, start[1] + nv]
            element.get_mutable_positions_from_array(every_q)[:] = values[0]
            element.get_mutable_velocities_from_array(every_v)[:] = values[1]
            element.get_mutable_accelerations_from_array(every_vdot)[:] = values[2]
        context.q, context.v = every_q, every_v
        return context, every_vdot

    context, every_vdot = fill(one, ["joint"], q, v, vdot)
    chain_context, chain_vdot = fill(many, parts, chain.positions(q), rates, accelerations)
    for i in range(3):
        body, same = one.get_body_by_name(f"body{i}"), many.get_body_by_name(f"body{i}")
        np.testing.assert_allclose(
            body.eval_pose_in_world(context), same.eval_pose_in_world(chain_context), atol=1e-13
        )
        np.testing.assert_allclose(
            body.eval_spatial_velocity_in_world(context),
            same.eval_spatial_velocity_in_world(chain_context),
            atol=1e-12,
        )
        A_WB = one.calc_spatial_accelerations_from_vdot(context, every_vdot)[body.node_index]
        wanted = many.calc_spatial_accelerations_from_vdot(chain_context, chain_vdot)[same.node_index]
        np.testing.assert_allclose(A_WB, wanted, atol=1e-9)
    tau = one.calc_inverse_dynamics(context, every_vdot, include_force_elements=True)
    chain_tau = many.calc_inverse_dynamics(chain_context, chain_vdot, include_force_elements=True)
    np.testing.assert_allclose(_gather(one, ["joint"], tau), S.T @ _gather(many, parts, chain_tau), atol=1e-8)
    for name in others:
        np.testing.assert_allclose(_gather(one, [name], tau), _gather(many, [name], chain_tau), atol=1e-8)
    np.testing.assert_allclose(
        one.calc_forward_dynamics(context, tau), every_vdot, atol=1e-9 * np.abs(every_vdot).max() + 1e-9
    )
    assert one.calc_kinetic_energy(context) == pytest.approx(many.calc_kinetic_energy(chain_context))


@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("curvature", [-0.8, 0.0, 0.5])
def test_arc_is_a_hinge_and_line_a_slider(curvature: float, is_reversed: bool) -> None:
    """The hinge is at the centre of the arc, and turns by the curvature per length."""
    path = mbt.PiecewiseConstantCurvatureTrajectory([0.0, 2.0], [curvature], X, Z)
    X_PF, X_BM = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.3, 0.2, 0.1]), mbt.math.make_pose([0.3, 0.1, 0.2])
    X_FC = mbt.math.make_pose([0.0, 1.0 / curvature, 0.0]) if curvature else np.eye(4)

    def tree_of(is_path: bool) -> mbt.MultibodyTree:
        tree = mbt.MultibodyTree()
        body = add_random_body(tree, np.random.default_rng(1), "body")
        ends = (body, tree.world_body) if is_reversed else (tree.world_body, body)
        poses = (X_PF, X_BM) if is_path else (X_PF @ X_FC, X_BM @ X_FC)
        name_and_ends = ("joint", ends[0], poses[0], ends[1], poses[1])
        if is_path:
            tree.add_joint(mbt.CurvilinearJoint, *name_and_ends, curvilinear_path=path)
        elif curvature:
            tree.add_joint(mbt.RevoluteJoint, *name_and_ends, axis=Z)
        else:
            tree.add_joint(mbt.PrismaticJoint, *name_and_ends, axis=X)
        tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -9.0]))
        tree.finalize()
        return tree

    scale = curvature or 1.0
    s, speed, acceleration = 0.7, 1.3, -0.6
    answers = []
    for is_path, factor in ((True, 1.0), (False, scale)):
        tree = tree_of(is_path)
        context = tree.create_default_context()
        context.q, context.v = [factor * s], [factor * speed]
        vdot = [factor * acceleration]
        tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        answers.append(
            [
                tree.eval_position_kinematics(context).X_WB,
                tree.eval_velocity_kinematics(context).V_WB,
                tree.calc_spatial_accelerations_from_vdot(context, vdot),
                factor * tau,
                tree.calc_forward_dynamics(context, tau) / factor,
            ]
        )
    for actual, wanted in zip(*answers, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=1e-12)
