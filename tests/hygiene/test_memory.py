"""A Context needs O(n) memory; a batch needs its inputs, its outputs and little else."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mbt
from support.calls import CALLS
from support.only_thread import only_thread

# The caches hold 78 numbers per body with one degree of freedom.
BYTES_A_BODY = 1000


@cache
def _chain(num_bodies: int) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    parent, X_PF = tree.world_body, mbt.math.make_pose(p=[0, 0, -1])
    for i in range(num_bodies):
        body = tree.add_body(mbt.RigidBody(f"ball{i}", ball))
        tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", parent, X_PF, body, None, axis=[1, i % 2, 0])
        parent = body
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def _answer_everything(tree: mbt.MultibodyTree, context: mbt.Context) -> None:
    """Every call of the table; results are dropped."""
    for call in CALLS.values():
        call.run(tree, context, *call.values(tree))
    for body in (tree.bodies[1], tree.bodies[-1]):
        body.eval_pose_in_world(context)
        body.eval_spatial_velocity_in_world(context)
        body.eval_spatial_acceleration_in_world(context)


def _kept(make: Callable[[], object]) -> int:
    """Bytes that the result of `make` keeps alive; NumPy and Python report both."""
    gc.collect()
    tracemalloc.start()
    try:
        with only_thread():
            before = tracemalloc.get_traced_memory()[0]
            result = make()
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
        del result
        return after - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("num_bodies", [100, 300])
def test_context_is_linear(num_bodies: int) -> None:
    """Also after every call, including those that return (n, n) matrices: none is kept."""
    tree = _chain(num_bodies)

    def used() -> mbt.Context:
        context = tree.create_default_context()
        _answer_everything(tree, context)
        return context

    # Memory allocated at the first use belongs to the tree, or to modules.
    used()
    assert _kept(tree.create_default_context) < 2000 + 100 * num_bodies
    assert _kept(used) < 10_000 + BYTES_A_BODY * num_bodies


def test_context_with_everything_of_its_own_is_linear() -> None:
    """Parameters, applied forces and locks are copied or created when they are set."""
    tree = _chain(2000)

    def used() -> mbt.Context:
        context = tree.create_default_context()
        context.q, context.v = np.zeros((2, 2000))
        tree.bodies[1].set_mass(context, 2.0)
        tree.joints[0].lock(context)
        context.applied_forces.body_forces[1:] = 1.0
        tree.calc_inverse_dynamics(context, context.v, include_force_elements=True)
        tree.calc_forward_dynamics(context)
        tree.eval_acceleration_kinematics(context)
        return context

    used()
    assert _kept(used) < 3 * BYTES_A_BODY * 2000


NUM_SAMPLES = 250_000
ALLOWED = 16 * 2**20
AVAILABLE = 2**30
FUNCTIONS = {
    "inverse_dynamics": "q, v, x",
    "forward_dynamics": "q, v, x",
    "mass_matrix": "q",
    "bias_term": "q, v",
    "gravity_generalized_forces": "q",
    "body_poses": "q",
    "frame_pose": "q, tip",
    "frame_jacobian": "q, tip",
    "center_of_mass": "q",
    "integrate_positions": "q, v, 0.5",
    "difference_positions": "q, q",
    "inverse_dynamics_derivatives": "q, v, x",
    "forward_dynamics_derivatives": "q, v, x",
}

SCRIPT = """
import gc, json, sys
import numpy as np
import mbt

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

def peak(f):
    # Resident bytes at the peak of a call, beyond those before it.
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    result = f()
    return status("VmHWM") - before, result

tree = mbt.MultibodyTree()
parent = tree.world_body
link = mbt.SpatialInertia.solid_cylinder_with_mass(2.0, 0.05, 0.3, [0, 0, 1])
for i in range(7):
    body = tree.add_body(mbt.RigidBody(f"link{i}", link))
    X_PF = mbt.math.make_pose(p=[0, 0, 0.3], rpy=[(-1) ** i * np.pi / 2, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, f"joint{i}", parent, X_PF, body, None, axis=[0, 0, 1], damping=0.1)
    parent = body
tree.add_force_element(mbt.UniformGravityFieldElement())
tree.finalize()

functions, num_samples = json.loads(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
q, v, x = (rng.uniform(-1, 1, (num_samples, 7)) for _ in range(3))
names = {"q": q, "v": v, "x": x, "tip": body.body_frame, "0.5": 0.5}
control = peak(lambda: np.ones(num_samples))
result = {"control": [control[0], control[1].nbytes]}
for name, arguments in functions.items():
    function = getattr(mbt.functional, name)
    arguments = [names[argument] for argument in arguments.split(", ")]
    fresh, out = peak(lambda: function(tree, *arguments))
    with_out, same = peak(lambda: function(tree, *arguments, out=out))
    arrays = out if isinstance(out, tuple) else (out,)
    assert all(np.isfinite(array[::1000]).all() for array in arrays)
    result[name] = [fresh - sum(array.nbytes for array in arrays), with_out]
    del out, same, arrays
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def peaks() -> dict[str, list[int]]:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("reads the peak of resident memory from /proc, of Linux")
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("another library has replaced malloc already")
    available = next(
        line for line in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in line
    )
    if int(available.split()[1]) * 1024 < AVAILABLE:
        pytest.skip("needs 1 GiB of memory, for the results")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(FUNCTIONS), str(NUM_SAMPLES)],
        capture_output=True,
        text=True,
        check=False,
        # Every array comes from the system, none reuses freed memory.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, list[int]] = json.loads(run.stdout)
    return result


def test_peak_is_seen(peaks: dict[str, list[int]]) -> None:
    peak, size = peaks["control"]
    assert size <= peak + 2**20 <= size + 2**24


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_states(peaks: dict[str, list[int]], name: str) -> None:
    """Beyond inputs and outputs, with a new result and with `out`: working memory of one block per thread."""
    fresh, with_out = peaks[name]
    assert fresh < ALLOWED
    assert with_out < ALLOWED
