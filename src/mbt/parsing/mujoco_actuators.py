"""Turns actuators of MuJoCo into motors and servos on joints, which also carry the armature of the joints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import quote
from mbt.parsing.description import ActuatorDescription, ModelDescription
from mbt.parsing.mujoco_names import FREE, ModelNames, first_of_each_actuator, unused
from mbt.parsing.urdf_transmissions import add_missing_actuators

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.parsing.report import ParseReport

__all__ = ["Servo", "add_actuators", "describe_armatures", "find_motors", "find_servos"]

_SLIDE = 2
_JOINT_IN_PARENT = 1
_FIXED, _NO_BIAS, _NO_DYNAMICS = 0, 0, 0
_AFFINE, _FILTERED = 1, 3  # Dynamics types up to the latter: none, an integrator, filters.
_NO_ACTUATION = 1 << 11
_LAST_GROUP = 30
_SHOWN = 5


def find_motors(m: mujoco.MjModel) -> list[int]:
    """Return the indices of the actuators that act on a joint with one degree of freedom."""
    kinds = m.jnt_type.tolist()
    return [
        i
        for i, (transmission, (joint, _)) in enumerate(
            zip(m.actuator_trntype.tolist(), m.actuator_trnid.tolist(), strict=True)
        )
        if transmission <= _JOINT_IN_PARENT and kinds[joint] >= _SLIDE
    ]


class Servo(NamedTuple):
    """The law of an actuator with fixed gain and affine bias: ``gain u + bias - k length - d velocity``.

    `u` is its control, or its activation if it has one: `activation` is the index of that, or -1. Length and
    velocity are those of the joint times the gear; the force on the joint is that of the actuator times the
    gear, too.
    """

    gain: float
    bias: float
    k: float
    d: float
    gear: float
    activation: int

    @property
    def stiffness(self) -> float:
        """Stiffness on the joint."""
        return self.k * self.gear**2

    @property
    def damping(self) -> float:
        """Damping on the joint."""
        return self.d * self.gear**2


def find_servos(m: mujoco.MjModel) -> dict[int, Servo]:
    """Return the actuators on a joint that pull it to a position or a velocity."""
    biases, gears = m.actuator_biasprm[:, :3].tolist(), _find_gears(m).tolist()
    have_law = (m.actuator_gaintype == _FIXED) & (m.actuator_biastype == _AFFINE) & (m.actuator_plugin < 0)
    have_law &= (m.actuator_dyntype <= _FILTERED) & ~_are_disabled(m)
    servos = {}
    for i in find_motors(m):
        bias, k, d = biases[i]
        if have_law[i] and gears[i] != 0.0 and k <= 0.0 and d <= 0.0 and k + d < 0.0:
            first = int(m.actuator_actadr[i])
            # A second-order filter would have two activations: the last one drives.
            activation = first + int(m.actuator_actnum[i]) - 1 if first >= 0 else -1
            servos[i] = Servo(float(m.actuator_gainprm[i, 0]), bias, -k, -d, gears[i], activation)
    return servos


def add_actuators(m: mujoco.MjModel, names: ModelNames, model: ModelDescription, *, wants_all: bool) -> None:
    """Add a motor or servo for each actuator on a joint, in order, then passive actuators for armatures.

    mbt has rotor inertia on actuators, MuJoCo has armature on joints: the first motor of a joint carries its
    armature. A joint without a motor gets a passive actuator for it, without an effort limit; a ball or free
    joint gets one for each degree of freedom.
    """
    motors, limits, rotors = find_motors(m), _find_effort_limits(m), getattr(m, "actuator_armature", None)
    joints, gears = m.actuator_trnid[:, 0].tolist(), _find_gears(m).tolist()
    # Rotors exist in newer versions only.
    rotors, gears = ([0.0] * m.nu, [1.0] * m.nu) if rotors is None else (rotors.tolist(), gears)
    servos = find_servos(m)
    for i in motors:
        joint = names.joints[joints[i]]
        actuator = ActuatorDescription(names.actuators[i], joint, limits[i], rotors[i], gears[i])
        if i in servos:
            actuator = actuator._replace(stiffness=servos[i].stiffness, damping=servos[i].damping)
        model.actuators.append(actuator)
    _report_what_is_missing(m, names, [i for i in motors if i not in servos], model)
    if wants_all:
        add_missing_actuators(model)
    _add_armatures(m, names, model)


def _add_armatures(m: mujoco.MjModel, names: ModelNames, model: ModelDescription) -> None:
    starts, armatures = m.jnt_dofadr.tolist(), m.dof_armature.tolist()
    first_motor = {motor.joint: i for i, motor in reversed(list(enumerate(model.actuators)))}
    taken = {motor.name for motor in model.actuators}
    for joint, kind, start in zip(names.joints, m.jnt_type.tolist(), starts, strict=True):
        if kind < _SLIDE:
            moved = armatures[start : start + 3] if kind == FREE else []
            turned = armatures[start + len(moved) : start + len(moved) + 3]
            model.actuators += describe_armatures(joint, turned, moved, taken, model.report)
            continue
        armature = armatures[start]
        if armature == 0.0:
            continue
        if joint in first_motor:
            i = first_motor[joint]
            motor = model.actuators[i]
            armature += motor.rotor_inertia * motor.gear_ratio**2
            model.actuators[i] = motor._replace(rotor_inertia=armature, gear_ratio=1.0)
        else:
            name = unused(f"{joint}_armature", taken)
            model.actuators.append(ActuatorDescription(name, joint, math.inf, armature))


def describe_armatures(
    joint: str, turned: list[float], moved: list[float], taken: set[str], report: ParseReport
) -> list[ActuatorDescription]:
    """Return passive actuators that carry the armature of a joint with several degrees of freedom.

    Parameters
    ----------
    joint : str
        Name of the joint.
    turned, moved : list of float
        Armature for its angular velocities in the child frame, and for its translational velocities in the
        parent frame.
    taken : set of str
        Names of actuators; those of the new ones are added.
    report : ParseReport
        The report, which lists omissions.
    """
    if len(set(turned)) > 1:
        # In the parent frame, where the tree has angular velocities, it would change with the orientation.
        report.warn(
            f"joint {quote(joint)} has an armature that is not the same about all axes: "
            "that of its rotation is left out"
        )
        turned = [0.0] * len(turned)
    suffixes = ("wx", "wy", "wz", "vx", "vy", "vz")
    return [
        ActuatorDescription(unused(f"{joint}_armature_{suffix}", taken), joint, math.inf, armature, dof=i)
        for i, (suffix, armature) in enumerate(zip(suffixes, [*turned, *moved], strict=False))
        if armature != 0.0
    ]


def _find_effort_limits(m: mujoco.MjModel) -> list[float]:
    """Return the largest force of each motor on its joint; meaningless for other actuators.

    It is the limit of the actuator's force, or of its control, times its gear, or the limit of the joint.
    """
    controls = first_of_each_actuator(m, "ctrl")
    if not len(controls) or not m.njnt:
        return [math.inf] * len(controls)

    def largest(ranges: FloatArray, are_limits: FloatArray) -> FloatArray:
        bounds: FloatArray = np.abs(ranges).max(axis=1)
        return np.where(are_limits, bounds, math.inf)

    force = largest(m.actuator_forcerange, m.actuator_forcelimited)
    ranges, are_limited = m.actuator_ctrlrange[controls], m.actuator_ctrllimited[controls].astype(bool)
    of_control = largest(ranges * m.actuator_gainprm[:, :1], are_limited & _are_direct(m))
    force = np.minimum(force, of_control)
    limited = force < math.inf
    force[limited] *= np.abs(_find_gears(m)[limited])
    of_joints = largest(m.jnt_actfrcrange, m.jnt_actfrclimited)
    limits: list[float] = np.minimum(
        force, of_joints[np.clip(m.actuator_trnid[:, 0], 0, m.njnt - 1)]
    ).tolist()
    return limits


def _find_gears(m: mujoco.MjModel) -> FloatArray:
    """Return the first gear of each actuator, the one that counts on a hinge or slide."""
    gears: FloatArray = m.actuator_gear[first_of_each_actuator(m, "out"), 0]
    return gears


def _are_direct(m: mujoco.MjModel) -> npt.NDArray[np.bool_]:
    """Return, for each actuator, whether its force is its control times a constant."""
    has_gain = (m.actuator_gaintype == _FIXED) & (m.actuator_biastype == _NO_BIAS)
    is_direct: npt.NDArray[np.bool_] = has_gain & (m.actuator_dyntype == _NO_DYNAMICS)
    return is_direct


def _are_disabled(m: mujoco.MjModel) -> npt.NDArray[np.bool_]:
    """Return, for each actuator, whether it is disabled, with all others or with its group."""
    groups = m.actuator_group
    bits = (int(m.opt.disableactuator) >> groups.clip(0, _LAST_GROUP)) & 1
    of_groups = (groups >= 0) & (groups <= _LAST_GROUP) & (bits == 1)
    are_disabled: npt.NDArray[np.bool_] = of_groups | bool(m.opt.disableflags & _NO_ACTUATION)
    return are_disabled


def _report_what_is_missing(
    m: mujoco.MjModel, names: ModelNames, motors: list[int], model: ModelDescription
) -> None:
    if m.opt.disableflags & _NO_ACTUATION:
        return
    model.report.leave_inactive("servos", int(np.count_nonzero(~(_are_direct(m) | _are_disabled(m))[motors])))
    others = sorted(set(range(len(names.actuators))) - set(find_motors(m)))
    model.report.leave_inactive("actuators", len(others))
    if others:
        shown = ", ".join(quote(names.actuators[i], limit=30) for i in others[:_SHOWN])
        shown += " ..." if len(others) > _SHOWN else ""
        are = "1 actuator is" if len(others) == 1 else f"{len(others)} actuators are"
        model.report.warn(f"{are} not on a hinge or slide, and left out: {shown}")
