"""LLVM makes the same functions without a C compiler."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import _core
from mbt.compiling import llvm
from mbt.compiling.assembly import write_assembly
from mbt.compiling.tracing import BINARY, UNARY, Trace
from support.build import build_tree
from support.random_trees import every_kind, humanoid
from symbolic.models import load, random_inputs

F = mbt.functional
pytestmark = pytest.mark.engine
pytest.importorskip("llvmlite")


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return load("mbt_arm", "fixed")


INPUTS = {
    "inverse_dynamics": ("q", "v", "vdot"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "body_poses": ("q",),
    "center_of_mass": ("q",),
}
TREES: dict[str, Any] = {
    "arm": lambda: load("mbt_arm", "fixed"),
    "every kind of joint": lambda: build_tree(every_kind(0)),
    "humanoid": lambda: build_tree(humanoid(0)),
}


@pytest.mark.parametrize(
    ("model", "dtype"),
    [
        ("arm", np.float64),
        ("arm", np.float32),
        ("every kind of joint", np.float64),
        pytest.param("every kind of joint", np.float32, marks=pytest.mark.exhaustive),
        pytest.param("humanoid", np.float64, marks=pytest.mark.exhaustive),
        pytest.param("humanoid", np.float32, marks=pytest.mark.exhaustive),
    ],
)
def test_it_computes_what_mbt_functional_does(model: str, dtype: Any) -> None:
    """One state, a full register, fewer and more."""
    tree = TREES[model]()
    names = list(INPUTS) if model == "arm" else ["inverse_dynamics", "mass_matrix"]
    fast = mbt.compile(tree, names, dtype=dtype, compiler="llvm", cache=False)
    for name in names:
        states = [[x.astype(dtype) for x in random_inputs(tree, INPUTS[name], seed)] for seed in range(37)]
        arrays = [np.stack(x) for x in zip(*states, strict=True)]
        wanted = getattr(F, name)(tree, *(x.astype(float) for x in arrays))
        tolerance = (1e-12 if dtype is np.float64 else 3e-5) * max(1.0, abs(wanted).max())
        for count in (0, 1, 2, 7, 8, 16, 37):
            result = getattr(fast, name)(*(x[:count] for x in arrays))
            np.testing.assert_allclose(result, wanted[:count], rtol=0, atol=tolerance)
            # Memory after the results is unchanged.
            room = np.full((count + 3, *wanted.shape[1:]), 7.0, dtype)
            getattr(fast, name)(*(x[:count] for x in arrays), out=room[:count])
            np.testing.assert_array_equal(room[:count], result)
            assert (room[count:] == 7.0).all()
        for state, one in zip(states, wanted, strict=True):
            np.testing.assert_allclose(getattr(fast, name)(*state), one, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_operation(arm: mbt.MultibodyTree, dtype: Any) -> None:
    """Each function and condition agrees with NumPy, also for NaN."""

    def every(x: Any, y: Any) -> Any:
        results = [getattr(np, _NUMPY.get(name, name))(x) for name in UNARY]
        results += [getattr(np, _NUMPY.get(name, name))(x, y) for name in BINARY]
        results += [x + y, x - y, x * y, x / y, -x, np.sin(np.cos(x)), np.cos(np.sin(y))]
        conditions = [x < y, x <= y, x == y, ~(x < y), (x < y) & (y < 1.0), (x < y) | (y < 1.0)]
        results += [np.where(condition, x, y) for condition in conditions]
        return np.concatenate([np.atleast_1d(result) for result in results])

    tick = mbt.compile(arm, every, arguments={"x": 2, "y": 2}, dtype=dtype, compiler="llvm", cache=False)
    values = [0.0, -0.0, 0.5, -0.75, 1.0, 3.0, -2.5, 1e3, 3e6, np.inf, -np.inf, np.nan]
    x, y = (a.reshape(-1, 2).astype(dtype) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = np.stack([every(*pair) for pair in zip(x.astype(float), y.astype(float), strict=True)])
        wanted = wanted.astype(dtype)
    tolerance = 1e-13 if dtype is np.float64 else 2e-5
    for result in (tick(x, y), np.stack([tick(*pair) for pair in zip(x, y, strict=True)])):
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


#: Operations for which NumPy calls C functions.
_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "atan2": "arctan2", "pow": "power",
}  # fmt: skip


def control_of(tree: mbt.MultibodyTree) -> Any:
    tool = tree.bodies[-1]

    def control(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        e, J = F.pose_error(tree, q, tool, goal, jacobian=True)
        force = np.linalg.solve(J @ J.T + 0.01 * np.eye(6), e)
        tau = J.T @ force - 20.0 * v - F.gravity_generalized_forces(tree, q)
        return {"tau": np.clip(tau, -50.0, 50.0), "error": e, "x": np.where(e[0] > 0, e @ e, np.tanh(e[1]))}

    return control


def test_a_controller(arm: mbt.MultibodyTree) -> None:
    control = control_of(arm)
    tick = mbt.compile(arm, control, arguments={"q": 6, "v": 6, "goal": (4, 4)}, compiler="llvm", cache=False)
    rng = np.random.default_rng(0)
    q, v, goal = rng.normal(size=(11, 6)), rng.normal(size=(11, 6)), F.body_poses(arm, np.full(6, 0.4))[-1]
    results, again = tick(q, v, goal), pickle.loads(pickle.dumps(tick))(q, v, goal)
    for i in range(11):
        wanted, one = control(q[i], v[i], goal), tick(q[i], v[i], goal)
        for name, value in wanted.items():
            np.testing.assert_allclose(one[name], value, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(results[name][i], value, rtol=1e-9, atol=1e-9)
    for name in results:
        np.testing.assert_array_equal(again[name], results[name])
    assert "define void @mbt_one" in tick.source


def test_lanes_agree_to_the_last_bit(arm: mbt.MultibodyTree) -> None:
    fast = mbt.compile(arm, "forward_dynamics", compiler="llvm", cache=False)
    q, v, tau = np.random.default_rng(1).normal(size=(3, 23, 6))
    whole = fast.forward_dynamics(q, v, tau)
    for i in range(23):
        np.testing.assert_array_equal(fast.forward_dynamics(q[i:], v[i:], tau[i:]), whole[i:])


def test_what_is_made_is_kept_and_a_damaged_file_is_made_again(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path / "kept"))
    made: list[str] = []
    make = llvm.make_object
    monkeypatch.setattr("mbt.compiling.compiler.make_object", lambda source: made.append("") or make(source))
    q = np.full(6, 0.3)
    wanted = F.mass_matrix(arm, q)
    for count, damage in ((1, False), (1, True), (2, False), (2, False)):
        fast = mbt.compile(arm, "mass_matrix", compiler="llvm")
        np.testing.assert_allclose(fast.mass_matrix(q), wanted, rtol=0, atol=1e-12)
        assert len(made) == count
        (file,) = (tmp_path / "kept").iterdir()
        assert file.suffix == ".o"
        assert file.stat().st_mode & 0o777 == 0o600
        if damage:
            file.write_bytes(file.read_bytes()[:-100])


def test_no_compiler_is_needed_and_the_process_ends_well(tmp_path: Path) -> None:
    """With an empty PATH; functions that still exist at exit do no harm."""
    program = """
        import numpy as np, mbt
        tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
        try:
            mbt.compile(tree, "mass_matrix", cache=False)
            raise SystemExit("there is a compiler")
        except mbt.CompilerError:
            pass
        fast = mbt.compile(tree, "mass_matrix", compiler="llvm", cache=False)
        other = mbt.compile(tree, "center_of_mass", compiler="llvm", cache=False)
        del other
        q = np.full((50, 6), 0.3)
        assert np.allclose(fast.mass_matrix(q), mbt.functional.mass_matrix(tree, q), rtol=1e-12)
        """
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("CC", None)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="depends on the memory layout of Linux")
def test_parts_of_a_library_lie_near_each_other(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where free memory ends and continues gigabytes below."""
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path))
    mbt.compile(arm, "mass_matrix", compiler="llvm")
    (made,) = tmp_path.iterdir()
    program = """
        import mmap, sys
        from mbt.compiling.llvm import JitLibrary
        made = open(sys.argv[1], "rb").read()
        libraries = [JitLibrary(made)]
        walls = [
            mmap.mmap(-1, 3 * 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0) for _ in range(3)
        ]
        while abs(libraries[0].one - libraries[-1].one) < 2**31:
            libraries.append(JitLibrary(made))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(made)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
@pytest.mark.parametrize("step", ["make_object", "JitLibrary"])
def test_without_memory_the_process_lives(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """LLVM itself would abort it."""
    monkeypatch.setenv("MBT_CACHE_DIR", str(tmp_path))
    source = mbt.compile(arm, "mass_matrix", compiler="llvm").sources["mass_matrix"]
    (made,) = tmp_path.iterdir()
    program = """
        import resource, sys
        from mbt.compiling import llvm
        import llvmlite.binding
        given = open(sys.argv[1], "rb").read()
        if sys.argv[2] == "make_object":
            given = given.decode()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, resource.RLIM_INFINITY))
        try:
            getattr(llvm, sys.argv[2])(given)
        except MemoryError as error:
            assert "LLVM may need" in str(error)
        else:
            raise AssertionError("no MemoryError")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        getattr(llvm, sys.argv[2])(given)
        """
    if step == "make_object":
        made = tmp_path / "source"
        made.write_text(source)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(made), step], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_of_a_fork_compiles() -> None:
    """Also if another thread compiles during the fork."""
    program = """
        import os, signal, threading
        import mbt
        tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
        def compile():
            mbt.compile(tree, "mass_matrix", compiler="llvm", cache=False)
        compile()
        is_over = threading.Event()
        def compile_on():
            while not is_over.is_set():
                compile()
        thread = threading.Thread(target=compile_on)
        thread.start()
        statuses = []
        for _ in range(30):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                compile()
                os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])
        is_over.set()
        thread.join()
        assert statuses == [0] * 30, statuses
        """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("isa", ["v4", "v3", "v2", "base"])
@pytest.mark.parametrize("single", [False, True])
def test_every_instruction_set_can_be_made(isa: str, single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Object files for other processors than this one."""
    monkeypatch.setattr(_core, "isa", isa)
    trace = Trace()
    x = [trace.record("input", 0, i) for i in range(5)]
    results = [trace.apply("sin", trace.apply("tanh", x[0])).index, *(number.index for number in x)]
    register = {"v4": 64, "v3": 32}.get(isa, 16)
    assert len(llvm.make_object(write_assembly(trace, [5], [results], register, single))) > 500


def test_bad_options(arm: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mbt.ArgumentValueError, match="timeout: expected none with compiler='llvm'"):
        mbt.compile(arm, "mass_matrix", compiler="llvm", timeout=3.0)
    for name in ("llvmlite", "llvmlite.binding"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(mbt.CompilerError, match=r"needs the package llvmlite: .*multibodytree\[llvm\]"):
        mbt.compile(arm, "mass_matrix", compiler="llvm", cache=False)


def test_what_llvm_refuses_is_told() -> None:
    with pytest.raises(mbt.CompilerError, match=r"compiler: LLVM failed: .*expected"):
        llvm.make_object("define void @mbt_one(")
