"""Common parts of the types that move about or along one axis."""

from __future__ import annotations

import math
from math import inf, isfinite
from typing import TYPE_CHECKING, ClassVar

from mbt.math.arrays import FloatArray, shared_number
from mbt.math.poses import as_unit_vector, normalize_axis, shared_direction
from mbt.tree.constants import Constant
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.joint_limits import shared_limits
from mbt.tree.joints.one_dof import OneDofJoint
from mbt.tree.mobilizer import Mobilizer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AxisJoint", "AxisMobilizer", "OneAxisJoint"]

# Position lower and upper, then the magnitudes of velocity, acceleration and effort; infinite where absent.
OneDofLimits = tuple[float, float, float, float, float]


class AxisMobilizer(Mobilizer):
    """A mobilizer with one axis, whose components are the same in F and in M."""

    _made_with: ClassVar[tuple[Constant, ...]] = (Constant("axis_F", "_axis", "axis"),)

    def __init__(
        self,
        inboard_frame_F: Frame,
        outboard_frame_M: Frame,
        axis_F: object,
        *,
        model_instance: int | None = None,
    ) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M, model_instance=model_instance)
        self._axis = as_unit_vector(axis_F, f"{type(self).__name__}: axis_F")

    def _constants(self) -> FloatArray:
        return self._axis

    def _inboard_to_outboard_axis(self) -> FloatArray:
        # M moves in F by q along the axis; F moves in M by q along the opposite axis.
        return -self._axis if self._is_reversed else self._axis.copy()


class AxisJoint(Joint):
    """A joint with one axis, whose components are the same in F and in M."""

    _made_with: ClassVar[tuple[Constant, ...]] = (Constant("axis", "_axis", "axis"),)

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, axis: object, damping: object
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, damping)
        self._axis = normalize_axis(axis, f"{self._label}: axis")

    def _make_mobilizer(self) -> Mobilizer:
        mobilizer = self._mobilizer_type._between_ends_of(self)
        assert isinstance(mobilizer, AxisMobilizer)
        mobilizer._axis = self._axis
        return mobilizer


class OneAxisJoint(AxisJoint, OneDofJoint):
    """A joint with one degree of freedom about or along its axis, and limits."""

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: object,
        pos_lower_limit: float = -math.inf,
        pos_upper_limit: float = math.inf,
        damping: float = 0.0,
        *,
        effort_limit: float = math.inf,
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, axis, [damping])
        self.set_position_limits([pos_lower_limit], [pos_upper_limit])
        self.set_effort_limit(effort_limit)

    @classmethod
    def _of_numbers(
        cls,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: list[float],
        damping: float,
        limits: OneDofLimits,
    ) -> Self:
        """Return a joint like that of the constructor and the setters of limits, in a fifth of the time."""
        lower, upper, velocity, acceleration, effort = limits
        is_usual = (
            frame_on_parent._body is not frame_on_child._body
            and any(axis)
            and isfinite(sum(axis))
            and lower <= upper
            and lower < inf
            and upper > -inf
            and velocity >= 0.0
            and acceleration >= 0.0
            and effort >= 0.0
            and 0.0 <= damping < inf
        )
        if not is_usual:
            joint = cls(
                name, frame_on_parent, frame_on_child, axis, lower, upper, damping, effort_limit=effort
            )
            joint.set_velocity_limits([-velocity], [velocity])
            return joint.set_acceleration_limits([-acceleration], [acceleration])
        joint = cls.__new__(cls)
        joint._begin(name, frame_on_child._model_instance)
        joint._hold(frame_on_parent, frame_on_child, shared_number(damping))
        joint._axis = shared_direction(*axis)
        joint._effort_limit = effort
        if lower > -inf or upper < inf:
            joint._position_limits = shared_limits(lower, upper)
        if velocity < inf:
            joint._velocity_limits = shared_limits(-velocity, velocity)
        if acceleration < inf:
            joint._acceleration_limits = shared_limits(-acceleration, acceleration)
        return joint
