"""Cylindrical: an angle about an axis, and a translation along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray, as_float
from mbt.tree.context_access import numbers_of
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joints.one_axis import AxisJoint, AxisMobilizer
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["CylindricalJoint", "CylindricalMobilizer"]


class _CylindricalMotion(CoordinateOwner):
    """The coordinates of both classes below."""

    @number_of_each_sample
    def get_angle(self, context: ContextCore) -> float:
        """Return the angle [rad]."""
        return numbers_of(self, context).entry(self.get_positions(context), 0)

    def set_angle(self, context: ContextCore, angle: object) -> Self:
        """Set the angle [rad]."""
        numbers = numbers_of(self, context)
        value = numbers.stack([self._checked(numbers.as_float, angle, "angle")])
        return self._set_position_part(context, slice(0, 1), value, "angle")

    @number_of_each_sample
    def get_translation(self, context: ContextCore) -> float:
        """Return the translation along the axis [m]."""
        return numbers_of(self, context).entry(self.get_positions(context), 1)

    def set_translation(self, context: ContextCore, translation: object) -> Self:
        """Set the translation along the axis [m]."""
        numbers = numbers_of(self, context)
        value = numbers.stack([self._checked(numbers.as_float, translation, "translation")])
        return self._set_position_part(context, slice(1, 2), value, "translation")

    @number_of_each_sample
    def get_angular_rate(self, context: ContextCore) -> float:
        """Return the rate of the angle [rad/s]."""
        return numbers_of(self, context).entry(self.get_velocities(context), 0)

    def set_angular_rate(self, context: ContextCore, theta_dot: object) -> Self:
        """Set the rate of the angle [rad/s]."""
        numbers = numbers_of(self, context)
        value = numbers.stack([self._checked(numbers.as_float, theta_dot, "theta_dot")])
        return self._set_velocity_part(context, slice(0, 1), value, "theta_dot")

    @number_of_each_sample
    def get_translation_rate(self, context: ContextCore) -> float:
        """Return the rate of the translation [m/s]."""
        return numbers_of(self, context).entry(self.get_velocities(context), 1)

    def set_translation_rate(self, context: ContextCore, translation_dot: object) -> Self:
        """Set the rate of the translation [m/s]."""
        numbers = numbers_of(self, context)
        value = numbers.stack([self._checked(numbers.as_float, translation_dot, "translation_dot")])
        return self._set_velocity_part(context, slice(1, 2), value, "translation_dot")


class CylindricalMobilizer(_CylindricalMotion, AxisMobilizer):
    """M turns in F about an axis and moves along it: ``q = [angle, translation]``, ``v = qdot``.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    axis_F : array_like, shape (3,)
        The axis, of unit length within 1e-6 (it is renormalised). Its components are the same in F and in M.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    ArgumentValueError
        When the axis is not of unit length.
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.CYLINDRICAL
    position_suffixes: ClassVar[tuple[str, ...]] = ("q", "x")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("w", "v")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True

    @property
    def axis(self) -> FloatArray:
        """The unit axis of the outboard frame's motion in the inboard frame, shape (3,)."""
        return self._inboard_to_outboard_axis()


class CylindricalJoint(_CylindricalMotion, AxisJoint):
    """M turns in F about an axis and moves along it: ``q = [angle, translation]``, ``v = qdot``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    axis : array_like, shape (3,)
        The axis: any vector but zero (it is normalised). Its components are the same in F and in M.
    damping : array_like, shape (2,), optional
        Viscous damping of the rate of the angle [N m s/rad] and of the translation [N s/m], not negative.

    Raises
    ------
    ArgumentValueError
        When the axis is zero, or a damping constant is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> bush = tree.add_joint(mbt.CylindricalJoint, "bush", tree.world_body, None, rod, None, axis=[0, 0, 1])
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> bush.set_angle(context, 0.5).set_translation(context, 0.1).get_positions(context)
    array([0.5, 0.1])
    """

    type_name: ClassVar[str] = "cylindrical"
    _mobilizer_type: ClassVar[type[Mobilizer]] = CylindricalMobilizer

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        axis: object,
        damping: object = (0.0, 0.0),
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, axis, damping)

    @property
    def axis(self) -> FloatArray:
        """The unit axis of M's motion in F, shape (3,), read-only."""
        return self._axis

    @property
    def default_angle(self) -> float:
        """Angle of a new Context [rad]."""
        return float(self._default_positions[0])

    def set_default_angle(self, angle: object) -> Self:
        """Set the angle of a new Context [rad], before ``finalize()``."""
        return self._set_default_part(slice(0, 1), [as_float(angle, f"{self._label}: angle")], "angle")

    @property
    def default_translation(self) -> float:
        """Translation of a new Context [m]."""
        return float(self._default_positions[1])

    def set_default_translation(self, translation: object) -> Self:
        """Set the translation of a new Context [m], before ``finalize()``."""
        value = as_float(translation, f"{self._label}: translation")
        return self._set_default_part(slice(1, 2), [value], "translation")

    def _make_mobilizer(self) -> Mobilizer:
        return CylindricalMobilizer(self.frame_on_parent, self.frame_on_child, self._axis)
