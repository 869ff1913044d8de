"""The heap of a process that has run for a while."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = [2**k for k in range(6, 18)]  # entries, of 8 bytes
BLOCKS = 16  # of each size

# One block in seven stays allocated, so that the allocator cannot return the freed ones to the system.
kept: list[Any] = []


def use_heap() -> None:
    """Leave pointers and small integers in freed memory of all sizes.

    Read as doubles, both are subnormal. Code that computes with memory it never wrote may then take 17 times
    as long; in a fresh process, whose memory is zero, it never does.
    """
    blocks: list[Any] = []
    for _ in range(BLOCKS):
        for size in SIZES:
            blocks.append([kept] * size)
            blocks.append(np.arange(1, size + 1))
    kept[:] = blocks[::7]
