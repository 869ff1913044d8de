"""What the rules of all functions share: taking operands apart and putting results together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.errors import ArgumentTypeError, ShapeError
from mbt.math.arrays import FloatArray

__all__ = [
    "CREATORS",
    "FUNCTIONS",
    "UNKNOWN_NAMES",
    "as_constant",
    "check_dtype",
    "common_count",
    "fresh",
    "implements",
    "lift",
    "normalize_axes",
    "normalize_axis",
    "take_apart",
]

# What `__array_function__` looks up: NumPy's function, and ours for it.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

# The same for functions that are given a prototype, ``like=x``, which their rules take first.
CREATORS: dict[Callable[..., Any], Callable[..., Any]] = {}

# Names that this version of NumPy does not have. The tests see to it that the newest has them all.
UNKNOWN_NAMES: set[str] = set()

_REAL_KINDS = "biuf"
_F = TypeVar("_F", bound=Callable[..., Any])


def implements(*names: str) -> Callable[[_F], _F]:
    """Register a function for NumPy's functions of these `names`, as ``"linalg.solve"``."""

    def register(function: _F) -> _F:
        for name in names:
            target: Any = np
            for part in name.split("."):
                target = getattr(target, part, None)
            if target is None:
                UNKNOWN_NAMES.add(name)
            else:
                FUNCTIONS[target] = function
        return function

    return register


def as_constant(value: object, what: str) -> FloatArray:
    """Convert an operand without derivatives to a float64 array."""
    array = np.asarray(value)
    if array.dtype.kind not in _REAL_KINDS or isinstance(value, np.ma.MaskedArray):
        got = (
            f"{type(value).__name__} of dtype {array.dtype}" if isinstance(value, np.ndarray) else repr(value)
        )
        raise ArgumentTypeError(f"{what}: expected an AutoDiffArray or real numbers, got {got:.60}")
    return array.astype(np.float64, copy=False)


def common_count(operands: Iterable[object], what: str) -> int:
    """Return the number of derivatives of the operands that have any.

    Raises
    ------
    ShapeError
        When two operands have different numbers of them.
    """
    counts = {x.num_derivatives for x in operands if isinstance(x, AutoDiffArray)} - {0}
    if len(counts) > 1:
        raise ShapeError(
            f"{what}: operands with different numbers of derivatives, "
            f"{' and '.join(map(str, sorted(counts)))}: make them in one call of mbt.autodiff.initialize"
        )
    return counts.pop() if counts else 0


def take_apart(operand: object, count: int, what: str) -> tuple[FloatArray, FloatArray | None]:
    """Return values and derivatives of an operand; the latter are None where it has none of `count`."""
    if isinstance(operand, AutoDiffArray):
        return operand.value, operand.derivatives if operand.num_derivatives == count else None
    return as_constant(operand, what), None


def lift(operand: object, count: int, what: str) -> tuple[FloatArray, FloatArray]:
    """Return values and `count` derivatives of an operand, zeros if it has none."""
    value, derivatives = take_apart(operand, count, what)
    return value, np.zeros((*value.shape, count)) if derivatives is None else derivatives


def fresh(value: Any, derivatives: Any) -> AutoDiffArray:
    """Return computed numbers as an array of its own: both parts C-contiguous.

    So every array is a root of this kind, or a view of one in which both parts have the same layout. What is
    a view for the values is then a view for the derivatives.
    """
    value = np.asarray(value, np.float64, order="C")
    derivatives = np.asarray(derivatives, np.float64, order="C")
    shape = (*value.shape, derivatives.shape[-1])
    if derivatives.shape != shape:
        derivatives = np.broadcast_to(derivatives, shape).copy()
    return wrap(value, derivatives)


def check_dtype(dtype: Any, what: str) -> None:
    """Refuse any dtype but float64."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise ArgumentTypeError(f"{what}: an AutoDiffArray holds float64 only, got dtype {np.dtype(dtype)}")


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front."""
    return normalize_axes(axis, ndim)[0]


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front; None is all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for entry in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -ndim <= entry < ndim:
            raise np.exceptions.AxisError(entry, ndim)
        axes.append(int(entry) % ndim)
    return tuple(axes)
