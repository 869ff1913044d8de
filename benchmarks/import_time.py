"""What ``import mbt`` costs on top of ``import numpy``.

    python benchmarks/import_time.py [--runs 20] [--limit-ms 30]

Each import runs in a process of its own, the two in turns; the fastest of each counts. Exits with 1 above
the limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

STATEMENTS = ("import numpy", "import numpy, mbt")


def measure(statement: str) -> float:
    """Return the time of an import statement in a fresh interpreter [ms]."""
    code = f"from time import perf_counter as t; s = t(); {statement}; print(1e3 * (t() - s))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> int:
    """Measure, print, compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--limit-ms", type=float, default=float("inf"))
    arguments = parser.parse_args()
    times = [[measure(statement) for statement in STATEMENTS] for _ in range(arguments.runs + 1)]
    # The first turn may write bytecode.
    numpy_ms, both_ms = (min(column) for column in zip(*times[1:], strict=True))
    cost = both_ms - numpy_ms
    print(f"numpy {numpy_ms:.1f} ms, numpy and mbt {both_ms:.1f} ms: mbt costs {cost:.1f} ms")
    if cost > arguments.limit_ms:
        print(f"more than the limit of {arguments.limit_ms:g} ms")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
