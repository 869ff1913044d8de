from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.context import ContextCore
from mbt._core.model import CompiledModel

@disjoint_base
class ObjectEngine:
    def __new__(
        cls, compiled: CompiledModel, functions: tuple[Callable[..., Any], ...], zero: Any, one: Any
    ) -> Self: ...
    def set_q(self, q: Sequence[Any]) -> None: ...
    def set_v(self, v: Sequence[Any]) -> None: ...
    def set_parameters(self, parameters: Sequence[Any]) -> None: ...
    def evaluate(
        self, context: ContextCore, quantity: int, index: int, x: Sequence[Any] | None
    ) -> npt.NDArray[np.object_]: ...
