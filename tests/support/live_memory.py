"""Memory that calls leave in use, to the byte; calls that keep nothing leave none (Linux, glibc)."""

from __future__ import annotations

import ctypes
import gc
import platform
import sys
from collections.abc import Callable

#: Whether memory can be counted here.
COUNTS = platform.libc_ver()[0] == "glibc"


class _Info(ctypes.Structure):
    # arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
    _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]


def live_bytes() -> int:
    """Return the bytes in use: those that the C library has allocated, and 16 per block of Python's pools.

    These blocks have 16 bytes or more.
    """
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Info
    gc.collect()
    info = mallinfo2()
    return int(info.field7 + info.field4) + 16 * sys.getallocatedblocks()


def bytes_a_call(call: Callable[[], object], calls: int) -> float:
    """Return the number of bytes that each call leaves in use."""
    counts = []
    for repeat in (calls, 2 * calls):
        for _ in range(10):
            call()
        before = live_bytes()
        for _ in range(repeat):
            call()
        counts.append(live_bytes() - before)
    return (counts[1] - counts[0]) / calls
