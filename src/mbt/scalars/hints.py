"""Advice in errors of elements that pass objects of a scalar type to functions of NumPy and `math`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mbt.errors import quote
from mbt.tree.hooks import add_note

if TYPE_CHECKING:
    from mbt.scalars.context import ScalarContext

__all__ = ["running_in"]


@contextmanager
def running_in(context: ScalarContext) -> Iterator[None]:
    """Keep a Context from other threads while elements written in Python run; add notes to their errors."""
    scalar = context.tree.scalar_type
    try:
        with context._exclusive():
            yield
    except TypeError as error:
        # Errors of numbers with derivatives give this advice themselves.
        if scalar.name not in ("autodiff", "double"):
            add_note(
                error,
                f"Functions that take one object of the scalar {quote(scalar.name)} are those of "
                "context.tree.scalar_type: sin, cos, sqrt, tanh, atan2, floor, select_lt.",
            )
        raise
