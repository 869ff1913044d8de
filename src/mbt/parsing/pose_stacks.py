"""Many poses at once, from positions and quaternions."""

from __future__ import annotations

import numpy as np

from mbt.errors import SingularityError
from mbt.math.arrays import FloatArray

__all__ = ["calc_rotations", "stack_poses"]


def calc_rotations(quaternions: FloatArray) -> FloatArray:
    """Return rotation matrices, shape (..., 3, 3), of quaternions ``(w, x, y, z)``, shape (..., 4).

    Raises
    ------
    SingularityError
        When a quaternion is zero.
    """
    norms = np.sqrt(np.einsum("...i,...i->...", quaternions, quaternions))[..., None]
    if not norms.all():
        raise SingularityError("quaternion: expected nonzero quaternions (w, x, y, z), got zero")
    unit = quaternions / norms
    w, v = unit[..., :1, None], unit[..., 1:]
    # R = (w^2 - v^T v) 1 + 2 v v^T + 2 w [v]x
    R: FloatArray = 2.0 * v[..., :, None] * v[..., None, :]
    x, y, z = (2.0 * w[..., 0, 0] * v[..., i] for i in range(3))
    R[..., 0, 1] -= z
    R[..., 0, 2] += y
    R[..., 1, 0] += z
    R[..., 1, 2] -= x
    R[..., 2, 0] -= y
    R[..., 2, 1] += x
    diagonal = 2.0 * w[..., 0] ** 2 - 1.0
    for i in range(3):
        R[..., i, i] += diagonal[..., 0]
    return R


def stack_poses(positions: FloatArray, quaternions: FloatArray) -> FloatArray:
    """Return the poses, shape (n, 4, 4), of positions (n, 3) and quaternions (n, 4)."""
    X = np.zeros((len(positions), 4, 4))
    X[:, :3, :3] = calc_rotations(quaternions)
    X[:, :3, 3] = positions
    X[:, 3, 3] = 1.0
    return X
