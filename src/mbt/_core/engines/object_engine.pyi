from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.context import ContextCore, Engine

@disjoint_base
class ObjectEngine(Engine):
    def __new__(
        cls,
        compiled: CompiledModel,
        functions: tuple[Callable[..., Any], ...],
        zero: Any,
        one: Any,
        numbers: Any = None,
    ) -> Self: ...
    def set_q(self, q: Sequence[Any]) -> None: ...
    def set_v(self, v: Sequence[Any]) -> None: ...
    def set_parameters(self, parameters: Sequence[Any]) -> None: ...
    def evaluate_parts(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Any, outs: tuple[Any, ...]
    ) -> tuple[Any, ...]: ...
    def evaluate_objects(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Sequence[Any] | None
    ) -> npt.NDArray[np.object_]: ...
