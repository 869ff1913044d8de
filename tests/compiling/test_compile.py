"""Native code for one tree computes the same as `mbt.functional`, from any arrays that this accepts."""

from __future__ import annotations

import ctypes
import math
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.compiling.tracing import Trace
from support.build import build_tree
from support.linkages import assembled, four_bar
from support.random_trees import ALL_KINDS, chain, every_kind, humanoid, random_model
from symbolic.models import QUANTITIES, evaluate, last_frame, load, random_inputs, rounding

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here"
)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a temporary cache folder; nothing is left in the user's home."""
    folder = tmp_path_factory.mktemp("compiled") / "mbt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MBT_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return load("mbt_arm", "fixed")


@pytest.fixture(scope="module")
def fast(arm: mbt.MultibodyTree) -> mbt.compiling.CompiledFunctions:
    return mbt.compile(arm, ["inverse_dynamics", "mass_matrix", "bias_term"])


DTYPES = [np.float64, np.float32]


@pytest.fixture(scope="module")
def single(arm: mbt.MultibodyTree) -> mbt.compiling.CompiledFunctions:
    return mbt.compile(arm, ["inverse_dynamics", "mass_matrix", "bias_term"], dtype=np.float32)


def inputs_of(quantity: str) -> tuple[str, ...]:
    if quantity in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        return ("q", "v", "vdot")
    if quantity in ("forward_dynamics", "forward_dynamics_derivatives"):
        return ("q", "v", "tau")
    return ("q", "v") if quantity == "bias_term" else ("q",)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check(tree: mbt.MultibodyTree, quantity: str, function: Any, dtype: Any = np.float64) -> None:
    """Compare one state, and batches that fill registers or not."""
    states = [[x.astype(dtype) for x in random_inputs(tree, inputs_of(quantity), seed)] for seed in range(19)]
    wanted = [evaluate(tree, quantity, [x.astype(float) for x in state]) for state in states]
    batch = as_tuple(function(*(np.stack(arrays) for arrays in zip(*states, strict=True))))
    coarser = np.finfo(dtype).eps / np.finfo(float).eps
    for i, x in enumerate(states):
        for a, b, c in zip(as_tuple(function(*x)), batch, wanted[i], strict=True):
            assert a.dtype == b.dtype == dtype
            atol = coarser * rounding(tree, quantity, x, c)
            np.testing.assert_allclose(a, c, rtol=0, atol=atol)
            np.testing.assert_allclose(b[i], c, rtol=0, atol=atol)


# Values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_function(arm: mbt.MultibodyTree, quantity: str, dtype: Any) -> None:
    # C compilers need seconds for derivatives of an arm, minutes for larger trees.
    tree = build_tree(chain(3, 2)) if quantity.endswith("derivatives") else arm
    frame = last_frame(tree) if quantity.startswith("frame_") else None
    functions = mbt.compile(tree, quantity, frame=frame, dtype=dtype)
    check(tree, quantity, getattr(functions, quantity), dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantity", [q for q in QUANTITIES if q.endswith("derivatives")])
def test_derivatives_of_an_arm(arm: mbt.MultibodyTree, quantity: str, dtype: Any) -> None:
    check(arm, quantity, getattr(mbt.compile(arm, quantity, dtype=dtype), quantity), dtype)


def check_dynamics(tree: mbt.MultibodyTree, dtype: Any = np.float64) -> None:
    functions = mbt.compile(tree, ["inverse_dynamics", "forward_dynamics", "body_poses"], dtype=dtype)
    for quantity in functions.names:
        check(tree, quantity, getattr(functions, quantity), dtype)


# Every function is compiled for both above: all joints are recorded by the same rules.
@pytest.mark.usefixtures("optimization")
def test_every_joint() -> None:
    check_dynamics(build_tree(every_kind(3)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_joint_on_its_like(kind: str, dtype: Any) -> None:
    check_dynamics(build_tree(chain(3, 2, (kind,))), dtype)


# In single precision, lengths below, at and above a square tile, and others; the rest as in double.
ROWS = [
    *(pytest.param(rows, np.float64) for rows in range(1, 10)),
    *(pytest.param(rows, np.float32) for rows in (1, 5, 8, 9)),
    *(pytest.param(rows, np.float32, marks=pytest.mark.exhaustive) for rows in (2, 3, 4, 6, 7)),
]


@pytest.mark.parametrize(("bodies", "dtype"), ROWS)
@pytest.mark.usefixtures("optimization")
def test_rows_of_any_length(bodies: int, dtype: Any) -> None:
    """Rows enter and leave SIMD lanes by square tiles, which fit some lengths and not others."""
    tree = build_tree(chain(bodies, bodies))
    check(tree, "mass_matrix", mbt.compile(tree, "mass_matrix", dtype=dtype).mass_matrix, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("quantity", [q for q in QUANTITIES if not q.startswith("frame_")])
def test_random_trees(seed: int, quantity: str) -> None:
    bodies = 3 if quantity.endswith("derivatives") else 6
    tree = build_tree(random_model(seed, bodies, kinds=ALL_KINDS))
    check(tree, quantity, getattr(mbt.compile(tree, quantity), quantity))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_humanoid(quantity: str, dtype: Any) -> None:
    tree = build_tree(humanoid(0))
    check(tree, quantity, getattr(mbt.compile(tree, quantity, dtype=dtype), quantity), dtype)


@pytest.mark.usefixtures("optimization")
def test_elements_and_contact_act() -> None:
    tree = build_tree(chain(5, 3))
    work = tree.edit()
    body = work.bodies[-1]
    work.add_force_element(
        mbt.LinearSpringDamper(work.world_body, [0, 0, 1], body, [0.1, 0, 0], 0.2, 30.0, 2.0)
    )
    work.add_force_element(
        mbt.PointContact(
            body.body_frame,
            [0, 0, 0.1],
            stiffness=1e3,
            dissipation=0.5,
            static_friction=0.8,
            dynamic_friction=0.6,
        )
    )
    work.finalize()
    functions = mbt.compile(work, ["inverse_dynamics", "forward_dynamics"])
    for quantity in functions.names:
        check(work, quantity, getattr(functions, quantity))


def test_constraints_are_obeyed() -> None:
    tree = four_bar()
    context = assembled(tree, np.random.default_rng(0))
    functions = mbt.compile(tree, "forward_dynamics")
    tau = np.linspace(-1.0, 1.0, tree.num_velocities)
    wanted = functional.forward_dynamics(tree, context.q, context.v, tau)
    np.testing.assert_allclose(
        functions.forward_dynamics(context.q, context.v, tau), wanted, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("bodies", [0, 1])
def test_no_velocities(bodies: int) -> None:
    tree = build_tree(chain(1, bodies, ("weld",)))
    functions = mbt.compile(tree, ["inverse_dynamics", "mass_matrix", "body_poses"])
    none = np.zeros((5, 0))
    assert functions.inverse_dynamics(none, none, none).shape == (5, 0)
    assert functions.mass_matrix(none[0]).shape == (0, 0)
    np.testing.assert_allclose(functions.body_poses(none), functional.body_poses(tree, none), atol=1e-15)


def test_angles_of_any_size(arm: mbt.MultibodyTree, fast: Any) -> None:
    q = np.zeros((9, 6))
    q[:, 1] = [0.0, -0.0, 1e-300, 1e5, 1e6, 1.1e6, -3e9, 1e22, 0.5]
    wanted = functional.mass_matrix(arm, q)
    np.testing.assert_allclose(fast.mass_matrix(q), wanted, rtol=0, atol=1e-13)
    for i in range(9):
        np.testing.assert_allclose(fast.mass_matrix(q[i]), wanted[i], rtol=0, atol=1e-13)


def test_a_bad_state_is_alone(arm: mbt.MultibodyTree, fast: Any) -> None:
    q = np.full((10, 6), 0.2)
    q[3, 2], q[7, 0] = np.nan, np.inf
    M = fast.mass_matrix(q)
    good = [i for i in range(10) if i not in (3, 7)]
    assert np.isfinite(M[good]).all()
    assert np.isnan(M[3]).any()
    np.testing.assert_array_equal(M[good], np.broadcast_to(M[0], (8, 6, 6)))


def test_lanes_agree_to_the_last_bit(fast: Any) -> None:
    q = np.random.default_rng(0).uniform(-3, 3, (37, 6))
    whole = fast.mass_matrix(q)
    for size in (1, 2, 5, 8, 13):
        pieces = [fast.mass_matrix(q[i : i + size]) for i in range(0, 37, size)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


# Arrays ---------------------------------------------------------------------------------------------------


def test_leading_axes_broadcast(arm: mbt.MultibodyTree, fast: Any) -> None:
    rng = np.random.default_rng(1)
    q, v, vdot = rng.normal(size=(4, 1, 6)), rng.normal(size=(3, 6)), rng.normal(size=6)
    wanted = functional.inverse_dynamics(arm, q, v, vdot)
    assert wanted.shape == (4, 3, 6)
    np.testing.assert_allclose(fast.inverse_dynamics(q, v, vdot), wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        fast.inverse_dynamics(q[:, 0].tolist(), v[:1], vdot), wanted[:, 0], rtol=0, atol=1e-12
    )
    assert fast.inverse_dynamics(q[:0], v, vdot).shape == (0, 3, 6)
    assert fast.mass_matrix(np.zeros((0, 6))).shape == (0, 6, 6)
    M = fast.mass_matrix(q[::2, 0, ::-1])
    np.testing.assert_allclose(M, functional.mass_matrix(arm, q[::2, 0, ::-1]), rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (9000,)])
def test_out(arm: mbt.MultibodyTree, fast: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).normal(size=(3, *shape, 6))
    wanted = functional.inverse_dynamics(arm, *x)
    out = np.full((*shape, 6), np.nan)
    assert fast.inverse_dynamics(*x, out=out) is out
    np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-12)
    # Into an input array.
    assert fast.inverse_dynamics(*x, out=x[2]) is not None
    np.testing.assert_array_equal(x[2], out)


def test_several_results() -> None:
    tree = build_tree(chain(3, 2))
    fast, nv = mbt.compile(tree, "inverse_dynamics_derivatives"), tree.num_velocities
    states = [random_inputs(tree, ("q", "v", "vdot"), seed) for seed in range(4)]
    x = [np.stack(arrays) for arrays in zip(*states, strict=True)]
    wanted = functional.inverse_dynamics_derivatives(tree, *x)
    out = (None, np.empty((4, nv, nv)), None)
    got = fast.inverse_dynamics_derivatives(*x, out=out)
    assert got[1] is out[1]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    twice = (out[1], out[1], None)
    with pytest.raises(mbt.ArgumentValueError, match=r"out\[0\] and out\[1\]: .* do not overlap"):
        fast.inverse_dynamics_derivatives(*x, out=twice)
    with pytest.raises(mbt.ArgumentTypeError, match="out: expected a tuple of 3"):
        fast.inverse_dynamics_derivatives(*x, out=out[1])


def test_bad_arrays_are_refused_and_nothing_is_written(fast: Any) -> None:
    q = np.zeros(6)
    out = np.full((6, 6), 7.0)
    for bad, error, message in [
        (np.zeros(5), mbt.ShapeError, r"q: expected shape \(\.\.\., 6\), got \(5,\)"),
        ("text", mbt.ArgumentTypeError, "q: "),
        (q * 1j, mbt.ArgumentTypeError, "q: "),
        (None, mbt.ArgumentTypeError, "q: "),
    ]:
        with pytest.raises(error, match=message):
            fast.mass_matrix(bad, out=out)
    for wrong in (np.zeros((6, 5)), np.zeros((6, 6), np.float32), np.zeros((6, 6)).T[::-1], [[0.0]]):
        with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError), match="out: expected"):
            fast.mass_matrix(q, out=wrong)
    frozen = out.copy()
    frozen.flags.writeable = False
    with pytest.raises(mbt.ArgumentTypeError, match="read-only"):
        fast.mass_matrix(q, out=frozen)
    with pytest.raises(mbt.ShapeError, match="broadcast"):
        fast.bias_term(np.zeros((2, 6)), np.zeros((3, 6)))
    with pytest.raises(TypeError):
        fast.bias_term(q)
    assert (out == 7.0).all()


def test_arrays_of_a_context_are_taken(arm: mbt.MultibodyTree, fast: Any) -> None:
    context = arm.create_default_context()
    np.testing.assert_allclose(
        fast.mass_matrix(context.q), functional.mass_matrix(arm, context.q), atol=1e-14
    )


def test_threads_change_nothing(fast: Any) -> None:
    q = np.random.default_rng(4).uniform(-3, 3, (20_000, 6))
    before = mbt.get_num_threads()
    try:
        mbt.set_num_threads(1)
        alone = fast.mass_matrix(q)
        mbt.set_num_threads(3)
        np.testing.assert_array_equal(fast.mass_matrix(q), alone)
    finally:
        mbt.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork(cache: Path) -> None:
    program = textwrap.dedent("""
        import os, numpy as np, mbt
        from mbt.models import model_path
        mbt.set_num_threads(2)
        f = mbt.compile(mbt.load_model(model_path("mbt_arm")), "mass_matrix")
        q = np.full((20_000, 6), 0.1)
        wanted = f.mass_matrix(q)
        child = os.fork()
        if not child:
            os._exit(0 if (f.mass_matrix(q) == wanted).all() else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


# float32 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bodies", [6, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_errors_of_float32_are_those_of_the_page(bodies: int) -> None:
    """Relative to the largest entry, for a robot and for a deep chain."""
    tree = build_tree(chain(bodies, bodies))
    functions = mbt.compile(tree, ["inverse_dynamics", "forward_dynamics"], dtype=np.float32)
    x = np.random.default_rng(6).uniform(-1, 1, (3, 1000, bodies)).astype(np.float32)
    for name in functions.names:
        wanted = getattr(functional, name)(tree, *x.astype(float))
        error = np.abs(getattr(functions, name)(*x) - wanted).max(axis=1) / np.abs(wanted).max(axis=1)
        # Errors exist, and are of the size of rounding.
        assert 1e-8 < np.median(error) < 1e-6
        assert error.max() < 3e-5


def test_angles_of_any_size_in_float32(arm: mbt.MultibodyTree, single: Any) -> None:
    q = np.zeros((11, 6), np.float32)
    q[:, 1] = [0.0, -0.0, 1e-38, 1.5707964, 3e3, 4e3, -4.1e3, 1e6, -3e9, 3e38, 0.5]
    wanted = functional.mass_matrix(arm, q.astype(float))
    np.testing.assert_allclose(single.mass_matrix(q), wanted, rtol=0, atol=2e-6)
    for i in range(11):
        np.testing.assert_allclose(single.mass_matrix(q[i]), wanted[i], rtol=0, atol=2e-6)


def test_sines_of_float32() -> None:
    """One joint about z: accurate to a rounding or two, with and without argument reduction in registers."""
    tree = build_tree(chain(0, 1))
    frame = tree.bodies[-1].body_frame
    pose = mbt.compile(tree, "frame_pose", frame=frame, dtype=np.float32).frame_pose
    q = np.concatenate(
        [
            np.linspace(-4.2e3, 4.2e3, 100_001),
            np.arange(-2600, 2600) * (np.pi / 2),
            np.geomspace(1e-30, 1, 99),
        ]
    ).astype(np.float32)[:, None]
    wanted = functional.frame_pose(tree, q.astype(float), frame)
    np.testing.assert_allclose(pose(q), wanted, rtol=0, atol=4e-7 * np.abs(wanted).max())


def test_a_bad_state_is_alone_in_float32(single: Any) -> None:
    q = np.full((40, 6), 0.2, np.float32)
    q[3, 2], q[17, 1] = np.nan, np.inf
    M = single.mass_matrix(q)
    good = np.delete(np.arange(40), [3, 17])
    assert np.isnan(M[3]).any()
    assert np.isnan(M[17]).any()
    np.testing.assert_array_equal(M[good], np.broadcast_to(M[0], (38, 6, 6)))
    assert np.isfinite(M[0]).all()


def test_lanes_of_float32_agree_to_the_last_bit(single: Any) -> None:
    q = np.random.default_rng(0).uniform(-3, 3, (37, 6)).astype(np.float32)
    whole = single.mass_matrix(q)
    for size in (1, 2, 5, 8, 13, 16, 17):
        pieces = [single.mass_matrix(q[i : i + size]) for i in range(0, 37, size)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_arrays_of_float32(arm: mbt.MultibodyTree, single: Any) -> None:
    rng = np.random.default_rng(1)
    q = rng.normal(size=(4, 1, 6)).astype(np.float32)
    v, vdot = rng.normal(size=(3, 6)).astype(np.float32), rng.normal(size=6).astype(np.float32)
    wanted = functional.inverse_dynamics(arm, q, v, vdot)
    tau = single.inverse_dynamics(q, v, vdot)
    assert tau.dtype == np.float32
    np.testing.assert_allclose(tau, wanted, rtol=0, atol=1e-4)
    # Same numbers in other forms: strides, the other byte order, lists.
    strided = np.repeat(v, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(single.inverse_dynamics(q, strided, vdot.astype(">f4")), tau)
    np.testing.assert_array_equal(single.inverse_dynamics(q.tolist(), v, vdot.tolist()), tau)
    # Lossless conversions.
    M = single.mass_matrix(np.ones(6, np.float32))
    for exact in (np.ones(6, np.float16), np.ones(6, np.int16), np.ones(6, bool), [1] * 6):
        np.testing.assert_array_equal(single.mass_matrix(exact), M)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (9000,)])
def test_out_in_float32(single: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).normal(size=(3, *shape, 6)).astype(np.float32)
    wanted = single.inverse_dynamics(*x)
    out = np.full((*shape, 6), np.nan, np.float32)
    assert single.inverse_dynamics(*x, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    # Into an input array.
    single.inverse_dynamics(*x, out=x[2])
    np.testing.assert_array_equal(x[2], wanted)


def test_other_arrays_are_refused_in_float32(arm: mbt.MultibodyTree, single: Any, fast: Any) -> None:
    q, v = np.zeros(6, np.float32), np.zeros(6)
    out = np.full((6, 6), 7.0, np.float32)
    message = r"expected float32, or what converts to it without loss, got float64; .*np\.asarray"
    for mixed, name in (((q, v), "v"), ((v, q), "q"), ((q, v.reshape(1, 6)), "v")):
        with pytest.raises(mbt.ArgumentTypeError, match=f"^{name}: {message}"):
            single.bias_term(*mixed)
    with pytest.raises(mbt.ArgumentTypeError, match=f"^q: {message}"):
        single.mass_matrix(arm.create_default_context().q)
    with pytest.raises(mbt.ArgumentTypeError, match=r"q: expected float32, .* got int64"):
        single.mass_matrix(np.zeros(6, np.int64), out=out)
    with pytest.raises(mbt.ArgumentTypeError, match=r"out: expected a float32, C-contiguous, .*float64"):
        single.mass_matrix(q, out=np.zeros((6, 6)))
    with pytest.raises(mbt.ShapeError, match="q: expected shape"):
        single.mass_matrix(q[:5], out=out)
    assert (out == 7.0).all()
    # Functions of float64 are as before: they read float32, but do not write it.
    assert fast.mass_matrix(q).dtype == np.float64
    with pytest.raises(mbt.ArgumentTypeError, match="out: expected a float64"):
        fast.mass_matrix(q, out=out)


def test_what_float32_cannot_hold() -> None:
    tree = build_tree(chain(1, 1)).edit()
    body = tree.bodies[-1]
    tree.add_force_element(
        mbt.LinearSpringDamper(tree.world_body, [0, 0, 1], body, [0, 0, 0], 0.2, 1e39, 0.0)
    )
    tree.finalize()
    functions = mbt.compile(tree, "inverse_dynamics", dtype="float32")
    zero = np.zeros(1, np.float32)
    assert not np.isfinite(functions.inverse_dynamics(zero, zero, zero)).any()
    assert "INFINITY" in functions.sources["inverse_dynamics"]


def test_dtypes(arm: mbt.MultibodyTree, fast: Any, single: Any) -> None:
    assert fast.dtype == np.float64
    assert single.dtype == np.float32
    assert repr(single) == "<CompiledFunctions inverse_dynamics, mass_matrix, bias_term of float32>"
    copy = pickle.loads(pickle.dumps(single))
    q = np.full((3, 6), 0.4, np.float32)
    assert copy.dtype == np.float32
    np.testing.assert_array_equal(copy.mass_matrix(q), single.mass_matrix(q))
    with pytest.raises(mbt.ArgumentValueError, match="dtype: expected float64 or float32, got float16"):
        mbt.compile(arm, "mass_matrix", dtype=np.float16)
    with pytest.raises(mbt.ArgumentTypeError, match="dtype: expected float64 or float32, got 'real'"):
        mbt.compile(arm, "mass_matrix", dtype="real")
    native = single.mass_matrix.__self__
    with pytest.raises(ValueError, match="wrong type or shape"):
        native.call_many((np.zeros((3, 6)),), (np.zeros((3, 36), np.float32),), 3)


# Caching and errors ----------------------------------------------------------------------------------------


def test_compiled_once(arm: mbt.MultibodyTree, fast: Any, cache: Path) -> None:
    files = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    again = mbt.compile(arm, fast.names)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == files
    assert again.sources == fast.sources
    assert all(path.suffix == ".so" for path in files)


def test_without_cache_nothing_stays(arm: mbt.MultibodyTree, cache: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MBT_CACHE_DIR", str(cache / "other"))
    functions = mbt.compile(arm, "center_of_mass", cache=False)
    assert not (cache / "other").exists()
    check(arm, "center_of_mass", functions.center_of_mass)


def test_a_folder_that_others_write_is_refused(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: Any
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path))
    with pytest.raises(mbt.CompilerError, match="cache: expected a folder that you own"):
        mbt.compile(arm, "mass_matrix")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(mbt.CompilerError, match="cache: cannot make"):
        mbt.compile(arm, "mass_matrix")


def test_a_damaged_library_is_made_again(tmp_path: Path, monkeypatch: Any) -> None:
    """A truncated library would crash the process that loads it; one with a flipped bit would be wrong."""
    program = (
        "import mbt; from mbt.models import model_path; "
        "f = mbt.compile(mbt.load_model(model_path('mbt_arm')), 'mass_matrix'); "
        "print(f.mass_matrix([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).tobytes().hex())"
    )
    folder = tmp_path / "own"
    monkeypatch.setenv("MBT_CACHE_DIR", str(folder))
    wanted = None
    for damage in (lambda x: x[: len(x) // 2], flip_bit, lambda x: b"", lambda x: b"no library", None):
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        wanted = wanted or done.stdout
        assert done.stdout == wanted
        [path] = folder.iterdir()
        if damage is not None:
            path.write_bytes(damage(path.read_bytes()))


def flip_bit(library: bytes) -> bytes:
    """Return a library with one bit flipped in its middle."""
    place = len(library) // 2
    return library[:place] + bytes([library[place] ^ 1]) + library[place + 1 :]


def test_what_is_kept_is_on_the_disk_before_it_is_found(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: Any
) -> None:
    folder = tmp_path / "own"
    monkeypatch.setenv("MBT_CACHE_DIR", str(folder))
    fsync, synced = os.fsync, []

    def spy(file: int) -> None:
        fsync(file)
        synced.append((os.fstat(file).st_size, [path.suffix for path in folder.iterdir()]))

    monkeypatch.setattr(os, "fsync", spy)
    mbt.compile(arm, "center_of_mass")
    [path] = folder.iterdir()
    [(size, there)] = synced
    assert size == path.stat().st_size
    assert ".so" not in there


def test_every_folder_that_is_made_is_private(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: Any
) -> None:
    folder = tmp_path / "home" / "cache" / "mbt"
    monkeypatch.setenv("MBT_CACHE_DIR", str(folder))
    before = os.umask(0)
    try:
        mbt.compile(arm, "center_of_mass")
    finally:
        os.umask(before)
    [library] = folder.iterdir()
    modes = {
        path: path.stat().st_mode & 0o777 for path in (library, folder, folder.parent, folder.parent.parent)
    }
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


def is_running(process: int) -> bool:
    """Return whether a process runs, and is not a zombie."""
    status = Path(f"/proc/{process}/stat")
    try:
        os.kill(process, 0)
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_compiler_that_hangs_is_ended(arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: Any) -> None:
    """Along with all processes that it started."""
    compiler, child = tmp_path / "slow-cc", tmp_path / "child"
    compiler.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {child}\nwait\n")
    compiler.chmod(0o755)
    with pytest.raises(
        mbt.CompilerError, match=r"slow-cc' did not end within 0\.5 s: allow more with .*timeout="
    ):
        mbt.compile(arm, "center_of_mass", compiler=str(compiler), cache=False, timeout=0.5)
    end = time.monotonic() + 60.0
    while is_running(int(child.read_text())):
        assert time.monotonic() < end
        time.sleep(0.02)
    monkeypatch.setenv("MBT_COMPILER_TIMEOUT", "0.2")
    with pytest.raises(mbt.CompilerError, match=r"did not end within 0\.2 s"):
        mbt.compile(arm, "center_of_mass", compiler=str(compiler), cache=False)
    mbt.compile(arm, "center_of_mass", cache=False, timeout=math.inf)
    for text in ("soon", "0", "nan", "-1"):
        monkeypatch.setenv("MBT_COMPILER_TIMEOUT", text)
        with pytest.raises(
            mbt.CompilerError, match=f"MBT_COMPILER_TIMEOUT: expected a number > 0 .*'{text}'"
        ):
            mbt.compile(arm, "center_of_mass", cache=False)


@pytest.mark.parametrize("command", ["gcc '-O2", 'cc "', "cc \\"])
def test_a_command_that_no_shell_would_read(arm: mbt.MultibodyTree, monkeypatch: Any, command: str) -> None:
    with pytest.raises(mbt.CompilerError, match="compiler: expected a shell command"):
        mbt.compile(arm, "mass_matrix", compiler=command, cache=False)
    monkeypatch.setenv("CC", command)
    with pytest.raises(mbt.CompilerError, match="compiler: expected a shell command"):
        mbt.compile(arm, "mass_matrix", cache=False)


def test_a_compiler_that_makes_something_else(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    compiler = tmp_path / "other-cc"
    compiler.write_text('#!/bin/sh\nexec gcc "$@" -Dmbt_one=mbt_two\n')
    compiler.chmod(0o755)
    with pytest.raises(mbt.CompilerError, match=r"the library it made lacks a function: .*mbt_one"):
        mbt.compile(arm, "center_of_mass", compiler=str(compiler), cache=False)


def test_no_compiler(arm: mbt.MultibodyTree, monkeypatch: Any) -> None:
    with pytest.raises(mbt.CompilerError, match="'no-such-cc', which is not found"):
        mbt.compile(arm, "mass_matrix", compiler="no-such-cc", cache=False)
    with pytest.raises(mbt.CompilerError, match="'false' failed: no output"):
        mbt.compile(arm, "mass_matrix", compiler="false", cache=False)
    with pytest.raises(mbt.CompilerError, match="'true' succeeded but made no library: is it a C compiler"):
        mbt.compile(arm, "mass_matrix", compiler="true", cache=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(mbt.CompilerError, match="found none of cc, gcc and clang"):
        mbt.compile(arm, "mass_matrix", cache=False)


def test_bad_arguments(arm: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.UnknownNameError, match="mass_matrix"):
        mbt.compile(arm, "mass_matrx")
    for functions in ([], [["mass_matrix"]], ["mass_matrix", 3], b"mass_matrix"):
        with pytest.raises(mbt.ArgumentTypeError, match="functions: expected names"):
            mbt.compile(arm, functions)  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree"):
        mbt.compile("robot.urdf", "mass_matrix")  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(mbt.ArgumentValueError, match="frame: expected a frame for 'frame_pose'"):
        mbt.compile(arm, "frame_pose")
    with pytest.raises(mbt.ArgumentValueError, match="frame: only 'frame_pose' and 'frame_jacobian'"):
        mbt.compile(arm, "mass_matrix", frame=last_frame(arm))
    with pytest.raises(mbt.ArgumentTypeError, match="compiler: expected a command"):
        mbt.compile(arm, "mass_matrix", compiler=3)  # type: ignore[arg-type]
    for timeout in (0.0, -1.0, np.nan):
        with pytest.raises(mbt.ArgumentValueError, match="timeout: expected a number > 0"):
            mbt.compile(arm, "mass_matrix", timeout=timeout)
    with pytest.raises(mbt.ArgumentTypeError, match="timeout"):
        mbt.compile(arm, "mass_matrix", timeout="soon")  # type: ignore[arg-type]
    with pytest.raises(mbt.NotFinalizedError):
        mbt.compile(mbt.MultibodyTree(), "mass_matrix")


def test_attributes(fast: Any) -> None:
    assert repr(fast) == "<CompiledFunctions inverse_dynamics, mass_matrix, bias_term>"
    with pytest.raises(AttributeError, match="'forward_dynamics' was not compiled: there are inverse"):
        fast.forward_dynamics  # noqa: B018


def test_pickle(arm: mbt.MultibodyTree, fast: Any) -> None:
    copy = pickle.loads(pickle.dumps(fast))
    q = np.full((3, 6), 0.4)
    np.testing.assert_array_equal(copy.mass_matrix(q), fast.mass_matrix(q))


def test_lengths_are_checked_where_memory_is_read() -> None:
    """Calls with wrong lengths raise; they never read past an array."""
    tree = load("mbt_arm", "fixed")
    native = mbt.compile(tree, "mass_matrix").mass_matrix.__self__
    with pytest.raises(ValueError, match="wrong number of arrays"):
        native.call_many((), (), 3)
    with pytest.raises(ValueError, match="wrong type or shape"):
        native.call_many((np.zeros((3, 5)),), (np.zeros((3, 36)),), 3)
    with pytest.raises(ValueError, match="an output has the wrong shape"):
        native.call_many((np.zeros((3, 6)),), (np.zeros((2, 36)),), 3)
    with pytest.raises(ValueError, match="wrong type or shape"):
        native.call_many((np.zeros((2, 6)),), (np.zeros((3, 36)),), 3)


# Recording ------------------------------------------------------------------------------------------------


def test_what_is_known_is_folded() -> None:
    trace = Trace()
    x, y = trace.record("input", 0, 0), trace.record("input", 0, 1)
    two, half = trace.constant(2.0), trace.constant(0.5)
    assert (x + trace.zero) is x
    assert (x * trace.one) is x
    assert (x * trace.zero) is trace.zero
    assert (two * half).value == 1.0
    assert (x + y) is (y + x)
    assert (x * y) is (y * x)
    assert (x - (-y)) is (x + y)
    assert ((-x) * (-y)) is (x * y)
    assert (-x).opposite is x
    assert -(-x) is x  # noqa: B002
    assert (x / two) is (x * half)
    assert (x - y) is not (y - x)
    # Zeros have signs.
    assert trace.constant(-0.0) is not trace.zero


def test_zeros_and_ones_of_a_model_cost_nothing() -> None:
    """A planar arm takes fewer operations than one with tilted axes."""

    def statements(tree: mbt.MultibodyTree) -> int:
        return mbt.compile(tree, "mass_matrix").sources["mass_matrix"].count("const R t")

    straight = mbt.MultibodyTree()
    body = straight.world_body
    for i in range(3):
        link = straight.add_body(mbt.RigidBody(f"link{i}", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0.5])))
        straight.add_joint(mbt.RevoluteJoint, f"joint{i}", body, None, link, None, axis=[0, 1, 0])
        body = link
    straight.finalize()
    askew = build_tree(chain(2, 3))
    assert statements(straight) < statements(askew) / 2


def test_missing_and_additional_arguments_are_named() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    fast, q = mbt.compile(tree, ["mass_matrix", "bias_term", "forward_dynamics"]), np.zeros(6)
    for call, message in (
        (lambda: fast.mass_matrix(), r"^q: missing, mass_matrix\(q, \*, out=None\) takes"),
        (lambda: fast.bias_term(q), r"^v: missing, bias_term\(q, v, "),
        (lambda: fast.forward_dynamics(q), r"^v and tau: missing, forward_dynamics\(q, v, tau, "),
        (lambda: fast.forward_dynamics(q, tau=q), r"^v: missing"),
        (lambda: fast.mass_matrix(tree, q), r"^mass_matrix\(q, .*got 2 arguments; the tree is built in"),
        (lambda: fast.bias_term(q, q, q), r"^bias_term\(q, v, .*got 3 arguments"),
        (lambda: fast.forward_dynamics(tree, q, q, q), r"^forward_dynamics\(.*got 4 arguments"),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=message):
            call()


def test_a_frame_by_its_name() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    q = np.linspace(0.1, 0.6, 6)
    pose = mbt.compile(tree, "frame_pose", frame="tool").frame_pose(q)
    np.testing.assert_allclose(pose, mbt.functional.frame_pose(tree, q, "tool"), atol=1e-14)
    with pytest.raises(mbt.UnknownNameError, match=r"^frame: .*'tool'"):
        mbt.compile(tree, "frame_pose", frame="tol")
    for no_frame in (tree.joints[1], 3, True, ["tool"]):
        message = f"^frame: expected a Frame or its name, got {type(no_frame).__name__}$"
        with pytest.raises(mbt.ArgumentTypeError, match=message):
            mbt.compile(tree, "frame_pose", frame=no_frame)


# Functions for which loops are faster ---------------------------------------------------------------------


def test_large_matrices_are_those_of_loops(
    arm: mbt.MultibodyTree, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = build_tree(chain(30, 30))
    before = set(cache.glob("*.so"))
    large = mbt.compile(tree, ["mass_matrix", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
    assert set(cache.glob("*.so")) == before
    q, v, x = np.random.default_rng(0).normal(size=(3, 3, 30))
    np.testing.assert_array_equal(large.mass_matrix(q), functional.mass_matrix(tree, q))
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        wanted = getattr(functional, name)(tree, q, v, x)
        np.testing.assert_array_equal(getattr(large, name)(q, v, x), wanted)
    out = np.empty((30, 30))
    assert large.mass_matrix(q[0], out=out) is out
    assert pickle.loads(pickle.dumps(large)).names == large.names
    # Their code exists for callers outside Python; here for a tree that compiles faster.
    monkeypatch.setattr("mbt.compiling.functions._LOOPS_ARE_FASTER", 6)
    small = mbt.compile(arm, "mass_matrix")
    assert "mbt_one" in small.sources["mass_matrix"]
    native, M = small.native("mass_matrix"), np.empty((6, 6))
    inputs, outputs = np.full(6, 0.3), (ctypes.c_void_p * 1)(M.ctypes.data)
    native.signature(native.address)((ctypes.c_void_p * 1)(inputs.ctypes.data), outputs)
    np.testing.assert_allclose(M, functional.mass_matrix(arm, inputs), atol=1e-13)
