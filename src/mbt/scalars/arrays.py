"""The arrays of a scalar type."""

from __future__ import annotations

from typing import cast

from mbt.scalars.autodiff_arrays import AutoDiffArrays
from mbt.scalars.object_arrays import ObjectArrays
from mbt.scalars.scalar_arrays import ScalarArrays
from mbt.symbolic import ScalarType

__all__ = ["AutoDiffArrays", "ObjectArrays", "ScalarArrays", "arrays_of"]


def arrays_of(scalar_type: ScalarType) -> ScalarArrays:
    """Return the array functions of a scalar type, which keeps them: they live no longer than it."""
    known = vars(scalar_type)
    if "_arrays" not in known:
        made = AutoDiffArrays() if scalar_type.name == "autodiff" else ObjectArrays(scalar_type)
        known.setdefault("_arrays", made)
    return cast("ScalarArrays", known["_arrays"])
