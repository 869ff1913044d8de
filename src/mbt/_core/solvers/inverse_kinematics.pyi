from collections.abc import Sequence
from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.solvers.inverse_layout import InverseLayout
from mbt.math.arrays import FloatArray

@disjoint_base
class InverseCore:
    def __new__(cls, layout: InverseLayout, vector: FloatArray, disabled: Sequence[bool] | None) -> Self: ...
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
    def verify(
        self,
        goal: FloatArray,
        rotation_tolerance: float,
        distance_tolerance: float,
        q: FloatArray,
        met: Any,
        errors: FloatArray,
    ) -> None: ...
