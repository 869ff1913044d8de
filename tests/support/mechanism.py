"""The inputs of the algorithms in `support.textbook`: a tree and a Context as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mbt
from support.description import Array


@dataclass(frozen=True, eq=False)
class Mechanism:
    """One row per body, for its inboard joint from P to B and itself; or one row per degree of freedom."""

    parents: tuple[int, ...]
    dofs: list[slice]
    X_PF: Array  # (nb, 4, 4) joint frame on P
    X_BM: Array  # (nb, 4, 4) joint frame on B
    X_FM: Array  # (nb, 4, 4) across the joint, at q
    H_FM: Array  # (nv, 6) [w_FM; v_FMo] in F per unit of each velocity, at q
    Hdot_FM: Array  # (nv, 6) its derivative in F
    v: Array  # (nv,)
    mass: Array  # (nb,)
    com: Array  # (nb, 3) from Bo, in B
    inertia: Array  # (nb, 6, 6) spatial, about Bo, in B
    rotors: Array  # (nv,) their inertia, reflected to the dof
    gravity: Array  # (3,)


def read_mechanism(tree: mbt.MultibodyTree, context: mbt.Context) -> Mechanism:
    nb, nv = tree.num_bodies, tree.num_velocities
    pc = tree.eval_position_kinematics(context)
    dofs, (X_PF, X_BM) = [slice(0, 0)] * nb, np.tile(np.eye(4), (2, nb, 1, 1))
    for mobilizer in tree.mobilizers:
        b, k = mobilizer.outboard_body.node_index, mobilizer.velocity_start
        dofs[b] = slice(k, k + mobilizer.num_velocities)
        X_PF[b], X_BM[b] = pc.X_BF[mobilizer.inboard_frame.index], pc.X_BF[mobilizer.outboard_frame.index]
    # Rates of the axes in F, by dual numbers along qdot.
    moving = (twin := tree.to_autodiff()).create_default_context()
    moving.q = mbt.autodiff.AutoDiffArray(context.q, tree.map_velocity_to_qdot(context, context.v)[:, None])
    Hdot_FM = mbt.autodiff.derivatives(twin.eval_position_kinematics(moving).H_FM, 1)[..., 0]
    mass, com, inertia = np.zeros(nb), np.zeros((nb, 3)), np.zeros((nb, 6, 6))
    for b, body in enumerate(tree.node_bodies[1:], start=1):
        M = body.calc_spatial_inertia_in_body_frame(context)
        mass[b], com[b], inertia[b] = M.mass, M.com, M.as_matrix6()
    rotors = np.zeros(nv)
    for actuator in tree.joint_actuators:
        rotors[actuator.velocity_start] += actuator.calc_reflected_inertia(context)
    gravity = np.zeros(3) if tree.gravity_field is None else np.array(tree.gravity_field.gravity_vector)
    joints = (X_PF, X_BM, pc.X_FM, pc.H_FM, Hdot_FM, context.v)
    return Mechanism(tree.topology.parent, dofs, *joints, mass, com, inertia, rotors, gravity)
