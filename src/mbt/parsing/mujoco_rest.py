"""Named positions and sites of a model of MuJoCo, and a report of content without a counterpart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import quote
from mbt.parsing.description import FrameDescription, ModelDescription
from mbt.parsing.mujoco_names import FREE, ModelNames
from mbt.parsing.options import ReadOptions
from mbt.parsing.pose_stacks import stack_poses
from mbt.parsing.report import ParseReport

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

__all__ = ["add_frames", "calc_gravity", "can_touch", "report_losses", "split_positions"]

_NO_CONSTRAINT, _NO_FRICTION, _NO_LIMITS, _NO_CONTACTS = 1 << 0, 1 << 2, 1 << 3, 1 << 4
_NO_GRAVITY = 1 << 7
# A plane and a height field.
_FLOORS = (0, 1)
# condim of contact with sliding friction, but without torsional and rolling friction.
_SLIDING = 3
_MAKE_IT_FALL = {"servos", "actuators", "tendons", "equalities"}
_SIZES = {FREE: 7, 1: 4}

# Arrays whose nonzero numbers change the motion, with the text of the warning.
_FORCES = {
    "nflex": "flexible bodies",
    "nplugin": "plugins",
    "jnt_stiffnesspoly": "springs whose stiffness is not constant: the constant part is kept",
    "dof_dampingpoly": "dampers that are not linear: the linear part is kept",
    "actuator_dampingpoly": "dampers that are not linear: the linear part is kept",
    "jnt_springyield": "springs that yield",
}


def add_frames(m: mujoco.MjModel, names: ModelNames, links: list[str], model: ModelDescription) -> None:
    """Add a frame for each site that has a name."""
    if not m.nsite:
        return
    X_BF = stack_poses(m.site_pos, m.site_quat)
    X_BF.flags.writeable = False  # Checked: all numbers of the model are.
    for i, (name, body) in enumerate(zip(names.of(m.name_siteadr), m.site_bodyid.tolist(), strict=True)):
        if name:
            model.frames.append(FrameDescription(name, links[body], X_BF[i], 0))
        else:
            model.report.ignore("site without a name")


def split_positions(m: mujoco.MjModel, names: ModelNames) -> dict[str, dict[str, float | list[float]]]:
    """Return the positions of each keyframe by the names of joints."""
    keys = names.of(m.name_keyadr)
    return {
        key or f"key_{i}": {
            joint: _to_positions(kind, qpos[start : start + _SIZES.get(kind, 1)])
            for joint, kind, start in zip(
                names.joints, m.jnt_type.tolist(), m.jnt_qposadr.tolist(), strict=True
            )
        }
        for i, (key, qpos) in enumerate(zip(keys, m.key_qpos.tolist(), strict=True))
    }


def _to_positions(kind: int, qpos: list[float]) -> float | list[float]:
    if kind == FREE:
        return qpos[3:] + qpos[:3]
    return qpos[0] if len(qpos) == 1 else qpos


def calc_gravity(m: mujoco.MjModel) -> tuple[float, float, float]:
    """Return the gravity in World."""
    if m.opt.disableflags & _NO_GRAVITY:
        return 0.0, 0.0, 0.0
    x, y, z = m.opt.gravity.tolist()
    return x, y, z


def report_losses(
    m: mujoco.MjModel, names: ModelNames, model: ModelDescription, options: ReadOptions
) -> None:
    """Report content without a counterpart."""
    report = model.report
    for attribute, what in _FORCES.items():
        values = getattr(m, attribute, 0)
        if values if isinstance(values, int) else values.any():
            count = (
                int(np.count_nonzero(np.any(values, axis=-1))) if np.ndim(values) > 1 else np.sum(values != 0)
            )
            count = values if isinstance(values, int) else count
            report.warn(f"{what} ({count}) have no counterpart")
    if m.opt.density or m.opt.viscosity:
        report.warn("the medium (density or viscosity) has no counterpart: it exerts no forces")
    fractions = [
        name for name, c in zip(names.bodies, m.body_gravcomp.tolist(), strict=True) if not 0.0 <= c <= 1.0
    ]
    if fractions:
        report.warn(f"gravcomp is negative or more than 1, and left out: {_list(fractions)}")
    driven = np.unique(m.dof_jntid[m.dof_damping < 0.0]).tolist()
    if driven:
        report.warn(f"damping is negative, and left out: {_list([names.joints[i] for i in driven])}")
    _count_inactive(m, names, report, options)
    if m.nmocap:
        report.ignored["mocap"] = m.nmocap
    _count_contact_losses(m, report, options)
    is_ball = m.jnt_type == 1
    if np.any(m.jnt_limited[is_ball]):
        report.ignored["ball joint@range"] = int(np.count_nonzero(m.jnt_limited[is_ball]))
    if m.nskin:
        report.ignored["skin"] = m.nskin


def _count_contact_losses(m: mujoco.MjModel, report: ParseReport, options: ReadOptions) -> None:
    """Count the properties of geometries and pairs that contact of shapes does not have."""
    lost = {"geom@margin": m.geom_margin < 0.0}
    if options.contacts:
        lost |= {
            "contact/pair@condim": m.pair_dim > _SLIDING,
            "contact/pair@friction": m.pair_friction[:, 0] != m.pair_friction[:, 1],
            "contact/pair@margin": m.pair_margin < 0.0,
            "contact/pair@solreffriction": m.pair_solreffriction.any(axis=1),
        }
    elif m.npair:
        report.ignored["contact/pair"] = m.npair
    report.ignored |= {path: int(np.count_nonzero(are)) for path, are in lost.items() if are.any()}


def can_touch(m: mujoco.MjModel) -> bool:
    """Whether the model has contact at all."""
    return not m.opt.disableflags & (_NO_CONTACTS | _NO_CONSTRAINT)


def _count_inactive(m: mujoco.MjModel, names: ModelNames, report: ParseReport, options: ReadOptions) -> None:
    """Count what would move or hold bodies in MuJoCo but does not here; warn where the model would fall."""
    disabled = m.opt.disableflags
    report.leave_inactive("tendons", m.ntendon)
    has_friction = np.any(m.dof_frictionloss) and not disabled & (_NO_FRICTION | _NO_CONSTRAINT)
    if has_friction and not options.joint_friction:
        report.leave_inactive("frictions", len(np.unique(m.dof_jntid[m.dof_frictionloss != 0.0])))
    if not disabled & (_NO_LIMITS | _NO_CONSTRAINT):
        report.leave_inactive("limits", int(np.count_nonzero(m.jnt_limited)))
    if can_touch(m) and not options.contacts:
        _count_contacts(m, names, report)
    if report.floors or report.inactive.keys() & _MAKE_IT_FALL:
        report.warn_of_inactive()


def _count_contacts(m: mujoco.MjModel, names: ModelNames, report: ParseReport) -> None:
    """Count geometries that may touch those of other bodies, and list those on which a model stands."""
    touched_by, touches = m.geom_contype, m.geom_conaffinity
    bodies = m.body_weldid[m.geom_bodyid]
    is_moving = bodies != 0

    def may_touch(others: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        kinds, affinities = (np.bitwise_or.reduce(bits[others], initial=0) for bits in (touched_by, touches))
        found: npt.NDArray[np.bool_] = (touched_by & affinities | touches & kinds) != 0
        return found

    # Listed pairs touch regardless of their bits.
    is_listed = np.zeros(m.ngeom, dtype=np.bool_)
    is_listed[m.pair_geom1] = is_listed[m.pair_geom2] = True
    is_fixed = ~is_moving & (may_touch(is_moving) | is_listed)
    is_counted = is_fixed | is_moving & (may_touch(is_moving | is_fixed) | is_listed)
    if len(np.unique(bodies[is_counted])) < 2:
        return
    report.leave_inactive("contacts", int(np.count_nonzero(is_counted)))
    are_floors = is_fixed & np.isin(m.geom_type, _FLOORS)
    report.floors += names.of(m.name_geomadr[are_floors])


def _list(names: list[str]) -> str:
    return ", ".join(quote(name, limit=30) for name in names[:5]) + (" ..." if len(names) > 5 else "")
