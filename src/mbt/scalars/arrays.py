"""Which arrays a scalar has."""

from __future__ import annotations

from functools import cache

from mbt.scalars.autodiff_arrays import AutoDiffArrays
from mbt.scalars.object_arrays import ObjectArrays
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType

__all__ = ["AutoDiffArrays", "ObjectArrays", "ScalarArrays", "arrays_of"]


@cache
def arrays_of(scalar_type: ScalarType) -> ScalarArrays:
    """Return what handles the arrays of a scalar."""
    return AutoDiffArrays() if scalar_type.name == "autodiff" else ObjectArrays(scalar_type)
