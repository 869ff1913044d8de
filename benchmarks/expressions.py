"""Sizes of the CasADi expressions of robots, and how well their values agree with those of doubles.

    python benchmarks/expressions.py [FILE.urdf ...]

For each file, with its base fixed and floating: the number of instructions of the CasADi function of each
quantity, and in brackets its largest difference from doubles, in units of rounding: 2^-52 times the largest
entry, and for forward dynamics times the condition number of the mass matrix. Without a file, the models that
come with mbt.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt.models import model_names, model_path
from mbt.symbolic import make_casadi_function, make_expressions

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def load(path: Path, base: str) -> mbt.MultibodyTree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mbt.load_model(path, base=base)


def random_inputs(tree: mbt.MultibodyTree, names: list[str], rng: np.random.Generator) -> list[Any]:
    return [
        tree.random_positions(rng) if name == "q" else rng.uniform(-1, 1, tree.num_velocities)
        for name in names
    ]


def largest_error(tree: mbt.MultibodyTree, quantity: str, f: Any, names: list[str]) -> float:
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(8):
        x = random_inputs(tree, names, rng)
        wanted = getattr(functional, quantity)(tree, *x)
        got = np.asarray(f(*x)).reshape(wanted.shape)
        scale = np.max(np.abs(wanted), initial=1e-300)
        if quantity == "forward_dynamics":
            scale *= np.linalg.cond(functional.mass_matrix(tree, x[0])) if tree.num_velocities else 1.0
        errors.append(np.max(np.abs(got - wanted), initial=0.0) / scale)
    return float(max(errors) / np.finfo(float).eps)


def row(path: Path, base: str) -> list[str]:
    tree = load(path, base)
    cells = [path.stem, base, str(tree.num_velocities)]
    for quantity in QUANTITIES:
        inputs, outputs = make_expressions(tree, quantity, "casadi")
        f = make_casadi_function(quantity, inputs, outputs)
        error = largest_error(tree, quantity, f, list(inputs))
        cells.append(f"{f.n_instructions()} ({error:.1f})")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files or [model_path(name) for name in model_names()]
    print("| robot | base | nv | " + " | ".join(quantity.replace("_", " ") for quantity in QUANTITIES) + " |")
    print("|---|---|" + "--:|" * (1 + len(QUANTITIES)))
    for path in files:
        for base in ("fixed", "floating"):
            print("| " + " | ".join(row(path, base)) + " |", flush=True)


if __name__ == "__main__":
    main()
