"""What ``import mbt`` costs on top of ``import numpy``.

    python benchmarks/import_time.py [--runs 40] [--limit-ms 30]

Each import runs in a process of its own, the two in turns; the fastest of each counts, as other programs only
ever make it slower. Above the limit it tries again, up to ten times, and then exits with 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

STATEMENTS = ("import numpy", "import numpy, mbt")
# Threads of a linear algebra library, started and spinning, would be in the way.
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def measure(statement: str) -> float:
    """Return the time of an import statement in a fresh interpreter [ms]."""
    code = f"from time import perf_counter as t; s = t(); {statement}; print(1e3 * (t() - s))"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    """Measure, print, compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--limit-ms", type=float, default=float("inf"))
    arguments = parser.parse_args()
    times: list[list[float]] = []
    for _ in range(10):
        times += [[measure(statement) for statement in STATEMENTS] for _ in range(arguments.runs)]
        numpy_ms, both_ms = (min(column) for column in zip(*times, strict=True))
        cost = both_ms - numpy_ms
        print(f"numpy {numpy_ms:.1f} ms, numpy and mbt {both_ms:.1f} ms: mbt costs {cost:.1f} ms")
        if cost <= arguments.limit_ms:
            return 0
    print(f"more than the limit of {arguments.limit_ms:g} ms")
    return 1


if __name__ == "__main__":
    sys.exit(main())
