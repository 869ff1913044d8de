from collections.abc import Sequence
from typing import Any

from mbt._core.door.compiled_model import CompiledModel
from mbt.math.arrays import FloatArray

class InverseLayout:
    def __init__(
        self,
        compiled: CompiledModel,
        tasks: list[tuple[Any, ...]],
        lower: FloatArray,
        upper: FloatArray,
        locked: Sequence[bool] | None,
        posture: tuple[FloatArray, float] | None,
    ) -> None: ...
    @property
    def num_errors(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def take_goals(self, parts: list[FloatArray], count: int) -> FloatArray: ...
    def take_starts(self, starts: FloatArray) -> tuple[FloatArray, Any]: ...
