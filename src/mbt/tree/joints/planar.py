"""Planar: two translations in a plane, and the rotation about its normal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray, as_float
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["PlanarJoint", "PlanarMobilizer"]


class _PlanarMotion(CoordinateOwner):
    """The coordinates of both classes below."""

    def get_translation(self, context: ContextCore) -> FloatArray:
        """Return the x and y coordinates of Mo in F [m], shape (2,)."""
        return self.get_positions(context)[..., :2]

    def set_translation(self, context: ContextCore, p_FM: object) -> Self:
        """Set the x and y coordinates of Mo in F [m], shape (2,)."""
        return self._set_position_part(context, slice(0, 2), p_FM, "p_FM")

    @number_of_each_sample
    def get_rotation(self, context: ContextCore) -> float:
        """Return the angle about Fz [rad]."""
        return numbers_of(self, context).entry(self.get_positions(context), 2)

    def set_rotation(self, context: ContextCore, theta: object) -> Self:
        """Set the angle about Fz [rad]."""
        angle = self._angle(theta, numbers_of(self, context))
        return self._set_position_part(context, slice(2, 3), angle, "theta")

    def set_pose(self, context: ContextCore, p_FM: object, theta: object) -> Self:
        """Set the x and y coordinates of Mo in F [m], shape (2,), and the angle about Fz [rad]."""
        return self.set_positions(context, self._planar_positions(p_FM, theta, numbers_of(self, context)))

    def get_translational_velocity(self, context: ContextCore) -> FloatArray:
        """Return the x and y components of v_FMo_F [m/s], shape (2,)."""
        return self.get_velocities(context)[..., :2]

    def set_translational_velocity(self, context: ContextCore, v_FM: object) -> Self:
        """Set the x and y components of v_FMo_F [m/s], shape (2,)."""
        return self._set_velocity_part(context, slice(0, 2), v_FM, "v_FM")

    @number_of_each_sample
    def get_angular_velocity(self, context: ContextCore) -> float:
        """Return the rate of the angle [rad/s]."""
        return numbers_of(self, context).entry(self.get_velocities(context), 2)

    def set_angular_velocity(self, context: ContextCore, theta_dot: object) -> Self:
        """Set the rate of the angle [rad/s]."""
        numbers = numbers_of(self, context)
        rate = numbers.stack([self._checked(numbers.as_float, theta_dot, "theta_dot")])
        return self._set_velocity_part(context, slice(2, 3), rate, "theta_dot")

    def _planar_positions(self, p_FM: object, theta: object, numbers: Numbers = DOUBLES) -> FloatArray:
        p = self._checked(numbers.as_finite_array, p_FM, "p_FM", (2,))
        positions: FloatArray = numbers.concatenate([p, self._angle(theta, numbers)])
        return positions

    def _angle(self, theta: object, numbers: Numbers) -> FloatArray:
        return numbers.stack([self._checked(numbers.as_float, theta, "theta")])


class PlanarMobilizer(_PlanarMotion, Mobilizer):
    """M slides in the x, y plane of F and turns about its z axis: ``q = [x, y, theta]``, ``v = qdot``.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.PLANAR
    position_suffixes: ClassVar[tuple[str, ...]] = ("x", "y", "qz")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("vx", "vy", "wz")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True


class PlanarJoint(_PlanarMotion, Joint):
    """M slides in the x, y plane of F and turns about its z axis: ``q = [x, y, theta]``, ``v = qdot``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    damping : array_like, shape (3,), optional
        Viscous damping of the rates of x and y [N s/m], and of theta [N m s/rad], not negative.

    Raises
    ------
    ArgumentValueError
        When a damping constant is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> body = tree.add_body(mbt.RigidBody("puck", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> joint = tree.add_joint(mbt.PlanarJoint, "table", tree.world_body, None, body, None)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> joint.set_pose(context, [1, 2], 0.5).get_translation(context)
    array([1., 2.])
    """

    type_name: ClassVar[str] = "planar"
    _mobilizer_type: ClassVar[type[Mobilizer]] = PlanarMobilizer

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: object = (0.0, 0.0, 0.0)
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, damping)

    @property
    def default_translation(self) -> FloatArray:
        """The x and y coordinates of Mo in F of a new Context [m], shape (2,)."""
        return self._default_positions[:2].copy()

    def set_default_translation(self, p_FM: object) -> Self:
        """Set the x and y coordinates of a new Context [m], shape (2,), before ``finalize()``."""
        return self._set_default_part(slice(0, 2), p_FM, "p_FM")

    @property
    def default_rotation(self) -> float:
        """The angle about Fz of a new Context [rad]."""
        return float(self._default_positions[2])

    def set_default_rotation(self, theta: object) -> Self:
        """Set the angle about Fz of a new Context [rad], before ``finalize()``."""
        return self._set_default_part(slice(2, 3), [as_float(theta, f"{self._label}: theta")], "theta")

    def set_default_pose(self, p_FM: object, theta: object) -> Self:
        """Set x, y [m] and the angle about Fz [rad] of a new Context, before ``finalize()``."""
        return self.set_default_positions(self._planar_positions(p_FM, theta))

    def _make_mobilizer(self) -> Mobilizer:
        return PlanarMobilizer(self.frame_on_parent, self.frame_on_child)
