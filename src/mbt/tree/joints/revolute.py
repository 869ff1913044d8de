"""Revolute: one angle about an axis that is fixed in both frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.joints.one_axis import AxisMobilizer, OneAxisJoint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["RevoluteJoint", "RevoluteMobilizer"]


class _Angle(CoordinateOwner):
    """The coordinate of both classes below."""

    @number_of_each_sample
    def get_angle(self, context: ContextCore) -> float:
        """Return the angle [rad]."""
        return self._get_position(context)

    def set_angle(self, context: ContextCore, angle: object) -> Self:
        """Set the angle [rad]."""
        return self._set_position(context, angle, "angle")

    @number_of_each_sample
    def get_angular_rate(self, context: ContextCore) -> float:
        """Return the rate of the angle [rad/s]."""
        return self._get_velocity(context)

    def set_angular_rate(self, context: ContextCore, theta_dot: object) -> Self:
        """Set the rate of the angle [rad/s]."""
        return self._set_velocity(context, theta_dot, "theta_dot")


class RevoluteMobilizer(_Angle, AxisMobilizer):
    """M turns in F by the angle q about an axis, right-handed. F and M coincide at ``q = 0``; ``v = qdot``.

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

    _type: ClassVar[MobilizerType] = MobilizerType.REVOLUTE
    position_suffixes: ClassVar[tuple[str, ...]] = ("q",)
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("w",)
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = False

    @property
    def revolute_axis(self) -> FloatArray:
        """The unit axis about which the outboard frame turns in the inboard frame, shape (3,)."""
        return self._inboard_to_outboard_axis()


class RevoluteJoint(_Angle, OneAxisJoint):
    """M turns in F by the angle q about an axis, right-handed. F and M coincide at ``q = 0``; ``v = qdot``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    axis : array_like, shape (3,)
        The axis: any vector but zero (it is normalised). Its components are the same in F and in M.
    pos_lower_limit, pos_upper_limit : float, optional
        Limits of the angle [rad]. Implicit steps and inverse kinematics keep them; functions
        of one state do not.
    damping : float, optional
        Viscous damping [N m s/rad], not negative.
    effort_limit : float, optional
        Largest magnitude of the force along the joint [N m], not negative. Implicit steps keep to it;
        functions of one state do not.

    Raises
    ------
    ArgumentValueError
        When the axis is zero, the lower limit exceeds the upper one, or the damping is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 2])
    >>> hinge.revolute_axis
    array([0., 0., 1.])
    """

    type_name: ClassVar[str] = "revolute"
    _mobilizer_type: ClassVar[type[Mobilizer]] = RevoluteMobilizer

    @property
    def revolute_axis(self) -> FloatArray:
        """The unit axis about which M turns in F, shape (3,), read-only."""
        return self._axis

    @property
    def default_angle(self) -> float:
        """Angle of a new Context [rad]."""
        return float(self._default_positions[0])

    def set_default_angle(self, angle: float) -> Self:
        """Set the angle of a new Context [rad], before ``finalize()``."""
        return self._set_default_position(angle, "angle")
