"""Let pytest find the modules of this folder, and time in a process whose heap has been used."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def pytest_sessionstart() -> None:
    """Use the heap."""
    from used_heap import use_heap

    use_heap()
