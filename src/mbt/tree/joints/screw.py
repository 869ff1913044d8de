"""Screw: an angle about an axis, and a translation along it in proportion to the angle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.model.element_types import MobilizerType
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray, as_float
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.constants import Constant
from mbt.tree.context_access import numbers_of
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joints.one_axis import AxisJoint, AxisMobilizer
from mbt.tree.joints.one_dof import OneDofJoint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["ScrewJoint", "ScrewMobilizer"]

_PITCH = Constant("screw_pitch", "_screw_pitch", "number")


class _ScrewMotion(CoordinateOwner):
    """The coordinate of both classes below."""

    _screw_pitch: float

    @property
    def screw_pitch(self) -> float:
        """Translation of one revolution [m]."""
        return self._screw_pitch

    @number_of_each_sample
    def get_rotation(self, context: ContextCore) -> float:
        """Return the angle [rad]."""
        return self._get_position(context)

    def set_rotation(self, context: ContextCore, theta: object) -> Self:
        """Set the angle [rad]."""
        return self._set_position(context, theta, "theta")

    @number_of_each_sample
    def get_translation(self, context: ContextCore) -> float:
        """Return the translation along the axis [m]."""
        return self._get_position(context) * self._screw_pitch / math.tau

    def set_translation(self, context: ContextCore, translation: object) -> Self:
        """Set the translation along the axis [m], and the angle with it.

        Raises
        ------
        ArgumentValueError
            When the screw pitch is zero: no angle gives a translation.
        """
        return self._set_position(
            context, self._angle_of(translation, "translation", numbers_of(self, context)), "translation"
        )

    @number_of_each_sample
    def get_angular_velocity(self, context: ContextCore) -> float:
        """Return the rate of the angle [rad/s]."""
        return self._get_velocity(context)

    def set_angular_velocity(self, context: ContextCore, theta_dot: object) -> Self:
        """Set the rate of the angle [rad/s]."""
        return self._set_velocity(context, theta_dot, "theta_dot")

    @number_of_each_sample
    def get_translational_velocity(self, context: ContextCore) -> float:
        """Return the velocity along the axis [m/s]."""
        return self._get_velocity(context) * self._screw_pitch / math.tau

    def set_translational_velocity(self, context: ContextCore, translation_dot: object) -> Self:
        """Set the velocity along the axis [m/s], and the rate of the angle with it.

        Raises
        ------
        ArgumentValueError
            When the screw pitch is zero: no rate of the angle gives a translation.
        """
        return self._set_velocity(
            context,
            self._angle_of(translation_dot, "translation_dot", numbers_of(self, context)),
            "translation_dot",
        )

    def _angle_of(self, translation: object, argument: str, numbers: Numbers = DOUBLES) -> float:
        value: float = self._checked(numbers.as_float, translation, argument)
        if self._screw_pitch == 0.0:
            raise ArgumentValueError(
                f"{self._label}: {argument}: the screw pitch is zero, so that nothing moves along the "
                "axis: set the angle instead"
            )
        return value * math.tau / self._screw_pitch


class ScrewMobilizer(_ScrewMotion, AxisMobilizer):
    """M turns in F about an axis and moves along it as a screw does: ``q`` is the angle, ``v = qdot``.

    The translation is ``screw_pitch q / (2 pi)``.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    axis_F : array_like, shape (3,)
        The axis, of unit length within 1e-6 (it is renormalised). Its components are the same in F and in M.
    screw_pitch : float
        Translation of one revolution [m], of either sign.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    ArgumentValueError
        When the axis is not of unit length, or the pitch not finite.
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.SCREW
    _made_with: ClassVar[tuple[Constant, ...]] = (*AxisMobilizer._made_with, _PITCH)
    position_suffixes: ClassVar[tuple[str, ...]] = ("q",)
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("w",)
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True

    def __init__(
        self,
        inboard_frame_F: Frame,
        outboard_frame_M: Frame,
        axis_F: object,
        screw_pitch: float,
        *,
        model_instance: int | None = None,
    ) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M, axis_F, model_instance=model_instance)
        self._screw_pitch = _finite(screw_pitch, f"{type(self).__name__}: screw_pitch")

    @property
    def screw_axis(self) -> FloatArray:
        """The unit axis of the outboard frame's motion in the inboard frame, shape (3,)."""
        return self._inboard_to_outboard_axis()

    def _constants(self) -> FloatArray:
        return np.append(self._axis, self._screw_pitch / math.tau)


class ScrewJoint(_ScrewMotion, AxisJoint, OneDofJoint):
    """M turns in F about an axis and moves along it as a screw does: ``q`` is the angle, ``v = qdot``.

    The translation is ``screw_pitch q / (2 pi)``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    axis : array_like, shape (3,)
        The axis: any vector but zero (it is normalised). Its components are the same in F and in M.
    screw_pitch : float
        Translation of one revolution [m], of either sign.
    damping : float, optional
        Viscous damping of the rate of the angle [N m s/rad], not negative.
    effort_limit : float, optional
        Largest magnitude of the force along the joint [N m], not negative. Implicit steps keep to it;
        functions of one state do not.

    Raises
    ------
    ArgumentValueError
        When the axis is zero, the pitch is not finite, or the damping is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> nut = tree.add_body(mbt.RigidBody("nut", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> thread = tree.add_joint(
    ...     mbt.ScrewJoint, "thread", tree.world_body, None, nut, None, axis=[0, 0, 1], screw_pitch=0.002
    ... )
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> thread.set_translation(context, 0.004).get_rotation(context) == 4 * np.pi
    True
    """

    type_name: ClassVar[str] = "screw"
    _mobilizer_type: ClassVar[type[Mobilizer]] = ScrewMobilizer
    _made_with: ClassVar[tuple[Constant, ...]] = (*AxisJoint._made_with, _PITCH)

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: object,
        screw_pitch: float,
        damping: float = 0.0,
        *,
        effort_limit: float = math.inf,
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, axis, [damping])
        self._screw_pitch = _finite(screw_pitch, f"{self._label}: screw_pitch")
        self.set_effort_limit(effort_limit)

    @property
    def screw_axis(self) -> FloatArray:
        """The unit axis of M's motion in F, shape (3,), read-only."""
        return self._axis

    @property
    def default_rotation(self) -> float:
        """Angle of a new Context [rad]."""
        return float(self._default_positions[0])

    def set_default_rotation(self, theta: object) -> Self:
        """Set the angle of a new Context [rad], before ``finalize()``."""
        return self._set_default_position(theta, "theta")

    @property
    def default_translation(self) -> float:
        """Translation of a new Context [m]."""
        return self.default_rotation * self._screw_pitch / math.tau

    def set_default_translation(self, translation: object) -> Self:
        """Set the translation of a new Context [m], and its angle with it, before ``finalize()``."""
        return self._set_default_position(self._angle_of(translation, "translation"), "translation")

    def _make_mobilizer(self) -> Mobilizer:
        return ScrewMobilizer(
            self._frame_on_parent, self._frame_on_child, self._axis.tolist(), self._screw_pitch
        )


def _finite(value: object, argument: str) -> float:
    number = as_float(value, argument)
    if not math.isfinite(number):
        raise ArgumentValueError(f"{argument}: expected a finite number, got {number}")
    return number
