"""Lets pytest find the modules of this folder; times are those of a process whose heap has been used."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def pytest_sessionstart() -> None:
    """Use the heap."""
    from used_heap import use_heap

    use_heap()
