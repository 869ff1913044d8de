"""Limits of joints: implicit steps and inverse kinematics keep them, functions of one state ignore them."""

from __future__ import annotations

import math
import operator
from functools import cache, lru_cache
from struct import Struct, unpack
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.math.arrays import (
    FloatArray,
    as_float,
    as_own_array,
    check_no_booleans,
    is_list_of_floats,
    shared_array,
    shared_number,
)
from mbt.tree.coordinates import CoordinateOwner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from mbt.tree.element import MultibodyElement

__all__ = ["JointLimits", "Limits", "as_effort_limit", "frozen", "no_limits", "shared_limits"]

# Lower and upper limits.
Limits = tuple[FloatArray, FloatArray]


class JointLimits(CoordinateOwner):
    """The part of `Joint` for limits of positions, velocities, accelerations and efforts."""

    _position_limits: Limits
    _velocity_limits: Limits
    _acceleration_limits: Limits
    _effort_limit: float

    @property
    def position_lower_limits(self) -> FloatArray:
        """Lower limits of the positions, shape (num_positions,), read-only: -inf where there is none."""
        return self._position_limits[0]

    @property
    def position_upper_limits(self) -> FloatArray:
        """Upper limits of the positions, shape (num_positions,), read-only: inf where there is none."""
        return self._position_limits[1]

    @property
    def velocity_lower_limits(self) -> FloatArray:
        """Lower limits of the velocities, shape (num_velocities,), read-only: -inf where there is none."""
        return self._velocity_limits[0]

    @property
    def velocity_upper_limits(self) -> FloatArray:
        """Upper limits of the velocities, shape (num_velocities,), read-only: inf where there is none."""
        return self._velocity_limits[1]

    @property
    def acceleration_lower_limits(self) -> FloatArray:
        """Lower limits of the accelerations, shape (num_velocities,), read-only: -inf where there is none."""
        return self._acceleration_limits[0]

    @property
    def acceleration_upper_limits(self) -> FloatArray:
        """Upper limits of the accelerations, shape (num_velocities,), read-only: inf where there is none."""
        return self._acceleration_limits[1]

    @property
    def effort_limit(self) -> float:
        """Largest magnitude of the force along the one velocity [N m, N]; inf when there is no limit.

        It is the limit of the joint, as a file states it, whether the joint has an actuator or not. An
        actuator has a limit of its own, `JointActuator.effort_limit`.
        """
        return self._effort_limit

    def set_position_limits(self, lower_limits: object, upper_limits: object) -> Self:
        """Set the limits of the positions, shape (num_positions,) each, before ``finalize()``.

        Raises
        ------
        ArgumentValueError
            Unless ``lower_limits <= upper_limits``; NaN is not a limit.
        AlreadyFinalizedError
            When the tree is finalized.
        """
        self._position_limits = self._checked_limits(
            "position", self.num_positions, lower_limits, upper_limits
        )
        return self

    def set_velocity_limits(self, lower_limits: object, upper_limits: object) -> Self:
        """Set the limits of the velocities, shape (num_velocities,) each, like `set_position_limits`."""
        self._velocity_limits = self._checked_limits(
            "velocity", self.num_velocities, lower_limits, upper_limits
        )
        return self

    def set_acceleration_limits(self, lower_limits: object, upper_limits: object) -> Self:
        """Set the limits of the accelerations, shape (num_velocities,) each, like `set_position_limits`."""
        self._acceleration_limits = self._checked_limits(
            "acceleration", self.num_velocities, lower_limits, upper_limits
        )
        return self

    def set_effort_limit(self, effort_limit: float) -> Self:
        """Set the largest magnitude of the force along the velocity [N m, N], before ``finalize()``.

        Raises
        ------
        ArgumentValueError
            When the limit is negative or NaN, or the joint has not exactly one degree of freedom.
        AlreadyFinalizedError
            When the tree is finalized.
        """
        self._check_not_finalized("the effort limit", "Set it before, or on tree.edit().")
        if self.num_velocities != 1:
            raise ArgumentValueError(
                f"{self._label}: an effort limit is for joints with one degree of freedom, got one with "
                f"{self.num_velocities}"
            )
        self._effort_limit = as_effort_limit(effort_limit, self)
        return self

    def _checked_limits(
        self, what: str, size: int, lower: object, upper: object
    ) -> tuple[FloatArray, FloatArray]:
        self._check_not_finalized(f"the {what} limits", "Set them before, or on tree.edit().")
        if (
            is_list_of_floats(lower, (size,))
            and is_list_of_floats(upper, (size,))
            and _leave_room(lower, upper)
        ):
            return shared_array(lower), shared_array(upper)
        label = self._label
        names = f"{label}: lower {what} limits", f"{label}: upper {what} limits"
        for limits, name in zip((lower, upper), names, strict=True):
            check_no_booleans(limits, name)
        lower_limits = as_own_array(lower, names[0], (size,))
        upper_limits = as_own_array(upper, names[1], (size,))
        if not _leave_room(lower_limits.tolist(), upper_limits.tolist()):
            raise ArgumentValueError(
                f"{label}: {what} limits: expected lower <= upper, not both inf or -inf, "
                f"got lower {lower_limits.tolist()} and upper {upper_limits.tolist()}"
            )
        return frozen(lower_limits), frozen(upper_limits)


def _leave_room(lower: Sequence[float], upper: Sequence[float]) -> bool:
    """Return whether some number is within the limits. Not `lower > upper`: NaN must fail too."""
    return (
        all(map(operator.le, lower, upper))
        and max(lower, default=0.0) < math.inf
        and min(upper, default=0.0) > -math.inf
    )


def as_effort_limit(value: object, element: MultibodyElement) -> float:
    """Return an effort limit [N m, N], finite or not, that was given for an element.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When it is not a number, negative, or NaN.
    """
    limit = value if type(value) is float else as_float(value, f"{element._label}: effort_limit")
    # Not `< 0`: NaN must fail too.
    if not limit >= 0.0:
        raise ArgumentValueError(f"{element._label}: effort_limit: expected a number >= 0, got {limit}")
    return limit


def frozen(array: FloatArray) -> FloatArray:
    """Make an array read-only, and return it."""
    array.setflags(write=False)  # Faster than an assignment to its flag.
    return array


def shared_limits(lower: float, upper: float) -> tuple[FloatArray, FloatArray]:
    """Return limits of one coordinate; equal limits share one object, for robots have many alike."""
    return _shared_limits(_pack_two(lower, upper))


_pack_two = Struct("2d").pack


# Keyed by bytes, which distinguish -0.0 from 0.0.
@lru_cache(maxsize=1024)
def _shared_limits(memory: bytes) -> tuple[FloatArray, FloatArray]:
    lower, upper = unpack("2d", memory)
    return shared_number(lower), shared_number(upper)


@cache
def no_limits(size: int) -> Limits:
    """Return infinite limits for `size` coordinates: the same arrays for all."""
    return frozen(np.full(size, -np.inf)), frozen(np.full(size, np.inf))
