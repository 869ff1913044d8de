"""Contexts of all kinds, and their results as doubles: statements about one hold for all."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt
from mbt.math.arrays import FloatArray

__all__ = ["KINDS", "make_context", "values_of"]

#: One state of doubles, many states, one state with derivatives, one of expressions.
KINDS = ("double", "batch", "autodiff", "sympy")


def make_context(tree: mbt.MultibodyTree, kind: str) -> Any:
    """Return a Context of a kind, for the tree or a clone of it."""
    if kind == "double":
        return tree.create_default_context()
    if kind == "batch":
        return tree.create_default_context(3)
    return tree.clone_to_scalar(kind).create_default_context()


def values_of(result: Any) -> FloatArray:
    """Return the values of a result: of all samples, without derivatives, of expressions without symbols."""
    values: FloatArray = np.asarray(getattr(result, "value", result)).astype(np.float64)
    return values
