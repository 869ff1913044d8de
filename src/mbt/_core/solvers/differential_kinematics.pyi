from collections.abc import Sequence
from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt.math.arrays import FloatArray

@disjoint_base
class VelocityCore:
    def __new__(
        cls,
        compiled: CompiledModel,
        vector: FloatArray,
        tasks: list[tuple[Any, ...]],
        limits: tuple[FloatArray, ...],
        locked: Sequence[int],
        disabled: Sequence[int],
        posture: tuple[FloatArray, float] | None,
        distances: tuple[list[tuple[Any, float, int]], int, int, int],
    ) -> Self: ...
    @property
    def num_goal(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def step(
        self,
        q: object,
        goals: list[Any],
        dt: float,
        gain: float,
        damping: float,
        velocity_limits: bool,
        last: object,
        out: object,
    ) -> FloatArray | None: ...
    def find_bad_goal(self, goals: FloatArray) -> int: ...
    def run(
        self,
        goals: FloatArray,
        q: FloatArray,
        last: FloatArray | None,
        dt: float,
        gain: float,
        damping: float,
        velocity_limits: bool,
        spare: float,
        num_threads: int,
        v: FloatArray,
    ) -> None: ...

def solve_bounded_least_squares(
    A: FloatArray,
    b: FloatArray,
    damping: float,
    center: FloatArray,
    E: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    x: FloatArray,
) -> int: ...
