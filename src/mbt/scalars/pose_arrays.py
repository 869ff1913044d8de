"""Poses and rotations in arrays of any scalar type: see the functions of `mbt.math` of the same names."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.errors import ShapeError, SingularityError
from mbt.math import rotation_formulas
from mbt.math.arrays import is_foreign
from mbt.math.leading_axes import flatten, fold, join, transpose
from mbt.math.numbers import Numbers
from mbt.math.poses import normalize_axis
from mbt.math.rotation_formulas import Formula
from mbt.symbolic import ScalarType

__all__ = ["PoseArrays"]


class PoseArrays(Numbers):
    """Functions of `mbt.math`, in terms of the functions of a scalar type."""

    @property
    @abstractmethod
    def _functions(self) -> ScalarType:
        """The scalar type."""

    def as_coordinates(self, value: Any, name: str, shape: tuple[int, ...]) -> Any:
        """Return an argument (..., *shape) of numbers that are finite, as far as known."""
        return self.as_finite_array(value, name, (..., *shape))

    def make_pose(self, p: Any, rpy: Any, quaternion: Any, R: Any) -> Any:
        """Return poses from positions (..., 3) and at most one kind of rotation; leading axes broadcast."""
        position = self.as_coordinates(np.zeros(3) if p is None else p, "p", (3,))
        if rpy is not None:
            rotation = self._each(self.rpy_to_matrix, self.as_coordinates(rpy, "rpy", (3,)), (3, 3))
        elif quaternion is not None:
            wxyz = self.as_coordinates(quaternion, "quaternion", (4,))
            rotation = self._each(self.quaternion_to_matrix, wxyz, (3, 3))
        else:
            rotation = self.as_float_array(np.eye(3), "R") if R is None else self._as_rotations(R)
        try:
            np.broadcast_shapes(position.shape[:-1], rotation.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"make_pose: leading axes do not broadcast: {position.shape[:-1]} of p, "
                f"{rotation.shape[:-2]} of the rotation"
            ) from None
        bottom = self.as_float_array([[0.0, 0.0, 0.0, 1.0]], "bottom row")
        return join([join([rotation, position[..., None]]), bottom], -2)

    def _as_rotations(self, R: Any) -> Any:
        """Return rotations (..., 3, 3), unchecked."""
        return self.as_coordinates(R, "R", (3, 3))

    def _each(self, function: Callable[[Any], Any], vectors: Any, shape: tuple[int, ...]) -> Any:
        """Apply a function to each of some vectors; its results have this shape."""
        lead = vectors.shape[:-1]
        if not lead:
            return function(vectors)
        if 0 in lead:
            return self.zeros((*lead, *shape), vectors)
        flat = vectors.reshape(math.prod(lead), vectors.shape[-1])
        return np.stack([function(vector) for vector in flat]).reshape(*lead, *shape)

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], *like: Any) -> Any:
        """Return zeros, with as many derivatives as the arrays `like`."""

    def inverse_pose(self, X: Any) -> Any:
        """Return the inverse of a pose."""
        R = transpose(X[..., :3, :3])
        return join([join([R, -(R @ X[..., :3, 3:])]), X[..., 3:, :]], -2)

    def rpy_to_matrix(self, rpy: Any) -> Any:
        """Return ``Rz(yaw) Ry(pitch) Rx(roll)``."""
        t = self._functions
        angles = [self.entry(rpy, i) for i in range(3)]
        (sr, sp, sy), (cr, cp, cy) = map(t.sin, angles), map(t.cos, angles)
        rows = [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
        return self._matrix(rows)

    def rotation_about_axis(self, axis: Any, angle: Any) -> Any:
        """Return the rotation by an angle about any nonzero vector."""
        t = self._functions
        x, y, z = self._unit_axis(axis)
        theta = self.as_finite(angle, "angle")
        c, s = t.cos(theta), t.sin(theta)
        # R = cos 1 + sin [n]x + (1 - cos) n n^T
        rest = 1 - c
        rows = [
            [c + rest * x * x, rest * x * y - s * z, rest * x * z + s * y],
            [rest * x * y + s * z, c + rest * y * y, rest * y * z - s * x],
            [rest * x * z - s * y, rest * y * z + s * x, c + rest * z * z],
        ]
        return self._matrix(rows)

    def _unit_axis(self, axis: Any) -> list[Any]:
        """Return the coordinates of the unit vector along an axis."""
        if not is_foreign(axis):
            # The root of a double; a fraction may have no exact one.
            return [self.scalar(entry) for entry in normalize_axis(axis, "axis").tolist()]
        vector = self.as_coordinates(axis, "axis", (3,))
        x, y, z = (self.entry(vector, i) for i in range(3))
        length = self._functions.sqrt(x * x + y * y + z * z)
        return [x / length, y / length, z / length]

    def skew(self, p: Any) -> Any:
        """Return the matrix ``[p]x``."""

        def of_entries(p: Any) -> Any:
            x, y, z = (self.entry(p, i) for i in range(3))
            return self._matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])

        return self._each(of_entries, p, (3, 3))

    def quaternion_to_matrix(self, q: Any) -> Any:
        """Return the rotation of a quaternion, which need not be of unit length."""
        w, x, y, z = (self.entry(q, i) for i in range(4))
        norm = w * w + x * x + y * y + z * z
        values = self.values(q)
        if values is not None and not values.any(-1).all():
            raise SingularityError("quaternion: expected a nonzero quaternion (w, x, y, z), got zero")
        rows = [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
        return self._matrix([[entry / norm for entry in row] for row in rows])

    @abstractmethod
    def values(self, array: Any) -> Any:
        """Return the values as doubles; None if there are none, or for a batch."""

    def matrix_to_quaternion(self, R: Any) -> Any:
        """Return the quaternion ``(w, x, y, z)`` of a rotation, with ``w >= 0``."""
        return self.map_entries("matrix_to_quaternion", flatten(R, 2), (4,))

    def map_entries(self, name: str, vectors: Any, shape: tuple[int, ...]) -> Any:
        """Apply a rotation formula to the entries of each vector, (..., n): (..., *shape)."""
        formula: Formula = getattr(rotation_formulas, name)

        def of_entries(vector: Any) -> Any:
            entries = (self.entry(vector, i) for i in range(vector.shape[-1]))
            return fold(self.stack(formula(self._functions, *entries)), *shape)

        return self._each(of_entries, vectors, shape)

    def matrix_to_rpy(self, R: Any) -> Any:
        """Return roll, pitch and yaw of a rotation."""
        return self._each(self._rpy_of_entries, flatten(R, 2), (3,))

    def _rpy_of_entries(self, entries: Any) -> Any:
        t = self._functions
        xx, xy, xz, yx, yy, yz, zx, _, _ = (self.entry(entries, i) for i in range(9))
        level = t.sqrt(xx * xx + yx * yx)
        # At gimbal lock zero, or any rounding of it: Rz(-yaw) R = Ry(pitch) Rx(roll) holds for each yaw.
        yaw = t.atan2(yx, xx)
        s, c = t.sin(yaw), t.cos(yaw)
        return self.stack([t.atan2(s * xz - c * yz, c * yy - s * xy), t.atan2(-zx, level), yaw])

    def _matrix(self, rows: list[list[Any]]) -> Any:
        """Return a matrix from its entries."""
        return fold(self.stack([entry for row in rows for entry in row]), len(rows), len(rows[0]))
