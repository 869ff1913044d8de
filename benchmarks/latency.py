"""Latency of single calls in a control loop: percentiles and the worst case, with and without collections.

    python benchmarks/latency.py [--seconds 30] [--rate 1000] [--model humanoid] [--objects 200000]
                                 [--json OUT]

At a fixed rate, one tick after the other: set a new state, then compute inverse and forward dynamics with
mbt, each into an existing array, and with pin if it is installed, in turns. A tick sleeps until shortly
before it is due, and then busy-waits. `late` is the delay of the start of a tick, caused by the system, not
by a library. Each tick creates some garbage, which takes the time of `other code`; if the collector runs, it
traverses `--objects` live Python objects.

After the table come page faults, and voluntary (locks, sleeps) and involuntary context switches, during calls
of mbt alone, without pacing, from `getrusage`. 1e6 ticks at 1 kHz take 17 minutes: `--seconds 1000`. Started
with `chrt -f 50`, the loop is not interrupted by other programs.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from models import make_model

PERCENTILES = (50.0, 99.0, 99.9, 100.0)
# Busy-wait before a tick is due [s].
SPIN = 2e-4


def loops_of_mbt(tree: mbt.MultibodyTree, q: np.ndarray, v: np.ndarray) -> dict[str, Callable[[int], None]]:
    """Return the calls of a tick, by name; each takes the index of a state."""
    context = tree.create_default_context()
    nv = tree.num_velocities
    vdot, tau, out = np.ones(nv), np.zeros(nv), np.empty(nv)
    inverse, forward = tree.calc_inverse_dynamics, tree.calc_forward_dynamics

    def run_inverse(i: int) -> None:
        context.q, context.v = q[i], v[i]
        inverse(context, vdot, include_force_elements=True, out=out)

    def run_forward(i: int) -> None:
        context.q, context.v = q[i], v[i]
        forward(context, tau, out=out)

    return {"mbt inverse dynamics": run_inverse, "mbt forward dynamics": run_forward}


def loops_of_pin(urdf: str, *, floating: bool, states: int) -> dict[str, Callable[[int], None]]:
    """Return the same calls for pin; none if it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model = (
        pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(urdf)
    )
    data = model.createData()
    rng = np.random.default_rng(0)
    neutral = pin.neutral(model)
    q = [pin.integrate(model, neutral, rng.standard_normal(model.nv)) for _ in range(states)]
    v = rng.standard_normal((states, model.nv))
    vdot, tau = np.ones(model.nv), np.zeros(model.nv)

    def run_inverse(i: int) -> None:
        pin.rnea(model, data, q[i], v[i], vdot)

    def run_forward(i: int) -> None:
        pin.aba(model, data, q[i], v[i], tau)

    return {"pin inverse dynamics": run_inverse, "pin forward dynamics": run_forward}


def measure(
    calls: dict[str, Callable[[int], None]], ticks: int, rate: float, states: int
) -> dict[str, np.ndarray]:
    """Return the nanoseconds of each call in each tick, and the delay of each tick."""
    names = list(calls)
    functions = list(calls.values())
    spent = np.zeros((len(names), ticks), dtype=np.int64)
    late, other = np.zeros((2, ticks), dtype=np.int64)
    clock, sleep = time.perf_counter_ns, time.sleep
    period = int(1e9 / rate)
    for tick in range(-200, 0):  # To warm up.
        for function in functions:
            function(tick % states)
    due = clock() + period
    for tick in range(ticks):
        rest = (due - clock()) * 1e-9 - SPIN
        if rest > 0:
            sleep(rest)
        while clock() < due:
            pass
        late[tick] = clock() - due
        state = tick % states
        # A different call is first in each tick.
        for k in range(len(functions)):
            which = (tick + k) % len(functions)
            begin = clock()
            functions[which](state)
            spent[which, tick] = clock() - begin
        # Garbage that only a collection frees.
        begin = clock()
        for _ in range(20):
            knot: list[Any] = []
            knot.append(knot)
        other[tick] = clock() - begin
        due += period
        if due < clock():  # Missed ticks are skipped.
            due = clock() + period
    return {**dict(zip(names, spent, strict=True)), "other code": other, "late": late}


def count(calls: dict[str, Callable[[int], None]], times: int, states: int) -> dict[str, int]:
    """Return page faults and context switches during calls, one after the other."""
    for i in range(1000):
        for function in calls.values():
            function(i % states)
    before = resource.getrusage(resource.RUSAGE_THREAD)
    for i in range(times):
        for function in calls.values():
            function(i % states)
    after = resource.getrusage(resource.RUSAGE_THREAD)
    names = {
        "minor page faults": "ru_minflt",
        "major page faults": "ru_majflt",
        "switches asked for": "ru_nvcsw",
        "switches suffered": "ru_nivcsw",
    }
    return {name: getattr(after, key) - getattr(before, key) for name, key in names.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each of the two runs")
    parser.add_argument("--rate", type=float, default=1000.0, help="ticks per second")
    parser.add_argument("--model", default="humanoid", help="arm7, humanoid, chain30, ...")
    parser.add_argument("--objects", type=int, default=200_000, help="live Python objects")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    model = make_model(options.model)
    tree = mbt.load_model(model.urdf, base="floating" if model.floating else "fixed")
    rng = np.random.default_rng(0)
    states = 100
    q, v = tree.random_positions(rng, states), rng.standard_normal((states, tree.num_velocities))
    own = loops_of_mbt(tree, q, v)
    calls = {**own, **loops_of_pin(model.urdf, floating=model.floating, states=states)}
    alive = [[i] for i in range(options.objects)]
    ticks = max(1, int(options.seconds * options.rate))
    results: dict[str, Any] = {"model": model.name, "ticks": ticks, "rate": options.rate}
    for collects in (True, False):
        if collects:
            gc.enable()
        else:
            gc.collect()
            gc.freeze()
            gc.disable()
        spent = measure(calls, ticks, options.rate, states)
        results["collection on" if collects else "collection off, frozen"] = {
            name: [float(x) / 1e3 for x in np.percentile(times, PERCENTILES)] for name, times in spent.items()
        }
    results["counters of 100,000 ticks"] = count(own, 100_000, states)
    assert len(alive) == options.objects
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))
    print(f"{model.name}, {ticks} ticks at {options.rate:g} Hz, microseconds")
    for title in ("collection on", "collection off, frozen"):
        print(f"\n{title:28}{'p50':>10}{'p99':>10}{'p99.9':>10}{'max':>10}")
        for name, numbers in results[title].items():
            print(f"{name:28}" + "".join(f"{x:10.2f}" for x in numbers))
    print()
    for name, number in results["counters of 100,000 ticks"].items():
        print(f"{name:28}{number:10d}")


if __name__ == "__main__":
    sys.exit(main())
