"""Types, for checkers, of methods that return a number for one state and an array for a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Protocol, overload

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.math.arrays import FloatArray
    from mbt.scalars import BatchContext, ScalarContext

    class _Number(Protocol):
        @overload
        def __call__(self, context: BatchContext) -> FloatArray: ...  # type: ignore[overload-overlap]
        @overload
        def __call__(self, context: ScalarContext) -> Any: ...
        @overload
        def __call__(self, context: ContextCore) -> float: ...

    class _NumberOfElement(Protocol):
        @overload
        def __get__(self, element: None, kind: type[Any]) -> Self: ...
        @overload
        def __get__(self, element: object, kind: type[Any]) -> _Number: ...


__all__ = ["number_of_each_sample"]


def number_of_each_sample(method: Callable[[Any, ContextCore], float]) -> _NumberOfElement:
    """Declare that a method returns a number for one state, and an array of its shape for a batch.

    For a Context of another scalar it returns a number of that scalar. The method itself does not change.
    """
    return method
