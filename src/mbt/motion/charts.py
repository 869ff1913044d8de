"""Local coordinates of positions, which are integrated like velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt._core.api.configuration import integrate_positions
from mbt.math import left_jacobian_inverse_so3
from mbt.motion.stages import find_turning_dofs

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.instance_state import IndexArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Chart", "rate_of_tangent"]

# A rotation vector is usable up to 2 pi, where its rate becomes unbounded.
_FAR = 1.5


class Chart:
    """Tangents u at q0, with one number for each velocity: ``q = exp(u) q0``.

    Parameters
    ----------
    tree : MultibodyTree
        The tree of the positions.
    q0 : ndarray, shape (num_positions,)
        Positions where u is zero.
    """

    def __init__(self, tree: MultibodyTree, q0: FloatArray) -> None:
        self._tree = tree
        self._q0 = q0
        self._places = _places_of_rotations(tree)

    def q(self, u: FloatArray) -> FloatArray:
        """Return positions, (..., num_positions)."""
        q: FloatArray = integrate_positions(self._tree, self._q0, u, 1.0)
        return q

    def rate(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """Return du/dt."""
        return _rate(self._places, u, v)

    def is_far(self, u: FloatArray) -> bool:
        """Whether it is better to start a new chart around q."""
        return bool((np.linalg.norm(u[self._places], axis=-1) > _FAR).any())


def rate_of_tangent(tree: MultibodyTree, u: FloatArray, v: FloatArray) -> FloatArray:
    """Return du/dt, (..., nv), where ``q = exp(u) q0`` has velocities v.

    This is v; for rotations, the inverse of the left Jacobian times v.
    """
    return _rate(_places_of_rotations(tree), u, v)


def _rate(places: IndexArray, u: FloatArray, v: FloatArray) -> FloatArray:
    if not places.size:
        return v
    rate = v.copy()
    J_inverse = left_jacobian_inverse_so3(u[..., places])
    rate[..., places] = (J_inverse @ v[..., places, np.newaxis])[..., 0]
    return rate


def _places_of_rotations(tree: MultibodyTree) -> IndexArray:
    """Return the indices in u of the rotation vectors of joints that turn about a point, (n, 3)."""
    return np.array(find_turning_dofs(tree), dtype=np.intp)[:, np.newaxis] + np.arange(3)
