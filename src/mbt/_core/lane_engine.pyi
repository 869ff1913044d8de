import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.context import ContextCore
from mbt._core.model import CompiledModel
from mbt.math.arrays import FloatArray

@disjoint_base
class LaneParameters:
    """What kernels read, the same in every lane, and in one state of doubles."""

    def __new__(cls, compiled: CompiledModel, vector: npt.ArrayLike) -> Self: ...

def lane_parameters(compiled: CompiledModel, vector: npt.ArrayLike) -> LaneParameters:
    """What kernels read of one parameter vector; of the default one always the same object."""

def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def lane_count() -> int:
    """States in a Lanes, and partial derivatives in a Dual."""

def count_outputs(compiled: CompiledModel, quantity: int) -> int:
    """Numbers of a `Quantity`, of one sample."""

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
) -> None:
    """Evaluate a `Quantity` of `count` samples into `outputs`, arrays that are equal parts of the result.

    `context` tells which dofs are locked, and which bodies weigh nothing. `rows` are the parameters in `columns` of
    each sample; None where none differ. `x` is the third input. It and q, v and the rows have one row for each
    sample, or one for all. Samples without a result are NaN.
    """
