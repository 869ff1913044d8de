"""Random positions of one joint."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.tree.joints import CurvilinearMobilizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbt.tree.mobilizer import Mobilizer

__all__ = ["draw_positions", "plan_draws", "plan_sample"]

#: Part of q, lower ends and widths of intervals; or a mobilizer that is drawn by itself.
Draw: TypeAlias = "tuple[slice, FloatArray, FloatArray] | Mobilizer"

# Half the width of the interval of a coordinate without limits.
_ANGLE = math.pi  # [rad]
_LENGTH = 1.0  # [m]
# The first three suffixes of a quaternion, and of roll, pitch and yaw.
_ROTATIONS = (("qw", "qx", "qy"), ("qx", "qy", "qz"))


def draw_positions(mobilizer: Mobilizer, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Return random positions of the joint of a mobilizer, (*shape, num_positions), within its limits.

    The suffix of a coordinate defines its kind: angles begin with ``q``; ``qw`` is the first entry of a
    quaternion; three angles, ``qx``, ``qy`` and ``qz``, are roll, pitch and yaw. The arc length on a path is
    drawn from the whole path.
    """
    suffixes = mobilizer.position_suffixes
    lower, upper = _limits_of(mobilizer)
    q = np.empty((*shape, len(suffixes)))
    for i, (low, high) in enumerate(_intervals_of(mobilizer)):
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


def plan_draws(mobilizers: Sequence[Mobilizer]) -> list[Draw]:
    """Return the steps to draw one sample of all positions: neighbouring intervals are joined."""
    draws: list[Draw] = []
    start, ends = 0, []
    for mobilizer in mobilizers:
        intervals = _intervals_of(mobilizer)
        is_plain = mobilizer.position_suffixes[:3] not in _ROTATIONS
        if is_plain and all(math.isfinite(high - low) for low, high in intervals):
            ends += intervals
            continue
        draws += _join(start, ends)
        draws.append(mobilizer)
        start, ends = mobilizer.position_start + mobilizer.num_positions, []
    return draws + _join(start, ends)


def _join(start: int, ends: list[tuple[float, float]]) -> list[Draw]:
    low, high = np.array(ends).reshape(-1, 2).T
    return [(slice(start, start + len(ends)), low, high - low)] if ends else []


def plan_sample(mobilizers: Sequence[Mobilizer]) -> Callable[[np.random.Generator], FloatArray]:
    """Return a function that draws one sample of all positions, the same as `draw_positions` does."""
    size = sum(mobilizer.num_positions for mobilizer in mobilizers)
    draws = plan_draws(mobilizers)
    if len(draws) == 1 and isinstance(draws[0], tuple):
        _, low, width = draws[0]
        return lambda rng: low + width * rng.random(size)
    return partial(_draw_one, draws, size)


def _draw_one(draws: list[Draw], size: int, rng: np.random.Generator) -> FloatArray:
    q = np.empty(size)
    for draw in draws:
        if isinstance(draw, tuple):
            part, low, width = draw
            # The same as `uniform`, which takes many times as long for a few intervals.
            q[part] = low + width * rng.random(len(low))
        else:
            start = draw.position_start
            q[start : start + draw.num_positions] = draw_positions(draw, rng, ())
    return q


def _limits_of(mobilizer: Mobilizer) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits, infinite where there are none."""
    size = mobilizer.num_positions
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    if mobilizer.joint is not None:
        lower, upper = mobilizer.joint.position_lower_limits, mobilizer.joint.position_upper_limits
    if isinstance(mobilizer, CurvilinearMobilizer) and np.isinf([*lower, *upper]).all():
        lower, upper = np.zeros(1), np.array([mobilizer.curvilinear_path.length])
    return lower, upper


def _intervals_of(mobilizer: Mobilizer) -> list[tuple[float, float]]:
    """Return the interval from which `draw_positions` first draws each position."""
    halves = [_ANGLE if suffix.startswith("q") else _LENGTH for suffix in mobilizer.position_suffixes]
    lower, upper = _limits_of(mobilizer)
    return [_interval(*ends) for ends in zip(lower.tolist(), upper.tolist(), halves, strict=True)]


def _interval(lower: float, upper: float, half: float) -> tuple[float, float]:
    """Return the ends of the interval to draw from."""
    if math.isinf(lower) and math.isinf(upper):
        return -half, half
    if math.isinf(upper):
        return lower, lower + 2.0 * half
    if math.isinf(lower):
        return upper - 2.0 * half, upper
    return lower, upper
