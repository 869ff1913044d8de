"""Addresses of compiled functions, called from C, compute the same as `mbt.functional`."""

from __future__ import annotations

import ctypes
import gc
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.compiling.native_code import NativeCode

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here"
)
Array = np.ndarray[Any, Any]

#: A control loop in C: it calls forward dynamics at the address that it receives.
LOOP = """
typedef void (*one_state)(const double* const* inputs, double* const* outputs);
void run(one_state forward_dynamics, double* q, double* v, const double* tau, int n, double dt, int steps) {
  double vdot[64];
  const double* inputs[] = {q, v, tau};
  double* outputs[] = {vdot};
  for (int step = 0; step < steps; ++step) {
    forward_dynamics(inputs, outputs);
    for (int i = 0; i < n; ++i) v[i] += dt * vdot[i];
    for (int i = 0; i < n; ++i) q[i] += dt * v[i];
  }
}
"""


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    return mbt.load_model(mbt.models.model_path("mbt_arm"))


@pytest.fixture(scope="module")
def fast(tree: mbt.MultibodyTree) -> mbt.CompiledFunctions:
    return mbt.compile(tree, "forward_dynamics")


@pytest.fixture(scope="module")
def states() -> tuple[Array, Array, Array]:
    q, v, tau = np.random.default_rng(7).uniform(-1.0, 1.0, (3, 9, 6))
    return q, v, tau


def pointers(*arrays: Array) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def test_it_says_what_it_takes(fast: mbt.CompiledFunctions) -> None:
    native = fast.native("forward_dynamics")
    assert native.inputs == {"q": 6, "v": 6, "tau": 6}
    assert native.outputs == ((6,),)
    assert native.dtype == np.float64
    assert 0 < native.address != native.address_of_many > 0
    with pytest.raises(mbt.UnknownNameError, match="no compiled function named 'mass_matrix'"):
        fast.native("mass_matrix")
    for name in (None, 3, b"forward_dynamics", ["forward_dynamics"], np.zeros(2)):
        with pytest.raises(
            mbt.ArgumentTypeError, match="name: expected the name of a compiled function, got"
        ):
            fast.native(name)  # type: ignore[arg-type]


def test_one_state_and_several_outputs(tree: mbt.MultibodyTree, states: Any) -> None:
    tree = mbt.lock_joints(tree, ["wrist_roll", "wrist_pitch", "tool_roll"])
    native = mbt.compile(tree, "forward_dynamics_derivatives").native("forward_dynamics_derivatives")
    assert native.outputs == ((3, 3), (3, 3), (3, 3))
    inputs, outputs = [array[0, :3] for array in states], [np.full((3, 3), np.nan) for _ in range(3)]
    native.signature(native.address)(pointers(*inputs), pointers(*outputs))
    expected = functional.forward_dynamics_derivatives(tree, *inputs)
    for result, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())


def test_many_states_with_one_that_serves_all(tree: Any, fast: mbt.CompiledFunctions, states: Any) -> None:
    native = fast.native("forward_dynamics")
    q, v, tau = states[0], states[1], states[2][:1].copy()
    vdot = np.full((9, 6), np.nan)
    strides = (ctypes.c_ssize_t * 3)(6, 6, 0)
    native.signature_of_many(native.address_of_many)(pointers(q, v, tau), strides, pointers(vdot), 9)
    np.testing.assert_array_equal(vdot, fast.forward_dynamics(q, v, tau[0]))
    np.testing.assert_allclose(vdot, functional.forward_dynamics(tree, q, v, tau[0]), rtol=1e-9)


def test_float32(tree: mbt.MultibodyTree, states: Any) -> None:
    native = mbt.compile(tree, "forward_dynamics", dtype=np.float32).native("forward_dynamics")
    q, v, tau = (array[0].astype(np.float32) for array in states)
    vdot = np.full(6, np.nan, np.float32)
    native.signature(native.address)(pointers(q, v, tau), pointers(vdot))
    np.testing.assert_allclose(vdot, functional.forward_dynamics(tree, q, v, tau), rtol=1e-3)


def test_a_loop_in_c_is_a_rollout(
    tree: mbt.MultibodyTree, fast: mbt.CompiledFunctions, states: Any, tmp_path: Path
) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    (tmp_path / "loop.c").write_text(LOOP)
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", "loop.so", "loop.c"]
    subprocess.run(command, cwd=tmp_path, check=True)  # type: ignore[arg-type]
    run = ctypes.CDLL(str(tmp_path / "loop.so")).run
    q, v, tau = (array[0].copy() for array in states)
    expected = functional.rollout(tree, q, v, np.tile(tau, (500, 1)), 1e-3)
    address = ctypes.c_void_p(fast.native("forward_dynamics").address)
    places = [ctypes.c_void_p(array.ctypes.data) for array in (q, v, tau)]
    run(address, *places, 6, ctypes.c_double(1e-3), 500)
    np.testing.assert_allclose(q, expected[0][-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(v, expected[1][-1], rtol=1e-9, atol=1e-9)


def test_the_code_stays_as_long_as_the_addresses(tree: mbt.MultibodyTree, states: Any) -> None:
    native: NativeCode = mbt.compile(tree, "forward_dynamics").native("forward_dynamics")
    gc.collect()
    vdot = np.empty(6)
    inputs = [array[0] for array in states]
    native.signature(native.address)(pointers(*inputs), pointers(vdot))
    np.testing.assert_allclose(vdot, functional.forward_dynamics(tree, *inputs), rtol=1e-9)


def test_addresses_are_not_pickled(fast: mbt.CompiledFunctions) -> None:
    with pytest.raises(TypeError, match="pickle the CompiledFunctions"):
        pickle.dumps(fast.native("forward_dynamics"))
