import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.context import ContextCore, Engine
from mbt.math.arrays import FloatArray

@disjoint_base
class LaneParameters:
    def __new__(cls, compiled: CompiledModel, vector: npt.ArrayLike) -> Self: ...

def lane_parameters(compiled: CompiledModel, vector: npt.ArrayLike) -> LaneParameters: ...
def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def lane_count() -> int: ...
def count_outputs(compiled: CompiledModel, quantity: int, integers: tuple[int, ...] = ()) -> int: ...

@disjoint_base
class LaneEngine(Engine):
    def __new__(cls, compiled: CompiledModel, batch_shape: tuple[int, ...]) -> Self: ...
    def set_q(self, q: FloatArray | None) -> None: ...
    def set_v(self, v: FloatArray | None) -> None: ...
    def set_parameters(
        self, vector: npt.ArrayLike, columns: npt.ArrayLike | None, rows: FloatArray | None
    ) -> None: ...
    def evaluate_parts(
        self,
        context: ContextCore,
        quantity: int,
        integers: tuple[int, ...],
        x: FloatArray | None,
        outs: tuple[FloatArray | None, ...],
    ) -> tuple[FloatArray, ...]: ...
    def roll_out(
        self,
        context: ContextCore,
        integers: tuple[int, ...],
        x: FloatArray,
        tau: FloatArray,
        q_end: FloatArray,
        v_end: FloatArray,
        q: FloatArray,
        v: FloatArray,
        first_row: int,
    ) -> None: ...

def evaluate(
    context: ContextCore,
    quantity: int,
    integers: tuple[int, ...],
    count: int,
    parameters: LaneParameters,
    columns: npt.ArrayLike | None,
    rows: FloatArray | None,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    outputs: tuple[FloatArray, ...],
) -> None: ...
