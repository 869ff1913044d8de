"""Finds numbers in a model of MuJoCo that a tree cannot have. MuJoCo itself checks few of them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from mbt._core.door.compiled_model import join_numbers
from mbt.errors import ArgumentValueError, quote
from mbt.math.arrays import FloatArray
from mbt.parsing.mujoco_names import ModelNames

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

__all__ = ["check_numbers"]

_OF_BODIES = (
    "body_pos",
    "body_quat",
    "body_mass",
    "body_ipos",
    "body_iquat",
    "body_inertia",
    "body_gravcomp",
)
_OF_JOINTS = ("jnt_pos", "jnt_axis", "jnt_stiffness", "jnt_range", "jnt_actfrcrange")
_OF_VELOCITIES = ("dof_damping", "dof_armature", "dof_frictionloss")
_OF_ACTUATORS = ("actuator_forcerange", "actuator_gainprm")
_OF_OUTPUTS = ("actuator_gear",)
_OF_CONTROLS = ("actuator_ctrlrange",)
_OTHERS = ("qpos0", "qpos_spring", "geom_pos", "geom_quat", "geom_size", "geom_rgba", "mat_rgba")
_MORE = ("site_pos", "site_quat", "eq_data", "key_qpos", "actuator_armature", "actuator_damping")
_DRIVES = (*_OF_ACTUATORS, *_OF_OUTPUTS, *_OF_CONTROLS)
_ALL = (*_OF_BODIES, *_OF_JOINTS, *_OF_VELOCITIES, *_DRIVES, *_OTHERS, *_MORE)
_NOT_NEGATIVE = (
    "jnt_stiffness",
    "dof_armature",
    "dof_frictionloss",
    "geom_size",
    "actuator_armature",
    "actuator_damping",
)
# Arrays of float32.
_COLORS = ("geom_rgba", "mat_rgba")
_MOVES = 2
# Products of three of these numbers do not overflow a float.
_LARGEST = 1e100


def check_numbers(m: mujoco.MjModel, names: ModelNames) -> None:
    """Check that numbers are finite, not absurdly large, and not negative where they must not be.

    Raises
    ------
    ArgumentValueError
        When they are not; the message names the body, joint or actuator.
    """
    if not _are_sound(m):
        _check_each(m, names)
    # mbt stores inertia per unit mass.
    masses = m.body_mass.tolist()
    too_light = [
        mass > 0.0 and max(moments) > _LARGEST * mass
        for mass, moments in zip(masses, m.body_inertia.tolist(), strict=True)
    ]
    if True in too_light:
        raise _error("body", names.bodies, "body_mass", too_light, "is too small for its inertia")
    axes = zip(m.jnt_type.tolist(), m.jnt_axis.tolist(), strict=True)
    has_no_axis = [kind >= _MOVES and not any(axis) for kind, axis in axes]
    if True in has_no_axis:
        raise _error("joint", names.joints, "jnt_axis", has_no_axis, "is zero")
    if not all(map(isfinite, m.opt.gravity.tolist())):
        raise ArgumentValueError("model: its gravity is not finite")


def _are_sound(m: mujoco.MjModel) -> bool:
    """Check all numbers at once: nearly all models pass."""
    values = {attribute: getattr(m, attribute, None) for attribute in _ALL}  # Some only in newer versions.
    # Those that must not be negative are checked apart.
    positive = [values.pop(attribute) for attribute in _NOT_NEGATIVE]
    colors = [values.pop(attribute) for attribute in _COLORS]
    parts = [[array for array in group if array is not None] for group in (values.values(), positive, colors)]
    signed, not_negative, floats = map(join_numbers, parts)
    # Written so that NaN is refused too.
    return _is_within(signed, -_LARGEST) and _is_within(not_negative, 0.0) and _is_within(floats, -_LARGEST)


def _is_within(numbers: FloatArray, least: float) -> bool:
    return not numbers.size or bool(numbers.max() <= _LARGEST and numbers.min() >= least)


def _check_each(m: mujoco.MjModel, names: ModelNames) -> None:
    joints_of_velocities = [names.joints[i] for i in m.dof_jntid]
    owners: tuple[tuple[str, list[str], tuple[str, ...]], ...] = (
        ("body", names.bodies, _OF_BODIES),
        ("joint", names.joints, _OF_JOINTS),
        ("joint", joints_of_velocities, _OF_VELOCITIES),
        ("actuator", names.actuators, _OF_ACTUATORS),
        ("actuator", _repeat(names.actuators, getattr(m, "actuator_outnum", None)), _OF_OUTPUTS),
        ("actuator", _repeat(names.actuators, getattr(m, "actuator_ctrlnum", None)), _OF_CONTROLS),
        ("", [], (*_OTHERS, *_MORE)),
    )
    for kind, known, attributes in owners:
        for attribute in attributes:
            values = getattr(m, attribute, None)  # Some exist in newer versions only.
            if values is None or not values.size:
                continue
            sizes = np.abs(values.astype(float))
            # Written so that NaN is refused too.
            if not sizes.max() <= _LARGEST:
                is_bad = ~(sizes <= _LARGEST)
                raise _error(kind, known, attribute, is_bad, f"is not finite, or beyond {_LARGEST:g}")
            if attribute in _NOT_NEGATIVE and values.min() < 0.0:
                raise _error(kind, known, attribute, values < 0.0, "is negative")


def _repeat(names: list[str], counts: npt.NDArray[np.integer] | None) -> list[str]:
    """Return names repeated for each control or output of an actuator: one each in older versions."""
    return names if counts is None else np.repeat(np.array(names, dtype=object), counts).tolist()


def _error(
    kind: str, known: list[str], attribute: str, is_bad: npt.ArrayLike, fault: str
) -> ArgumentValueError:
    i = int(np.argwhere(is_bad)[0][0])
    what = attribute.partition("_")[2] if kind else f"{attribute}[{i}]"
    owner = f"{kind} {quote(known[i])}: {what}" if kind else what
    return ArgumentValueError(f"model: {owner} {fault}")
