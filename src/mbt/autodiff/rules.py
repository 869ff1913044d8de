"""The registry of rules for NumPy's functions, and checks of constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mbt.errors import ArgumentTypeError
from mbt.math.arrays import FloatArray

__all__ = [
    "CREATORS",
    "FUNCTIONS",
    "UFUNC_RULE",
    "UNKNOWN_NAMES",
    "as_constant",
    "check_dtype",
    "implements",
    "implements_ufuncs",
]

# Used by `__array_function__`: maps NumPy's functions to our rules.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

# The same for functions called with a prototype, ``like=x``, which is the first argument of their rules.
CREATORS: dict[Callable[..., Any], Callable[..., Any]] = {}

# Names that this version of NumPy lacks. The tests check that the newest version has all of them.
UNKNOWN_NAMES: set[str] = set()

# Called by `__array_ufunc__`: a list with the single rule for all ufuncs.
UFUNC_RULE: list[Callable[..., Any]] = []

_REAL_KINDS = "biuf"
_F = TypeVar("_F", bound=Callable[..., Any])


def implements(*names: str) -> Callable[[_F], _F]:
    """Register a function for NumPy's functions of these `names`, such as ``"linalg.solve"``."""

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


def implements_ufuncs(function: _F) -> _F:
    """Register the function that computes ufuncs."""
    UFUNC_RULE[:] = [function]
    return function


def as_constant(value: object, what: str) -> FloatArray:
    """Convert an operand without derivatives to a float64 array."""
    array = np.asarray(value)
    if array.dtype.kind not in _REAL_KINDS or isinstance(value, np.ma.MaskedArray):
        got = (
            f"{type(value).__name__} of dtype {array.dtype}" if isinstance(value, np.ndarray) else repr(value)
        )
        raise ArgumentTypeError(f"{what}: expected an AutoDiffArray or real numbers, got {got:.60}")
    return array.astype(np.float64, copy=False)


def check_dtype(dtype: Any, what: str) -> None:
    """Reject any dtype but float64."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise ArgumentTypeError(f"{what}: an AutoDiffArray holds float64 only, got dtype {np.dtype(dtype)}")
