"""Many poses at once, from positions and quaternions."""

from __future__ import annotations

import numpy as np

from mbt.errors import SingularityError
from mbt.math.arrays import FloatArray

__all__ = ["calc_rotations", "stack_poses"]


# The entries of R = (w^2 - v^T v) 1 + 2 v v^T + 2 w [v]x, as sums of products of two parts of (w, x, y, z).
_ENTRIES = (
    ("+ww+xx-yy-zz", "+xy+xy-wz-wz", "+xz+xz+wy+wy"),
    ("+xy+xy+wz+wz", "+ww-xx+yy-zz", "+yz+yz-wx-wx"),
    ("+xz+xz-wy-wy", "+yz+yz+wx+wx", "+ww-xx-yy+zz"),
)


def _make_products() -> FloatArray:
    """Return the matrix that maps sixteen products to nine entries."""
    matrix = np.zeros((16, 9))
    for k, text in enumerate(entry for row in _ENTRIES for entry in row):
        for sign, first, second in zip(text[::3], text[1::3], text[2::3], strict=True):
            matrix[4 * "wxyz".index(first) + "wxyz".index(second), k] += 1.0 if sign == "+" else -1.0
    return matrix


_OF_PRODUCTS = _make_products()
_ONES = np.ones(4)


def calc_rotations(quaternions: FloatArray) -> FloatArray:
    """Return rotation matrices, shape (..., 3, 3), of quaternions ``(w, x, y, z)``, shape (..., 4).

    Raises
    ------
    SingularityError
        When a quaternion is zero.
    """
    norms = np.sqrt((quaternions * quaternions) @ _ONES)
    if not norms.all():
        raise SingularityError("quaternion: expected nonzero quaternions (w, x, y, z), got zero")
    unit = quaternions / norms[..., None]
    products = unit[..., :, None] * unit[..., None, :]
    R: FloatArray = products.reshape(-1, 16) @ _OF_PRODUCTS
    return R.reshape(*quaternions.shape[:-1], 3, 3)


def stack_poses(positions: FloatArray, quaternions: FloatArray) -> FloatArray:
    """Return the poses, shape (n, 4, 4), of positions (n, 3) and quaternions (n, 4)."""
    X = np.zeros((len(positions), 4, 4))
    X[:, :3, :3] = calc_rotations(quaternions)
    X[:, :3, 3] = positions
    X[:, 3, 3] = 1.0
    return X
