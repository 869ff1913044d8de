"""Base parameters: combinations of inertial parameters that motion can identify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbt.errors import SingularityError, reporting_damage
from mbt.math.arrays import FloatArray, as_float_array

__all__ = ["BaseParameters", "find_base_parameters"]

# Of columns about as independent as the best one, the first is taken: the result reads better, and does not
# depend on the last digits.
_NEARLY_BEST = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """The combinations of inertial parameters that determine the dynamics of a tree.

    Inverse dynamics is ``Y pi`` for any inertial parameters pi, and is the same for all pi with the same base
    parameters: ``Y pi = Y[:, independent] @ (regrouping @ pi)``. No measurement of motion and generalized
    forces can determine more than these. ``tree.calc_base_parameters()`` returns it; print it for a table.

    Attributes
    ----------
    independent : ndarray of int, shape (rank,)
        Columns of the regressor that are kept, in increasing order; read-only, like the other arrays.
    regrouping : ndarray, shape (rank, 10 (num_bodies - 1))
        Matrix from inertial to base parameters. Its columns `independent` are those of the identity.
    names : tuple of str
        Names of the inertial parameters.
    smallest_pivot : float
        Relative size of the independent part of the last column kept; infinite if none is kept.
    largest_remainder : float
        The same for the best column not kept. Rounding leaves 1e-13 or so: if the remainder is much larger,
        or `smallest_pivot` near it, the rank is not certain.
    """

    independent: npt.NDArray[np.intp]
    regrouping: FloatArray
    names: tuple[str, ...]
    smallest_pivot: float
    largest_remainder: float

    def __post_init__(self) -> None:
        with reporting_damage("BaseParameters"):
            for array in (self.independent, self.regrouping):
                array.flags.writeable = False
            if self.regrouping.shape != (len(self.independent), len(self.names)):
                raise ValueError("arrays and names do not fit together")

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def unidentifiable(self) -> npt.NDArray[np.intp]:
        """Inertial parameters that have no effect at all, as columns of the regressor."""
        return np.flatnonzero(~self.regrouping.any(axis=0))

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Each base parameter as text: ``"upper_Izz + 0.25 lower_m"``."""
        return tuple(
            _describe(self.names, int(kept), row)
            for kept, row in zip(self.independent, self.regrouping, strict=True)
        )

    def calc_values(self, pi: object) -> FloatArray:
        """Return the base parameters of inertial parameters.

        Parameters
        ----------
        pi : array_like, shape (..., 10 (num_bodies - 1))
            Inertial parameters, as ``tree.get_inertial_parameters()`` returns them.

        Returns
        -------
        ndarray, shape (..., rank)

        Raises
        ------
        ShapeError, ArgumentTypeError
            When `pi` is not of the right shape or type.
        """
        pi = as_float_array(pi, "pi", (..., len(self.names)))
        # One by one: a product of two matrices sums in another order than one of a matrix and a vector.
        values: FloatArray = (self.regrouping @ pi[..., None])[..., 0]
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the attributes; arrays come back read-only."""
        return type(self), (
            self.independent,
            self.regrouping,
            self.names,
            self.smallest_pivot,
            self.largest_remainder,
        )

    def __repr__(self) -> str:
        """Return how many there are."""
        return f"<BaseParameters: {self.rank} of {len(self.names)} inertial parameters>"

    def __str__(self) -> str:
        """Return a table."""
        total, absent = len(self.names), len(self.unidentifiable)
        title = f"{self.rank} base parameters of {total} inertial parameters, {absent} of them without effect"
        return "\n".join([title, *(f"  {description}" for description in self.descriptions)])


def find_base_parameters(R: FloatArray, names: tuple[str, ...], tolerance: float) -> BaseParameters:
    """Return the base parameters of a stacked regressor, or of the triangular factor of one.

    Columns are chosen one by one, by the size of the part that earlier ones do not span, until that is below
    `tolerance` for all; then the others are expressed in them. Sizes are relative to the largest columns of
    mass, moment and inertia.
    """
    if not np.isfinite(R).all():
        raise SingularityError(
            "base parameters: the regressor of random states overflows float64: are there joints with huge "
            "limits, or frames far away?"
        )
    num_columns = R.shape[1]
    kinds = np.resize(np.repeat([0, 1, 2], [1, 3, 6]), num_columns)
    norms = np.linalg.norm(R, axis=0)
    units = np.array([np.max(norms[kinds == kind], initial=0.0) for kind in range(3)])
    scale = np.where(units > 0.0, units, 1.0)[kinds]
    A = R / scale
    chosen, pivots, remainder = _choose_columns(A, tolerance)
    independent = np.array(sorted(chosen), dtype=np.intp)
    regrouping = np.zeros((len(independent), num_columns))
    others = np.setdiff1d(np.arange(num_columns), independent)
    if len(independent):
        K, _, _, singular_values = np.linalg.lstsq(A[:, independent], A[:, others], rcond=None)
        # Size that rounding leaves where the exact number is zero.
        noise = 100 * np.finfo(float).eps * singular_values[0] / singular_values[-1]
        K[np.abs(K) <= noise] = 0.0
        regrouping[:, others] = K * scale[others] / scale[independent, np.newaxis]
    regrouping[np.arange(len(independent)), independent] = 1.0
    return BaseParameters(independent, regrouping, names, min(pivots, default=np.inf), remainder)


def _choose_columns(A: FloatArray, tolerance: float) -> tuple[list[int], list[float], float]:
    """Return columns that span all others, the independent part of each, and the remainder of the others."""
    rest = A.copy()
    chosen: list[int] = []
    pivots: list[float] = []
    while True:
        norms = np.linalg.norm(rest, axis=0)
        norms[chosen] = 0.0
        best = float(np.max(norms, initial=0.0))
        if best <= tolerance:
            return chosen, pivots, best
        column = int(np.argmax(norms >= _NEARLY_BEST * best))
        direction = rest[:, column] / norms[column]
        rest -= np.outer(direction, direction @ rest)
        chosen.append(column)
        pivots.append(float(norms[column]))


def _describe(names: tuple[str, ...], kept: int, row: FloatArray) -> str:
    text = names[kept]
    for column in np.flatnonzero(row):
        if column != kept:
            size = f"{abs(row[column]):.6g}"
            factor = "" if size == "1" else f"{size} "
            text += f" {'+' if row[column] > 0.0 else '-'} {factor}{names[column]}"
    return text
