import numpy.typing as npt

from mbt._core.api.tree_energy import TreeCore
from mbt.math.arrays import FloatArray

def integrate_positions(
    tree: TreeCore, q: npt.ArrayLike, v: npt.ArrayLike, dt: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def difference_positions(
    tree: TreeCore, q0: npt.ArrayLike, q1: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def normalize_positions(tree: TreeCore, q: npt.ArrayLike, out: FloatArray | None) -> FloatArray: ...
