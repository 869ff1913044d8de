"""``mbt bench``: times of a robot on this machine, compared with the installed libraries."""

from __future__ import annotations

import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt import functional
from mbt.cli.bench_peers import FUNCTIONS, Peer, load_peers
from mbt.cli.info import load
from mbt.cli.terminal import make_table
from mbt.config import get_num_threads
from mbt.errors import ArgumentValueError, MbtError, ModelWarning
from mbt.saving import save_model

if TYPE_CHECKING:
    from argparse import Namespace

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_bench"]

# Only mbt computes this row: the others enforce constraints in their own ways.
_CONSTRAINED = "with constraints"
# The shortest duration of a measurement [s]: long for the clock, short for disturbances by other programs.
_SAMPLE = 2e-3


class Figures(NamedTuple):
    """Times of one call, or of one state of a batch [s], and their ratios to those of mbt on one state.

    Ratios are computed round by round, so that whatever slows the machine down affects both times.
    """

    minimum: float
    median: float
    ratio_of_minima: float
    median_ratio: float


def run_bench(options: Namespace, **reading: Any) -> tuple[str, int]:
    """Measure, and return the report.

    Raises
    ------
    MbtError
        When the file or an option cannot be used.
    """
    for name in ("batch", "rounds"):
        if getattr(options, name) < 1:
            raise ArgumentValueError(f"--{name}: expected at least 1, got {getattr(options, name)}")
    tree = load(options.file, **reading)
    if not tree.num_velocities:
        raise ArgumentValueError(f"{options.file}: nothing moves, so there is nothing to measure")
    free = _without_constraints(tree)
    peers = [] if options.alone else _load_peers(free)
    contenders = {
        "mbt": _calls_of(free),
        f"mbt, {options.batch} states": _batch_calls_of(free, options.batch),
    }
    if free is not tree:
        contenders["mbt"][_CONSTRAINED] = _calls_of(tree)["forward dynamics"]
        contenders[f"mbt, {options.batch} states"][_CONSTRAINED] = _batch_calls_of(tree, options.batch)[
            "forward dynamics"
        ]
    contenders |= {peer.name: peer.calls for peer in peers if peer.calls is not None}
    states = {f"mbt, {options.batch} states": options.batch}
    results = {
        function: _measure(
            {name: calls[function] for name, calls in contenders.items() if function in calls},
            states,
            options.rounds,
        )
        for function in contenders["mbt"]
    }
    if options.json:
        return _as_json(tree, results, peers, options), 0
    return _describe(tree, results, peers), 0


def _without_constraints(tree: MultibodyTree) -> MultibodyTree:
    """Return a tree without constraints: the tree itself if it has none."""
    if not tree.num_constraint_equations:
        return tree
    free = tree.edit()
    for constraint in free.constraints:
        free.remove(constraint)
    free.finalize()
    return free


def _calls_of(tree: MultibodyTree) -> dict[str, Callable[[], object]]:
    q = tree.default_positions.copy()
    v, x = np.full((2, tree.num_velocities), 0.1)
    return _bind(tree, q, v, x)


def _batch_calls_of(tree: MultibodyTree, count: int) -> dict[str, Callable[[], object]]:
    q = np.tile(tree.default_positions, (count, 1))
    v, x = np.full((2, count, tree.num_velocities), 0.1)
    return _bind(tree, q, v, x)


def _bind(tree: MultibodyTree, q: Any, v: Any, x: Any) -> dict[str, Callable[[], object]]:
    """Return functions of these arrays that write into preallocated arrays."""
    F = functional
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, M = F.body_poses(tree, q), F.mass_matrix(tree, q)
    tau, vdot = np.empty_like(v), np.empty_like(v)
    return {
        "body poses": lambda: F.body_poses(tree, q, out=X),
        "inverse dynamics": lambda: F.inverse_dynamics(tree, q, v, x, out=tau),
        "mass matrix": lambda: F.mass_matrix(tree, q, out=M),
        "forward dynamics": lambda: F.forward_dynamics(tree, q, v, x, out=vdot),
    }


def _load_peers(tree: MultibodyTree) -> list[Peer]:
    """Return the other libraries with the same model, passed as URDF without shapes and motors."""
    floating = [m for m in tree.mobilizers if m.has_six_dofs]
    bare = tree.edit()
    for body in bare.bodies:
        body._visuals = body._collisions = ()
    bare.finalize()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            urdf = save_model(bare, format="urdf")
    except MbtError as error:
        return [
            Peer(name, reason=f"URDF cannot hold the model: {error}") for name in ("pin", "mujoco", "drake")
        ]
    peers = load_peers(urdf, floating=bool(floating))
    return [_check_same(peer, tree) for peer in peers]


def _check_same(peer: Peer, tree: MultibodyTree) -> Peer:
    """Leave out a library whose model differs."""
    if peer.calls is None:
        return peer
    if peer.num_velocities != tree.num_velocities:
        reason = f"has {peer.num_velocities} velocities instead of {tree.num_velocities}: not the same model"
        return Peer(peer.name, peer.version, reason=reason)
    M = functional.mass_matrix(tree, tree.default_positions)
    rotors = sum(actuator.default_reflected_inertia for actuator in tree.joint_actuators)
    trace = float(np.trace(M))
    # Some of them do not read rotors.
    if not any(abs(peer.trace - own) <= 1e-6 * trace for own in (trace, trace - rotors)):
        reason = f"its mass matrix has the trace {peer.trace:.6g} instead of {trace:.6g}: not the same model"
        return Peer(peer.name, peer.version, reason=reason)
    return peer


def _measure(
    calls: dict[str, Callable[[], object]], states: dict[str, int], rounds: int
) -> dict[str, Figures]:
    """Return times of functions that take turns in each round."""
    numbers = {name: _calls_in_sample(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds = _time(call, numbers[name]) / numbers[name] / states.get(name, 1)
            times[name].append(seconds)
    own = times["mbt"]
    return {
        name: Figures(
            min(samples),
            statistics.median(samples),
            min(samples) / min(own),
            statistics.median(a / b for a, b in zip(samples, own, strict=True)),
        )
        for name, samples in times.items()
    }


def _calls_in_sample(call: Callable[[], object]) -> int:
    call()
    number = 1
    while (seconds := _time(call, number)) < 0.2 * _SAMPLE:
        number *= 4
    return max(1, round(number * _SAMPLE / seconds))


def _time(call: Callable[[], object], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return time.perf_counter() - start


def _describe(tree: MultibodyTree, results: dict[str, dict[str, Figures]], peers: list[Peer]) -> str:
    report = tree.parse_reports[0]
    names = list(results[FUNCTIONS[0]])
    lines = [
        f"{report.model_name} · {report.file}: "
        f"{tree.num_bodies - 1} bodies, {tree.num_velocities} velocities",
        f"{_machine()}, mbt on {get_num_threads()} threads for batches",
        "",
        "Microseconds per state, the minimum of all rounds; in parentheses, the ratio to mbt",
    ]
    rows = []
    for function, figures in results.items():
        cells = [function]
        for name in names:
            one = figures.get(name)
            if one is None:
                cells.append("")
                continue
            ratio = "" if name == "mbt" else f" ({_ratio(one.ratio_of_minima)})"
            cells.append(f"{one.minimum * 1e6:.3g}{ratio}")
        rows.append(cells)
    lines += make_table(("", *names), rows, left=(0,), whole=True)
    for peer in peers:
        if peer.reason:
            lines.append(f"  {peer.name}: {peer.reason}")
    lines.append("  The libraries take turns. A batch of mbt is one call; --json also gives medians.")
    return "\n".join(lines) + "\n"


def _ratio(value: float) -> str:
    return f"{value:.2g}x" if value < 10 else f"{value:.0f}x"


def _machine() -> str:
    return f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"


def _as_json(
    tree: MultibodyTree, results: dict[str, dict[str, Figures]], peers: list[Peer], options: Namespace
) -> str:
    report = tree.parse_reports[0]
    value = {
        "file": report.file,
        "model": report.model_name,
        "num_bodies": tree.num_bodies,
        "num_velocities": tree.num_velocities,
        "machine": _machine(),
        "num_threads": get_num_threads(),
        "batch": options.batch,
        "rounds": options.rounds,
        "seconds": {
            function: {name: one._asdict() for name, one in figures.items()}
            for function, figures in results.items()
        },
        "libraries": {
            peer.name: {"version": peer.version, "is_measured": peer.calls is not None, "reason": peer.reason}
            for peer in peers
        },
    }
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
