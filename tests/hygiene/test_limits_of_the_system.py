"""Small stacks, threads that cannot start, no memory: nothing crashes, and everything works afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

BEGIN = """
import pickle, sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from mbt import functional
from support.case import get_case
from support.force_element_types import make_everything
from support.joint_types import random_state

def chain(n):
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for k in range(n):
        body = tree.add_body(mbt.RigidBody(f"b{k}", mbt.SpatialInertia(1.0, [0, 0, 0.5], np.eye(3))))
        tree.add_joint(mbt.RevoluteJoint, f"j{k}", parent, None, body, None, axis=[0, 1, 0])
        parent = body
    tree.finalize()
    return tree

def limited(bytes_more):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + bytes_more, resource.RLIM_INFINITY))

def unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""

# NumPy and the interpreter need little less. To import a module, as first uses do,
# the parser of CPython 3.14 needs more than 64 KiB.
SMALL_STACK = """
failed, first, later = [], 98304 if sys.version_info >= (3, 14) else 65536, 65536
def compute():
    try:
        for tree in (chain(500), get_case("humanoid").tree):
            context, zeros = tree.create_default_context(), np.zeros(tree.num_velocities)
            tree.calc_inverse_dynamics_derivatives(context, zeros)
            tree.calc_forward_dynamics_derivatives(context, zeros)
            tree.calc_mass_matrix_inverse(context)
            tree.calc_coriolis_matrix(context)
            functional.forward_dynamics_derivatives(tree, np.tile(context.q, (9, 1)), zeros, zeros)
            functional.rollout(tree, context.q, zeros, np.zeros((5, tree.num_velocities)), 1e-4)
            str(tree.finalize_report)
            tree.calc_energy_report(context)
        everything = make_everything(user_written=True)
        context = random_state(everything, np.random.default_rng(1))
        everything.calc_forward_dynamics_derivatives(context)
        everything.calc_inverse_dynamics_regressor(context, np.zeros(everything.num_velocities))
        pickle.loads(pickle.dumps(context))
        arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
        autodiff = arm.to_autodiff().create_default_context()
        autodiff.tree.calc_forward_dynamics(autodiff)
    except BaseException as error:
        failed.append(error)
for size in (first, later):
    threading.stack_size(size)
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
assert not failed, failed
"""

# A thread's stack of some megabytes does not fit: the effect of RLIMIT_NPROC, which does not bind root.
NO_THREADS = """
import os, resource
tree = get_case("humanoid").tree
state = get_case("humanoid").state()
q = np.tile(state.q, (20_000, 1))
out = np.empty((len(q), tree.num_velocities))
mbt.set_num_threads(1)
desired = functional.inverse_dynamics(tree, q, state.v, state.vdot)
mbt.set_num_threads(1024)
limited(2**20)
functional.inverse_dynamics(tree, q, state.v, state.vdot, out=out)
count = len(os.listdir("/proc/self/task"))
unlimited()
np.testing.assert_array_equal(out, desired)
assert count < 20, count
assert mbt.get_num_threads() == 1024
mbt.set_num_threads(3)
np.testing.assert_array_equal(functional.inverse_dynamics(tree, q, state.v, state.vdot), desired)
"""

NO_MEMORY = """
import resource
# OpenBLAS takes its memory at the first call, and ends the process where there is none.
np.linalg.eigvalsh(np.ones((200, 200)) @ np.ones((200, 200)))
mbt.set_num_threads(1)
tree = chain(700)
context = tree.create_default_context()
rng = np.random.default_rng(0)
context.q, context.v = rng.standard_normal((2, 700))
zeros = np.zeros(700)
desired = tree.calc_forward_dynamics(context, zeros)
q, serials = context.q.copy(), context._serials
batch = np.tile(q, (4000, 1))
path = mbt.models.model_path("mbt_arm")
calls = {
    "mass matrices": lambda: functional.mass_matrix(tree, batch),
    "derivatives": lambda: functional.forward_dynamics_derivatives(tree, batch, zeros, zeros),
    "poses": lambda: functional.body_poses(tree, batch),
    "batch Context": lambda: tree.create_default_context(100_000),
    "positions": lambda: tree.random_positions(0, 100_000),
    "rollout": lambda: functional.rollout(tree, q, zeros, np.broadcast_to(zeros, (100_000, 700)), 1e-3),
    "steps": lambda: functional.integrate_positions(tree, np.broadcast_to(q, (100_000, 700)), zeros, 0.1),
}
for name, call in calls.items():
    limited(2**24)
    try:
        call()
    except MemoryError:
        pass
    else:
        raise AssertionError(f"{name}: no MemoryError")
    finally:
        unlimited()
    assert context._serials == serials, name
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context, zeros), desired)
few = batch[:3]
assert np.isfinite(functional.mass_matrix(tree, few)).all()
assert mbt.selftest(mbt.load_model(path), num_samples=2).ok
"""

# One allocation of Python fails, the next one succeeds. In short operations each one fails in turn in the
# exhaustive run, otherwise every eleventh; in operations with thousands, every 37th.
ONE_ALLOCATION = """
import _testcapi
from xml.parsers import expat
step_of_short = int(sys.argv[2])
# Python tells of generators that it cannot end properly without memory.
sys.unraisablehook = lambda _: None
path = mbt.models.model_path("mbt_arm")
text = path.read_text()
pickled = pickle.dumps(mbt.load_model(path))
q = np.linspace(0.1, 0.6, 6)

def heavier(tree):
    context = tree.create_default_context()
    tree.bodies[2].set_mass(context, 2.0)
    return tree.calc_mass_matrix(context)

def compute(tree):
    context = tree.create_default_context()
    context.q, context.v = q, q
    return (tree.calc_mass_matrix(context), tree.calc_forward_dynamics(context),
            functional.frame_jacobian(tree, q, tree.frames[-1]), functional.body_poses(tree, q))

calls = {
    "compile": (step_of_short, compute),
    "parameters": (step_of_short, heavier),
    "clone": (step_of_short, lambda tree: tree.create_default_context().clone()),
    "derivatives": (step_of_short, lambda tree: functional.forward_dynamics_derivatives(tree, q, q, q)),
    "batch": (step_of_short, lambda tree: tree.calc_mass_matrix(tree.create_default_context((3,)))),
    "explain": (step_of_short, lambda tree: tree.create_default_context().freeze()),
    "read": (37, lambda tree: mbt.load_model(text)),
    "edit": (37, lambda tree: tree.edit().finalize()),
    "autodiff": (37, lambda tree: tree.to_autodiff()),
}
# CPython crashes where there is no memory for a parser of XML: every call finds one ready.
create_parser, parsers = expat.ParserCreate, []
expat.ParserCreate = lambda encoding: parsers.pop()
desired = compute(pickle.loads(pickled))
for name, (step, call) in calls.items():
    parsers[:] = [create_parser("utf-8")]
    call(pickle.loads(pickled))
    failed, went_well, n = 0, 0, 0
    while went_well < 3:
        n += step
        tree = pickle.loads(pickled)
        parsers[:] = [create_parser("utf-8")]
        _testcapi.set_nomemory(n, n + 1)
        try:
            call(tree)
        except MemoryError:
            failed, went_well = failed + 1, 0
        else:
            went_well += 1
        finally:
            _testcapi.remove_mem_hooks()
        for actual, wanted in zip(compute(tree), desired, strict=True):
            np.testing.assert_array_equal(actual, wanted)
    assert failed > 3, (name, failed)
"""


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
fails_allocations = [
    pytest.mark.skipif(
        find_spec("_testcapi") is None, reason="this CPython comes without its module _testcapi"
    ),
    # These versions release the code of a nested function twice, in any program.
    pytest.mark.skipif(
        (3, 12) <= sys.version_info < (3, 14),
        reason="this CPython crashes where there is no memory for a function",
    ),
]


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        pytest.param(SMALL_STACK, [], id="small stacks"),
        pytest.param(NO_THREADS, [], id="no threads", marks=needs_linux),
        pytest.param(NO_MEMORY, [], id="no memory", marks=needs_linux),
        pytest.param(ONE_ALLOCATION, ["11"], id="one allocation of eleven fails", marks=fails_allocations),
        pytest.param(
            ONE_ALLOCATION,
            ["1"],
            id="one allocation fails",
            marks=[*fails_allocations, pytest.mark.exhaustive],
        ),
    ],
)
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="another library has replaced malloc already")
def test_limits(body: str, arguments: list[str]) -> None:
    command = [sys.executable, "-c", BEGIN + body, str(TESTS), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False,
        # Freed or uninitialized memory is not a valid object.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
