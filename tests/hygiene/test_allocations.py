"""A call with `out=` allocates no memory: counted by a replacement of malloc, in a process of its own.

Python objects for shapes come and go with batches, but nothing that grows with the batch.
"""

from __future__ import annotations

import json

import pytest

from support.calls import COMPILED_WITH_OUT, FUNCTIONS, HELPERS, SCALARS, WITH_ROOM, WITH_THREE_OUT
from support.malloc import compile_malloc, run_with_malloc

# Batches may allocate less than 16 bytes a sample.
NUM_SAMPLES = 300
SMALL = 16 * NUM_SAMPLES

COUNTER = r"""
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Atomic long count, bytes;
long allocation_count(void) { return count; }
long allocated_bytes(void) { return bytes; }
static size_t counted(size_t n) { ++count; bytes += n; return n; }

void* malloc(size_t n) { return __libc_malloc(counted(n)); }
void* calloc(size_t n, size_t size) { counted(n * size); return __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { return __libc_realloc(p, counted(n)); }
void* memalign(size_t a, size_t n) { return __libc_memalign(a, counted(n)); }
void* aligned_alloc(size_t a, size_t n) { return __libc_memalign(a, counted(n)); }
int posix_memalign(void** p, size_t a, size_t n) { *p = __libc_memalign(a, counted(n)); return *p ? 0 : 12; }
"""

SCRIPT = """
import ctypes, itertools, json, sys
import numpy as np
from support.calls import CALLS, COMPILED_WITH_OUT, FUNCTIONS, HELPERS, SCALARS, WITH_THREE_OUT
import mbt
from mbt import functional
from support.case import get_case
from support.constraints import tree_with_every_constraint
from support.force_element_types import make_everything
from support.joint_types import random_state

count, count_bytes = ctypes.CDLL(None).allocation_count, ctypes.CDLL(None).allocated_bytes
count.restype = count_bytes.restype = ctypes.c_long

def calls_of(repeat, f, count):
    before = count()
    for _ in itertools.repeat(None, repeat):
        f()
    return count() - before

# Of both in one run.
def both():
    return complex(count(), count_bytes())

def allocations(f, count=count, repeat=100):
    # The difference of two runs: what the measurement itself allocates cancels. Twice, for Python takes
    # memory in large pieces, one of which may fall into a run; what a call allocates is in both.
    calls_of(2 + repeat // 10, f, count)
    differences = [calls_of(2 * repeat, f, count) - calls_of(repeat, f, count) for _ in range(2)]
    return min(differences, key=abs)

def as_written(function, values, out):
    # `lambda: function(v[0], v[1], out=out)`: unlike f(*v, **keywords), the call itself makes no tuple.
    arguments = [f"v[{i}]" for i in range(len(values))] + ["out=out"] * (out is not None)
    return eval(f"lambda: function({', '.join(arguments)})", {"function": function, "v": values, "out": out})

result = {
    "control": allocations(lambda: np.empty(100_000)),
    "control bytes": allocations(lambda: np.empty(100_000), count_bytes),
}
def models():
    for model in ("mixed8", "humanoid"):
        case = get_case(model)
        yield model, case.tree, [case.context(case.state(k)) for k in range(2)]
    # Every joint and every force element that is compiled.
    tree = make_everything(user_written=False)
    yield "everything", tree, [random_state(tree, np.random.default_rng(k)) for k in range(2)]

for model, tree, (context, other) in models():
    for name in [*COMPILED_WITH_OUT, *WITH_THREE_OUT, *SCALARS]:
        call = CALLS[name]
        values = call.values(tree)
        out = None if name in SCALARS else np.empty_like(call.run(tree, context, *values))
        if name in WITH_THREE_OUT:
            out = tuple(out)
        f = as_written(call.function(tree), call.positional(tree, context, *values), out)
        result[f"{model} {name}"] = allocations(f)
    for name in [*FUNCTIONS, *HELPERS]:
        call = CALLS[name]
        values = [np.tile(value, (int(sys.argv[1]), 1)) for value in call.values(tree)]
        arguments = call.positional(tree, context, *values)
        out = call.function(tree)(*arguments)
        out = tuple(map(np.empty_like, out)) if isinstance(out, tuple) else np.empty_like(out)
        f = as_written(call.function(tree), arguments, out)
        result[f"{model} batch {name}"] = allocations(f, count_bytes, repeat=2) / 2
    states = itertools.cycle([context.q.copy(), other.q.copy()])
    vdot, tau = np.ones(tree.num_velocities), np.ones(tree.num_velocities)
    # Bound here: Python 3.10 makes a bound method for each call with keywords.
    inverse, forward = tree.calc_inverse_dynamics, tree.calc_forward_dynamics
    def control_loop():
        context.q = next(states)
        inverse(context, vdot, include_force_elements=True, out=tau)
        forward(context, tau, out=vdot)
    result[f"{model} control loop"] = allocations(control_loop)
    n, nv = int(sys.argv[1]), tree.num_velocities
    batch = tree.create_default_context(n)
    batch_states = itertools.cycle([np.tile(c.q, (n, 1)) for c in (context, other)])
    batch_vdot, batch_tau, matrices = np.ones((n, nv)), np.ones((n, nv)), np.empty((n, nv, nv))
    three = tuple(np.empty((3, n, nv, nv)))
    def set_state():
        batch.q, batch.v = next(batch_states), batch_vdot
    for name, f in {
        "state": set_state,
        "inverse": lambda: inverse(batch, batch_vdot, include_force_elements=True, out=batch_tau),
        "forward": lambda: forward(batch, batch_tau, out=batch_vdot),
        "mass matrix": lambda: tree.calc_mass_matrix(batch, out=matrices),
        "derivatives": lambda: tree.calc_inverse_dynamics_derivatives(
            batch, batch_vdot, include_force_elements=True, out=three
        ),
    }.items():
        result[f"{model} Context of a batch: {name}"] = allocations(f, count_bytes, repeat=2) / 2
loops = tree_with_every_constraint()
state, nv = random_state(loops, np.random.default_rng(1)), loops.num_velocities
constrained_out = np.empty(nv), np.empty(loops.num_constraint_equations)
q, v, constrained = state.q.copy(), state.v.copy(), functional.constrained_forward_dynamics
result["constraints function"] = allocations(lambda: constrained(loops, q, v, v, out=constrained_out))
arm = get_case("mixed8").tree
ik = mbt.InverseKinematics(arm)
ik.add_pose(arm.bodies[-1].body_frame)
ik.add_posture(arm.default_positions)
q, goals, out = arm.default_positions.copy(), [np.eye(4)], np.empty(arm.num_velocities)
velocities = ik.velocities
result["velocities"] = allocations(lambda: velocities(q, goals, 0.01, out=out))
for model, tree in (("everything", tree), ("every constraint", loops)):
    nq, nv = tree.num_positions, tree.num_velocities
    start = random_state(tree, np.random.default_rng(1))
    for batch, method, steps in itertools.product(((), (9,)), ("semi_implicit_euler", "rk4"), (10, 60)):
        q, v = np.broadcast_to(start.q, (*batch, nq)).copy(), np.broadcast_to(start.v, (*batch, nv)).copy()
        tau = np.broadcast_to(np.ones(nv), (*batch, steps, nv))
        out = np.empty((*batch, 2, nq)), np.empty((*batch, 2, nv))
        def roll_out():
            functional.rollout(tree, q, v, tau, 1e-6, method=method, every=steps, out=out)
        what = f"{model} {len(batch)} {method} {steps}"
        number = allocations(roll_out, both, repeat=3)
        result[what], result[what + " bytes"] = number.real, number.imag
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    library = compile_malloc(tmp_path_factory.mktemp("malloc"), COUNTER)
    output = run_with_malloc(library, "-c", SCRIPT, str(NUM_SAMPLES))
    result: dict[str, float] = json.loads(output)
    return result


def test_counter_counts(counts: dict[str, float]) -> None:
    """A hundred arrays are at least a hundred allocations."""
    assert counts["control"] >= 100
    assert counts["control bytes"] >= 100 * 800_000


@pytest.mark.parametrize("name", [*COMPILED_WITH_OUT, *WITH_THREE_OUT, *SCALARS, "control loop"])
@pytest.mark.parametrize("model", ["mixed8", "humanoid", "everything"])
def test_no_allocation(counts: dict[str, float], model: str, name: str) -> None:
    assert counts[f"{model} {name}"] == 0


@pytest.mark.parametrize("name", [name for name in (*FUNCTIONS, *HELPERS) if name not in WITH_ROOM])
@pytest.mark.parametrize("model", ["mixed8", "humanoid", "everything"])
def test_nothing_that_grows_with_the_batch(counts: dict[str, float], model: str, name: str) -> None:
    """A copy of the smallest argument of such a batch would be larger."""
    assert counts[f"{model} batch {name}"] < SMALL


@pytest.mark.parametrize("name", ["state", "inverse", "forward", "mass matrix", "derivatives"])
@pytest.mark.parametrize("model", ["mixed8", "humanoid", "everything"])
def test_nothing_that_grows_with_a_context(counts: dict[str, float], model: str, name: str) -> None:
    assert counts[f"{model} Context of a batch: {name}"] < SMALL


def test_nothing_for_velocities_towards_goals(counts: dict[str, float]) -> None:
    assert counts["velocities"] == 0


def test_nothing_for_constraints(counts: dict[str, float]) -> None:
    assert counts["constraints function"] == 0


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("num_axes", [0, 1], ids=["one state", "batch"])
@pytest.mark.parametrize("model", ["everything", "every constraint"])
def test_no_allocation_a_step(counts: dict[str, float], model: str, num_axes: int, method: str) -> None:
    """50 more steps, three times, allocate no more than Python's own temporary objects."""
    few, many = (f"{model} {num_axes} {method} {steps}" for steps in (10, 60))
    assert abs(counts[many] - counts[few]) < 60
    assert abs(counts[f"{many} bytes"] - counts[f"{few} bytes"]) < 60 * 64
