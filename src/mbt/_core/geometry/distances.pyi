from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.geometry.scene import Scene
from mbt.math.arrays import FloatArray

def is_known(a: int, b: int) -> bool: ...

@disjoint_base
class DistanceCore:
    scene: Scene
    def __new__(cls, scene: Scene, vector: FloatArray) -> Self: ...
    def run(
        self,
        q: FloatArray,
        num_threads: int,
        distance: FloatArray | None,
        p_A: FloatArray | None,
        p_B: FloatArray | None,
        n: FloatArray | None,
        J: FloatArray | None,
        is_free: Any,
        margin: float,
    ) -> None: ...
