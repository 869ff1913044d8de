"""Frames whose z axis points in a direction given by a file."""

from __future__ import annotations

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.poses import skew

__all__ = ["calc_rotation_from_z"]


def calc_rotation_from_z(n: FloatArray) -> FloatArray:
    """Return the smallest rotation that takes z to the unit vector n; about x where n is opposite to z."""
    sine_squared = n[0] * n[0] + n[1] * n[1]
    if sine_squared == 0.0:
        return np.diag([1.0, n[2], n[2]])
    # With w = z x n: R = 1 + [w] + [w] [w] / (1 + z.n), and the denominator without cancellation.
    w = skew([-n[1], n[0], 0.0])
    denominator = 1.0 + n[2] if n[2] > 0.0 else sine_squared / (1.0 - n[2])
    R: FloatArray = np.eye(3) + w + w @ w / denominator
    return R
