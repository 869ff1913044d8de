"""Compare distances of random pairs of shapes with Coal and MuJoCo, and with what proves them.

    python tools/prove_distances.py [--count 1000000] [--kinds box-cylinder ...] [--seed 0]

A line for each two kinds, of the worst of all pairs [m]: how far planes across the normal are from the
distance, which proves that it is not less; how far witness points are from the surfaces, which proves that it
is not more; what others find less and more where shapes are apart; how much shorter a way out of overlaps.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.distance_proof import Findings, prove
from support.shapes import pairs_known


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    columns = [field.name for field in fields(Findings)]
    print("kinds", *columns, flush=True)
    for kinds in pairs_known():
        name = "-".join(kinds)
        if options.kinds and name not in options.kinds:
            continue
        found = prove(kinds, options.count, np.random.default_rng(options.seed))
        print(name, *(f"{getattr(found, column):.3g}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
