"""Measurements of memory in a process with other threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_thread() -> Iterator[None]:
    """Keep other threads of Python, such as those of pytest-xdist, from running unless this one waits."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
