import numpy.typing as npt

from mbt._core.engine import TreeCore
from mbt.math.arrays import FloatArray

def lane_count() -> int: ...
def evaluate_lanes(
    tree: TreeCore,
    quantity: int,
    index: int,
    parameters: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    x: npt.ArrayLike,
) -> FloatArray: ...
