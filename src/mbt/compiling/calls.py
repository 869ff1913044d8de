"""Calls of native functions with any leading axes, on several threads."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np

from mbt._core.door.native_calls import NativeFunction
from mbt.compiling.compiler import CodeInMemory
from mbt.config import get_num_threads
from mbt.errors import ArgumentTypeError
from mbt.math.arrays import as_float_array, broadcast_together, check_apart, check_out

__all__ = ["bind", "call_on_states", "check_arguments", "take_tuple"]

Shapes = tuple[tuple[int, ...], ...]

#: States per piece: threads take one piece after another, and Ctrl-C waits for the current pieces.
_PIECE = 4096

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # The threads of a pool do not exist in a child process.
    os.register_at_fork(after_in_child=_pools.clear)


def bind(
    name: str, library: CodeInMemory, inputs: dict[str, int], shapes: Shapes, dtype: Any
) -> Callable[..., Any]:
    """Return a function of arrays of one dtype, with `inputs` (sizes by name) and results of `shapes`."""
    # Fallback for arguments that are not exactly the arrays of one state.
    holder: list[NativeFunction] = []
    otherwise = partial(_call_many, name, holder, inputs, shapes, dtype)
    native = NativeFunction(
        library, library.one, library.many, tuple(inputs.values()), shapes, otherwise, dtype is np.float32
    )
    holder.append(native)
    if len(inputs) == 3:
        return native.of_accelerations if "vdot" in inputs else native.of_forces
    return native.of_velocities if len(inputs) == 2 else native.of_positions


def _call_many(
    name: str,
    holder: list[NativeFunction],
    sizes: dict[str, int],
    shapes: Shapes,
    dtype: Any,
    arguments: tuple[Any, ...],
    out: Any,
) -> Any:
    """Call with array-likes that have any leading axes."""
    check_arguments(name, list(sizes), arguments)
    given = {"out": out} if len(shapes) == 1 else take_tuple(out, len(shapes))
    inputs: dict[str, tuple[int, ...]] = {argument: (size,) for argument, size in sizes.items()}
    outputs = call_on_states(holder[0].call_many, inputs, arguments, given, shapes, dtype)
    return outputs if len(shapes) > 1 else outputs[0]


def call_on_states(
    call_many: Callable[[tuple[Any, ...], tuple[Any, ...], int], None],
    inputs: dict[str, tuple[int, ...]],
    arguments: tuple[Any, ...],
    given: dict[str, Any],
    shapes: Sequence[tuple[int, ...]],
    dtype: Any,
) -> tuple[Any, ...]:
    """Call with arrays that have any leading axes and return the results.

    Parameters
    ----------
    call_many : callable
        Computes many states: takes rows of inputs, rows of outputs, and the number of states.
    inputs : dict of str to tuple of int
        Shapes of the inputs of one state, by name.
    arguments : tuple of array_like
        One array for each input.
    given : dict of str to ndarray or None
        Arrays for the results, by the names used in error messages.
    shapes : sequence of tuple of int
        Shapes of the results of one state.
    dtype : type
        The dtype of all arrays.
    """
    arrays = {
        name: as_float_array(value, name, (..., *core), dtype=dtype)
        for (name, core), value in zip(inputs.items(), arguments, strict=True)
    }
    leads = {name: array.shape[: array.ndim - len(inputs[name])] for name, array in arrays.items()}
    axes = {name: np.broadcast_to(0.0, lead) for name, lead in leads.items()}
    lead = broadcast_together(axes)[0].shape if axes else ()
    count = math.prod(lead)
    outputs = _outputs(given, lead, shapes, dtype)
    rows = tuple(
        _as_rows(array.reshape(*leads[name], math.prod(inputs[name])), lead, count, outputs)
        for name, array in arrays.items()
    )
    flat = tuple(array.reshape(count, math.prod(shape)) for array, shape in zip(outputs, shapes, strict=True))
    _share_out(call_many, rows, flat, count)
    return outputs


def check_arguments(name: str, wanted: list[str], arguments: tuple[Any, ...]) -> None:
    """Reject missing arguments, None included, and surplus arguments."""
    signature = f"{name}({', '.join(wanted)}, *, out=None)"
    missing = [argument for argument, value in zip(wanted, arguments, strict=False) if value is None]
    missing += wanted[len(arguments) :]
    if len(arguments) > len(wanted):
        raise ArgumentTypeError(
            f"{signature}: expected an array for each, got {len(arguments)} arguments; the tree is built "
            "in and must not be passed"
        )
    if missing:
        raise ArgumentTypeError(f"{' and '.join(missing)}: missing, {signature} takes an array for each")


def take_tuple(out: Any, count: int) -> dict[str, Any]:
    """Return the arrays for several results, by the names used in error messages."""
    given = (None,) * count if out is None else out
    if not isinstance(given, tuple) or len(given) != count:
        raise ArgumentTypeError(f"out: expected a tuple of {count} arrays or None, got {type(out).__name__}")
    return {f"out[{i}]": array for i, array in enumerate(given)}


def _share_out(
    call_many: Callable[[tuple[Any, ...], tuple[Any, ...], int], None],
    rows: tuple[Any, ...],
    flat: tuple[Any, ...],
    count: int,
) -> None:
    """Call piece by piece, on up to as many threads as mbt uses."""

    def call(first: int) -> None:
        size = min(_PIECE, count - first)
        own = tuple(array if len(array) == 1 < count else array[first : first + size] for array in rows)
        call_many(own, tuple(array[first : first + size] for array in flat), size)

    left = deque(range(0, count, _PIECE))

    def work() -> None:
        try:
            while left:
                try:
                    first = left.popleft()
                except IndexError:  # another thread took the last piece
                    break
                call(first)
        finally:  # an error stops all threads
            left.clear()

    threads = min(get_num_threads(), len(left))
    helpers: list[Future[None]] = []
    try:
        if threads > 1:
            helpers = _start(work, threads)
        work()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    finally:  # nothing may be written after the return, not even after an error or Ctrl-C
        left.clear()
        wait([helper for helper in helpers if not helper.cancel()])


def _start(work: Callable[[], None], threads: int) -> list[Future[None]]:
    """Start threads that work alongside the caller: as many as are available, which may be none."""
    pool = _pools.get(threads) or _pools.setdefault(threads, ThreadPoolExecutor(threads, "mbt-compiled"))
    helpers: list[Future[None]] = []
    try:
        for _ in range(threads - 1):
            helpers.append(pool.submit(work))
    except RuntimeError:  # no more threads: drop the pool, which keeps work that no thread has begun
        _pools.pop(threads, None)
    return helpers


def _outputs(
    given: dict[str, Any], lead: tuple[int, ...], shapes: Sequence[tuple[int, ...]], dtype: Any
) -> tuple[Any, ...]:
    """Return the arrays to write into."""
    for (name, array), shape in zip(given.items(), shapes, strict=True):
        if array is not None:
            check_out(array, name, (*lead, *shape), dtype)
    check_apart(given)
    return tuple(
        np.empty((*lead, *shape), dtype) if array is None else array
        for array, shape in zip(given.values(), shapes, strict=True)
    )


def _as_rows(array: Any, lead: tuple[int, ...], count: int, outputs: tuple[Any, ...]) -> Any:
    """Return one row per state, or one row for all states; copied if an output shares its memory."""
    size = array.shape[-1]
    one_for_all = math.prod(array.shape[:-1]) == 1
    if not one_for_all and array.shape[:-1] != lead:
        array = np.ascontiguousarray(np.broadcast_to(array, (*lead, size)))
    if any(np.may_share_memory(array, output) for output in outputs):
        array = array.copy()
    # Convert subclasses that behave like a plain array.
    return np.asarray(array).reshape(1 if one_for_all else count, size)
