"""Points by which a robot stands on, or leans against, what does not move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_nonnegative, as_positive

__all__ = ["ContactPoints", "normal_and_tangents"]


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Points of a frame that touch what does not move, with dry friction.

    Parameters
    ----------
    frame : Frame, RigidBody or str
        What carries the points.
    p_FC : array_like, shape (n, 3) or (3,)
        The points [m], in the frame.
    friction : float
        Coefficient of friction, > 0.
    normal : array_like, shape (3,), optional
        The direction, in World axes, in which the ground pushes; up if left out. Its length does not matter.
    damping : float, optional
        Rate [1/s] at which a velocity that the points still have decays.
    max_force : float, optional
        The largest normal force of a point [N].
    name : str, optional
        What messages call it; the name of the frame if left out.

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

    def __post_init__(self) -> None:
        points = np.atleast_2d(as_finite_array(self.p_FC, "p_FC", None))
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            cure = "; transpose it: one point a row" if points.ndim == 2 and points.shape[0] == 3 else ""
            raise ArgumentValueError(f"p_FC: expected shape (n, 3), got {points.shape}{cure}")
        normal = as_finite_array(self.normal, "normal", (3,))
        length = float(np.linalg.norm(normal))
        if length < 1e-6:
            raise ArgumentValueError("normal: expected a direction, got a vector of length zero")
        _set(self, "p_FC", _frozen(points))
        _set(self, "normal", _frozen(normal / length))
        _set(self, "friction", as_positive(self.friction, "friction"))
        _set(self, "damping", as_nonnegative(self.damping, "damping"))
        if self.max_force != np.inf:
            _set(self, "max_force", as_positive(self.max_force, "max_force"))
        if not isinstance(self.name, str):
            raise ArgumentTypeError(f"name: expected a str, got {quote(self.name)}")

    @property
    def num_points(self) -> int:
        """Number of points."""
        return len(self.p_FC)


def normal_and_tangents(normal: FloatArray) -> FloatArray:
    """Return the matrix whose rows are two tangents and the normal: an orthonormal basis."""
    helper = np.eye(3)[np.argmin(np.abs(normal))]
    first = np.cross(helper, normal)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first), normal])


def _frozen(array: FloatArray) -> FloatArray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _set(instance: ContactPoints, name: str, value: object) -> None:
    object.__setattr__(instance, name, value)
