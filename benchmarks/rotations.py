"""Functions of rotations and poses, beside other libraries.

    python benchmarks/rotations.py [--states 4096] [--rounds 30]

One call on one state, and one call on many: microseconds per call and nanoseconds per state, the minimum of
rounds in which the libraries take turns. Columns of libraries that are not installed stay empty.
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
    """Return the calls, by function and library, for one state or many."""
    m = mbt.math
    X = m.exp_se3(xi)
    phi, p, R = (np.ascontiguousarray(part) for part in (xi[..., :3], X[..., :3, 3], X[..., :3, :3]))
    quaternion, angle = m.matrix_to_quaternion(R), xi[..., 3].copy()
    angle = float(angle) if xi.ndim == 1 else angle
    calls: dict[str, dict[str, Call]] = {
        "exp_so3": {"mbt": lambda: m.exp_so3(phi)},
        "log_so3": {"mbt": lambda: m.log_so3(R)},
        "left_jacobian_so3": {"mbt": lambda: m.left_jacobian_so3(phi)},
        "right_jacobian_so3": {"mbt": lambda: m.right_jacobian_so3(phi)},
        "right_jacobian_inverse_so3": {"mbt": lambda: m.right_jacobian_inverse_so3(phi)},
        "exp_se3": {"mbt": lambda: m.exp_se3(xi)},
        "log_se3": {"mbt": lambda: m.log_se3(X)},
        "left_jacobian_inverse_se3": {"mbt": lambda: m.left_jacobian_inverse_se3(xi)},
        "right_jacobian_se3": {"mbt": lambda: m.right_jacobian_se3(xi)},
        "right_jacobian_inverse_se3": {"mbt": lambda: m.right_jacobian_inverse_se3(xi)},
        "inverse_pose": {"mbt": lambda: m.inverse_pose(X)},
        "make_pose(p, R=R)": {"mbt": lambda: m.make_pose(p, R=R)},
        "make_pose(p, quaternion=)": {"mbt": lambda: m.make_pose(p, quaternion=quaternion)},
        "quaternion_to_matrix": {"mbt": lambda: m.quaternion_to_matrix(quaternion)},
        "matrix_to_quaternion": {"mbt": lambda: m.matrix_to_quaternion(R)},
        "rpy_to_matrix": {"mbt": lambda: m.rpy_to_matrix(phi)},
        "matrix_to_rpy": {"mbt": lambda: m.matrix_to_rpy(R)},
        "rotation_about_axis": {"mbt": lambda: m.rotation_about_axis(phi, angle)},
        "skew": {"mbt": lambda: m.skew(phi)},
    }
    rotation = _import("scipy.spatial.transform", "Rotation")
    if rotation is not None:
        calls["exp_so3"]["scipy"] = lambda: rotation.from_rotvec(phi).as_matrix()
        # By default SciPy would orthonormalize; the keyword came with SciPy 1.17.
        calls["log_so3"]["scipy"] = lambda: rotation.from_matrix(R, assume_valid=True).as_rotvec()
    pin = _import("pinocchio")
    if pin is not None and xi.ndim == 1:
        of_pin: dict[str, Call] = _calls_of_pin(pin, xi, X, quaternion, angle)
        for name, call in of_pin.items():
            calls[name]["pin"] = call
    return calls


def _calls_of_pin(pin: Any, xi: Any, X: Any, quaternion: Any, angle: float) -> dict[str, Call]:
    """Return the same calls with the types of Pinocchio, whose vectors have the translation first."""
    phi, R, p = xi[:3], X[:3, :3].copy(), X[:3, 3].copy()
    linear_first, pose = np.concatenate([xi[3:], phi]), pin.SE3(X)
    motion, xyzw = pin.Motion(linear_first), np.roll(quaternion, -1)
    unit = phi / np.linalg.norm(phi)
    return {
        "exp_so3": lambda: pin.exp3(phi),
        "log_so3": lambda: pin.log3(R),
        "right_jacobian_so3": lambda: pin.Jexp3(phi),
        "right_jacobian_inverse_so3": lambda: pin.Jlog3(R),
        "exp_se3": lambda: pin.exp6(linear_first),
        "log_se3": lambda: pin.log6(pose),
        "right_jacobian_se3": lambda: pin.Jexp6(motion),
        "right_jacobian_inverse_se3": lambda: pin.Jlog6(pose),
        "inverse_pose": lambda: pose.inverse(),
        "make_pose(p, R=R)": lambda: pin.SE3(R, p),
        "make_pose(p, quaternion=)": lambda: pin.SE3(pin.Quaternion(xyzw), p),
        "quaternion_to_matrix": lambda: pin.Quaternion(xyzw).matrix(),
        "matrix_to_quaternion": lambda: pin.Quaternion(R).coeffs(),
        "rpy_to_matrix": lambda: pin.rpy.rpyToMatrix(phi),
        "matrix_to_rpy": lambda: pin.rpy.matrixToRpy(R),
        "rotation_about_axis": lambda: pin.AngleAxis(angle, unit).matrix(),
        "skew": lambda: pin.skew(phi),
    }


def _import(module: str, name: str | None = None) -> Any:
    """Return a module or one of its attributes; None if it is not installed."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return found if name is None else getattr(found, name)


def times_of(calls: dict[str, Call], rounds: int, count: int) -> dict[str, float]:
    """Return the minimum time of each [s]."""
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
        ("one state [us per call]", xi[0], 1e6, CALLS),
        (f"{options.states} states [ns per state]", xi, 1e9 / options.states, 1),
    ):
        print(f"\n{title:<28}" + "".join(f"{name:>9}" for name in ("mbt", "scipy", "pin")))
        for function, calls in calls_of(states).items():
            times = times_of(calls, options.rounds, count)
            cells = (f"{unit * times[name]:.2f}" if name in times else "" for name in ("mbt", "scipy", "pin"))
            print(f"{function:<28}" + "".join(f"{cell:>9}" for cell in cells))


if __name__ == "__main__":
    main()
