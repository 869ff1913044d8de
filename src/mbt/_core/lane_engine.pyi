import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.context import ContextCore
from mbt._core.model import CompiledModel
from mbt.math.arrays import FloatArray

@disjoint_base
class LaneParameters:
    def __new__(cls, compiled: CompiledModel, vector: npt.ArrayLike) -> Self: ...

def lane_parameters(compiled: CompiledModel, vector: npt.ArrayLike) -> LaneParameters: ...
def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def lane_count() -> int: ...
def count_outputs(compiled: CompiledModel, quantity: int) -> int: ...
def evaluate(
    context: ContextCore,
    quantity: int,
    index: int,
    count: int,
    parameters: LaneParameters,
    columns: npt.ArrayLike | None,
    rows: FloatArray | None,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    outputs: tuple[FloatArray, ...],
) -> None: ...
