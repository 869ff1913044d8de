import numpy.typing as npt

from mbt._core.engine import TreeCore
from mbt.math.arrays import FloatArray

def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def lane_count() -> int: ...
def evaluate(
    tree: TreeCore,
    quantity: int,
    index: int,
    parameters: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    x: npt.ArrayLike,
) -> FloatArray: ...
