"""The heap of a process that has worked for a while."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = [2**k for k in range(6, 18)]  # entries, of 8 bytes
BLOCKS = 16  # of each size

# One block in seven stays: between those that are freed, it keeps the allocator from handing them back.
kept: list[Any] = []


def use_heap() -> None:
    """Leave pointers and small integers in freed memory of all sizes.

    Both are subnormal as numbers. What computes with memory that it never wrote may take 17 times as long
    then; in a fresh process, whose memory is zero, it never does.
    """
    blocks: list[Any] = []
    for _ in range(BLOCKS):
        for size in SIZES:
            blocks.append([kept] * size)
            blocks.append(np.arange(1, size + 1))
    kept[:] = blocks[::7]
