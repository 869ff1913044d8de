"""Checks and conversions of arguments: the slow path.

The compiled methods accept a float64, C-contiguous array of the right shape directly. Everything else
comes here and is either converted to such an array or rejected with a message that names
the argument.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from struct import Struct, pack
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementIndexError,
    ShapeError,
    quote,
    shape_error,
)

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "MAX_AXES",
    "FloatArray",
    "Shape",
    "as_bool",
    "as_broadcast_arrays",
    "as_count",
    "as_direction",
    "as_finite",
    "as_finite_array",
    "as_float",
    "as_float_array",
    "as_index",
    "as_nonnegative",
    "as_nonnegative_array",
    "as_own_array",
    "as_positive",
    "as_positive_or_infinite",
    "check_apart",
    "check_first_entries",
    "check_leading_axes",
    "check_nesting",
    "check_no_booleans",
    "check_out",
    "describe_type",
    "has_shape",
    "is_foreign",
    "is_list_of_floats",
    "shared_array",
    "shared_number",
]

# Not `numpy.typing.NDArray`, which is the same: importing it takes a thirtieth of the time to import mbt.
FloatArray = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Shape = tuple[int | EllipsisType | None, ...]

# Columns of one array interleave without sharing entries. Showing this takes few steps; else it is an error.
_OVERLAP_WORK: Any = 1000

#: Most axes that NumPy broadcasts. Since version 2 arrays may have more, but not in all of its functions.
MAX_AXES = 32

# Axes among these that results have after the leading axes, derivatives included.
_MAX_CORE_AXES = 4

# Advice for numbers that are not accepted as they are.
_CONVERSION = "; if that is meant, convert it: np.asarray(x, dtype=float)"

_FLOAT = frozenset((float,))
_DOUBLE = np.dtype(np.float64)

# Booleans, integers, floats: they convert to float64 without losing a component.
_REAL_KINDS = "biuf"


def as_float_array(
    value: object, name: str, shape: Shape | None = None, *, ndim: int | None = None, dtype: Any = np.float64
) -> FloatArray:
    """Convert a real array-like to a float64, C-contiguous array in native byte order.

    Parameters
    ----------
    value : array_like
        Numbers: lists, arrays of any real dtype, byte order and strides, objects with ``__array__``.
        Complex numbers, text, None, objects and ragged lists raise an error: mbt does not guess.
    name : str
        Name of the argument in error messages.
    shape : tuple, optional
        Expected shape. ``None`` is any extent, a leading ``Ellipsis`` is any number of batch axes.
    ndim : int, optional
        Expected number of axes.
    dtype : type, optional
        float32 instead of float64: arrays must convert to it without loss, lists need not.

    Returns
    -------
    ndarray
        The array. It shares memory with `value` if `value` is already of this form.

    Raises
    ------
    ArgumentTypeError
        When `value` does not consist of real numbers.
    ShapeError
        When it has another shape.

    Examples
    --------
    >>> as_float_array([1, 2, 3], "q", (3,))
    array([1., 2., 3.])
    """
    # Direct checks of the most common types: asking in other ways takes three times as long.
    if type(value) is np.ndarray:
        is_ready = value.dtype is _DOUBLE and dtype is np.float64 and value.flags.carray
        array = value if is_ready else _as_real_array(value, name, dtype)
    elif type(value) is float or (
        (type(value) is list or type(value) is tuple) and _FLOAT.issuperset(map(type, value))
    ):
        array = np.array(value, dtype)
    else:
        array = _as_real_array(value, name, dtype)
    if shape is not None and array.shape != shape and not has_shape(array.shape, shape):
        raise shape_error(name, shape, array.shape)
    if ndim is not None and array.ndim != ndim:
        raise shape_error(name, (None,) * ndim, array.shape)
    return array


def as_broadcast_arrays(**values: object) -> tuple[FloatArray, ...]:
    """Convert arguments, given by name, to float64 arrays, broadcast to a common shape."""
    return broadcast_together({name: as_float_array(value, name) for name, value in values.items()})


def broadcast_together(arrays: dict[str, Any]) -> tuple[Any, ...]:
    """Broadcast arrays, given by name, to a common shape; for any scalar type."""
    shapes_of_all = [array.shape for array in arrays.values()]
    for name, shape in zip(arrays, shapes_of_all, strict=True):
        check_leading_axes(shape, name)
    if len(set(shapes_of_all)) == 1:
        return tuple(arrays.values())
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        return tuple(np.broadcast_to(array, shape) for array in arrays.values())
    except ValueError:
        shapes = " and ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ShapeError(f"expected shapes that broadcast with each other, got {shapes}") from None


def as_finite_array(value: object, name: str, shape: Shape | None = None) -> FloatArray:
    """Convert as `as_float_array` does, reject NaN and infinity, and return a new copy."""
    if type(value) is np.ndarray:
        is_short = value.dtype is _DOUBLE and value.size <= 16
        if is_short and (shape is None or value.shape == shape or has_shape(value.shape, shape)):
            own = value.copy()
            if math.isfinite(sum(own.tolist() if own.ndim == 1 else own.ravel().tolist())):
                return own
    elif is_list_of_floats(value, shape) and math.isfinite(sum(value)):
        return np.array(value)
    array = as_float_array(value, name, shape).copy()
    if not _are_finite(array):
        got = _describe_values(array, ~np.isfinite(array))
        raise ArgumentValueError(f"{name}: expected finite numbers, got {got}")
    return array


def as_own_array(value: object, name: str, shape: Shape | None = None) -> FloatArray:
    """Convert as `as_float_array` does, and return a new copy."""
    if is_list_of_floats(value, shape):
        return np.array(value)
    return as_float_array(value, name, shape).copy()


def shared_array(values: Sequence[float]) -> FloatArray:
    """Return a read-only array of floats, the same one for the same floats: many in a robot are equal."""
    return _shared_array(pack(f"{len(values)}d", *values))


def shared_number(number: float) -> FloatArray:
    """Return the `shared_array` of one float."""
    return _shared_array(_pack_number(number))


_pack_number = Struct("d").pack


@lru_cache(maxsize=1024)
def _shared_array(memory: bytes) -> FloatArray:
    return np.frombuffer(memory)


def is_list_of_floats(value: object, shape: Shape | None) -> TypeGuard[Sequence[float]]:
    """Return whether a vector is a list or tuple of floats, as parsers pass: the fastest to convert."""
    return (
        (type(value) is list or type(value) is tuple)
        and shape == (len(value),)
        and _FLOAT.issuperset(map(type, value))
    )


def _floats_of(array: FloatArray) -> list[float]:
    # A vector needs no new shape, which would take as long as the rest.
    floats: list[float] = array.tolist() if array.ndim == 1 else array.ravel().tolist()
    return floats


def _are_finite(array: FloatArray) -> bool:
    # A vector or a pose is faster in floats than in an array. If the sum is finite, so are all terms.
    if array.size <= 16:
        floats = _floats_of(array)
        return math.isfinite(sum(floats)) or all(map(math.isfinite, floats))
    return bool(np.isfinite(array).all())


def as_float(value: object, name: str) -> float:
    """Convert a real number, or an array that holds exactly one, to a float. NaN and infinity pass.

    Raises
    ------
    ArgumentTypeError
        When `value` is not a real number.
    ShapeError
        When it is an array with several numbers.
    """
    if isinstance(value, float):
        return float(value)
    array = _as_real_array(value, name)
    if array.ndim != 0:
        raise shape_error(name, (), array.shape)
    return float(array)


def check_out(out: object, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> FloatArray:
    """Return `out` if results can be written straight into it.

    Raises
    ------
    ArgumentTypeError
        Unless `out` is exactly an ndarray, native `dtype`, C-contiguous, aligned and writeable.
    ShapeError
        Unless its shape is `shape`.
    """
    # Fast path for the usual case.
    if (
        type(out) is np.ndarray
        and out.dtype is _DOUBLE
        and dtype is np.float64
        and out.shape == shape
        and out.flags.carray
    ):
        return out
    wanted = f"{name}: expected a {dtype.__name__}, C-contiguous, writeable numpy.ndarray"
    if type(out) is not np.ndarray:
        raise ArgumentTypeError(f"{wanted}, got {describe_type(out)}")
    if out.dtype != dtype or not out.dtype.isnative:
        raise ArgumentTypeError(
            f"{wanted}, got dtype {out.dtype.str if not out.dtype.isnative else out.dtype}"
        )
    if out.shape != shape:
        raise shape_error(name, shape, out.shape)
    flags = out.flags
    if flags.carray:
        return out
    for holds, problem in (
        (flags.c_contiguous, "one that is not C-contiguous"),
        (flags.aligned, "one that is not aligned"),
        (flags.writeable, "a read-only one"),
    ):
        if not holds:
            raise ArgumentTypeError(f"{wanted}, got {problem}")
    return out


def check_apart(outs: Mapping[str, Any]) -> None:
    """Raise for output arrays, given by name, that share memory: one result would overwrite another.

    Raises
    ------
    ArgumentValueError
        When two of those that are not None share memory.
    """
    for (name, a), (other, b) in combinations(outs.items(), 2):
        if any(np.may_share_memory(x, y, _OVERLAP_WORK) for x in _memories(a) for y in _memories(b)):
            raise ArgumentValueError(
                f"{name} and {other}: expected arrays that do not overlap, got two in the same memory"
            )


def _memories(out: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the plain arrays that an argument consists of: two if it has derivatives."""
    return () if out is None else (out,) if isinstance(out, np.ndarray) else (out.value, out.derivatives)


def as_bool(value: object, name: str) -> bool:
    """Return an option that is True or False.

    Raises
    ------
    ArgumentTypeError
        When it is anything else, such as the text "no", which would count as true.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{name}: expected True or False, got {quote(value)}")
    return bool(value)


def as_index(value: object, name: str, count: int, kind: str) -> int:
    """Return `value` as an index in ``range(count)``.

    Parameters
    ----------
    value : int
        The index. Booleans, floats and negative numbers are refused.
    name : str
        Name of the argument.
    count : int
        Number of elements.
    kind : str
        The kind of the elements, in the singular: ``"body"``, ``"joint"``.

    Raises
    ------
    ArgumentTypeError
        When `value` is not an integer.
    ElementIndexError
        When it is out of range.
    """
    if type(value) is int and 0 <= value < count:
        return value
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{name}: expected the index of a {kind}, got {quote(value)}")
    try:
        index = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: expected the index of a {kind}, got {describe_type(value)}"
        ) from None
    if not 0 <= index < count:
        wanted = f"0 <= index < {count}" if count else f"nothing, as there is no {kind}"
        raise ElementIndexError(f"{name}: expected the index of a {kind} ({wanted}), got {index}")
    return index


def as_count(value: object, name: str, least: int = 1, most: int = 2**31 - 1) -> int:
    """Return `value` as an integer from `least` to `most`.

    Raises
    ------
    ArgumentTypeError
        When it is not an integer. Booleans and floats are not accepted.
    ArgumentValueError
        When it is out of range.
    """
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(f"{name}: expected an integer >= {least}, got {quote(value)}") from None
    if not least <= count <= most:
        wanted = f"an integer >= {least}" if count < least else f"an integer <= {most}"
        raise ArgumentValueError(f"{name}: expected {wanted}, got {quote(count)}")
    return count


def check_leading_axes(shape: tuple[int, ...], name: str) -> None:
    """Check that results with these leading axes do not exceed NumPy's maximum number of axes.

    Raises
    ------
    ShapeError
        When there are too many.
    """
    most = MAX_AXES - _MAX_CORE_AXES
    if len(shape) > most:
        raise ShapeError(
            f"{name}: expected at most {most} leading axes, got {len(shape)}: not all functions of NumPy "
            f"take more than {MAX_AXES} axes, and results need some"
        )


def check_nesting(depth: int, name: str) -> None:
    """Check that lists are not nested deeper than an array can be.

    Raises
    ------
    ArgumentTypeError
        When they are, as are lists that contain themselves.
    """
    if depth > MAX_AXES:
        raise ArgumentTypeError(
            f"{name}: expected numbers in lists at most {MAX_AXES} deep, got deeper ones, or a list that "
            "contains itself"
        )


def check_first_entries(value: object, name: str) -> None:
    """Raise for a list that contains itself, which NumPy would follow endlessly."""
    depth = 0
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
        depth += 1
        check_nesting(depth, name)


def check_no_booleans(value: object, name: str) -> None:
    """Raise for a list with a boolean: an option in the wrong place, which NumPy would convert to 0 or 1.

    Raises
    ------
    ArgumentTypeError
        When there is one.
    """
    if isinstance(value, (list, tuple)):
        for entry in value:
            if isinstance(entry, (bool, np.bool_)):
                raise _boolean_error(entry, name)


def _boolean_error(value: object, name: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{name}: expected a number, got {value}")


def _as_real_array(value: object, name: str, dtype: Any = np.float64) -> FloatArray:
    # Usually the same object: `==` of dtypes would take longer than the rest.
    if type(value) is np.ndarray and (
        value.dtype is _DOUBLE if dtype is np.float64 else value.dtype == dtype
    ):
        flags = value.flags
        return value if flags.c_contiguous and flags.aligned else value.copy()
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{name}: expected real numbers, got a masked array, whose mask would be lost"
        )
    check_first_entries(value, name)
    if (
        hasattr(type(value), "__dlpack__") or hasattr(type(value), "__cuda_array_interface__")
    ) and not isinstance(value, np.ndarray):
        from mbt.math.host_arrays import read_other_array

        value = read_other_array(value, name)
    try:
        array = np.asarray(value)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(
            f"{name}: expected real numbers, got {type(value).__name__}: {error}"
        ) from None
    except MemoryError:
        raise
    except Exception as error:
        # For several in a list the error itself says why they do not form an array.
        if is_foreign(value) and not isinstance(value, (list, tuple)):
            raise _foreign_error(value, name) from error
        problem = (
            "with entries of different lengths"
            if isinstance(error, ValueError) and "inhomogeneous" in str(error)
            else f"that does not form an array ({error})"
        )
        raise ArgumentTypeError(
            f"{name}: expected real numbers convertible to float64, got {describe_type(value)} {problem}"
        ) from error
    if array.dtype == object and array is not value and all(map(_is_int_or_float, array.flat)):
        array = _as_floats(array, name)
    # A boolean is an option in the wrong place; in arrays they are 0 and 1.
    if array.dtype.kind == "b" and not array.ndim:
        raise _boolean_error(array, name)
    if array.dtype.kind not in _REAL_KINDS:
        if is_foreign(value):
            raise _foreign_error(value, name)
        got = (
            array.dtype if isinstance(value, np.ndarray) or array.dtype.kind == "c" else describe_type(value)
        )
        raise ArgumentTypeError(
            f"{name}: expected real numbers convertible to float64, got {got}{_cure_for(array, value, name)}"
        )
    if dtype is np.float32 and not (
        isinstance(value, (list, tuple, int, float)) or np.can_cast(array.dtype, dtype)
    ):
        raise ArgumentTypeError(
            f"{name}: expected float32, or what converts to it without loss, got {array.dtype}; if that is "
            "meant, convert it: np.asarray(x, dtype=np.float32)"
        )
    array = np.asarray(array, dtype, order="C")
    return array if array.flags.aligned else array.copy()


def _is_int_or_float(entry: object) -> bool:
    return isinstance(entry, (int, float, np.integer, np.floating))


def _as_floats(array: npt.NDArray[Any], name: str) -> FloatArray:
    """Return as floats numbers that NumPy keeps as objects: some exceed its integers."""
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise ArgumentTypeError(
            f"{name}: expected real numbers convertible to float64, got an int that is too large"
        ) from None


def _cure_for(array: npt.NDArray[Any], value: object, name: str) -> str:
    """Return advice for an argument that became an array of objects or text, if it contains numbers."""
    if name in ("q", "v") and hasattr(type(value), name):  # A Context or a Trajectory.
        return f": its {name} are, pass .{name}"
    if array.dtype.kind not in "OSU" or not array.ndim:
        return ""
    # NumPy would convert it to NaN.
    if any(entry is None for entry in array.flat):
        return ": None is not a number"
    try:
        array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return ""
    return _CONVERSION


def _foreign_error(value: object, name: str) -> ArgumentTypeError:
    from mbt.math.host_arrays import explain_other_array

    number = _first_foreign(value)
    reason = explain_other_array(number)
    if reason:
        pass
    elif isinstance(number, numbers.Number):
        reason = _CONVERSION
    elif hasattr(number, "__rsub__"):  # Unlike forces, which can be multiplied.
        reason = (
            ": derivatives and symbols are for trees of other scalars, tree.to_autodiff() and "
            "tree.clone_to_scalar(...)"
        )
    return ArgumentTypeError(
        f"{name}: expected real numbers convertible to float64, got {describe_type(value)}{reason}"
    )


def is_foreign(value: object) -> bool:
    """Return whether an array-like contains numbers of another scalar type: with derivatives, or symbols."""
    return not (value is None or type(value) in (float, int)) and _first_foreign(value) is not None


def _first_foreign(value: object) -> object:
    """Return one of these numbers, the last of a list; None if there is none."""
    pending, seen = [value], set()
    while pending:
        entry = pending.pop()
        if not isinstance(entry, (list, tuple)) and not (
            isinstance(entry, np.ndarray) and entry.dtype == object
        ):
            if _is_foreign_scalar(entry):
                return entry
        elif id(entry) not in seen:
            seen.add(id(entry))
            pending.extend(entry.flat if isinstance(entry, np.ndarray) else entry)
    return None


def _is_foreign_scalar(value: object) -> bool:
    # Not numbers.Number: that includes fractions, and numbers of SymPy and mpmath, which are other scalars.
    if isinstance(value, (int, float, complex, np.ndarray, np.generic, str, bytes)):
        return False
    return hasattr(value, "__array_function__") or (
        hasattr(value, "__mul__") and hasattr(value, "__truediv__")
    )


def has_shape(got: tuple[int, ...], wanted: Shape) -> bool:
    """Return whether a shape is as expected: None is any extent, a leading Ellipsis any batch axes."""
    if got == wanted:
        return True
    if wanted and wanted[0] is Ellipsis:
        wanted = wanted[1:]
        if len(got) < len(wanted):
            return False
        got = got[len(got) - len(wanted) :]
        if got == wanted:
            return True
    return len(got) == len(wanted) and all(w is None or w == g for g, w in zip(got, wanted, strict=True))


def describe_type(value: object) -> str:
    """Return the name of an argument's type for an error message."""
    if value is None:
        return "None"
    if isinstance(value, (list, tuple)):
        culprit = _first_non_number(value)
        return type(value).__name__ + (f" with the entry {culprit}" if culprit else "")
    return (
        f"{type(value).__name__} {quote(value, 40)}"
        if isinstance(value, (str, bytes))
        else type(value).__name__
    )


def _first_non_number(values: Any) -> str:
    for entry in values:
        if not isinstance(entry, (int, float, np.ndarray, np.generic, list, tuple)):
            return quote(entry, 40)
    return ""


def _describe_values(array: FloatArray, is_bad: npt.NDArray[np.bool_]) -> str:
    if array.size <= 16:
        return str(array.tolist())
    bad = tuple(int(i) for i in np.argwhere(is_bad)[0])
    return f"{array[bad]} at index {bad if len(bad) > 1 else bad[0]}"


def as_nonnegative(value: object, name: str) -> float:
    """Convert to a float that is finite and not negative: a mass, a damping, a stiffness."""
    number = as_float(value, name)
    if not (math.isfinite(number) and number >= 0):
        raise ArgumentValueError(f"{name}: expected a finite number >= 0, got {number}")
    return number


def as_finite(value: object, name: str) -> float:
    """Convert to a float that is finite: an angle, a ratio."""
    number = as_float(value, name)
    if not math.isfinite(number):
        raise ArgumentValueError(f"{name}: expected a finite number, got {number}")
    return number


def as_positive(value: object, name: str) -> float:
    """Convert to a float that is finite and greater than zero: a length, a velocity to divide by."""
    number = as_float(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ArgumentValueError(f"{name}: expected a finite number > 0, got {number}")
    return number


def as_positive_or_infinite(value: object, name: str) -> float:
    """Convert to a float that is greater than zero: a length or a velocity, which may be infinite."""
    number = as_float(value, name)
    if not number > 0:
        raise ArgumentValueError(f"{name}: expected a number > 0, got {number}")
    return number


def as_nonnegative_array(value: object, name: str, shape: Shape) -> FloatArray:
    """Convert as `as_finite_array` does, and reject negative numbers."""
    array = as_finite_array(value, name, shape)
    if array.size and min(_floats_of(array)) < 0.0:
        raise ArgumentValueError(f"{name}: expected numbers >= 0, got {_describe_values(array, array < 0.0)}")
    return array


def as_direction(value: object, name: str) -> int:
    """Return an option that is True, False or -1 as 1, 0 or -1.

    Raises
    ------
    ArgumentTypeError
        When it is anything else.
    """
    if type(value) is int and value == -1:
        return -1
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(
            f"{name}: expected True, False, or -1 for time going backwards, got {quote(value)}"
        )
    return int(value)


def as_share_array(value: object, name: str) -> FloatArray:
    """Convert one number or many, and reject numbers outside 0 to 1."""
    if type(value) is float and 0.0 <= value <= 1.0:
        return np.array(value)
    array = as_finite_array(value, name, (...,))
    is_bad = (array < 0.0) | (array > 1.0)
    if is_bad.any():
        raise ArgumentValueError(f"{name}: expected 0 to 1, got {_describe_values(array, is_bad)}")
    return array
