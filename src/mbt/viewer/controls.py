"""The numbers that move joints, one for each slider."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.poses import matrix_to_quaternion, matrix_to_rpy, quaternion_to_matrix, rpy_to_matrix
from mbt.motion.units import position_units

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Control", "make_controls"]

# Limits beyond the first count as none [rad, m]; with limits closer than the second a joint cannot move.
_FARTHEST, _CLOSEST = 1e9, 1e-9

_QUATERNION = ("qw", "qx", "qy", "qz")


@dataclass(frozen=True, eq=False)
class Control:
    """A number that moves a joint, between limits.

    Attributes
    ----------
    joint : Joint
        The joint that it moves.
    label : str
        The name of the joint, followed by that of the coordinate if there are several.
    unit : str
        "rad", "m", or empty.
    lower, upper : float
        Limits of the slider: those of the joint, or else a turn or the size of the model.
    get : callable
        ``get(q) -> float``.
    put : callable
        ``put(q, value)`` changes q, shape (num_positions,).
    """

    joint: Joint
    label: str
    unit: str
    lower: float
    upper: float
    get: Callable[[FloatArray], float]
    put: Callable[[FloatArray, float], None]

    @property
    def digits(self) -> int:
        """Decimals of the slider: its step is a thousandth of its range or less."""
        return 3 - math.floor(math.log10(self.upper - self.lower) + 1e-9)

    def round(self, value: float) -> float:
        """Return a value rounded to a step of the slider, between the limits."""
        step = 10.0**-self.digits
        low, high = math.ceil(self.lower / step - 1e-6), math.floor(self.upper / step + 1e-6)
        near = min(max(value, self.lower), self.upper)
        return round(min(max(round(near / step), low), high) * step, max(self.digits, 0))


def make_controls(tree: MultibodyTree, reach: float) -> tuple[Control, ...]:
    """Return the controls of all joints that move; quaternions are controlled by roll, pitch and yaw.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    reach : float
        Range of lengths without limits, to either side [m].
    """
    units = position_units(tree)
    joints = sorted((joint for joint in tree.joints if joint.num_positions), key=lambda j: j.position_start)
    return tuple(control for joint in joints for control in _controls_of(joint, units, reach))


def _controls_of(joint: Joint, units: tuple[str, ...], reach: float) -> Iterator[Control]:
    start, suffixes = joint.position_start, joint.position_suffixes
    first = 0
    if suffixes[:4] == _QUATERNION:
        first = 4
        for axis, name in enumerate(("roll", "pitch", "yaw")):
            limit = math.pi / 2 if name == "pitch" else math.pi
            yield Control(
                joint, f"{joint.name} {name}", "rad", -limit, limit, *_angle_of_quaternion(start, axis)
            )
    limits = zip(joint.position_lower_limits, joint.position_upper_limits, strict=True)
    for i, (lower, upper) in list(enumerate(limits))[first:]:
        unit = units[start + i]
        label = joint.name if len(suffixes) == 1 else f"{joint.name} {suffixes[i]}"
        low, high = _finite_limits(float(lower), float(upper), math.pi if unit == "rad" else reach)
        yield Control(joint, label, unit, low, high, *_entry(start + i))


def _finite_limits(lower: float, upper: float, reach: float) -> tuple[float, float]:
    """Return finite limits for a slider."""
    has_lower, has_upper = abs(lower) <= _FARTHEST, abs(upper) <= _FARTHEST
    if not has_lower and not has_upper:
        return -reach, reach
    if not has_lower:
        lower = upper - 2 * reach
    elif not has_upper:
        upper = lower + 2 * reach
    # A joint that cannot move gets some range nevertheless, to show its motion.
    has_room = upper - lower > _CLOSEST * max(abs(lower), abs(upper), 1.0)
    return (lower, upper) if has_room else (lower - reach, lower + reach)


def _entry(i: int) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray, float], None]]:
    def get(q: FloatArray) -> float:
        return float(q[i])

    def put(q: FloatArray, value: float) -> None:
        q[i] = value

    return get, put


def _angle_of_quaternion(
    start: int, axis: int
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray, float], None]]:
    quaternion = slice(start, start + 4)

    def get(q: FloatArray) -> float:
        return float(matrix_to_rpy(quaternion_to_matrix(q[quaternion]))[axis])

    def put(q: FloatArray, value: float) -> None:
        rpy = np.array(matrix_to_rpy(quaternion_to_matrix(q[quaternion])))
        rpy[axis] = value
        q[quaternion] = matrix_to_quaternion(rpy_to_matrix(rpy))

    return get, put
