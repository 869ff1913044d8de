"""Common parts of the joints with one degree of freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.math.arrays import as_float
from mbt.tree.joints.parts import UniformDamping

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OneDofJoint"]


class OneDofJoint(UniformDamping):
    """A joint with one position and one velocity."""

    @property
    def position_lower_limit(self) -> float:
        """Lower limit of the position; -inf when there is none."""
        return float(self._position_limits[0][0])

    @property
    def position_upper_limit(self) -> float:
        """Upper limit of the position; inf when there is none."""
        return float(self._position_limits[1][0])

    @property
    def velocity_lower_limit(self) -> float:
        """Lower limit of the velocity; -inf when there is none."""
        return float(self._velocity_limits[0][0])

    @property
    def velocity_upper_limit(self) -> float:
        """Upper limit of the velocity; inf when there is none."""
        return float(self._velocity_limits[1][0])

    @property
    def acceleration_lower_limit(self) -> float:
        """Lower limit of the acceleration; -inf when there is none."""
        return float(self._acceleration_limits[0][0])

    @property
    def acceleration_upper_limit(self) -> float:
        """Upper limit of the acceleration; inf when there is none."""
        return float(self._acceleration_limits[1][0])

    def _set_default_position(self, value: object, argument: str) -> Self:
        return self.set_default_positions([as_float(value, f"{self._label}: {argument}")])
