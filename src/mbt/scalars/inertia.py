"""Mass properties of one body in another scalar than double."""

from __future__ import annotations

from typing import Any

from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia

__all__ = ["ScalarSpatialInertia", "ScalarUnitInertia"]

_MATRIX = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]


class ScalarUnitInertia(UnitInertia):
    """A unit inertia whose components are an array of a scalar, (..., 6): xx yy zz xy xz yz."""

    __slots__ = ()

    def __init__(self, components: Any) -> None:
        object.__setattr__(self, "_components", components)

    def as_matrix(self) -> Any:
        """Return the symmetric ``(3, 3)`` matrix."""
        return self._components[..., _MATRIX]


class ScalarSpatialInertia(SpatialInertia):
    """Mass, centre of mass and unit inertia in a scalar. Nothing is checked."""

    __slots__ = ()

    def __init__(self, mass: Any, com: Any, components: Any) -> None:
        object.__setattr__(self, "_mass", mass)
        object.__setattr__(self, "_com", com)
        object.__setattr__(self, "_unit_inertia", ScalarUnitInertia(components))

    def criticize_not_physically_valid(self) -> str | None:
        """Return None: it is not known."""
        return None

    def __repr__(self) -> str:
        """Tell mass and centre of mass."""
        return f"<SpatialInertia: mass={self._mass}, com={self._com}>"
