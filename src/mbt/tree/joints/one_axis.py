"""What the types that move about or along one axis have in common."""

from __future__ import annotations

import math

from mbt.math.arrays import FloatArray
from mbt.math.poses import as_unit_vector, normalize_axis
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.joints.one_dof import OneDofJoint
from mbt.tree.mobilizer import Mobilizer

__all__ = ["AxisJoint", "AxisMobilizer", "OneAxisJoint"]


class AxisMobilizer(Mobilizer):
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


class AxisJoint(Joint):
    """A joint with one axis, whose components are the same in F and in M."""

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, axis: object, damping: object
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, damping)
        self._axis = normalize_axis(axis, f"{self._label}: axis")


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
