"""Planar paths made of pieces of constant curvature, by arc length."""

from __future__ import annotations

import numpy as np

from mbt.errors import ArgumentValueError, shape_error
from mbt.math.arrays import (
    FloatArray,
    as_bool,
    as_broadcast_arrays,
    as_finite_array,
    as_float,
    as_float_array,
)
from mbt.math.poses import normalize_axis

__all__ = ["PiecewiseConstantCurvatureTrajectory"]

# Allowed distance between the ends of a periodic path, relative to its length, and in radians.
_CLOSURE_TOLERANCE = 1e-6
# Largest cosine between the tangent and the normal of the plane.
_ORTHOGONALITY_TOLERANCE = 1e-6
# Required entries of a pickle.
_PARTS = {"_breaks", "_turning_rates", "_R", "_p", "_is_periodic", "_pieces"}


class PiecewiseConstantCurvatureTrajectory:
    """A planar path of straight lines and arcs without kinks, as a function of its arc length s.

    A frame M moves along it: its x axis is the tangent, its z axis the normal of the plane, ``y = z × x``.
    Beyond its ends the path continues its first and last pieces, unless it is periodic.

    Parameters
    ----------
    breaks : array_like, shape (n + 1,)
        Arc length [m] where each piece begins, and where the last one ends: 0 first, increasing.
    turning_rates : array_like, shape (n,)
        Curvature of each piece [rad/m]; positive turns left, about the normal of the plane. Zero is a
        straight line.
    initial_curve_tangent : array_like, shape (3,)
        Direction at ``s = 0``, any nonzero vector.
    plane_normal : array_like, shape (3,)
        Normal of the plane, any nonzero vector orthogonal to the tangent.
    initial_position : array_like, shape (3,), optional
        Position at ``s = 0`` [m]; by default zero.
    is_periodic : bool, optional
        Whether the path is closed, so that s may run around it any number of times.

    Raises
    ------
    ArgumentValueError
        When the breaks do not increase from 0, the tangent does not lie in the plane, or a periodic path does
        not end where it begins, in the same direction.
    ShapeError
        When the number of turning rates differs from the number of pieces.

    Examples
    --------
    A quarter of a circle of radius 2 m to the left, from the origin along x:

    >>> import numpy as np
    >>> import mbt
    >>> path = mbt.PiecewiseConstantCurvatureTrajectory([0, np.pi], [0.5], [1, 0, 0], [0, 0, 1])
    >>> path.length == np.pi
    True
    >>> path.calc_pose(np.pi)[:3, 3].round(12)
    array([2., 2., 0.])
    """

    def __init__(
        self,
        breaks: object,
        turning_rates: object,
        initial_curve_tangent: object,
        plane_normal: object,
        initial_position: object = (0.0, 0.0, 0.0),
        is_periodic: bool = False,
    ) -> None:
        self._breaks = as_finite_array(breaks, "breaks", (None,))
        if self._breaks.size < 2 or self._breaks[0] != 0.0 or not (np.diff(self._breaks) > 0.0).all():
            raise ArgumentValueError(
                f"breaks: expected at least two numbers that increase from 0, got {self._breaks.tolist()}"
            )
        self._turning_rates = as_finite_array(turning_rates, "turning_rates", (None,))
        if self._turning_rates.size != self._breaks.size - 1:
            raise shape_error("turning_rates", (self._breaks.size - 1,), self._turning_rates.shape)
        x = normalize_axis(initial_curve_tangent, "initial_curve_tangent")
        z = normalize_axis(plane_normal, "plane_normal")
        if abs(float(x @ z)) > _ORTHOGONALITY_TOLERANCE:
            raise ArgumentValueError(
                f"initial_curve_tangent: expected a direction in the plane, at a right angle with "
                f"plane_normal {z.tolist()}, got {x.tolist()}"
            )
        x = normalize_axis(x - z * (x @ z), "initial_curve_tangent")
        # R_FA of the path frame A, by columns.
        self._R = np.ascontiguousarray(np.column_stack([x, np.cross(z, x), z]))
        self._p = as_finite_array(initial_position, "initial_position", (3,))
        self._is_periodic = as_bool(is_periodic, "is_periodic")
        self._pieces = self._make_pieces()
        self._freeze()
        if self._is_periodic and not self.is_nearly_periodic(_CLOSURE_TOLERANCE):
            end = self._pose_unwrapped(np.array(self.length))
            raise ArgumentValueError(
                f"is_periodic: expected a path that ends as it begins, at {self._p.tolist()} along "
                f"{x.tolist()}, but it ends at {end[:3, 3].tolist()} along {end[:3, 0].tolist()}"
            )

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a pickled path, with read-only arrays.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError
            When the pickle is damaged: a part is missing or invalid.
        """
        missing = _PARTS - (state.keys() if isinstance(state, dict) else set())
        if missing:
            raise ArgumentValueError(
                f"unpickling a {type(self).__name__}: it is truncated: no {', '.join(sorted(missing))}"
            )
        self.__dict__.update(state)
        self._breaks = as_float_array(self._breaks, "breaks", (None,))
        self._turning_rates = as_float_array(self._turning_rates, "turning_rates", (self._breaks.size - 1,))
        self._R, self._p = as_float_array(self._R, "R", (3, 3)), as_float_array(self._p, "p", (3,))
        self._is_periodic = bool(self._is_periodic)
        self._pieces = as_float_array(self._pieces, "pieces", (self._turning_rates.size, 8))
        self._freeze()

    def _freeze(self) -> None:
        for array in (self._breaks, self._turning_rates, self._R, self._p, self._pieces):
            array.flags.writeable = False

    @property
    def breaks(self) -> FloatArray:
        """Arc length where each piece begins, and where the last one ends, shape (n + 1,) [m], read-only."""
        return self._breaks

    @property
    def turning_rates(self) -> FloatArray:
        """Curvature of each piece, shape (n,) [rad/m], read-only."""
        return self._turning_rates

    @property
    def num_pieces(self) -> int:
        """Number of pieces, n."""
        return int(self._turning_rates.size)

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(self._breaks[-1])

    @property
    def is_periodic(self) -> bool:
        """Whether the path is periodic."""
        return self._is_periodic

    def is_nearly_periodic(self, tolerance: float) -> bool:
        """Return whether the path ends where it begins, in the same direction.

        Parameters
        ----------
        tolerance : float
            Largest distance of the ends relative to the length of the path, and angle between them [rad].
        """
        begin, end = self._pose_unwrapped(np.array([0.0, self.length]))
        gap = float(np.linalg.norm(end[:3, 3] - begin[:3, 3])) / self.length
        turn = float(np.linalg.norm(end[:3, 0] - begin[:3, 0]))
        limit = as_float(tolerance, "tolerance")
        return gap <= limit and turn <= limit

    def curvature(self, s: object) -> FloatArray:
        """Return the curvature [rad/m] at arc lengths, any shape. At a break it is that of the next piece."""
        distance = self._wrapped(as_float_array(s, "s"))
        curvature: FloatArray = self._turning_rates[self._piece_at(distance)]
        return curvature

    def calc_pose(self, s: object) -> FloatArray:
        """Return the pose X_FM at arc lengths of any shape (...), shape (..., 4, 4)."""
        return self._pose_unwrapped(self._wrapped(as_float_array(s, "s")))

    def calc_spatial_velocity(self, s: object, s_dot: object) -> FloatArray:
        """Return the spatial velocity V_FM [rad/s, m/s] for the speed `s_dot` [m/s], shape (..., 6)."""
        distance, speed = as_broadcast_arrays(s=s, s_dot=s_dot)
        X, curvature = self.calc_pose(distance), self.curvature(distance)
        return np.concatenate(
            [(curvature * speed)[..., None] * X[..., :3, 2], speed[..., None] * X[..., :3, 0]], axis=-1
        )

    def calc_spatial_acceleration(self, s: object, s_dot: object, s_ddot: object) -> FloatArray:
        """Return the spatial acceleration A_FM [rad/s^2, m/s^2], shape (..., 6)."""
        distance, speed, rate = as_broadcast_arrays(s=s, s_dot=s_dot, s_ddot=s_ddot)
        X, curvature = self.calc_pose(distance), self.curvature(distance)
        linear = rate[..., None] * X[..., :3, 0] + (curvature * speed**2)[..., None] * X[..., :3, 1]
        return np.concatenate([(curvature * rate)[..., None] * X[..., :3, 2], linear], axis=-1)

    def _wrapped(self, s: FloatArray) -> FloatArray:
        return s - np.floor(s / self.length) * self.length if self._is_periodic else s

    def _piece_at(self, s: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        return np.searchsorted(self._breaks[1:-1], s, side="right")

    def _make_pieces(self) -> FloatArray:
        """Return for each piece s, curvature, radius, 1 if straight, cos and sin of the heading, x and y."""
        pieces = np.zeros((self._turning_rates.size, 8))
        heading, x, y = 0.0, 0.0, 0.0
        for i, curvature in enumerate(self._turning_rates.tolist()):
            straight = curvature == 0.0
            radius = 0.0 if straight else 1.0 / curvature
            pieces[i] = (
                self._breaks[i],
                curvature,
                radius,
                straight,
                np.cos(heading),
                np.sin(heading),
                x,
                y,
            )
            distance = self._breaks[i + 1] - self._breaks[i]
            along, across = _advance(distance, curvature, radius, float(straight))
            x += np.cos(heading) * along - np.sin(heading) * across
            y += np.sin(heading) * along + np.cos(heading) * across
            heading += curvature * distance
        return pieces

    def _pose_unwrapped(self, s: FloatArray) -> FloatArray:
        start, curvature, radius, straight, c, d, x, y = np.moveaxis(self._pieces[self._piece_at(s)], -1, 0)
        along, across = _advance(s - start, curvature, radius, straight)
        turn = curvature * (s - start)
        cos_heading = c * np.cos(turn) - d * np.sin(turn)
        sin_heading = d * np.cos(turn) + c * np.sin(turn)
        X_AM = np.zeros((*s.shape, 4, 4))
        X_AM[..., 0, 0] = X_AM[..., 1, 1] = cos_heading
        X_AM[..., 1, 0], X_AM[..., 0, 1] = sin_heading, -sin_heading
        X_AM[..., 2, 2] = X_AM[..., 3, 3] = 1.0
        X_AM[..., 0, 3] = x + c * along - d * across
        X_AM[..., 1, 3] = y + d * along + c * across
        X_FA = np.eye(4)
        X_FA[:3, :3], X_FA[:3, 3] = self._R, self._p
        X_FM: FloatArray = X_FA @ X_AM
        return X_FM

    def _constants(self) -> FloatArray:
        """Return the constants for the compiled core: see ``path_piece.hpp``."""
        return np.concatenate(
            [
                [self.num_pieces, self._is_periodic, self.length],
                self._R.ravel(),
                self._p,
                self._pieces.ravel(),
            ]
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same path, number by number."""
        if not isinstance(other, PiecewiseConstantCurvatureTrajectory):
            return NotImplemented
        return bool(np.array_equal(self._constants(), other._constants()))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the data of the path."""
        periodic = " periodic" if self._is_periodic else ""
        return f"<{type(self).__name__} pieces={self.num_pieces} length={self.length:.6g}{periodic}>"


def _advance(
    distance: FloatArray | float,
    curvature: FloatArray | float,
    radius: FloatArray | float,
    straight: FloatArray | float,
) -> tuple[FloatArray | float, FloatArray | float]:
    """Return the displacement of a piece along its initial tangent, and to the left of it."""
    half = 0.5 * curvature * distance
    return (
        straight * distance + radius * 2.0 * np.sin(half) * np.cos(half),
        radius * 2.0 * np.sin(half) ** 2,
    )
