from collections.abc import Sequence
from typing import Any

from mbt._core.solvers.inverse_layout import InverseLayout
from mbt.math.arrays import FloatArray

class InverseCore:
    def __init__(
        self, layout: InverseLayout, vector: FloatArray, disabled: Sequence[bool] | None
    ) -> None: ...
    @property
    def layout(self) -> InverseLayout: ...
    def solve(
        self,
        goals: FloatArray,
        starts: FloatArray,
        seeds: int,
        key: int,
        rotation_tolerance: float,
        distance_tolerance: float,
        max_steps: int,
        num_threads: int,
        count: int,
        q: FloatArray,
        met: Any,
        steps: Any,
        errors: FloatArray,
    ) -> None: ...
    def try_all(
        self,
        goal: FloatArray,
        start: FloatArray,
        seeds: int,
        key: int,
        rotation_tolerance: float,
        distance_tolerance: float,
        max_steps: int,
        q: FloatArray,
        met: Any,
    ) -> None: ...
