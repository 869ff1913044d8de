"""The number of threads for batches, and the configuration of this installation."""

from __future__ import annotations

import operator
import os

import numpy as np

from mbt import _core
from mbt._core import engines
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote

__all__ = ["get_num_threads", "set_num_threads", "show_config"]

_MOST_THREADS = 1024
_WANTED = f"a whole number from 1 to {_MOST_THREADS}"


def get_num_threads() -> int:
    """Return how many threads a batch may use, in `mbt.functional` or in a Context.

    The default is the environment variable ``MBT_NUM_THREADS`` at import; else ``OMP_NUM_THREADS``, which
    joblib and dask set in their workers; else the number of processors that this process may use.

    Examples
    --------
    >>> import mbt
    >>> mbt.get_num_threads() >= 1
    True
    """
    from mbt._core.engines import lane_engine

    return lane_engine.get_num_threads()


def set_num_threads(n: int) -> None:
    """Let batches use up to `n` threads, the calling one included.

    Results are the same to the last bit. A batch uses fewer threads when it has less than 50 microseconds of
    work for each.

    Parameters
    ----------
    n : int
        From 1 to 1024; 1 computes everything on the calling thread.

    Raises
    ------
    ArgumentTypeError
        When `n` is not a whole number.
    ArgumentValueError
        When it is out of range.

    Examples
    --------
    >>> import mbt
    >>> before = mbt.get_num_threads()
    >>> mbt.set_num_threads(2)
    >>> mbt.get_num_threads()
    2
    >>> mbt.set_num_threads(before)
    """
    if isinstance(n, (bool, np.bool_)):
        raise ArgumentTypeError(f"n: expected {_WANTED}, got {n}")
    try:
        count = operator.index(n)
    except TypeError:
        raise ArgumentTypeError(f"n: expected {_WANTED}, got {quote(n)}") from None
    if not 1 <= count <= _MOST_THREADS:
        raise ArgumentValueError(f"n: expected {_WANTED}, got {count}")
    from mbt._core.engines import lane_engine

    lane_engine.set_num_threads(count)


def show_config() -> None:
    """Print versions, the instruction set in use, those available, and the number of threads.

    The best instruction set that was built and that this processor supports is chosen at import; the
    environment variable ``MBT_ISA`` forces another one.

    Examples
    --------
    >>> import mbt
    >>> mbt.show_config()  # doctest: +SKIP
    mbt             0.2.0
    python          3.11.7, Linux x86_64
    numpy           2.4.6
    instruction set v4, 8 states at a time; MBT_ISA may be v4, v3, v2
    threads         2
    """
    import platform
    from importlib import metadata

    from mbt._core.engines import lane_engine

    print(f"mbt             {metadata.version('multibodytree')}")
    print(f"python          {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"numpy           {np.__version__}")
    print(
        f"instruction set {_core.isa}, {lane_engine.lane_count()} states at a time; "
        f"MBT_ISA may be {', '.join(_core.usable)}"
    )
    print(f"threads         {get_num_threads()}")


def _default_num_threads() -> int:
    name = "MBT_NUM_THREADS"
    text = os.environ.get(name)
    if text:
        count = _whole_number(text)
        if not 1 <= count <= _MOST_THREADS:
            raise _core.cannot_start(f"{name}={quote(text)}: expected {_WANTED}")
        return count
    # The variable of OpenMP, which may be a list by level of nesting.
    count = _whole_number(os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip())
    if count >= 1:
        return min(count, _MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    return min(os.cpu_count() or 1, _MOST_THREADS)


def _whole_number(text: str) -> int:
    """Return the number that a text consists of, else 0; for very many digits, some very large one."""
    return int(text[:20]) if text.isascii() and text.isdigit() else 0


engines.default_num_threads = _default_num_threads()
