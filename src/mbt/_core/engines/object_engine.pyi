from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.context import ContextCore, Engine

@disjoint_base
class ObjectEngine(Engine):
    """Python objects. An error that an operation raises surfaces as it is, and changes nothing.

    `functions` are sin, cos, sqrt, select_lt, tanh, atan2, floor and from_float, called as
    ``select_lt(a, b, x, y)`` (x where a < b, else y), ``atan2(y, x)`` and ``from_float(x)``, which makes an object of
    a float. The objects `zero` and `one` themselves are folded, not those that equal them.
    """

    def __new__(
        cls,
        compiled: CompiledModel,
        functions: tuple[Callable[..., Any], ...],
        zero: Any,
        one: Any,
        numbers: Any = None,
    ) -> Self: ...
    def set_q(self, q: Sequence[Any]) -> None:
        """Take positions, (nq,) array of objects."""

    def set_v(self, v: Sequence[Any]) -> None:
        """Take velocities, (nv,) array of objects."""

    def set_parameters(self, parameters: Sequence[Any]) -> None:
        """Take parameters, (size,) array of objects, and derive from them what kernels read."""

    def evaluate_parts(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Any, outs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return the parts of a `Quantity` along its first axis, written into those of `outs` that are not None."""

    def evaluate_objects(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Sequence[Any] | None
    ) -> npt.NDArray[np.object_]:
        """Return a `Quantity` as an array of objects, (n,). The input `x` is a sequence of objects, or None."""
