"""The call of a user's function with traced numbers, and the resulting record."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# The rules for NumPy's functions register themselves when imported.
from mbt.compiling import traced_functions, traced_solvers
from mbt.compiling.derivatives import differentiate
from mbt.compiling.traced_arrays import as_traced, lifted
from mbt.compiling.traced_entries import Symbol
from mbt.compiling.traced_numbers import TracedNumbers
from mbt.compiling.tracing import Trace
from mbt.compiling.user_code import describe_line, is_of_user
from mbt.errors import ArgumentTypeError, ArgumentValueError, MbtError, quote
from mbt.math.arrays import as_count
from mbt.scalars.stand_ins import compute_in

__all__ = ["TracedCall", "as_shapes", "trace_call"]

del traced_functions, traced_solvers

_Shape = tuple[int, ...]

# The largest number of axes that native calls accept.
_MOST_AXES = 7
_MOST_ARRAYS = 64


@dataclass(frozen=True)
class TracedCall:
    """The recorded computation of a function.

    Attributes
    ----------
    trace : Trace
        The operations.
    inputs, outputs : dict of str to tuple of int
        Shapes of arguments and results, by name; results in a tuple are named by their places.
    results : list of list of int
        Indices of the operations that give each result.
    kind : type
        The type that the function returns: ndarray, tuple or dict.
    """

    trace: Trace
    inputs: dict[str, _Shape]
    outputs: dict[str, _Shape]
    results: list[list[int]]
    kind: type


def as_shapes(arguments: object) -> dict[str, _Shape]:
    """Return shapes by name: an int is the length of a vector."""
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise ArgumentTypeError(
            'arguments: expected shapes of the arguments of the function, {"q": (7,), "goal": (4, 4)}, '
            f"got {quote(arguments)}"
        )
    return {name: _as_shape(value, f"arguments[{quote(name)}]") for name, value in arguments.items()}


def _as_shape(value: object, name: str) -> _Shape:
    extents = value if isinstance(value, (tuple, list)) else (value,)
    if len(extents) > _MOST_AXES:
        raise ArgumentValueError(f"{name}: expected {_MOST_AXES} axes at most, got {len(extents)}")
    return tuple(as_count(extent, name, least=0) for extent in extents)


def trace_call(
    function: Callable[..., Any], inputs: dict[str, _Shape], derivatives: Sequence[str] = ()
) -> TracedCall:
    """Call a function with arrays of traced numbers, with these shapes by name, and return the record."""
    trace = Trace()
    vars(trace.scalar_type)["_arrays"] = TracedNumbers(trace)
    arrays = {name: _make_input(trace, place, shape) for place, (name, shape) in enumerate(inputs.items())}
    _check_signature(function, inputs)
    with compute_in(trace.scalar_type):
        returned = _call(function, arrays)
    kind: type = type(returned) if isinstance(returned, (dict, tuple)) else np.ndarray
    results = _collect(trace, returned, kind)
    if len(results) > _MOST_ARRAYS:
        raise ArgumentValueError(f"function: expected {_MOST_ARRAYS} results at most, got {len(results)}")
    if derivatives:
        results |= _differentiate(trace, results, arrays, _check_derivatives(derivatives, inputs, kind))
    return TracedCall(
        trace,
        inputs,
        {name: array.shape for name, array in results.items()},
        [[number.index for number in array.flat] for array in results.values()],
        dict if isinstance(returned, dict) else kind,
    )


def _make_input(trace: Trace, place: int, shape: _Shape) -> Any:
    numbers = [trace.record("input", place, i) for i in range(math.prod(shape))]
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return as_traced(trace, array.reshape(shape)) if shape else numbers[0]


def _check_signature(function: Callable[..., Any], inputs: dict[str, _Shape]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # A function written in C may have no signature: a mismatch shows when it is called.
    try:
        signature.bind(**dict.fromkeys(inputs))
    except TypeError as error:
        raise ArgumentTypeError(
            f"arguments: the function takes {signature}, got shapes for {', '.join(inputs) or 'none'}: "
            f"{error}"
        ) from None


def _call(function: Callable[..., Any], arrays: dict[str, Any]) -> Any:
    try:
        return function(**arrays)
    except MbtError:
        raise
    except (TypeError, AttributeError, ValueError) as error:
        # NumPy wraps errors raised by traced numbers, and its own message is about arrays of objects.
        if isinstance(error.__cause__, MbtError):
            raise error.__cause__ from None
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_of_user(frame.filename)]
        if not frames or not _is_of_objects(str(error)):
            raise
        line = describe_line(frames[-1].filename, frames[-1].lineno or 0)
        raise ArgumentTypeError(
            f"{line}: NumPy cannot compute this with a plain array of traced numbers ({error}): make such "
            "arrays with np.stack, np.concatenate or np.array([...], like=q) in place of np.array([...]) and "
            "np.asarray"
        ) from error


def _is_of_objects(message: str) -> bool:
    return any(
        words in message for words in ("dtype('O')", "no callable", "object array", "not supported for")
    )


def _collect(trace: Trace, returned: Any, kind: type) -> dict[str, Any]:
    """Return arrays of numbers by name."""
    if kind is dict:
        if not returned or not all(isinstance(name, str) for name in returned):
            raise ArgumentTypeError(
                f"function: expected results by name, got a dict with the keys {quote(list(returned))}"
            )
        named = returned
    else:
        named = {f"{i}": value for i, value in enumerate(returned if kind is tuple else (returned,))}
    if not named:
        raise ArgumentTypeError("function: expected a result, got an empty tuple")
    return {name: _as_result(trace, value, name, kind) for name, value in named.items()}


def _as_result(trace: Trace, value: Any, name: str, kind: type) -> Any:
    what = "function: " + ("its result" if kind is np.ndarray else f"result {quote(name)}")
    if not isinstance(value, (np.ndarray, Symbol, list, tuple, int, float, np.number, np.bool_)):
        raise ArgumentTypeError(f"{what}: expected an array or a number, got {type(value).__name__}")
    try:
        array = lifted(trace, value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{what}: expected an array of numbers: {error}") from None
    if array.ndim > _MOST_AXES:
        raise ArgumentValueError(f"{what}: expected {_MOST_AXES} axes at most, got {array.ndim}")
    return array


def _check_derivatives(derivatives: object, inputs: dict[str, _Shape], kind: type) -> list[str]:
    names = [derivatives] if isinstance(derivatives, str) else list(derivatives)  # type: ignore[call-overload]
    for name in names:
        if name not in inputs:
            raise ArgumentValueError(
                f"derivatives: expected names of arguments, {', '.join(inputs)}, got {quote(name)}"
            )
    if kind is not dict:
        raise ArgumentTypeError(
            "derivatives: expected a function that returns a dict, which names the derivatives too: "
            f'"tau_q" of "tau" and "q"; got a function that returns a {kind.__name__}'
        )
    return names


def _differentiate(
    trace: Trace, results: dict[str, Any], arrays: dict[str, Any], names: list[str]
) -> dict[str, Any]:
    """Return the derivatives of all results with respect to some arguments, named after both."""
    entries = {name: [number.index for number in lifted(trace, arrays[name]).flat] for name in names}
    directions = {index: i for i, index in enumerate(index for some in entries.values() for index in some)}
    outputs = [number.index for array in results.values() for number in array.flat]
    rates = iter(differentiate(trace, outputs, directions))
    found: dict[str, Any] = {}
    for result, array in results.items():
        rows = [next(rates) for _ in range(array.size)]
        first = 0
        for name, own in entries.items():
            whole = np.empty((array.size, len(own)), dtype=object)
            for i, row in enumerate(rows):
                whole[i] = row[first : first + len(own)]
            first += len(own)
            key = f"{result}_{name}"
            if key in results or key in found:
                raise ArgumentValueError(f"derivatives: there is a result {quote(key)} already")
            found[key] = whole.reshape((*array.shape, *np.shape(arrays[name])))
    return found
