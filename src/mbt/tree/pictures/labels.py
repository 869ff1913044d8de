"""Placement of names in a picture, so that none hides another or a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from mbt.math.arrays import FloatArray

__all__ = ["place_labels"]

_NUM_DIRECTIONS = 16
# Distances from a point to its name, in line heights.
_DISTANCES = (0.5, 0.9, 1.4, 2.0, 2.8, 3.8, 5.0, 6.5, 8.5, 11.0)
# Lines count as rows of points this far apart, in line heights.
_SPACING = 0.4
# Margin around a name, in line heights.
_MARGIN = 0.12


def place_labels(
    points: FloatArray,
    sizes: FloatArray,
    lines: FloatArray,
    bounds: Sequence[float],
) -> list[FloatArray | None]:
    """Return the lower left corner of each label, or None where there is no room for it.

    Each takes the free place nearest to its point; earlier rows choose first.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
        The points to which the labels belong.
    sizes : ndarray, shape (n, 2)
        Widths and heights.
    lines : ndarray, shape (m, 2, 2)
        Lines that labels must not cover, nor the points.
    bounds : sequence of float
        Left, bottom, right and top of the picture.
    """
    if not len(points):
        return []
    height = float(sizes[:, 1].max())
    dots = np.concatenate([_sample(lines, _SPACING * height), points])
    boxes = np.empty((0, 4))
    places: list[FloatArray | None] = []
    angles = np.arange(_NUM_DIRECTIONS) * (2.0 * np.pi / _NUM_DIRECTIONS)
    # Right and above come first.
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    offsets = (height * np.array(_DISTANCES)[:, np.newaxis, np.newaxis] * ring).reshape(-1, 2)
    left, bottom, right, top = bounds
    for point, size in zip(points, sizes, strict=True):
        # The corner, or the middle of the side, that faces the point is at the offset.
        anchor = (np.sign(np.round(offsets, 9)) - 1.0) / 2.0
        corners = point + offsets + anchor * size
        ends = corners + size
        margin = _MARGIN * height
        is_free = (corners >= [left, bottom]).all(axis=1) & (ends <= [right, top]).all(axis=1)
        is_free &= ~_any_inside(dots, corners - margin, ends + margin)
        is_free &= ~_any_overlap(boxes, corners - margin, ends + margin)
        found = np.flatnonzero(is_free)
        if not found.size:
            places.append(None)
            continue
        corner = corners[found[0]]
        places.append(corner)
        boxes = np.vstack([boxes, np.concatenate([corner, corner + size])])
    return places


def _sample(lines: FloatArray, spacing: float) -> FloatArray:
    """Return points along lines."""
    parts = [np.empty((0, 2))]
    for a, b in lines:
        count = min(int(float(np.linalg.norm(b - a)) / spacing), 1000) + 2
        parts.append(a + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (b - a))
    return np.concatenate(parts)


def _any_inside(dots: FloatArray, low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    inside = (dots > low[:, np.newaxis]).all(axis=-1) & (dots < high[:, np.newaxis]).all(axis=-1)
    return np.asarray(inside.any(axis=-1))


def _any_overlap(boxes: FloatArray, low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    apart = (boxes[:, :2] >= high[:, np.newaxis]) | (boxes[:, 2:] <= low[:, np.newaxis])
    return np.asarray((~apart.any(axis=-1)).any(axis=-1))
