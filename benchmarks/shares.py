"""Where the time of one call goes: the call itself, joints, their rotations, a new array, a Context.

    python benchmarks/shares.py [--rounds 100]

Serial chains of growing length are timed together, and a line is fitted: its intercept is the part that does
not grow with the joints, that is the call, its arguments and checks; its slope is the time of a joint. Chains
of prismatic joints show what rotations cost: sines, cosines and products. Nanoseconds, the minimum of
interleaved rounds, on one core. An empty Python function with the same arguments is timed for comparison.
"""

from __future__ import annotations

import argparse
import timeit
from typing import Any

import numpy as np

import mbt
from models import chain

# Short enough that caches, and loops over many joints, do not matter yet.
LENGTHS = (2, 4, 6, 8, 10)
ARM = 7
NUMBER = 400  # calls per sample
FUNCTIONS = {
    "inverse dynamics": "f.inverse_dynamics(tree, q, v, x, out=out)",
    "mass matrix": "f.mass_matrix(tree, q, out=M)",
    "forward dynamics": "f.forward_dynamics(tree, q, v, x, out=out)",
}
OTHERS = {
    "empty Python function": "empty(tree, q, v, x, out=out)",
    "new result": "f.inverse_dynamics(tree, q, v, x)",
    "two writes": "context.q = q; context.v = v",
    "Context": "context.q = q; context.v = v; "
    "tree.calc_inverse_dynamics(context, x, include_force_elements=True, out=out)",
}


def namespace(count: int, kind: str) -> dict[str, Any]:
    """Return the variables of the statements, for a chain."""
    tree = mbt.load_model(chain(count).urdf.replace('type="revolute"', f'type="{kind}"'))
    q, v, x = np.random.default_rng(0).uniform(-1, 1, (3, count))
    return {
        "tree": tree,
        "context": tree.create_default_context(),
        "f": mbt.functional,
        "empty": empty,
        "q": q,
        "v": v,
        "x": x,
        "out": np.empty(count),
        "M": np.empty((count, count)),
    }


def empty(tree: Any, q: Any, v: Any, x: Any, *, out: Any = None) -> Any:
    """Take the arguments of a function."""
    return out


def measure(statements: dict[Any, tuple[str, dict[str, Any]]], rounds: int) -> dict[Any, float]:
    """Return the nanoseconds per call of each statement."""
    timers = {key: timeit.Timer(statement, globals=names) for key, (statement, names) in statements.items()}
    least = dict.fromkeys(timers, np.inf)
    for _ in range(rounds):
        for key, timer in timers.items():
            least[key] = min(least[key], timer.timeit(NUMBER) / NUMBER * 1e9)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    statements: dict[Any, tuple[str, dict[str, Any]]] = {}
    for kind in ("revolute", "prismatic"):
        for count in (*LENGTHS, ARM):
            names = namespace(count, kind)
            for function, statement in FUNCTIONS.items():
                statements[function, kind, count] = statement, names
    names = namespace(ARM, "revolute")
    statements |= {name: (statement, names) for name, statement in OTHERS.items()}
    times = measure(statements, options.rounds)

    print(f"nanoseconds{'call':>18}{'a joint':>10}{'sliding':>10}{f'{ARM} joints':>12}{'share of call':>16}")
    for function in FUNCTIONS:
        (call, joint), (_, sliding) = (
            np.polynomial.polynomial.polyfit(LENGTHS, [times[function, kind, n] for n in LENGTHS], 1)
            for kind in ("revolute", "prismatic")
        )
        arm = times[function, "revolute", ARM]
        print(f"{function:19}{call:10.0f}{joint:10.1f}{sliding:10.1f}{arm:12.0f}{call / arm:16.0%}")
    plain = times["inverse dynamics", "revolute", ARM]
    print(f"\nof inverse dynamics of {ARM} joints:")
    print(f"  an empty Python function       {times['empty Python function']:6.0f}")
    print(f"  a new array for the result     {times['new result'] - plain:6.0f}")
    print(f"  q and v written into a Context {times['two writes']:6.0f}")
    print(f"  the function                   {plain:6.0f}")
    print(f"  the same through a Context     {times['Context'] / plain:6.2f} times")


if __name__ == "__main__":
    main()
