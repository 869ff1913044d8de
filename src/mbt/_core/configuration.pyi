import numpy.typing as npt

from mbt._core.engine import TreeCore
from mbt.math.arrays import FloatArray

def integrate_positions(
    tree: TreeCore, q: npt.ArrayLike, v: npt.ArrayLike, dt: npt.ArrayLike, out: FloatArray | None
) -> FloatArray:
    """Where motion from q at the constant v leads within dt, (..., nq)."""

def difference_positions(
    tree: TreeCore, q0: npt.ArrayLike, q1: npt.ArrayLike, out: FloatArray | None
) -> FloatArray:
    """The v that leads from q0 to q1 within one second, (..., nv)."""

def normalize_positions(tree: TreeCore, q: npt.ArrayLike, out: FloatArray | None) -> FloatArray:
    """Positions with quaternions of unit length, (..., nq)."""
