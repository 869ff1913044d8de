"""Line drawings for terminals in Braille dots: two columns and four rows in each character."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray

__all__ = ["draw_lines"]

# The bit of each dot in a character, by row and column.
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_FIRST = 0x2800


def draw_lines(lines: FloatArray, width: int, height: int) -> list[str]:
    """Return lines of text with a drawing of lines, scaled to fill the room.

    Parameters
    ----------
    lines : ndarray, shape (n, 2, 2)
        Ends of the lines; x to the right, y upwards, in units of the same length.
    width, height : int
        The room, in characters.
    """
    low, high = lines.min(axis=(0, 1)), lines.max(axis=(0, 1))
    span = np.maximum(high - low, 1e-9 * float(np.abs(lines).max() or 1.0))
    # Dots have the same distance in both directions if characters are twice as high as wide.
    scale = float(min((2 * width - 1) / span[0], (4 * height - 1) / span[1]))
    rows, columns = math.ceil((span[1] * scale + 1) / 4), math.ceil((span[0] * scale + 1) / 2)
    cells = np.zeros((max(rows, 1), max(columns, 1)), dtype=int)
    for a, b in (lines - low) * scale:
        count = int(2 * np.abs(b - a).max()) + 2
        for x, y in np.rint(a + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (b - a)).astype(int):
            row = 4 * len(cells) - 1 - y
            cells[row // 4, min(x // 2, cells.shape[1] - 1)] |= _BITS[row % 4][x % 2]
    return ["".join(chr(_FIRST + cell) for cell in row).rstrip(chr(_FIRST)) for row in cells.tolist()]
