"""Arrays of a running batch stay in place: NumPy refuses to resize them, even with `refcheck=False`.

A weak reference protects them: another thread waits until it exists, and then tries to resize them.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from support.calls import CALLS
from support.case import get_case
from support.description import Array

TESTS = Path(__file__).resolve().parents[1]

CHILD = """
import sys, threading, time, weakref
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from mbt import functional
from support.case import get_case

way, which = sys.argv[2:]
case = get_case("humanoid")
tree, state = case.tree, case.state()
n, nv = 50_000, tree.num_velocities

def filled(row):
    array = np.empty((n, row.size))
    array[:] = row
    return array

arrays = {"q": filled(state.q), "v": filled(state.v), "vdot": filled(np.zeros(nv)), "out": np.empty((n, nv))}
array = arrays[which]
outcomes = set()

def watch():
    while not done.is_set():
        # What nobody holds would be resized, which is NumPy's affair: this is about a batch that runs.
        if weakref.getweakrefcount(array):
            try:
                # More than there was: the memory would move.
                array.resize((3 * n, array.shape[1]), refcheck=False)
            except ValueError:
                outcomes.add("refused")
            else:
                outcomes.add("resized")
            return
        time.sleep(1e-4)

context = tree.create_default_context(n)
context.q, context.v = arrays["q"], arrays["v"]
compute = {
    "function": lambda: functional.inverse_dynamics(
        tree, arrays["q"], arrays["v"], arrays["vdot"], out=arrays["out"]
    ),
    "context": lambda: tree.calc_inverse_dynamics(context, arrays["vdot"], out=arrays["out"]),
    "view": lambda: functional.inverse_dynamics(
        tree, arrays["q"], arrays["v"], arrays["vdot"][:], out=arrays["out"][:]
    ),
}[way]
# Nobody comes between a look and the try.
sys.setswitchinterval(0.5)
done = threading.Event()
worker = threading.Thread(target=watch)
worker.start()
for _ in range(20):
    compute()
    if outcomes:
        break
done.set()
worker.join()
print(*sorted(outcomes))
# Afterwards it is free again.
array.resize((1,), refcheck=False)
"""


@pytest.mark.parametrize(
    ("way", "which"),
    [
        *(("function", which) for which in ("q", "v", "vdot", "out")),
        *(("view", which) for which in ("vdot", "out")),
        *(("context", which) for which in ("vdot", "out")),
    ],
)
def test_arrays_of_a_batch_cannot_be_resized(way: str, which: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(TESTS), way, which], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused\n"


class Resizing:
    """Numbers that, while being converted to an array, try to resize another array."""

    def __init__(self, numbers: Array, other: Array) -> None:
        self.numbers, self.other = numbers, other

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        before = self.other.copy()
        self.other.fill(np.nan)  # reads of this memory would show
        try:
            self.other.resize((0,) * before.ndim, refcheck=False)
        except ValueError:
            self.other[...] = before
            raise
        return self.numbers


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if len(call.arguments) > 1])
def test_nothing_is_read_beyond_an_array_that_another_one_resizes(name: str) -> None:
    call, case = CALLS[name], get_case("mixed8")
    values = call.values(case.tree)
    expected = call.run(case.tree, case.state(), *(value.copy() for value in values))
    for i, k in itertools.permutations(range(len(values)), 2):
        given: list[Any] = [value.copy() for value in values]
        given[k] = Resizing(values[k], given[i])
        try:
            found = call.run(case.tree, case.state(), *given)
        except (ValueError, TypeError):  # from mbt or NumPy
            continue
        np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("which", ["q", "last", "goal"])
def test_nor_by_differential_kinematics(which: str) -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    ik.add_pose("tool")
    q, last, goal, pose = np.full(6, 0.3), np.zeros(6), np.array([0.3, 0.2, 0.4]), np.eye(4)
    expected = ik.velocities(q, [goal, pose], 0.01, last=last)
    given = {"q": q, "last": last, "goal": goal}
    goals = [goal, Resizing(pose, given[which])]
    np.testing.assert_array_equal(ik.velocities(q, goals, 0.01, last=last), expected)
