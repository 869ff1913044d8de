"""Turns bodies and joints of MuJoCo into links and joints; several joints of a body become a chain.

The joints of a body act one after the other. After i joints the body has the frame Bi, and
``X_BiBj = T(pos) X T(-pos)`` with j = i + 1, where X is a rotation about, or a translation along, the axis of
the joint by ``q - ref``: so q is the position of MuJoCo, and F is rotated, or shifted, by ``-ref``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import quote
from mbt.math.arrays import FloatArray
from mbt.math.poses import rotation_about_axis
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import (
    NO_LIMITS,
    WORLD,
    FreeJointDescription,
    JointDescription,
    JointLimits,
    LinkDescription,
    ModelDescription,
    SpringDescription,
)
from mbt.parsing.mujoco_names import FREE, ModelNames, first_of_each_actuator, unused
from mbt.parsing.mujoco_shapes import Shapes
from mbt.parsing.pose_stacks import calc_rotations, stack_poses

if TYPE_CHECKING:
    import mujoco

__all__ = ["WEIGHTLESS", "add_bodies"]

BALL, SLIDE, HINGE = 1, 2, 3
_KINDS = {BALL: "quaternion_ball", SLIDE: "prismatic", HINGE: "revolute"}
# Friction and limits are constraints: the flag 1 << 0 disables all of these.
_NO_FRICTION, _NO_LIMITS, _NO_SPRINGS, _NO_DAMPERS = 1 << 0 | 1 << 2, 1 << 0 | 1 << 3, 1 << 5, 1 << 6
_MASSLESS = SpatialInertia.zero()
# Indices of xx yy zz xy xz yz in a matrix stored by rows.
_UPPER = [0, 4, 8, 1, 2, 5]
_IDENTITY = np.eye(4)
_IDENTITY.flags.writeable = False

#: The inner model that holds the bodies exempt from gravity.
WEIGHTLESS = "weightless"


class _Joint(NamedTuple):
    """The data of a joint of MuJoCo."""

    name: str
    kind: int
    p: list[float]
    axis: list[float]
    position: float
    reference: float
    damping: float
    friction: float
    stiffness: float
    limits: JointLimits


def add_bodies(m: mujoco.MjModel, names: ModelNames, shapes: Shapes, model: ModelDescription) -> list[str]:
    """Add links, joints and springs to the description, in the order of MuJoCo.

    Returns the name of the link of each body, at the end of its chain of joints.
    """
    X_PB = _calc_default_poses(m)
    _find_impossible_inertias(m, names, model)
    compensated = m.body_gravcomp * ((m.body_gravcomp > 0.0) & (m.body_gravcomp < 1.0))
    inertias = _calc_inertias(m, 1.0 - compensated)
    exempt = _calc_inertias(m, compensated) if compensated.any() else []
    links = [WORLD] + [
        _scoped(name, c) for name, c in zip(names.bodies[1:], m.body_gravcomp[1:], strict=True)
    ]
    if exempt or any(link.startswith(f"{WEIGHTLESS}::") for link in links):
        model.scopes.append(WEIGHTLESS)
        model.weightless_scopes.append(WEIGHTLESS)
    taken = set(names.bodies)
    joints = _read_joints(m, names)
    taken_joints = set(names.joints)
    parents, counts, first = m.body_parentid.tolist(), m.body_jntnum.tolist(), m.body_jntadr.tolist()
    for i in range(1, m.nbody):
        parent, link = links[parents[i]], links[i]
        chain = joints[first[i] : first[i] + counts[i]]
        if not chain and parent != WORLD:
            name = unused(f"{names.bodies[i]}_to_{names.bodies[parents[i]]}", taken_joints)
            model.joints.append(JointDescription(name, "weld", parent, link, X_PB[i], 0))
        elif not chain or chain[0].kind == FREE:
            model.roots.append(link)
            model.root_poses[link] = X_PB[i]
        for k, joint in enumerate(chain):
            if joint.kind == FREE:
                model.free.add(link)
                damping = joint.damping
                model.free_joints[link] = FreeJointDescription(joint.name, damping, damping)
                _refuse_spring(joint, model)
                continue
            child = link
            if k < len(chain) - 1:
                child = unused(f"{names.bodies[i]}_after_{joint.name}", taken)
                model.links.append(LinkDescription(child, _MASSLESS, 0))
            _add_joint(model, joint, parent, child, X_PB[i] if k == 0 else None)
            parent = child
        mass, moment, M_BBo_B = inertias[i]
        visuals, collisions = shapes.of_body(i)
        model.links.append(LinkDescription(link, M_BBo_B, 0, mass, moment, visuals, collisions))
        if compensated[i]:
            mass, moment, M_BBo_B = exempt[i]
            part = unused(f"{names.bodies[i]}_weightless", taken)
            name = unused(f"{part}_to_{names.bodies[i]}", taken_joints)
            model.joints.append(JointDescription(name, "weld", link, _scoped(part, 1.0), np.eye(4), 0))
            model.links.append(LinkDescription(_scoped(part, 1.0), M_BBo_B, 0, mass, moment))
    model.world_visuals, model.world_collisions = shapes.of_body(0)
    return links


def _calc_default_poses(m: mujoco.MjModel) -> FloatArray:
    """Return the default pose of each body on its parent; that of a free body in World."""
    X_PB = stack_poses(m.body_pos, m.body_quat)
    is_free = m.jnt_type == FREE
    if is_free.any():
        starts = m.jnt_qposadr[is_free][:, None]
        p, quaternion = m.qpos0[starts + range(3)], m.qpos0[starts + range(3, 7)]
        X_PB[m.jnt_bodyid[is_free]] = stack_poses(p, quaternion)
    # Read-only stands for checked, as all numbers of the model are.
    X_PB.flags.writeable = False
    return X_PB


def _scoped(name: str, compensation: float) -> str:
    return f"{WEIGHTLESS}::{name}" if compensation == 1.0 else name


def _find_impossible_inertias(m: mujoco.MjModel, names: ModelNames, model: ModelDescription) -> None:
    for name, mass, moments in zip(
        names.bodies[1:], m.body_mass.tolist()[1:], m.body_inertia.tolist()[1:], strict=True
    ):
        small, middle, large = sorted(moments)
        if mass < 0.0 or small < 0.0 or small + middle < large * (1.0 - 1e-9):
            model.report.impossible_inertias.append(name)


def _calc_inertias(m: mujoco.MjModel, share: FloatArray) -> list[tuple[float, float, SpatialInertia]]:
    """Return mass, a bound of the moments of inertia, and mass properties of each body times its share."""
    R_BI, masses = calc_rotations(m.body_iquat), share * m.body_mass
    p = m.body_ipos
    # I_SBo = R_BI diag R_BI^T + m (|p|^2 1 - p p^T)
    products = p[:, :, None] * p[:, None, :]
    shift = products.trace(axis1=1, axis2=2)[:, None, None] * _IDENTITY[:3, :3] - products
    central = (R_BI * (share[:, None] * m.body_inertia)[:, None, :]) @ R_BI.transpose(0, 2, 1)
    I = central + masses[:, None, None] * shift  # noqa: E741
    components = I.reshape(-1, 9)[:, _UPPER]
    bounds = np.abs(components).sum(axis=1).tolist()
    # Now components of unit inertias, except for bodies without mass.
    components /= np.where(masses == 0.0, 1.0, masses)[:, None]
    # The inertias keep its rows as views, so it must not be written.
    com = p.copy()
    for array in (com, components):
        array.setflags(write=False)
    return [
        (mass, bound, SpatialInertia._of_arrays(mass, p_BoBcm_B, row))
        for mass, bound, p_BoBcm_B, row in zip(masses.tolist(), bounds, com, components, strict=True)
    ]


def _read_joints(m: mujoco.MjModel, names: ModelNames) -> list[_Joint]:
    q_starts, v_starts = m.jnt_qposadr, m.jnt_dofadr
    flags = m.opt.disableflags
    has_dampers, has_springs = not flags & _NO_DAMPERS, not flags & _NO_SPRINGS
    has_friction = not flags & _NO_FRICTION
    zeros = np.zeros(m.njnt)
    columns = zip(
        names.joints,
        m.jnt_type.tolist(),
        m.jnt_pos.tolist(),
        m.jnt_axis.tolist(),
        m.qpos0[q_starts].tolist(),
        m.qpos_spring[q_starts].tolist(),
        (_calc_damping(m)[v_starts] if has_dampers else zeros).tolist(),
        (m.dof_frictionloss[v_starts] if has_friction else zeros).tolist(),
        (m.jnt_stiffness if has_springs else zeros).tolist(),
        _read_limits(m),
        strict=True,
    )
    return [_Joint(*column) for column in columns]


def _calc_damping(m: mujoco.MjModel) -> FloatArray:
    """Return the damping of each velocity, with that of actuators; none where it is negative."""
    damping: FloatArray = np.maximum(m.dof_damping, 0.0)
    of_actuators = getattr(m, "actuator_damping", None)  # In newer versions only.
    if of_actuators is not None:
        outputs = first_of_each_actuator(m, "out")
        for i in np.flatnonzero(of_actuators):
            if m.actuator_trntype[i] <= 1 and m.jnt_type[m.actuator_trnid[i, 0]] >= SLIDE:
                gear = m.actuator_gear[outputs[i], 0]
                damping[m.jnt_dofadr[m.actuator_trnid[i, 0]]] += of_actuators[i] * gear**2
    return damping


def _read_limits(m: mujoco.MjModel) -> list[JointLimits]:
    limits = []
    act = not m.opt.disableflags & _NO_LIMITS
    for kind, is_limited, (lower, upper), is_force_limited, forces in zip(
        m.jnt_type.tolist(),
        m.jnt_limited.tolist(),
        m.jnt_range.tolist(),
        m.jnt_actfrclimited.tolist(),
        m.jnt_actfrcrange.tolist(),
        strict=True,
    ):
        if kind < SLIDE or not (is_limited or is_force_limited):
            limits.append(NO_LIMITS)
            continue
        if not (is_limited and act):
            lower, upper = -math.inf, math.inf
        effort = max(map(abs, forces)) if is_force_limited else math.inf
        limits.append(JointLimits(lower, upper, effort=effort))
    return limits


def _add_joint(
    model: ModelDescription, joint: _Joint, parent: str, child: str, X_PB: FloatArray | None
) -> None:
    """Add a joint between the link in front of it, on which it is at X_PB, and the link behind it."""
    X_PF = _IDENTITY if X_PB is None else X_PB
    if any(joint.p) or (joint.kind != BALL and joint.position):
        X_PF = X_PF.copy()
        X_PF[:3, 3] += X_PF[:3, :3] @ joint.p
        if joint.kind == HINGE and joint.position:
            X_PF[:3, :3] = X_PF[:3, :3] @ rotation_about_axis(joint.axis, -joint.position)
        elif joint.kind == SLIDE:
            X_PF[:3, 3] -= X_PF[:3, :3] @ np.multiply(joint.axis, joint.position)
        # Read-only stands for checked; with large numbers it may have overflowed.
        X_PF.flags.writeable = not np.isfinite(X_PF).all()
    made = JointDescription(joint.name, _KINDS[joint.kind], parent, child, X_PF, 0)
    if any(joint.p):
        made.X_BM = np.eye(4)
        made.X_BM[:3, 3] = joint.p
        made.X_BM.flags.writeable = False
    made.axis, made.limits, made.damping = joint.axis, joint.limits, (joint.damping,)
    model.joints.append(made)
    if joint.kind == BALL:
        _refuse_spring(joint, model)
        return
    made.friction = joint.friction
    if joint.position:
        made.positions = (joint.position,)
    if joint.stiffness:
        model.springs.append(SpringDescription(joint.name, joint.stiffness, joint.reference))


def _refuse_spring(joint: _Joint, model: ModelDescription) -> None:
    if joint.stiffness:
        kind = "free" if joint.kind == FREE else "ball"
        model.report.warn(f"{kind} joint {quote(joint.name)}: its spring has no counterpart, and is left out")
