"""Ctrl-C ends a long batch soon, with any number of threads, and leaves everything usable."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends a signal of POSIX")

CHILD = """
import signal, sys, time
# Also where the tests run in the background of a shell, which has children ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from mbt.functional import forward_dynamics
from support.case import get_case

case = get_case("humanoid")
tree, state = case.tree, case.state()
nv = tree.num_velocities
mbt.set_num_threads(int(sys.argv[2]))
few = np.zeros((20000, nv))
desired = forward_dynamics(tree, state.q, state.v, few)
start = time.perf_counter()
forward_dynamics(tree, state.q, state.v, few)
seconds = time.perf_counter() - start
# Six seconds of work. The system gives memory for what is written, and that is soon over.
tau = np.zeros((int(20000 * 6.0 / seconds), nv))
out = np.zeros(tau.shape)  # unlike zeros_like, not written yet
print("ready", flush=True)
start = time.perf_counter()
try:
    forward_dynamics(tree, state.q, state.v, tau, out=out)
except KeyboardInterrupt:
    elapsed = time.perf_counter() - start
    assert elapsed < 3.0, elapsed
    # A part of the results is there, as the documentation says.
    np.testing.assert_array_equal(out[:100], desired[:100])
    assert not out[-1].any()
    np.testing.assert_array_equal(forward_dynamics(tree, state.q, state.v, few), desired)
    print("interrupted")
"""

ROLLOUT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from mbt.functional import rollout
from support.case import get_case

case = get_case("humanoid")
tree, state = case.tree, case.state()
# Many minutes of work.
steps = 2 * 10**9
tau = np.broadcast_to(np.zeros(tree.num_velocities), (steps, tree.num_velocities))
v = state.v if sys.argv[2] == "single" else np.tile(state.v, (50, 1))
print("ready", flush=True)
try:
    rollout(tree, state.q, v, tau, 1e-9, every=steps)
except KeyboardInterrupt:
    print("interrupted")
"""

SEARCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import mbt

tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
ik = mbt.InverseKinematics(tree)
ik.add_position("tool")
goals = np.broadcast_to([50.0, 0.0, 0.0], {"one": (3,), "many": (5, 3)}[sys.argv[2]])
print("ready", flush=True)
try:
    ik.solve([goals], seeds=2**31 - 1)  # Hours of work: nothing reaches there.
except KeyboardInterrupt:
    print("interrupted")
    assert ik.solve([[0.3, 0.2, 0.4]]).success
"""

DISTANCES = """
import signal, sys, time
import numpy as np
import mbt

BODY = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
tree = mbt.MultibodyTree()
parent = tree.world_body
for i in range(12):
    link = tree.add_body(mbt.RigidBody(f"link{i}", BODY)).add_collision(mbt.Shape("box", [0.1, 0.1, 0.4]))
    tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", parent, None, link, None, [0, 1, 0])
    parent = link
tree.finalize()
scene = mbt.CollisionModel(tree)
q = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 12))
for _ in range(2):  # the first one also makes tables
    start = time.perf_counter()
    desired = scene.distance_jacobian(q)
# Half a second's work, but more than the 1,200 states before the first look at signals.
q = np.tile(q, (max(40, int(0.5 / (time.perf_counter() - start))), 1))
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(np.isnan(out[-1]).all()))
for threads in (1, 2):
    mbt.set_num_threads(threads)
    seen.clear()
    for _ in range(20):
        if True in seen:  # before the last state was reached
            break
        out = np.full((len(q), *desired.shape[1:]), np.nan)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        scene.distance_jacobian(q, out=out)
        signal.setitimer(signal.ITIMER_REAL, 0)
        np.testing.assert_array_equal(out[-100:], desired)
    assert True in seen
print("undisturbed")
"""

HANDLER = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from support.case import get_case

case, other = get_case("humanoid"), get_case("mixed40")
tree, state = case.tree, case.state()
tau = np.zeros((1000, tree.num_velocities))
for _ in range(2):  # the first one also imports
    start = time.perf_counter()
    mbt.functional.forward_dynamics(tree, state.q, state.v, tau)
# A tenth of a second's work, whatever the compiler made of it: the alarm goes off in its midst.
tau = np.tile(tau, (int(0.1 / (time.perf_counter() - start)) + 1, 1))
desired = mbt.functional.forward_dynamics(tree, state.q, state.v, tau[0])
calls = []

def handler(*_):
    # In the thread of the batch, between two of its runs: takes the working memory that it has used.
    c = other.context(other.state())
    other.tree.calc_forward_dynamics_derivatives(c)
    calls.append(mbt.functional.mass_matrix(tree, np.tile(state.q, (20, 1))))
    mbt.set_num_threads(1 + len(calls) % 3)

signal.signal(signal.SIGALRM, handler)
for threads in (1, 2, 3):
    mbt.set_num_threads(threads)
    before = len(calls)
    while len(calls) < before + 2:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        vdot = mbt.functional.forward_dynamics(tree, state.q, state.v, tau)
        np.testing.assert_allclose(vdot, np.broadcast_to(desired, vdot.shape), rtol=1e-9, atol=1e-9)
assert calls
print("undisturbed")
"""


def _child(code: str, *arguments: str) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", code, tests, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _finish(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the child's remaining output; it does not outlive the test."""
    try:
        return child.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise


@pytest.mark.parametrize(
    ("program", "argument"), [(ROLLOUT, "single"), (ROLLOUT, "batch"), (SEARCH, "one"), (SEARCH, "many")]
)
def test_an_interrupt_ends_a_long_rollout_or_search(program: str, argument: str) -> None:
    child = _child(program, argument)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, error = _finish(child)
    assert (child.returncode, out) == (0, "interrupted\n"), error


def test_signals_are_looked_at_between_distances() -> None:
    child = _child(DISTANCES)
    out, error = _finish(child)
    assert (child.returncode, out) == (0, "undisturbed\n"), error


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_an_interrupt_ends_a_batch(threads: int) -> None:
    child = _child(CHILD, str(threads))
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, error = _finish(child)
    assert (child.returncode, out) == (0, "interrupted\n"), error


def test_a_handler_that_computes_does_not_disturb_the_batch() -> None:
    out, error = _finish(child := _child(HANDLER))
    assert (child.returncode, out) == (0, "undisturbed\n"), error
