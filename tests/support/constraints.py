"""Constraints computed without the code under test: Jacobians of frames, and dense linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mbt
from mbt.context.tangents import make_tangent_context
from mbt.math import log_so3
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body
from support.random_trees import random_pose

Array = np.ndarray


@dataclass(frozen=True)
class Equations:
    """Errors (m,), Jacobian (m, nv) and Jdot v (m,) of the enabled constraints; zero for disabled ones."""

    errors: Array
    J: Array
    bias: Array


def equations_of(tree: mbt.MultibodyTree, context: Any) -> Equations:
    """Return the equations of all constraints at a state."""
    rows = [
        _rows_of(tree, context, constraint)
        if constraint.is_enabled_in(context)
        else tuple(
            np.zeros(shape)
            for shape in (
                (constraint.num_equations,),
                (constraint.num_equations, tree.num_velocities),
                (constraint.num_equations,),
            )
        )
        for constraint in tree.constraints
    ]
    return Equations(*(np.concatenate(part) for part in zip(*rows, strict=True)))


def _rows_of(tree: mbt.MultibodyTree, context: Any, constraint: Any) -> tuple[Array, Array, Array]:
    if isinstance(constraint, mbt.CouplerConstraint):
        ratio, offset = constraint.get_gear_ratio(context), constraint.get_offset(context)
        J = np.zeros((1, tree.num_velocities))
        error = -offset
        for joint, factor in ((constraint.joint0, 1.0), (constraint.joint1, -ratio)):
            J[0, joint.velocity_start] = factor
            error += factor * joint.get_positions(context)[0]
        return np.array([error]), J, np.zeros(1)
    A, B = constraint.frame_A, constraint.frame_B
    X_AB = tree.calc_relative_transform(context, A, B)
    if isinstance(constraint, mbt.DistanceConstraint):
        p_AP, p_BQ = constraint.get_p_AP(context), constraint.get_p_BQ(context)
        J = tree.calc_jacobian_spatial_velocity(context, "v", B, p_BQ, A, A)[3:]
        bias = tree.calc_bias_spatial_acceleration(context, "v", B, p_BQ, A, A)[3:]
        d = X_AB[:3, :3] @ p_BQ + X_AB[:3, 3] - p_AP
        length = np.linalg.norm(d)
        u, rate = d / length, J @ context.v
        across = rate - u * (u @ rate)
        return (
            np.array([length - constraint.get_distance(context)]),
            (u @ J)[None],
            np.array([u @ bias + across @ across / length]),
        )
    J = tree.calc_jacobian_spatial_velocity(context, "v", B, np.zeros(3), A, A)
    bias = tree.calc_bias_spatial_acceleration(context, "v", B, np.zeros(3), A, A)
    errors = np.concatenate([log_so3(X_AB[:3, :3]), X_AB[:3, 3]])
    first = 3 if isinstance(constraint, mbt.BallConstraint) else 0
    return errors[first:], J[first:], bias[first:]


def constrained_accelerations(
    tree: mbt.MultibodyTree, context: Any, tau: Array, right: Array | None = None
) -> tuple[Array, Array]:
    """Return vdot and J' lambda, by dense least squares: J vdot + Jdot v = `right`, zero by default."""
    free = ~context._locked_dofs()
    all_on = tree.create_default_context()
    all_on._copy_from(context)
    for constraint in tree.constraints:
        constraint.set_enabled_in(all_on, False)
    unconstrained = tree.calc_forward_dynamics(all_on, tau)
    M = tree.calc_mass_matrix(context)[np.ix_(free, free)]
    equations = equations_of(tree, context)
    J = equations.J[:, free]
    needed = (0.0 if right is None else right) - equations.bias - J @ unconstrained[free]
    # In units in which M is the identity.
    L = np.linalg.cholesky(M)
    W = np.linalg.solve(L, J.T).T
    scale = np.linalg.norm(W, axis=1)
    scale = np.where(scale > 1e-9 * max(scale.max(), 1e-300), scale, 1.0)
    x = np.linalg.lstsq(W / scale[:, None], needed / scale, rcond=1e-9)[0]
    vdot = unconstrained.copy()
    vdot[free] += np.linalg.solve(L.T, x)
    forces = np.zeros(tree.num_velocities)
    forces[free] = L @ x
    return vdot, forces


def tree_with_loops(
    seed: int, num_bodies: int = 7, kinds: tuple[str, ...] = MOVING_JOINT_TYPES, num_constraints: int = 3
) -> mbt.MultibodyTree:
    """Return a random tree with random constraints: fewer equations than it has velocities."""
    rng = np.random.default_rng(seed)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body]
    for i in range(num_bodies):
        body = add_random_body(tree, rng, f"body{i}")
        kind = str(rng.choice(list(kinds)))
        inboard = bodies[int(rng.integers(len(bodies)))]
        add_joint_of_type(tree, kind, f"joint{i}", inboard, body, rng, is_reversed=bool(rng.integers(2)))
        bodies.append(body)
    tree.add_force_element(mbt.UniformGravityFieldElement([0.3, -0.2, -9.81]))
    frames = [tree.add_frame(mbt.FixedOffsetFrame(f"on_{b.name}", b, random_pose(rng))) for b in bodies]
    hinges = [joint for joint in tree.joints if joint.num_velocities == 1]
    for i in range(num_constraints):
        a, b = rng.choice(len(frames), 2, replace=False)
        A, B = (frames[k] if rng.integers(2) else bodies[k].body_frame for k in (a, b))
        kind = int(rng.integers(4 if len(hinges) > 1 else 3))
        if kind == 0:
            tree.add_constraint(mbt.BallConstraint(f"c{i}", A, B))
        elif kind == 1 and i == 0:
            tree.add_constraint(mbt.WeldConstraint(f"c{i}", A, B))
        elif kind == 3:
            first, second = rng.choice(len(hinges), 2, replace=False)
            tree.add_constraint(mbt.CouplerConstraint(f"c{i}", hinges[first], hinges[second], -1.5, 0.1))
        else:
            p_AP, p_BQ = rng.normal(size=(2, 3))
            tree.add_constraint(mbt.DistanceConstraint(f"c{i}", A, p_AP, B, p_BQ, 0.7))
    tree.finalize()
    return tree


def tree_with_every_constraint() -> mbt.MultibodyTree:
    """Return a random tree with one constraint of each type."""
    rng = np.random.default_rng(5)
    tree = tree_with_loops(5, num_bodies=9, num_constraints=0).edit()
    frames = [frame for frame in tree.frames if frame.name.startswith("on_")]
    p_AP, p_BQ = rng.normal(size=(2, 3))
    tree.add_constraint(mbt.BallConstraint("ball", frames[1], frames[4]))
    tree.add_constraint(mbt.WeldConstraint("weld", frames[0], frames[6]))
    tree.add_constraint(mbt.DistanceConstraint("rod", frames[2], p_AP, frames[8], p_BQ, 0.7))
    hinges = [joint for joint in tree.joints if joint.num_velocities == 1]
    tree.add_constraint(mbt.CouplerConstraint("gear", hinges[0], hinges[1], -1.5, 0.1))
    tree.finalize()
    return tree


def beside_held_bodies(tree: mbt.MultibodyTree) -> mbt.MultibodyTree:
    """Return the tree together with held free bodies, with enough constraints for derivatives by groups."""
    work = tree.edit()
    for i in range(5):
        body = work.add_body(
            mbt.RigidBody(f"held{i}", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.4))
        )
        work.add_constraint(mbt.WeldConstraint(f"hold{i}", work.world_body, body))
    work.finalize()
    assert not work._compiled.has_dense_derivatives
    return work


def conditioning(tree: mbt.MultibodyTree, context: Any) -> float:
    """Return the smallest singular value of J, in units of each equation; zero if rows are dependent."""
    J = equations_of(tree, context).J
    W = np.linalg.solve(np.linalg.cholesky(tree.calc_mass_matrix(context)), J.T).T
    sizes = np.linalg.norm(W, axis=1)
    if len(J) > len(context.v) or not sizes.all():
        return 0.0
    return float(np.linalg.svd(W / sizes[:, None], compute_uv=False).min())


def derivatives_by_duals(
    tree: mbt.MultibodyTree, context: Any, tau: Array, *, stabilize: bool = False
) -> tuple[Array, ...]:
    """Return the derivatives of accelerations and multipliers by q, v and tau, through the whole solution."""
    nv = tree.num_velocities
    N = tree.make_velocity_to_qdot_map(context)
    along_q = np.concatenate([N, np.zeros((len(N), 2 * nv))], 1)
    moving = make_tangent_context(context, along_q, np.eye(nv, 3 * nv, nv), None)
    seeds = mbt.autodiff.AutoDiffArray(tau, np.eye(nv, 3 * nv, 2 * nv))
    vdot, multipliers = moving.tree.calc_constrained_forward_dynamics(moving, seeds, stabilize=stabilize)
    columns = [np.split(x.derivatives, 3, axis=-1) for x in (vdot, multipliers)]
    return (*columns[0], *columns[1])


def four_bar(
    rpy: tuple[float, float, float] | None = None,
    scale: float = 1.0,
    *,
    base_joint: type[mbt.Joint] = mbt.WeldJoint,
    pin_off: float = 0.0,
) -> mbt.MultibodyTree:
    """Return three planar bars whose loop a ball closes: one of its three equations depends on the others.

    On World, or on a rotated base; the bars are `scale` times as long, and the last pin is off by an angle
    about its bar.
    """
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    ground: mbt.RigidBody = tree.world_body
    if rpy is not None:
        M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1 * scale)
        ground = tree.add_body(mbt.RigidBody("base", M))
        tree.add_joint(base_joint, "mount", tree.world_body, mbt.math.make_pose(rpy=rpy), ground, None)
    inboard, X_PF = ground, np.eye(4)
    for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.5)):
        size = length * scale
        rod = mbt.SpatialInertia.solid_box_with_mass(length, size, 0.02 * scale, 0.03 * scale)
        body = tree.add_body(mbt.RigidBody(name, rod.shift([-size / 2, 0, 0])))
        X_PF = X_PF @ mbt.math.make_pose(rpy=[pin_off if name == "rocker" else 0.0, 0.0, 0.0])
        tree.add_joint(mbt.RevoluteJoint, f"{name}_pin", inboard, X_PF, body, None, [0, 1, 0], damping=0.1)
        inboard, X_PF = body, mbt.math.make_pose([size, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X_PF))
    at_post = mbt.math.make_pose([0.7 * scale, 0, 0])
    post = tree.add_frame(mbt.FixedOffsetFrame("post", ground, at_post))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    return tree
