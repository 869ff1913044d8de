"""Checks that make a log doubtful: units, signs, and time stamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "doubts_of_loops",
    "doubts_of_motion",
    "doubts_of_ranges",
    "doubts_of_rest",
    "doubts_of_sizes",
    "doubts_of_values",
    "first_guess_of_delay",
]

# How far a joint may exceed its limits, as part of the distance between them.
_BEYOND = 0.5
_OPEN = 1e-2
# Forces larger or smaller than described by this factor have other units; friction may contribute much.
_TIMES = 30.0
# Rates match the positions with at least this correlation, and if their sizes differ by at most this part.
_SAME_COURSE = 0.95
_SAME_SIZE = 0.1
# A delay is reported from this many of its standard errors on.
_SURE = 6.0
# For residuals of a motion: which part is large, how correlated neighbours in time may be, what is rounding.
_MUCH = 0.5
_ALIKE = 0.3
_ROUNDING = 1e-6


def doubts_of_ranges(tree: MultibodyTree, least: FloatArray, largest: FloatArray) -> list[str]:
    """Return doubts about positions, from their extremes."""
    doubts = []
    lower, upper = tree.position_lower_limits, tree.position_upper_limits
    room = _BEYOND * (upper - lower)
    for i in np.flatnonzero(np.isfinite(room)):
        if least[i] < lower[i] - room[i] or largest[i] > upper[i] + room[i]:
            doubts.append(
                f"{tree.position_names[i]} goes from {least[i]:.3g} to {largest[i]:.3g}, far beyond its "
                f"limits {lower[i]:.3g} and {upper[i]:.3g}: are these radians and metres?"
            )
    return doubts


def doubts_of_loops(opening: float) -> list[str]:
    """Return doubts about positions, from the largest error of constraints."""
    if opening < _OPEN:
        return []
    return [
        f"positions violate the constraints by up to {opening:.2g} (rad, m): compute those of joints without "
        "sensors with tree.assemble(context, fixed=joints_with_sensors), sample by sample"
    ]


def doubts_of_sizes(
    names: tuple[str, ...], along: FloatArray, described: FloatArray, force: FloatArray
) -> list[str]:
    """Return doubts about forces, from sums of measured times described ones, and of the squares of both."""
    doubts = []
    for name, product, mine, theirs in zip(names, along, described, force, strict=True):
        if mine <= 0.0 or product**2 < 0.8 * mine * theirs:
            continue  # Uncorrelated, or no description: sizes cannot be compared.
        size = product / mine
        if size < 0.0 or abs(size) > _TIMES or abs(size) < 1.0 / _TIMES:
            doubts.append(
                f"{name}: the forces are {size:.3g} times what the description predicts: check their units, "
                "their sign, and whether they are those of the joint or of the motor before its gear"
            )
    return doubts


def doubts_of_motion(tree: MultibodyTree, q: FloatArray, v: FloatArray, vdot: FloatArray) -> list[str]:
    """Return doubts about rates, for samples in chronological order; others give none."""
    if len(q) < 3:
        return []
    doubts, steps = [], []
    pairs = ((tree.difference_positions(q[:-1], q[1:]), v), (np.diff(v, axis=0), vdot))
    for change, rate in pairs:
        mean = 0.5 * (rate[1:] + rate[:-1])
        squares = (mean * mean).sum(axis=0)
        product = (change * mean).sum(axis=0)
        moves = squares > 1e-12 * squares.max(initial=0.0)
        follows = np.abs(product) > _SAME_COURSE * np.sqrt(squares * (change * change).sum(axis=0))
        if not (moves & follows).any():
            return []
        steps.append(np.where(moves & follows, product / np.where(moves, squares, 1.0), np.nan))
    for name, of_q, of_v in zip(tree.velocity_names, *steps, strict=True):
        if np.isfinite(of_q) and np.isfinite(of_v) and abs(of_q / of_v - 1.0) > _SAME_SIZE:
            doubts.append(
                f"{name}: q moves {of_q / of_v:.3g} times as fast as v says, judged by v and vdot: "
                "check units"
            )
    return doubts


def first_guess_of_delay(predicted: FloatArray, residuals: FloatArray, noise: FloatArray) -> float:
    """Return the delay of forces in samples, to first order; zero unless residuals indicate one."""
    if len(predicted) < 3:
        return 0.0
    rate = np.gradient(predicted, axis=0)
    finite = np.isfinite(noise)
    d, r = rate[:, finite] / noise[finite], residuals[:, finite] / noise[finite]
    squares, product = float((d * d).sum()), float((d * r).sum())
    return -product / squares if squares > 0.0 and abs(product) > _SURE * np.sqrt(squares) else 0.0


def doubts_of_values(errors: FloatArray) -> list[str]:
    """Return doubts about values fitted by simulations, from their standard errors."""
    doubts = []
    for i in np.flatnonzero(np.isinf(errors)):
        doubts.append(f"the motion does not determine value {i}; it keeps its initial guess")
    for i in np.flatnonzero(errors == 0.0):
        doubts.append(f"value {i} is at its limit")
    return doubts


def doubts_of_rest(
    names: tuple[str, ...], rest: FloatArray, noise: FloatArray, moves: FloatArray
) -> list[str]:
    """Return doubts from residuals of simulations, (segments, samples, 2, nv), and the motion's size."""
    doubts = []
    sizes = np.sqrt((moves**2).mean(axis=(0, 1)))
    squares = (rest * rest).sum(axis=(0, 1))
    alike = (rest[:, 1:] * rest[:, :-1]).sum(axis=(0, 1)) / np.where(squares > 0.0, squares, 1.0)
    least = max(_ALIKE, _SURE / np.sqrt(rest[..., 0, 0].size))
    is_noise = (alike < least) | (noise <= _ROUNDING * sizes)
    for k, quantity in enumerate(("positions", "velocities")):
        # Not for a single joint: one that hardly moves shows only noise.
        if (noise[k] > _MUCH * sizes[k]).all():
            doubts.append(
                f"simulations do not explain most of the {quantity}: check units, dt, and the time stamps of "
                "forces, and let the robot move more"
            )
        other = [name for name, good in zip(names, is_noise[k], strict=True) if not good]
        if other:
            doubts.append(
                f"the residual of the {quantity} of {', '.join(other)} is not noise, as neighbours in time "
                "are alike: the model lacks an effect, or forces are early or late; standard errors are too "
                "small"
            )
    return doubts
