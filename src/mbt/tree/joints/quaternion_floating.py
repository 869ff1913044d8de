"""Quaternion floating: all six degrees of freedom, without a singular orientation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.mobilizers import MobilizerType
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.poses import as_pose, make_pose, matrix_to_quaternion
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.context import ContextCore

__all__ = ["QuaternionFloatingJoint", "QuaternionFloatingMobilizer"]

# Outside of these a quaternion stands for no rotation: the bounds of the compiled core.
_MIN_NORM_SQUARED = 1e-280
_MAX_NORM_SQUARED = 1e280


class _FloatingCoordinates(CoordinateOwner):
    """The coordinates of both classes below: ``q = [qw qx qy qz x y z]``, ``v = [w_FM_F; v_FM_F]``."""

    def get_quaternion(self, context: ContextCore) -> FloatArray:
        """Return the quaternion ``(w, x, y, z)`` of R_FM as it was set, shape (4,)."""
        return self.get_positions(context)[:4]

    def set_quaternion(self, context: ContextCore, q_FM: object) -> Self:
        """Set the quaternion ``(w, x, y, z)`` of R_FM, shape (4,). It need not be of unit length."""
        return self._set_position_part(context, slice(0, 4), q_FM, "q_FM")

    def get_translation(self, context: ContextCore) -> FloatArray:
        """Return the position p_FoMo_F [m], shape (3,)."""
        return self.get_positions(context)[4:]

    def set_translation(self, context: ContextCore, p_FM: object) -> Self:
        """Set the position p_FoMo_F [m], shape (3,)."""
        return self._set_position_part(context, slice(4, 7), p_FM, "p_FM")

    def get_angular_velocity(self, context: ContextCore) -> FloatArray:
        """Return the angular velocity w_FM_F [rad/s], shape (3,)."""
        return self.get_velocities(context)[:3]

    def set_angular_velocity(self, context: ContextCore, w_FM: object) -> Self:
        """Set the angular velocity w_FM_F [rad/s], shape (3,)."""
        return self._set_velocity_part(context, slice(0, 3), w_FM, "w_FM")

    def get_translational_velocity(self, context: ContextCore) -> FloatArray:
        """Return the velocity v_FMo_F [m/s], shape (3,)."""
        return self.get_velocities(context)[3:]

    def set_translational_velocity(self, context: ContextCore, v_FM: object) -> Self:
        """Set the velocity v_FMo_F [m/s], shape (3,)."""
        return self._set_velocity_part(context, slice(3, 6), v_FM, "v_FM")


class QuaternionFloatingMobilizer(_FloatingCoordinates, Mobilizer):
    """M moves freely in F: ``q = [qw qx qy qz x y z]``, ``v = [w_FM_F; v_FM_F]``.

    The quaternion need not be of unit length: it is read back as set, and normalised inside.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    model_instance : ModelInstanceIndex, optional
        The model instance; the default one, 1, unless given.

    Raises
    ------
    TopologyError
        When both frames are one, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.QUATERNION_FLOATING
    position_suffixes: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y", "z")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")

    @classmethod
    def _zero_positions(cls) -> FloatArray:
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


class QuaternionFloatingJoint(_FloatingCoordinates, Joint):
    """M moves freely in F: ``q = [qw qx qy qz x y z]``, ``v = [w_FM_F; v_FM_F]``.

    The quaternion need not be of unit length: it is read back as set, and normalised inside.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    angular_damping : float, optional
        Viscous damping of the three angular velocities [N m s/rad], not negative.
    translational_damping : float, optional
        Viscous damping of the three translational velocities [N s/m], not negative.

    Raises
    ------
    ArgumentValueError
        When a damping constant is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    A body that is left without a joint is given one of this type:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> tree.joints
    (<QuaternionFloatingJoint 'ball' index=0 model_instance=1 parent='world' child='ball'>,)
    """

    type_name: ClassVar[str] = "quaternion_floating"
    _mobilizer_type: ClassVar[type[Mobilizer]] = QuaternionFloatingMobilizer

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        angular_damping: float = 0.0,
        translational_damping: float = 0.0,
    ) -> None:
        super().__init__(
            name, frame_on_parent, frame_on_child, [angular_damping] * 3 + [translational_damping] * 3
        )

    @property
    def default_angular_damping(self) -> float:
        """Default damping of the angular velocities [N m s/rad]."""
        return float(self._damping[0])

    @property
    def default_translational_damping(self) -> float:
        """Default damping of the translational velocities [N s/m]."""
        return float(self._damping[3])

    @property
    def default_pose(self) -> FloatArray:
        """Pose X_FM of a new Context, shape (4, 4)."""
        return make_pose(self._default_positions[4:], quaternion=self._default_positions[:4])

    def set_default_pose(self, X_FM: object) -> Self:
        """Set the pose X_FM of a new Context, shape (4, 4), before ``finalize()``."""
        return self.set_default_positions(_positions_of_pose(X_FM, f"{self._label}: X_FM"))

    def get_pose(self, context: ContextCore) -> FloatArray:
        """Return the pose X_FM, shape (4, 4)."""
        return self.parent_tree.calc_relative_transform(context, self.frame_on_parent, self.frame_on_child)

    def set_pose(self, context: ContextCore, X_FM: object) -> Self:
        """Set the pose X_FM, shape (4, 4)."""
        return self.set_positions(context, _positions_of_pose(X_FM, f"{self._label}: X_FM"))

    def _checked_default_positions(self, q: object) -> FloatArray:
        positions = as_finite_array(q, f"{self._label}: default positions", (7,))
        norm_squared = sum(x * x for x in positions[:4].tolist())
        if not _MIN_NORM_SQUARED <= norm_squared <= _MAX_NORM_SQUARED:
            raise ArgumentValueError(
                f"{self._label}: default positions: expected a quaternion that is not zero, and neither too "
                f"small nor too large to normalize, got {positions[:4].tolist()}"
            )
        return positions

    def _make_mobilizer(self) -> Mobilizer:
        return QuaternionFloatingMobilizer(self.frame_on_parent, self.frame_on_child)


def _positions_of_pose(X_FM: object, argument: str) -> FloatArray:
    X = as_pose(X_FM, argument)
    return np.concatenate([matrix_to_quaternion(X[:3, :3]), X[:3, 3]])
