"""Force elements that are springs and dampers along coordinates between two frames."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.tree.force_elements.compiled import CompiledForceElement

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore

__all__ = ["SpringsAndDampers"]


class SpringsAndDampers(CompiledForceElement):
    """A force ``-k s - d sdot`` along each of m coordinates s; see `CompiledForceElement`."""

    @abstractmethod
    def _calc_coordinates(self, context: Any) -> tuple[Any, Any]:
        """Return, for one state, J with ``sdot = J v``, shape (m, num_velocities), and s, shape (m,)."""

    @abstractmethod
    def _get_constants(self, context: Any) -> tuple[Any, Any]:
        """Return k and d, shape (..., m)."""

    @abstractmethod
    def _set_constants(self, context: Any, k: Any, d: Any) -> None: ...

    # For the tree.

    def _slows(self, context: ContextCore) -> bool:
        return bool(np.any(self._get_constants(context)[1]))
