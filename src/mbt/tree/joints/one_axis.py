"""What the types with one degree of freedom about or along one axis have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbt.math.arrays import FloatArray, as_float
from mbt.math.poses import as_unit_vector, normalize_axis
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OneAxisJoint", "OneAxisMobilizer"]


class OneAxisMobilizer(Mobilizer):
    """A mobilizer with one axis, whose components are the same in F and in M."""

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
        # M moves in F by q along the axis: F moves in M by q along the opposite one.
        return -self._axis if self._is_reversed else self._axis.copy()


class OneAxisJoint(Joint):
    """A joint with one axis, whose components are the same in F and in M."""

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: object,
        pos_lower_limit: float = -math.inf,
        pos_upper_limit: float = math.inf,
        damping: float = 0.0,
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping])
        self._axis = normalize_axis(axis, f"{self._label}: axis")
        self._axis.flags.writeable = False
        self.set_position_limits([pos_lower_limit], [pos_upper_limit])

    @property
    def position_lower_limit(self) -> float:
        """Lower limit of the position; -inf when there is none."""
        return float(self._position_limits[0][0])

    @property
    def position_upper_limit(self) -> float:
        """Upper limit of the position; inf when there is none."""
        return float(self._position_limits[1][0])

    @property
    def velocity_lower_limit(self) -> float:
        """Lower limit of the velocity; -inf when there is none."""
        return float(self._velocity_limits[0][0])

    @property
    def velocity_upper_limit(self) -> float:
        """Upper limit of the velocity; inf when there is none."""
        return float(self._velocity_limits[1][0])

    @property
    def default_damping(self) -> float:
        """Default damping [N m s/rad, N s/m]."""
        return float(self._damping[0])

    def set_default_damping(self, damping: float) -> Self:
        """Set the default damping [N m s/rad, N s/m], before ``finalize()``."""
        return self.set_default_damping_vector([damping])

    def _set_default_position(self, value: object, argument: str) -> Self:
        return self.set_default_positions([as_float(value, f"{self._label}: {argument}")])
