"""What to write in an element, where functions of NumPy and `math` do not take the objects of a scalar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mbt.errors import quote
from mbt.symbolic import ScalarType
from mbt.tree.hooks import add_note

__all__ = ["hinting_at_functions"]


@contextmanager
def hinting_at_functions(scalar: ScalarType) -> Iterator[None]:
    """Add a note to a TypeError of an element written in Python."""
    try:
        yield
    except TypeError as error:
        # Numbers with derivatives tell themselves what to write.
        if scalar.name not in ("autodiff", "double"):
            add_note(
                error,
                f"Functions that take one object of the scalar {quote(scalar.name)} are those of "
                "context.tree.scalar_type: sin, cos, sqrt, tanh, atan2, floor, select_lt.",
            )
        raise
