from collections.abc import Callable
from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class NativeFunction:
    library: Any
    def __new__(
        cls,
        library: Any,
        one: int,
        many: int,
        sizes: tuple[int, ...],
        shapes: tuple[tuple[int, ...], ...],
        otherwise: Callable[[tuple[Any, ...], Any], Any],
        single: bool,
    ) -> NativeFunction: ...
    def of_positions(self, q: Any = None, *more: Any, out: Any = None) -> Any: ...
    def of_velocities(self, q: Any = None, v: Any = None, *more: Any, out: Any = None) -> Any: ...
    def of_accelerations(
        self, q: Any = None, v: Any = None, vdot: Any = None, *more: Any, out: Any = None
    ) -> Any: ...
    def of_forces(
        self, q: Any = None, v: Any = None, tau: Any = None, *more: Any, out: Any = None
    ) -> Any: ...
    def call_many(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], count: int) -> None: ...

@disjoint_base
class NativeTick:
    _library: Any
    _kind: type
    def __new__(
        cls,
        library: Any,
        inputs: dict[str, tuple[int, ...]],
        outputs: dict[str, tuple[int, ...]],
        kind: type,
        single: bool,
        *ignored: Any,
    ) -> Self: ...
    def _serve(self, otherwise: Callable[[tuple[Any, ...], Any], Any]) -> None: ...
    def __call__(self, *arguments: Any, **named: Any) -> Any: ...
    def _call_many(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], count: int) -> None: ...
