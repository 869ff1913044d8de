"""Helpers for the rules of all functions: splitting operands and assembling results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, take_apart, wrap
from mbt.errors import ShapeError
from mbt.math.arrays import FloatArray

__all__ = [
    "common_count",
    "fresh",
    "lift",
    "normalize_axes",
    "normalize_axis",
]


def common_count(operands: Iterable[object], what: str) -> int:
    """Return the number of derivatives of the operands that have any.

    Raises
    ------
    ShapeError
        When two operands have different numbers of derivatives.
    """
    counts = {x.num_derivatives for x in operands if isinstance(x, AutoDiffArray)} - {0}
    if len(counts) > 1:
        raise ShapeError(
            f"{what}: operands with different numbers of derivatives, "
            f"{' and '.join(map(str, sorted(counts)))}: make them in one call of mbt.autodiff.initialize"
        )
    return counts.pop() if counts else 0


def lift(operand: object, count: int, what: str) -> tuple[FloatArray, FloatArray]:
    """Return values and `count` derivatives of an operand, zeros if it has none."""
    value, derivatives = take_apart(operand, count, what)
    return value, np.zeros((*value.shape, count)) if derivatives is None else derivatives


def fresh(value: Any, derivatives: Any) -> AutoDiffArray:
    """Return computed values and derivatives as a new array with both parts C-contiguous.

    Every array is therefore such a root array, or a view of one in which both parts have the same layout. An
    operation that yields a view of the values then also yields a view of the derivatives.
    """
    value = np.asarray(value, np.float64, order="C")
    derivatives = np.asarray(derivatives, np.float64, order="C")
    shape = (*value.shape, derivatives.shape[-1])
    if derivatives.shape != shape:
        derivatives = np.broadcast_to(derivatives, shape).copy()
    return wrap(value, derivatives)


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front."""
    return normalize_axes(axis, ndim)[0]


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front; None means all axes."""
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for entry in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -ndim <= entry < ndim:
            raise np.exceptions.AxisError(entry, ndim)
        axes.append(int(entry) % ndim)
    return tuple(axes)
