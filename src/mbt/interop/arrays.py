"""Arrays of several arguments with leading axes."""

from __future__ import annotations

import numpy as np

from mbt.errors import ShapeError
from mbt.math.arrays import FloatArray

__all__ = ["spread"]


def spread(**arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return arrays, each with a last axis of its own, with the same leading axes.

    Raises
    ------
    ShapeError
        When their leading axes do not fit together.
    """
    try:
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays.values())
        raise ShapeError(f"{', '.join(arrays)}: their leading axes do not fit together: {shapes}") from None
    return tuple(np.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays.values())
