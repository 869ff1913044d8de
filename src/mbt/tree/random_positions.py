"""Random positions of one joint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.tree.joints import CurvilinearMobilizer

if TYPE_CHECKING:
    from mbt.tree.mobilizer import Mobilizer

__all__ = ["draw_positions"]

# Half the width of the interval of a coordinate without limits.
_ANGLE = math.pi  # [rad]
_LENGTH = 1.0  # [m]


def draw_positions(mobilizer: Mobilizer, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Return random positions of the joint of a mobilizer, (*shape, num_positions), within its limits.

    What a coordinate is, its suffix tells: that of an angle begins with ``q``; ``qw`` is the first of a
    quaternion; three angles, ``qx``, ``qy`` and ``qz``, are roll, pitch and yaw. The arc length on a path is
    drawn from the whole path.
    """
    suffixes = mobilizer.position_suffixes
    size = len(suffixes)
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    if mobilizer.joint is not None:
        lower, upper = mobilizer.joint.position_lower_limits, mobilizer.joint.position_upper_limits
    if isinstance(mobilizer, CurvilinearMobilizer) and np.isinf([*lower, *upper]).all():
        lower, upper = np.zeros(1), np.array([mobilizer.curvilinear_path.length])
    q = np.empty((*shape, size))
    for i, suffix in enumerate(suffixes):
        half = _ANGLE if suffix.startswith("q") else _LENGTH
        low, high = _interval(float(lower[i]), float(upper[i]), half)
        q[..., i] = rng.uniform(low, high, shape)
    if suffixes[:4] == ("qw", "qx", "qy", "qz"):
        # Four normal numbers have no preferred direction.
        quaternion = rng.standard_normal((*shape, 4))
        q[..., :4] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    elif suffixes[:3] == ("qx", "qy", "qz"):
        if np.isinf(lower[:3]).all() and np.isinf(upper[:3]).all():
            # The volume element of rotations is cos(pitch) d(roll) d(pitch) d(yaw).
            q[..., 1] = np.arcsin(rng.uniform(-1.0, 1.0, shape))
        elif np.isinf(lower[1]) and np.isinf(upper[1]):
            q[..., 1] *= 0.5
    return q


def _interval(lower: float, upper: float, half: float) -> tuple[float, float]:
    """Return the ends of the interval to draw from."""
    if math.isinf(lower) and math.isinf(upper):
        return -half, half
    if math.isinf(upper):
        return lower, lower + 2.0 * half
    if math.isinf(lower):
        return upper - 2.0 * half, upper
    return lower, upper
