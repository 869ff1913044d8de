"""Verify distances of random pairs of shapes by bounds that prove them, and compare with Coal and MuJoCo.

    python tools/prove_distances.py [--count 1000000] [--kinds box-cylinder ...] [--seed 0] [--minutes 15]

Prints a line for each pair of kinds, with these largest values over all pairs, in metres: `gap`, the
difference between the distance and the gap between planes normal to it, which proves that it is not smaller;
`surface`, how far witness points are outside the shapes, which proves that it is not larger; `shallower`, by
how much a direction found by another library is a shorter way out of an overlap.

For Coal and MuJoCo: the number of pairs on which they give up; for pairs that are apart, and for those that
overlap, the number of differences above 1e-9, and the largest one. If they search for a distance on a curved
surface, the limit is 1e-6; for meshes in MuJoCo, which are in single precision, it is 1e-7.

All kinds take turns, with 10 000 pairs each, until `--minutes` have passed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.distance_proof import PAIRS, Findings, Peer, add, prove
from support.shape_pairs import NAMES

AT_ONCE = 10_000


def row_of(name: str, found: Findings) -> str:
    """Return a line of the table."""
    numbers = [getattr(found, field.name) for field in fields(Findings)]
    flat = [
        x for number in numbers for x in (vars(number).values() if isinstance(number, Peer) else [number])
    ]
    return " ".join([f"{name:20}", *(f"{x:9d}" if isinstance(x, int) else f"{x:9.1e}" for x in flat)])


def main() -> None:
    """Print a table after each round."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=np.inf)
    options = parser.parse_args()
    all_found = {"-".join(NAMES[kind] for kind in kinds): (kinds, Findings()) for kinds in PAIRS}
    chosen = {name: all_found[name] for name in options.kinds or all_found}
    rng = np.random.default_rng(options.seed)
    end = time.monotonic() + 60.0 * options.minutes
    peer = [field.name for field in fields(Peer)]
    head = ["pairs", "apart", "gap", "surface", "shallower", *peer, *peer]
    for done in range(0, options.count, AT_ONCE):
        for kinds, found in chosen.values():
            if time.monotonic() < end:
                add(found, prove(kinds, min(AT_ONCE, options.count - done), rng))
        print(" ".join([f"{'kinds':20}", *(f"{x[:9]:>9}" for x in head)]))
        print(*(row_of(name, found) for name, (_, found) in chosen.items()), sep="\n", flush=True)
        if time.monotonic() >= end:
            break


if __name__ == "__main__":
    main()
