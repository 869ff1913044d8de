"""Kernels called by address, as from C, are identical to the functions of `mbt.functional`."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.compiling import NativeKernel, native_kernel
from support.build import build_tree
from support.case import get_case
from support.constraints import tree_with_every_constraint
from support.force_element_types import make_everything
from support.joint_types import random_state
from support.malloc import compile_malloc, run_with_malloc
from support.random_trees import long_branches, one_joint
from support.two_links import two_links

Array = np.ndarray[Any, Any]
INPUTS = {
    "inverse_dynamics": "q v vdot",
    "forward_dynamics": "q v tau",
    "mass_matrix": "q",
    "bias_term": "q v",
    "gravity_generalized_forces": "q",
    "body_poses": "q",
    "center_of_mass": "q",
    "frame_pose": "q",
    "frame_jacobian": "q",
}
OF_A_FRAME = ("frame_pose", "frame_jacobian")
TREES = {
    "arm7": lambda: get_case("arm7").tree,
    "mixed8": lambda: get_case("mixed8").tree,
    "humanoid": lambda: get_case("humanoid").tree,
    "long branches": lambda: build_tree(long_branches(3)),
    "every element": lambda: make_everything(user_written=False),
    "every constraint": tree_with_every_constraint,
    "two links": two_links,
}


def call(native: NativeKernel, arrays: tuple[Array, ...], out: Array) -> int:
    addresses = [array.ctypes.data for array in arrays] + [None] * (3 - len(arrays))
    result: int = native.signature(native.address)(native.handle, *addresses, out.ctypes.data)
    return result


def state_of(tree: mbt.MultibodyTree, seed: int = 4) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    context = random_state(tree, rng)
    return np.array(context.q), np.array(context.v), rng.normal(size=tree.num_velocities)


@pytest.mark.parametrize("model", TREES)
@pytest.mark.parametrize("name", INPUTS)
def test_bits_are_those_of_functional(model: str, name: str) -> None:
    tree = TREES[model]()
    frame = tree.frames[-1] if name in OF_A_FRAME else None
    native = native_kernel(tree, name, frame=frame)
    inputs = INPUTS[name].split()
    assert native.inputs == {x: tree.num_positions if x == "q" else tree.num_velocities for x in inputs}
    arrays = state_of(tree)[: len(inputs)]
    wanted = getattr(functional, name)(tree, *arrays, *([] if frame is None else [frame]))
    assert native.outputs == (wanted.shape,)
    assert native.dtype == np.float64
    before = [array.copy() for array in arrays]
    for _ in range(2):
        out = np.full(wanted.shape, np.nan)
        assert call(native, arrays, out) == 0
        np.testing.assert_array_equal(out, wanted)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_frames_by_name_and_body() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    body = tree.bodies[3]
    q = np.full(6, 0.3)
    outs = []
    for frame in (body, body.body_frame, body.body_frame.name):
        native = native_kernel(tree, "frame_jacobian", frame=frame)
        outs.append(np.empty(native.outputs[0]))
        assert call(native, (q,), outs[-1]) == 0
        np.testing.assert_array_equal(outs[-1], functional.frame_jacobian(tree, q, body))


def test_a_state_without_a_result_returns_one() -> None:
    ball = build_tree(one_joint("quaternion_ball", is_reversed=False))
    zeros, v = np.zeros(ball.num_positions), np.zeros(ball.num_velocities)
    for name in ("inverse_dynamics", "forward_dynamics", "body_poses", "mass_matrix"):
        native = native_kernel(ball, name)
        arrays = (zeros, v, v)[: len(native.inputs)]
        assert call(native, arrays, np.empty(native.outputs[0])) == 1
        with pytest.raises(mbt.SingularityError):
            getattr(functional, name)(ball, *arrays)
        assert call(native, (ball.default_positions, v, v)[: len(arrays)], np.empty(native.outputs[0])) == 0

    tree = mbt.MultibodyTree()
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, ghost, None, axis=[1, 0, 0])
    tree.finalize()
    one = np.zeros(1)
    with pytest.raises(mbt.SingularityError):
        functional.forward_dynamics(tree, one, one, one)
    assert call(native_kernel(tree, "forward_dynamics"), (one, one, one), np.empty(1)) == 1
    assert call(native_kernel(tree, "center_of_mass"), (one,), np.empty(3)) == 1


def test_nan_in_means_one() -> None:
    tree = two_links()
    native = native_kernel(tree, "forward_dynamics")
    arrays = tuple(np.full(2, np.nan) for _ in range(3))
    assert call(native, arrays, np.empty(2)) == 1


def test_one_for_each_thread() -> None:
    tree = get_case("humanoid").tree
    results: dict[int, bool] = {}

    def work(seed: int) -> None:
        native = native_kernel(tree, "forward_dynamics")
        arrays = state_of(tree, seed)
        wanted = functional.forward_dynamics(tree, *arrays)
        out = np.empty_like(wanted)
        results[seed] = all(call(native, arrays, out) == 0 and (out == wanted).all() for _ in range(300))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_a_handle_outlives_its_tree() -> None:
    tree = build_tree(get_case("mixed8").model)
    arrays = state_of(tree)
    wanted = functional.forward_dynamics(tree, *arrays)
    native = native_kernel(tree, "forward_dynamics")
    del tree
    gc.collect()
    rubbish = [np.full(2000, 7.0) for _ in range(50)]
    out = np.empty_like(wanted)
    assert call(native, arrays, out) == 0
    np.testing.assert_array_equal(out, wanted)
    del rubbish


def test_handles_give_their_memory_back() -> None:
    tree = get_case("humanoid").tree
    for _ in range(20):
        native_kernel(tree, "mass_matrix")
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            native_kernel(tree, "mass_matrix")
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        kept = [native_kernel(tree, "mass_matrix") for _ in range(20)]
        size = tracemalloc.get_traced_memory()[0] - before
        kept.clear()
        for _ in range(200):
            native_kernel(tree, "mass_matrix")
        gc.collect()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert size > 20 * 8 * 100  # Their working memory is traced.
    assert left < size / 20  # Less than that of one kernel.


def test_what_it_refuses() -> None:
    tree = two_links()
    with pytest.raises(mbt.UnknownNameError, match="Did you mean 'mass_matrix'"):
        native_kernel(tree, "mass_matrx")
    for name in (None, 3, b"mass_matrix", np.zeros(2)):
        with pytest.raises(mbt.ArgumentTypeError, match="name: expected the name of a function, got"):
            native_kernel(tree, name)  # type: ignore[arg-type]
    for other in (None, 3, "tree", tree.create_default_context()):
        with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got"):
            native_kernel(other, "mass_matrix")
    with pytest.raises(mbt.NotFinalizedError):
        native_kernel(mbt.MultibodyTree(), "mass_matrix")
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a tree of doubles"):
        native_kernel(tree.clone_to_scalar("autodiff"), "mass_matrix")
    with pytest.raises(mbt.ArgumentValueError, match="tree: it has force elements written in Python"):
        native_kernel(make_everything(user_written=True), "inverse_dynamics")
    with pytest.raises(mbt.ArgumentTypeError, match="frame: expected a frame for 'frame_pose', got None"):
        native_kernel(tree, "frame_pose")
    with pytest.raises(mbt.ArgumentValueError, match="frame: 'mass_matrix' does not take a frame"):
        native_kernel(tree, "mass_matrix", frame=tree.frames[-1])
    with pytest.raises(mbt.ForeignElementError, match="frame"):
        native_kernel(tree, "frame_pose", frame=get_case("arm7").tree.frames[-1])
    with pytest.raises(mbt.UnknownNameError):
        native_kernel(tree, "frame_pose", frame="nowhere")
    native = native_kernel(tree, "mass_matrix")
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="addresses cannot be pickled"):
            copied(native)


LOOP = r"""
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);

static _Thread_local long count;
void* malloc(size_t n) { ++count; return __libc_malloc(n); }
void* calloc(size_t n, size_t size) { ++count; return __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { ++count; return __libc_realloc(p, n); }

typedef int (*kernel)(void*, const double*, const double*, const double*, double*);

/* Returns the allocations of `steps` pushes, the first one included, or -1 where there is no result. */
long run(
    kernel call, void* handle, double* q, double* v, const double* tau, double* vdot, int n, double dt,
    int steps) {
  const long before = count;
  for (int step = 0; step < steps; ++step) {
    if (call(handle, q, v, tau, vdot)) return -1;
    for (int i = 0; i < n; ++i) v[i] += dt * vdot[i];
    for (int i = 0; i < n; ++i) q[i] += dt * v[i];
  }
  return count - before;
}
"""

SCRIPT = """
import ctypes
import numpy as np
import mbt
from mbt.compiling import native_kernel

tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
native = native_kernel(tree, "forward_dynamics")
q, v, tau, vdot = np.zeros((4, 6))
q[:] = 0.3
q1, v1 = q.copy(), v.copy()
run = ctypes.CDLL(None).run
run.restype = ctypes.c_long
run.argtypes = [ctypes.c_void_p] * 6 + [ctypes.c_int, ctypes.c_double, ctypes.c_int]
addresses = [array.ctypes.data for array in (q, v, tau, vdot)]
count = run(native.address, native.handle, *addresses, 6, 1e-3, 100)
for _ in range(100):
    v1 += 1e-3 * mbt.functional.forward_dynamics(tree, q1, v1, tau)
    q1 += 1e-3 * v1
assert abs(q - 0.3).max() > 1e-3
np.testing.assert_allclose(q, q1, rtol=1e-12, atol=0)
print(count)
"""


def test_a_loop_in_c_allocates_nothing(tmp_path: Path) -> None:
    library = compile_malloc(tmp_path, LOOP)
    assert run_with_malloc(library, "-c", SCRIPT).strip() == "0"
