"""Exponential and logarithm of rotations and poses, beside other libraries.

    python benchmarks/rotations.py [--states 4096] [--rounds 30]

One call, and one call on many states: microseconds a call and nanoseconds a state, the least of some rounds
in which the libraries take turns. Those that are not installed stay empty.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import mbt

CALLS = 200

Call = Callable[[], Any]


def calls_of(xi: Any) -> dict[str, dict[str, Call]]:
    """Return what is called, by function and library, of one state or many."""
    phi = xi[..., :3]
    R, X = mbt.math.exp_so3(phi), mbt.math.exp_se3(xi)
    calls: dict[str, dict[str, Call]] = {
        "exp_so3": {"mbt": lambda: mbt.math.exp_so3(phi)},
        "log_so3": {"mbt": lambda: mbt.math.log_so3(R)},
        "left_jacobian_so3": {"mbt": lambda: mbt.math.left_jacobian_so3(phi)},
        "exp_se3": {"mbt": lambda: mbt.math.exp_se3(xi)},
        "log_se3": {"mbt": lambda: mbt.math.log_se3(X)},
        "right_jacobian_se3": {"mbt": lambda: mbt.math.right_jacobian_se3(xi)},
    }
    rotation = _import("scipy.spatial.transform", "Rotation")
    if rotation is not None:
        calls["exp_so3"]["scipy"] = lambda: rotation.from_rotvec(phi).as_matrix()
        # It would orthonormalize; the keyword is that of SciPy 1.17.
        calls["log_so3"]["scipy"] = lambda: rotation.from_matrix(R, assume_valid=True).as_rotvec()
    pin = _import("pinocchio")
    if pin is not None and xi.ndim == 1:
        linear_first, pose = np.concatenate([xi[3:], phi]), pin.SE3(X)
        calls["exp_so3"]["pin"] = lambda: pin.exp3(phi)
        calls["log_so3"]["pin"] = lambda: pin.log3(R)
        calls["exp_se3"]["pin"] = lambda: pin.exp6(linear_first)
        calls["log_se3"]["pin"] = lambda: pin.log6(pose)
        calls["right_jacobian_se3"]["pin"] = lambda: pin.Jexp6(pin.Motion(linear_first))
    return calls


def _import(module: str, name: str | None = None) -> Any:
    """Return a module, or something in it; None where it is not installed."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return found if name is None else getattr(found, name)


def times_of(calls: dict[str, Call], rounds: int, count: int) -> dict[str, float]:
    """Return the least time of each [s]."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = perf_counter()
            for _ in range(count):
                call()
            least[name] = min(least[name], (perf_counter() - start) / count)
    return least


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    xi = np.random.default_rng(0).uniform(-1, 1, (options.states, 6))
    for title, states, unit, count in (
        ("one state [us a call]", xi[0], 1e6, CALLS),
        (f"{options.states} states [ns a state]", xi, 1e9 / options.states, 1),
    ):
        print(f"\n{title:<28}" + "".join(f"{name:>9}" for name in ("mbt", "scipy", "pin")))
        for function, calls in calls_of(states).items():
            times = times_of(calls, options.rounds, count)
            cells = (f"{unit * times[name]:.2f}" if name in times else "" for name in ("mbt", "scipy", "pin"))
            print(f"{function:<28}" + "".join(f"{cell:>9}" for cell in cells))


if __name__ == "__main__":
    main()
