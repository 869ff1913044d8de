from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt.math.arrays import FloatArray

def find_groups(compiled: CompiledModel) -> list[tuple[int, int, int]]: ...
def find_tops(heights: FloatArray) -> FloatArray: ...

@disjoint_base
class Scene:
    def __new__(
        cls,
        compiled: CompiledModel,
        shapes: list[tuple[Any, ...]],
        pairs: list[tuple[int, int, float]],
    ) -> Self: ...
