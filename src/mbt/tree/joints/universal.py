"""Universal: two angles about axes at a right angle, as in a Cardan joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joints.parts import UniformDamping
from mbt.tree.mobilizer import Mobilizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["UniversalJoint", "UniversalMobilizer"]


class _Angles(CoordinateOwner):
    """The coordinates of both classes below."""

    def get_angles(self, context: ContextCore) -> FloatArray:
        """Return the angles about Fx and My [rad], shape (2,)."""
        return self.get_positions(context)

    def set_angles(self, context: ContextCore, angles: object) -> Self:
        """Set the angles about Fx and My [rad], shape (2,)."""
        return self._set_position_part(context, slice(0, 2), angles, "angles")

    def get_angular_rates(self, context: ContextCore) -> FloatArray:
        """Return the rates of the angles [rad/s], shape (2,)."""
        return self.get_velocities(context)

    def set_angular_rates(self, context: ContextCore, theta_dot: object) -> Self:
        """Set the rates of the angles [rad/s], shape (2,)."""
        return self._set_velocity_part(context, slice(0, 2), theta_dot, "theta_dot")


class UniversalMobilizer(_Angles, Mobilizer):
    """M turns in F about Fx, then about its own y axis: ``R_FM = Rx(q0) Ry(q1)``, ``v = qdot``.

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

    _type: ClassVar[MobilizerType] = MobilizerType.UNIVERSAL
    position_suffixes: ClassVar[tuple[str, ...]] = ("qx", "qy")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = False


class UniversalJoint(_Angles, UniformDamping):
    """M turns in F about Fx, then about its own y axis: ``R_FM = Rx(q0) Ry(q1)``, ``v = qdot``.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    damping : float, optional
        Viscous damping of both rates [N m s/rad], not negative.

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
    >>> body = tree.add_body(mbt.RigidBody("rotor", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> joint = tree.add_joint(mbt.UniversalJoint, "cardan", tree.world_body, None, body, None)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> joint.set_angles(context, [0.1, 0.2]).get_angles(context)
    array([0.1, 0.2])
    """

    type_name: ClassVar[str] = "universal"
    _mobilizer_type: ClassVar[type[Mobilizer]] = UniversalMobilizer

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 2)

    @property
    def default_angles(self) -> FloatArray:
        """Angles of a new Context [rad], shape (2,)."""
        return self._default_positions.copy()

    def set_default_angles(self, angles: object) -> Self:
        """Set the angles of a new Context [rad], shape (2,), before ``finalize()``."""
        return self._set_default_part(slice(0, 2), angles, "angles")

    def _make_mobilizer(self) -> Mobilizer:
        return UniversalMobilizer(self.frame_on_parent, self.frame_on_child)
