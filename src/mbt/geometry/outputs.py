"""Checks of arrays to write results into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray, check_apart, check_out

__all__ = ["check_outs"]


def check_outs(out: object, shapes: Sequence[tuple[int, ...]], dtype: Any, q: FloatArray) -> list[FloatArray]:
    """Return the arrays of `out` if results of these shapes can be written directly into them.

    None in a tuple stands for a new array.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When they cannot.
    """
    if len(shapes) == 1:
        named = {"out": out}
    elif isinstance(out, (tuple, list)) and len(out) == len(shapes):
        arrays = [np.empty(own, dtype) if x is None else x for x, own in zip(out, shapes, strict=True)]
        named = {f"out[{i}]": x for i, x in enumerate(arrays)}
    else:
        got = f"{len(out)} of them" if isinstance(out, (tuple, list)) else quote(out)
        raise ArgumentTypeError(f"out: expected a tuple of {len(shapes)} arrays, got {got}")
    found = [check_out(x, name, shape, dtype) for (name, x), shape in zip(named.items(), shapes, strict=True)]
    check_apart(named)
    if any(np.may_share_memory(x, q) for x in found):
        raise ArgumentValueError("out: expected memory that does not overlap that of q")
    return found
