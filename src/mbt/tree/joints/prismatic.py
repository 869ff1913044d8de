"""Prismatic: one translation along an axis that is fixed in both frames."""

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

__all__ = ["PrismaticJoint", "PrismaticMobilizer"]


class _Translation(CoordinateOwner):
    """The coordinate of both classes below."""

    @number_of_each_sample
    def get_translation(self, context: ContextCore) -> float:
        """Return the translation [m]."""
        return self._get_position(context)

    def set_translation(self, context: ContextCore, translation: object) -> Self:
        """Set the translation [m]."""
        return self._set_position(context, translation, "translation")

    @number_of_each_sample
    def get_translation_rate(self, context: ContextCore) -> float:
        """Return the rate of the translation [m/s]."""
        return self._get_velocity(context)

    def set_translation_rate(self, context: ContextCore, translation_dot: object) -> Self:
        """Set the rate of the translation [m/s]."""
        return self._set_velocity(context, translation_dot, "translation_dot")


class PrismaticMobilizer(_Translation, AxisMobilizer):
    """M moves in F by the distance q along an axis. F and M coincide at ``q = 0``; ``v = qdot``.

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

    _type: ClassVar[MobilizerType] = MobilizerType.PRISMATIC
    position_suffixes: ClassVar[tuple[str, ...]] = ("x",)
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("v",)
    can_rotate: ClassVar[bool] = False
    can_translate: ClassVar[bool] = True

    @property
    def translation_axis(self) -> FloatArray:
        """The unit axis along which the outboard frame moves in the inboard frame, shape (3,)."""
        return self._inboard_to_outboard_axis()


class PrismaticJoint(_Translation, OneAxisJoint):
    """M moves in F by the distance q along an axis. F and M coincide at ``q = 0``; ``v = qdot``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    axis : array_like, shape (3,)
        The axis: any vector but zero (it is normalised). Its components are the same in F and in M.
    pos_lower_limit, pos_upper_limit : float, optional
        Limits of the translation [m]. Implicit steps and inverse kinematics keep them; functions
        of one state do not.
    damping : float, optional
        Viscous damping [N s/m], not negative.
    effort_limit : float, optional
        Largest magnitude of the force along the joint [N], not negative. Implicit steps keep to it;
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
    >>> M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(5.0, 0.4, 0.2, 0.1)
    >>> cart = tree.add_body(mbt.RigidBody("cart", M_BBo_B))
    >>> rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, [1, 0, 0], 0, 2)
    >>> rail.position_upper_limit
    2.0
    """

    type_name: ClassVar[str] = "prismatic"
    _mobilizer_type: ClassVar[type[Mobilizer]] = PrismaticMobilizer

    @property
    def translation_axis(self) -> FloatArray:
        """The unit axis along which M moves in F, shape (3,), read-only."""
        return self._axis

    @property
    def default_translation(self) -> float:
        """Translation of a new Context [m]."""
        return float(self._default_positions[0])

    def set_default_translation(self, translation: float) -> Self:
        """Set the translation of a new Context [m], before ``finalize()``."""
        return self._set_default_position(translation, "translation")
