"""Coordinates that several types share, with their accessors for joints and mobilizers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray, as_float
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = [
    "AngularVelocity",
    "FreeJoint",
    "FreeMotion",
    "Orientation",
    "QuaternionJoint",
    "QuaternionOrientation",
    "RpyJoint",
    "RpyOrientation",
    "UniformDamping",
]

# Bounds, from the compiled core, on the size of a quaternion that can be normalized.
_MIN_NORM_SQUARED = 1e-280
_MAX_NORM_SQUARED = 1e280


class AngularVelocity(CoordinateOwner):
    """Velocities that begin with w_FM_F."""

    def get_angular_velocity(self, context: ContextCore) -> FloatArray:
        """Return the angular velocity w_FM_F [rad/s], shape (3,)."""
        return self.get_velocities(context)[..., :3]

    def set_angular_velocity(self, context: ContextCore, w_FM: object) -> Self:
        """Set the angular velocity w_FM_F [rad/s], shape (3,)."""
        return self._set_velocity_part(context, slice(0, 3), w_FM, "w_FM")


class Orientation(AngularVelocity):
    """Positions that begin with the coordinates of R_FM, velocities that begin with w_FM_F."""

    # Number of positions that are coordinates of R_FM.
    _rotation_size: ClassVar[int]

    @staticmethod
    @abstractmethod
    def _positions_of_rotation(R_FM: FloatArray, numbers: Numbers) -> FloatArray:
        """Return the coordinates of a rotation matrix."""

    def set_orientation(self, context: ContextCore, R_FM: object) -> Self:
        """Set the orientation from a rotation matrix R_FM, shape (3, 3)."""
        R = self._checked(numbers_of(self, context).as_rotation, R_FM, "R_FM")
        part = slice(0, self._rotation_size)
        return self._set_position_part(
            context, part, self._positions_of_rotation(R, context._numbers), "R_FM"
        )


class RpyOrientation(Orientation):
    """Positions that begin with roll, pitch and yaw: ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``."""

    _rotation_size: ClassVar[int] = 3

    @staticmethod
    def _positions_of_rotation(R_FM: FloatArray, numbers: Numbers) -> FloatArray:
        rpy: FloatArray = numbers.matrix_to_rpy(R_FM)
        return rpy

    def get_angles(self, context: ContextCore) -> FloatArray:
        """Return roll, pitch and yaw [rad], shape (3,): ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``."""
        return self.get_positions(context)[..., :3]

    def set_angles(self, context: ContextCore, angles: object) -> Self:
        """Set roll, pitch and yaw [rad], shape (3,): ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``."""
        return self._set_position_part(context, slice(0, 3), angles, "angles")


class QuaternionOrientation(Orientation):
    """Positions that begin with a quaternion ``(w, x, y, z)``."""

    _rotation_size: ClassVar[int] = 4

    @staticmethod
    def _positions_of_rotation(R_FM: FloatArray, numbers: Numbers) -> FloatArray:
        quaternion: FloatArray = numbers.matrix_to_quaternion(R_FM)
        return quaternion

    def get_quaternion(self, context: ContextCore) -> FloatArray:
        """Return the quaternion ``(w, x, y, z)`` of R_FM as it was set, shape (4,)."""
        return self.get_positions(context)[..., :4]

    def set_quaternion(self, context: ContextCore, q_FM: object) -> Self:
        """Set the quaternion ``(w, x, y, z)`` of R_FM, shape (4,). It need not be of unit length."""
        return self._set_position_part(context, slice(0, 4), q_FM, "q_FM")


class FreeMotion(Orientation):
    """All six degrees of freedom: positions end with p_FoMo_F, velocities with v_FMo_F."""

    def get_translation(self, context: ContextCore) -> FloatArray:
        """Return the position p_FoMo_F [m], shape (3,)."""
        return self.get_positions(context)[..., self._rotation_size :]

    def set_translation(self, context: ContextCore, p_FM: object) -> Self:
        """Set the position p_FoMo_F [m], shape (3,)."""
        n = self._rotation_size
        return self._set_position_part(context, slice(n, n + 3), p_FM, "p_FM")

    def get_translational_velocity(self, context: ContextCore) -> FloatArray:
        """Return the velocity v_FMo_F [m/s], shape (3,)."""
        return self.get_velocities(context)[..., 3:]

    def set_translational_velocity(self, context: ContextCore, v_FM: object) -> Self:
        """Set the velocity v_FMo_F [m/s], shape (3,)."""
        return self._set_velocity_part(context, slice(3, 6), v_FM, "v_FM")

    def set_spatial_velocity(self, context: ContextCore, V_FM: object) -> Self:
        """Set the spatial velocity ``V_FM = [w_FM_F; v_FMo_F]`` [rad/s, m/s], shape (6,)."""
        return self._set_velocity_part(context, slice(0, 6), V_FM, "V_FM")

    def set_pose(self, context: ContextCore, X_FM: object) -> Self:
        """Set the pose X_FM, shape (4, 4)."""
        return self.set_positions(context, self._positions_of_pose(X_FM, numbers_of(self, context)))

    def set_pose_pair(self, context: ContextCore, q_FM: object, p_FM: object) -> Self:
        """Set the pose X_FM from a quaternion ``(w, x, y, z)``, shape (4,), and p_FoMo_F [m], shape (3,)."""
        positions = self._positions_of_pair(q_FM, p_FM, numbers_of(self, context))
        return self.set_positions(context, positions)

    def _positions_of_pose(self, X_FM: object, numbers: Numbers) -> FloatArray:
        X = self._checked(numbers.as_pose, X_FM, "X_FM")
        rotation = self._positions_of_rotation(X[..., :3, :3], numbers)
        positions: FloatArray = numbers.concatenate([rotation, X[..., :3, 3]])
        return positions

    def _positions_of_pair(self, q_FM: object, p_FM: object, numbers: Numbers) -> FloatArray:
        R = numbers.quaternion_to_matrix(self._checked(numbers.as_finite_array, q_FM, "q_FM", (4,)))
        p = self._checked(numbers.as_finite_array, p_FM, "p_FM", (3,))
        positions: FloatArray = numbers.concatenate([self._positions_of_rotation(R, numbers), p])
        return positions


class QuaternionJoint(QuaternionOrientation, Joint):
    """A joint whose positions begin with a quaternion."""

    @property
    def default_quaternion(self) -> FloatArray:
        """Quaternion ``(w, x, y, z)`` of R_FM of a new Context, shape (4,)."""
        return self._default_positions[:4].copy()

    def set_default_quaternion(self, q_FM: object) -> Self:
        """Set the quaternion ``(w, x, y, z)`` of a new Context, shape (4,), before ``finalize()``."""
        return self._set_default_part(slice(0, 4), q_FM, "q_FM")

    def _checked_default_positions(self, q: object) -> FloatArray:
        positions = super()._checked_default_positions(q)
        norm_squared = sum(x * x for x in positions[:4].tolist())
        if not _MIN_NORM_SQUARED <= norm_squared <= _MAX_NORM_SQUARED:
            raise ArgumentValueError(
                f"{self._label}: default positions: expected a quaternion that is not zero, and neither too "
                f"small nor too large to normalize, got {positions[:4].tolist()}"
            )
        return positions


class RpyJoint(RpyOrientation, Joint):
    """A joint whose positions begin with roll, pitch and yaw."""

    @property
    def default_angles(self) -> FloatArray:
        """Roll, pitch and yaw of a new Context [rad], shape (3,)."""
        return self._default_positions[:3].copy()

    def set_default_angles(self, angles: object) -> Self:
        """Set roll, pitch and yaw of a new Context [rad], shape (3,), before ``finalize()``."""
        return self._set_default_part(slice(0, 3), angles, "angles")


class UniformDamping(Joint):
    """A joint with one damping constant for all its velocities."""

    @property
    def default_damping(self) -> float:
        """Default damping of every velocity [N m s/rad, N s/m]."""
        return float(self._damping[0])

    def set_default_damping(self, damping: object) -> Self:
        """Set the default damping [N m s/rad, N s/m] of every velocity, before ``finalize()``."""
        value = as_float(damping, f"{self._label}: damping")
        return self.set_default_damping_vector([value] * self.num_velocities)

    @number_of_each_sample
    def get_damping(self, context: ContextCore) -> float:
        """Return the damping of the first velocity in `context` [N m s/rad, N s/m]."""
        return numbers_of(self, context).entry(self.get_damping_vector(context), 0)

    def set_damping(self, context: ContextCore, damping: object) -> Self:
        """Set the damping in `context` [N m s/rad, N s/m], of every velocity."""
        numbers = numbers_of(self, context)
        if numbers is DOUBLES and isinstance(damping, float) and 0.0 <= damping < math.inf:
            for dof in self._velocity_range():
                context._set_parameter("damping", dof, damping)
            return self
        value = self._checked(numbers.as_float, damping, "damping")
        return self.set_damping_vector(context, numbers.stack([value] * self.num_velocities))


class FreeJoint(FreeMotion, Joint):
    """A joint with all six degrees of freedom, and one damping constant for each kind of them."""

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
    def default_translation(self) -> FloatArray:
        """Position p_FoMo_F of a new Context [m], shape (3,)."""
        return self._default_positions[self._rotation_size :].copy()

    def set_default_translation(self, p_FM: object) -> Self:
        """Set the position p_FoMo_F of a new Context [m], shape (3,), before ``finalize()``."""
        n = self._rotation_size
        return self._set_default_part(slice(n, n + 3), p_FM, "p_FM")

    def set_default_pose(self, X_FM: object) -> Self:
        """Set the pose X_FM of a new Context, shape (4, 4), before ``finalize()``."""
        return self.set_default_positions(self._positions_of_pose(X_FM, DOUBLES))

    def set_default_pose_pair(self, q_FM: object, p_FM: object) -> Self:
        """Set the pose X_FM of a new Context from a quaternion and p_FoMo_F [m], before ``finalize()``."""
        return self.set_default_positions(self._positions_of_pair(q_FM, p_FM, DOUBLES))
