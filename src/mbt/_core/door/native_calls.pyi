from collections.abc import Callable
from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class NativeFunction:
    """A function of native code, of q, of q and v, or of q, v and one array more.

    `library` is kept alive; `one` and `many` are addresses in it: of a function of one state, and of one of many.
    `sizes` are those of the inputs, `shapes` those of the outputs of one state. Whatever is not exactly the arrays of
    one state, or of one axis of states, goes to `otherwise(inputs, out)`. Arrays are float64, or float32 of a `single`.
    """

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
    def of_positions(self, q: Any = None, *more: Any, out: Any = None) -> Any:
        """Call with generalized positions (..., num_positions)."""

    def of_velocities(self, q: Any = None, v: Any = None, *more: Any, out: Any = None) -> Any:
        """Call with generalized positions and velocities (..., num_velocities)."""

    def of_accelerations(
        self, q: Any = None, v: Any = None, vdot: Any = None, *more: Any, out: Any = None
    ) -> Any:
        """Call with generalized positions, velocities and accelerations (..., num_velocities)."""

    def of_forces(self, q: Any = None, v: Any = None, tau: Any = None, *more: Any, out: Any = None) -> Any:
        """Call with generalized positions, velocities and forces (..., num_velocities)."""

    def call_many(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], count: int) -> None:
        """Call with contiguous arrays of `count` rows, or of one row for all states; outputs have `count` rows."""

@disjoint_base
class NativeTick:
    """A function of native code with any inputs and outputs, called by position or by name.

    `inputs` and `outputs` are shapes of one state by name; `kind` tells what is returned: an array, a tuple, or a
    dict. Whatever is not exactly the arrays of one state, or of one axis of states, goes to `otherwise(inputs, out)`.
    """

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
    def _serve(self, otherwise: Callable[[tuple[Any, ...], Any], Any]) -> None:
        """Take what serves all other calls."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call with arrays, one for each input, of one state or with leading axes."""

    def _call_many(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], count: int) -> None:
        """Call with contiguous arrays of `count` rows, or of one row for all states; outputs have `count` rows."""
