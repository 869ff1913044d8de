"""The cost of ``import mbt`` on top of ``import numpy``.

    python benchmarks/import_time.py [--runs 40]
    python benchmarks/import_time.py --instructions [--limit 0.35]

Each import runs in a process of its own, and the two take turns; the fastest of each counts, because other
programs can only slow it down. On a busy machine that is not enough: two measurements differ by a third.
Instructions, counted by callgrind, do not; the limit is relative to those of NumPy, and the exit code is 1 if
it is exceeded.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

STATEMENTS = ("import numpy", "import numpy, mbt")
# Spinning threads of a linear algebra library would disturb the measurement.
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # Compiling modules each time takes longer than all else.
CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)


def measure(statement: str) -> float:
    """Return the time of an import statement in a fresh interpreter [ms]."""
    code = f"from time import perf_counter as t; s = t(); {statement}; print(1e3 * (t() - s))"
    return float(run(sys.executable, "-c", code).stdout)


def count_instructions(statement: str) -> float:
    """Return the instructions of a fresh interpreter up to the end of a statement [million]."""
    command = (sys.executable, "-c", f"import os; {statement}; os._exit(0)")  # excludes finalization
    run(*command)  # Writes the bytecode.
    errors = run(*CALLGRIND, *command).stderr
    found = re.search(r"Collected : (\d+)", errors)
    if found is None:
        raise RuntimeError(f"callgrind: no count in {errors!r}")
    return int(found[1]) / 1e6


def main() -> int:
    """Measure or count, print, compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--limit", type=float, default=float("inf"), help="relative to NumPy")
    arguments = parser.parse_args()
    if arguments.instructions:
        python, numpy, both = map(count_instructions, ("pass", *STATEMENTS))
        share = (both - numpy) / (numpy - python)
        print(
            f"numpy {numpy - python:.1f} million instructions, mbt {both - numpy:.1f} more: "
            f"{share:.3f} of NumPy, limit {arguments.limit:g}"
        )
        return int(share > arguments.limit)
    times = [[measure(statement) for statement in STATEMENTS] for _ in range(arguments.runs)]
    numpy, both = (min(column) for column in zip(*times, strict=True))
    print(f"numpy {numpy:.1f} ms, numpy and mbt {both:.1f} ms: mbt costs {both - numpy:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
