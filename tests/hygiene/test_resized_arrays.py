"""Arrays of a running batch stay where they are: NumPy refuses to resize them, even with `refcheck=False`.

A weak reference is what keeps them: another thread waits for it, and tries.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
