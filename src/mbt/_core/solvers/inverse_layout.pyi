from collections.abc import Sequence
from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt.math.arrays import FloatArray

@disjoint_base
class InverseLayout:
    def __new__(
        cls,
        compiled: CompiledModel,
        tasks: list[tuple[Any, ...]],
        lower: FloatArray,
        upper: FloatArray,
        locked: Sequence[bool] | None,
        posture: tuple[FloatArray, float] | None,
    ) -> Self: ...
    @property
    def num_errors(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def take_goals(self, parts: list[FloatArray], count: int) -> FloatArray: ...
    def take_starts(self, starts: FloatArray) -> tuple[FloatArray, Any]: ...
