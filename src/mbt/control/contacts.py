"""Points with which a robot stands on, leans against, or holds something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, rows_error
from mbt.math.arrays import (
    FloatArray,
    as_count,
    as_finite_array,
    as_nonnegative,
    as_positive,
    as_positive_or_infinite,
)

__all__ = ["ContactPoints"]

# Each face is a row of the quadratic program. With these, friction is reduced by 5e-6.
_MOST_FACES = 1000


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Points of a frame that touch the ground or a body, with dry friction, and must not slip there.

    Parameters
    ----------
    frame : Frame, RigidBody or str
        The frame that carries the points.
    p_FC : array_like, shape (n, 3) or (3,)
        The points [m], in the frame.
    friction : float
        Coefficient of friction, > 0.
    normal : array_like, shape (3,), optional
        The direction in which the ground, or the touched body, pushes, in World axes or those of `surface`;
        +z by default. Its length does not matter.
    damping : float, optional
        Rate [1/s] at which remaining velocities of the points decay.
    max_force : float, optional
        The largest normal force per point [N].
    name : str, optional
        The name used in messages; by default, that of the frame.
    surface : Frame, RigidBody or str, optional
        The frame that is touched, of another body, on which the opposite forces act; World by default.
    num_faces : int, optional
        Number of faces of the pyramid inscribed in the friction cone, 3 to 1000. In the middle of a face, the
        friction is reduced by the factor ``cos(pi / num_faces)``.

    Examples
    --------
    >>> import mbt
    >>> sole = [[0.1, 0.05, 0], [0.1, -0.05, 0], [-0.1, 0.05, 0], [-0.1, -0.05, 0]]
    >>> mbt.ContactPoints("left_foot", sole, friction=0.7).p_FC.shape
    (4, 3)
    """

    frame: Any
    p_FC: FloatArray
    friction: float = 0.7
    normal: FloatArray = (0.0, 0.0, 1.0)  # type: ignore[assignment]
    damping: float = 20.0
    max_force: float = np.inf
    name: str = ""
    surface: Any = None
    num_faces: int = 4

    def __post_init__(self) -> None:
        points = np.atleast_2d(as_finite_array(self.p_FC, "p_FC", None))
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise rows_error("p_FC", points.shape)
        normal = as_finite_array(self.normal, "normal", (3,))
        length = float(np.linalg.norm(normal))
        if length < 1e-6:
            raise ArgumentValueError("normal: expected a direction, got a vector of length zero")
        _set(self, "p_FC", _frozen(points))
        _set(self, "normal", _frozen(normal / length))
        _set(self, "friction", as_positive(self.friction, "friction"))
        _set(self, "damping", as_nonnegative(self.damping, "damping"))
        _set(self, "max_force", as_positive_or_infinite(self.max_force, "max_force"))
        if not isinstance(self.name, str):
            raise ArgumentTypeError(f"name: expected a str, got {quote(self.name)}")
        _set(self, "num_faces", as_count(self.num_faces, "num_faces", 3, _MOST_FACES))

    @property
    def num_points(self) -> int:
        """Number of points."""
        return len(self.p_FC)

    @cached_property
    def basis(self) -> FloatArray:
        """The orthonormal matrix whose rows are two tangents and the normal."""
        helper = np.eye(3)[np.argmin(np.abs(self.normal))]
        first = np.cross(helper, self.normal)
        first /= np.linalg.norm(first)
        return np.array([first, np.cross(self.normal, first), self.normal])

    @cached_property
    def pyramid(self) -> FloatArray:
        """Unit rows whose products with (tangent, tangent, normal) are nonpositive in the pyramid."""
        angles = 2.0 * np.pi / self.num_faces * np.arange(self.num_faces)
        slope = self.friction * np.cos(np.pi / self.num_faces)
        rows = np.stack([np.cos(angles), np.sin(angles), np.full(self.num_faces, -slope)], axis=1)
        faces: FloatArray = rows / np.hypot(1.0, slope)
        return faces

    @property
    def bounding_faces(self) -> list[int]:
        """Three evenly spread faces: a force's distances from these are its unknowns, with simple bounds."""
        return [0, self.num_faces // 3, 2 * self.num_faces // 3]

    @cached_property
    def edges(self) -> FloatArray:
        """The matrix that maps distances from `bounding_faces` to (tangent, tangent, normal)."""
        edges: FloatArray = np.linalg.inv(-self.pyramid[self.bounding_faces]).astype(float)
        return edges


def _frozen(array: FloatArray) -> FloatArray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _set(instance: ContactPoints, name: str, value: object) -> None:
    object.__setattr__(instance, name, value)
