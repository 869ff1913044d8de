"""Arrays of traced numbers, and NumPy's functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbt.compiling.traced_entries import HANDLERS, Number, Symbol
from mbt.compiling.tracing import Trace, foreign_error
from mbt.compiling.user_code import raise_branch, user_line
from mbt.errors import ArgumentTypeError, MbtError

__all__ = [
    "DEFINITE",
    "FUNCTIONS",
    "PRODUCTS",
    "UFUNCS",
    "TracedArray",
    "as_traced",
    "finished",
    "implements",
    "lifted",
    "plain",
]

#: Used by `__array_function__`: maps NumPy's functions to ours, whose first argument is the trace.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

#: Elementwise ufuncs, by name because NumPy may have several objects for one ufunc; and ufuncs of whole
#: vectors and matrices.
UFUNCS: dict[str, Callable[..., Any]] = {}
PRODUCTS: dict[np.ufunc, Callable[..., Any]] = {}

#: A list with the single function that notes which sums and multiples of matrices are positive semidefinite.
DEFINITE: list[Callable[..., None]] = []

# Functions that create arrays, called with ``like=``.
_CREATORS = {np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.zeros, np.ones, np.empty, np.full,
             np.eye, np.identity, np.arange}  # fmt: skip

# Functions written in C that accept arrays of floats but not of objects.
_REFUSED = {np.interp, np.bincount, np.digitize, np.correlate, np.convolve, np.unwrap, np.nan_to_num}

# Functions of `numpy.linalg` whose own code uses only products and sums.
_TAKEN = {"cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "outer",
          "tensordot", "trace", "vecdot"}  # fmt: skip


class TracedArray(np.ndarray[Any, np.dtype[np.object_]]):
    """An array of traced numbers: each entry is a `Number`, a `Condition`, or a plain number."""

    __array_priority__ = 20.0

    def __array_finalize__(self, other: Any) -> None:
        """Keep the trace of the array that this one is created from."""
        self._trace: Trace = getattr(other, "_trace", None)  # type: ignore[assignment]

    @property
    def scalar_type(self) -> Any:
        """The scalar type with which functions of `mbt.math` compute."""
        return self._trace.scalar_type

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute a ufunc."""
        return call_ufunc(self._trace, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Compute a NumPy function that is not a ufunc."""
        return call_function(self._trace, func, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Return entries; the indices must not be traced."""
        try:
            return super().__getitem__(key)
        except IndexError:
            _refuse_conditions(key)
            raise

    def __setitem__(self, key: Any, entries: Any) -> None:
        """Write entries; the indices must not be traced."""
        try:
            super().__setitem__(key, entries)
        except IndexError:
            _refuse_conditions(key)
            raise

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return conditions as numbers, or numbers as conditions."""
        kind = np.dtype(dtype).kind
        if kind == "f":
            return _map(self._trace, self._trace.lift, self)
        if kind == "b":
            return _map(self._trace, self._trace.is_true, self)
        return super().astype(dtype, *args, **kwargs)


def _refuse_conditions(key: Any) -> None:
    """Reject the selection of entries by conditions."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(x, (TracedArray, Symbol)) for x in keys):
        raise_branch()


def as_traced(trace: Trace, value: Any) -> TracedArray:
    """Return an array of traced numbers, or a plain array, as a `TracedArray`: a view if possible."""
    # Arrays created by NumPy's functions have no trace yet.
    if isinstance(value, TracedArray) and value._trace not in (None, trace):
        raise foreign_error()
    array = value if isinstance(value, np.ndarray) else np.asarray(_without_arrays(value), dtype=object)
    traced = (array if array.dtype == object else array.astype(object)).view(TracedArray)
    traced._trace = trace
    return traced


def plain(array: Any) -> Any:
    """Return an array of objects as a plain ndarray."""
    return array.view(np.ndarray)


def _without_arrays(value: Any) -> Any:
    """Return nested lists in which arrays of objects are replaced by lists and numbers."""
    if isinstance(value, (list, tuple)):
        return [_without_arrays(entry) for entry in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(np.ndarray).tolist()
    return value


def finished(trace: Trace, result: Any) -> Any:
    """Convert NumPy's result on arrays of objects to numbers and `TracedArray`, also in a tuple or list."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return as_traced(trace, result) if result.ndim else result.item()
    if type(result) in (tuple, list):
        return type(result)(finished(trace, entry) for entry in result)
    return result


def _map(trace: Trace, function: Callable[..., Any], *arrays: Any) -> Any:
    """Apply a function to all entries of arrays, with broadcasting."""
    operands = [plain(as_traced(trace, array)) for array in arrays]
    result = np.frompyfunc(function, len(operands), 1)(*operands)
    return as_traced(trace, result) if isinstance(result, np.ndarray) and result.ndim else result


def call_ufunc(
    trace: Trace, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Compute ``getattr(ufunc, method)(*inputs, **kwargs)``."""
    out = kwargs.pop("out", None)
    for keyword in ("dtype", "casting", "subok", "order"):
        kwargs.pop(keyword, None)
    if kwargs.get("where", True) is True:
        kwargs.pop("where", None)
    name = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if ufunc in PRODUCTS and method == "__call__" and not kwargs:
        result = PRODUCTS[ufunc](trace, *inputs)
    elif ufunc.__name__ in UFUNCS and "where" not in kwargs:
        function = UFUNCS[ufunc.__name__]
        arrays = [plain(as_traced(trace, x)) for x in (inputs if method != "reduceat" else inputs[:1])]

        def compute(*operands: Any) -> Any:
            return function(trace, *operands)

        own = np.frompyfunc(compute, ufunc.nin, ufunc.nout)
        if method == "__call__":
            result = own(*arrays, **kwargs)
        elif method in ("reduce", "accumulate", "outer"):
            result = _reduce(trace, own, ufunc, method, arrays, kwargs)
        else:
            raise _unsupported(name)
    else:
        raise _unsupported(name)
    result = finished(trace, result)
    if method == "__call__":
        for note in DEFINITE:
            note(trace, ufunc, inputs, result)
    return result if out is None else _store(trace, out, result, name)


def _reduce(
    trace: Trace, own: Any, ufunc: np.ufunc, method: str, arrays: list[Any], kwargs: dict[str, Any]
) -> Any:
    if method != "reduce":
        return getattr(own, method)(*arrays, **kwargs)
    (array,) = arrays
    axis, keepdims, initial = kwargs.get("axis", 0), kwargs.get("keepdims", False), kwargs.get("initial")
    if initial is None or initial is np._NoValue:
        initial = ufunc.identity
    axes = tuple(range(array.ndim)) if axis is None else np.atleast_1d(axis).tolist()
    axes = sorted((axis % max(1, array.ndim) for axis in axes), reverse=True)
    result = array
    for axis in axes:
        if result.shape[axis] == 0:
            if initial is None:
                raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} without identity")
            shape = (*result.shape[:axis], *result.shape[axis + 1 :])
            result = np.full(shape, float(initial), dtype=object)
        else:
            result = own.reduce(result, axis=axis)
    if not isinstance(result, np.ndarray):
        result = np.asarray(result, dtype=object)
    return np.expand_dims(result, tuple(axes)) if keepdims else result


def _store(trace: Trace, out: tuple[Any, ...], result: Any, name: str) -> Any:
    """Write a result into the caller's arrays."""
    results = result if isinstance(result, tuple) else (result,)
    for target, entries in zip(out, results, strict=True):
        if target is None:
            continue
        if target.dtype != object:
            raise ArgumentTypeError(
                f"{user_line()}: {name}: an array of {target.dtype} cannot hold traced numbers: make it with "
                "np.zeros(shape, like=q), or copy it with np.array(x, like=q)"
            )
        target[...] = entries
    stored = tuple(b if a is None else a for a, b in zip(out, results, strict=True))
    return stored if isinstance(result, tuple) else stored[0]


def _unsupported(name: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{user_line()}: {name} is not supported for traced numbers")


def implements(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for NumPy's functions of these `names`, such as ``"linalg.solve"``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            target: Any = np
            for part in name.split("."):
                target = getattr(target, part, None)
            if target is not None:
                FUNCTIONS[target] = function
        return function

    return register


def call_function(trace: Trace, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute one of NumPy's functions that are not ufuncs."""
    if func in FUNCTIONS:
        return finished(trace, FUNCTIONS[func](trace, *args, **kwargs))
    name = f"{func.__module__}.{func.__name__}"
    if func in _CREATORS:
        kwargs.pop("dtype", None)
        if func in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray):
            return as_traced(trace, np.array(_without_arrays(args[0]), dtype=object))
        return as_traced(trace, func(*args, **kwargs).astype(object))
    is_refused = func.__module__.startswith(("numpy.linalg", "numpy.fft")) and func.__name__ not in _TAKEN
    if func in _REFUSED or is_refused:
        raise _unsupported(name)
    # NumPy's own implementation, which handles arrays of objects through ufuncs and methods.
    own = getattr(func, "_implementation", None)
    if own is None:
        raise _unsupported(name)
    args, kwargs = _dressed(trace, args), _dressed(trace, kwargs)
    try:
        return finished(trace, own(*args, **kwargs))
    except MbtError:
        raise
    except (AttributeError, TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{user_line()}: {name} of traced numbers: {error}") from error


def _dressed(trace: Trace, value: Any) -> Any:
    """Return arguments in which traced numbers are replaced by arrays without axes."""
    if isinstance(value, Symbol):
        return as_traced(trace, value)
    if type(value) in (tuple, list):
        return type(value)(_dressed(trace, entry) for entry in value)
    if type(value) is dict:
        return {key: _dressed(trace, entry) for key, entry in value.items()}
    return value


def lifted(trace: Trace, value: Any) -> Any:
    """Return an array of objects, each of which is a `Number`."""
    array = plain(as_traced(trace, value))
    result = np.empty(array.shape, dtype=object)
    for i, entry in np.ndenumerate(array):
        result[i] = entry if type(entry) is Number else trace.lift(entry)
    return result


HANDLERS.update({"ufunc": call_ufunc, "function": call_function, "array": as_traced})
