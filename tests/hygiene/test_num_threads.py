"""Batches on several threads: the same to the last bit, after forks, from many threads, at exit."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import _core, config, functional
from mbt._core.engines.lane_engine import lane_count
from mbt.errors import quote
from support.case import get_case
from support.isas import usable_isas

W = lane_count()
# The number of states that 64 threads share, for each function.
FUNCTIONS = {"inverse_dynamics": 5000, "forward_dynamics": 5000, "inverse_dynamics_derivatives": 1000}


@pytest.fixture(autouse=True)
def _same_afterwards() -> Iterator[None]:
    before = mbt.get_num_threads()
    yield
    mbt.set_num_threads(before)


def _operands(count: int) -> list[np.ndarray]:
    state = get_case("humanoid").state()
    factors = np.linspace(0.5, 1.5, count)[:, None]
    return [np.tile(state.q, (count, 1)), factors * state.v, factors * state.vdot]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", ["many", "one more than blocks", "few"])
def test_results_do_not_depend_on_threads(function: str, size: str) -> None:
    many = FUNCTIONS[function]
    # Few: one block and one sample more than the two blocks that are never shared.
    count = {"many": many, "one more than blocks": many // W * W + 1, "few": 3 * W + 1}[size]
    tree, operands = get_case("humanoid").tree, _operands(count)
    mbt.set_num_threads(1)
    desired = np.array(getattr(functional, function)(tree, *operands))
    for n in (2, 3, 7, 64):
        mbt.set_num_threads(n)
        np.testing.assert_array_equal(getattr(functional, function)(tree, *operands), desired)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_work_is_shared_when_there_is_enough() -> None:
    """In a process of its own, because threads are kept."""
    _run("""
        count = lambda: len(os.listdir("/proc/self/task"))
        mbt.set_num_threads(1)
        before = count()
        compute(20000)
        assert count() == before
        mbt.set_num_threads(4)
        compute(4)
        assert count() == before
        compute(20000)
        assert count() == before + 3
        compute(20000)
        assert count() == before + 3
    """)


def test_many_threads_at_once() -> None:
    """Each thread with its own batches, on one pool, while the number of threads changes."""
    tree = get_case("humanoid").tree
    batches = [_operands(1000 + 100 * k) for k in range(6)]
    desired = [functional.inverse_dynamics(tree, *operands) for operands in batches]
    barrier = threading.Barrier(len(batches))

    def run(k: int) -> None:
        barrier.wait()
        for n in range(1, 21):
            mbt.set_num_threads(n % 5 + 1)
            np.testing.assert_array_equal(functional.inverse_dynamics(tree, *batches[k]), desired[k])

    with ThreadPoolExecutor(len(batches)) as pool:
        for future in [pool.submit(run, k) for k in range(len(batches))]:
            future.result()


# A chain of ten joints, and `compute(count)`, long enough for threads with thousands of samples.
_PROGRAM = """
import os, sys, threading, time
import numpy as np
import mbt
tree = mbt.MultibodyTree()
parent = tree.world_body
for k in range(10):
    body = tree.add_body(mbt.RigidBody(f"b{k}", mbt.SpatialInertia(1.0, [0, 0, 0.5], np.eye(3))))
    tree.add_joint(mbt.RevoluteJoint, f"j{k}", parent, None, body, None, axis=[0, 1, 0])
    parent = body
tree.finalize()

def compute(count):
    q = np.linspace(-1, 1, 10 * count).reshape(count, 10)
    return mbt.functional.forward_dynamics(tree, q, q, q)
"""


def _run(body: str, **environment: str) -> str:
    lines = [line[8:] if line.startswith(" " * 8) else line for line in body.splitlines()]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM + "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks() -> None:
    """A child creates its own threads, also when its parent is computing on another thread."""
    _run("""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        mbt.set_num_threads(3)
        desired = compute(5000)
        stop = False
        def busy():
            while not stop:
                compute(2000)
        thread = threading.Thread(target=busy)
        thread.start()
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                same = np.array_equal(compute(5000), desired)
                pid = os.fork()
                if pid == 0:
                    os._exit(not np.array_equal(compute(5000), desired))
                os._exit(not same or os.waitpid(pid, 0)[1] != 0)
            assert os.waitpid(pid, 0)[1] == 0
        stop = True
        thread.join()
        assert np.array_equal(compute(5000), desired)
    """)


def test_exit_while_computing() -> None:
    """The interpreter exits while threads are working."""
    _run("""
        mbt.set_num_threads(4)
        def busy():
            while True:
                compute(20000)
        for _ in range(2):
            threading.Thread(target=busy, daemon=True).start()
        time.sleep(0.1)
    """)


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="another library has replaced malloc already")
def test_no_memory_is_an_error() -> None:
    """For the working memory of any thread."""
    _run("""
        import resource
        mbt.set_num_threads(4)
        big = mbt.MultibodyTree()
        parent = big.world_body
        for k in range(600):
            body = big.add_body(mbt.RigidBody(f"b{k}", mbt.SpatialInertia(1.0, [0, 0, 0.5], np.eye(3))))
            big.add_joint(mbt.RevoluteJoint, f"j{k}", parent, None, body, None, axis=[0, 1, 0])
            parent = body
        big.finalize()
        q = np.zeros((40, 600))
        out = np.zeros((40, 600, 600))
        out3 = tuple(np.zeros((40, 600, 600)) for _ in range(3))
        mbt.functional.inverse_dynamics(big, q[:1], q[:1], q[:1])
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, resource.RLIM_INFINITY))
        try:
            mbt.functional.inverse_dynamics_derivatives(big, q, q, q, out=out3)
        except MemoryError:
            pass
        else:
            raise AssertionError("no MemoryError")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        mbt.functional.inverse_dynamics_derivatives(big, q, q, q, out=out3)
    """)


@pytest.mark.parametrize("value", [2.0, "2", None, True, [2]])
def test_type_of_the_number_is_checked(value: Any) -> None:
    before = mbt.get_num_threads()
    with pytest.raises(mbt.ArgumentTypeError, match=r"^n: expected a whole number from 1 to 1024, got"):
        mbt.set_num_threads(value)
    assert mbt.get_num_threads() == before


@pytest.mark.parametrize("value", [0, -1, 1025, 10**30])
def test_range_of_the_number_is_checked(value: int) -> None:
    before = mbt.get_num_threads()
    with pytest.raises(
        mbt.ArgumentValueError, match=rf"^n: expected a whole number from 1 to 1024, got {value}$"
    ):
        mbt.set_num_threads(value)
    assert mbt.get_num_threads() == before


def test_any_whole_number_will_do() -> None:
    mbt.set_num_threads(np.int64(3))  # type: ignore[arg-type]
    assert mbt.get_num_threads() == 3


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MBT_NUM_THREADS": "3", "OMP_NUM_THREADS": "2"}, "3"),
        ({"OMP_NUM_THREADS": "2"}, "2"),
        ({"OMP_NUM_THREADS": "5,2"}, "5"),
        ({"MBT_NUM_THREADS": "", "OMP_NUM_THREADS": "2"}, "2"),
        ({"MBT_NUM_THREADS": "", "OMP_NUM_THREADS": ""}, None),
        ({"MBT_ISA": "", "OMP_NUM_THREADS": "2"}, "2"),
        ({"OMP_NUM_THREADS": "many"}, None),
        ({"OMP_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "100000"}, "1024"),
        ({"OMP_NUM_THREADS": "9" * 5000}, "1024"),
        ({"OMP_NUM_THREADS": "-3"}, None),
    ],
)
def test_default(environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables by precedence, an empty one counting as unset; without them, the number of processors."""
    for name in ("MBT_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    if expected is None:
        expected = str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count())
    assert str(config._default_num_threads()) == expected


def test_the_default_is_that_at_import() -> None:
    """Also for batches, whose engine is loaded later."""
    program = "import os; os.environ['MBT_NUM_THREADS'] = '5'; print(mbt.get_num_threads())"
    assert _run(program, MBT_NUM_THREADS="3").strip() == "3"


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "two", " 2", "1025", "٣", "9" * 5000])
def test_a_wrong_variable_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBT_NUM_THREADS", text)
    wanted = f"MBT_NUM_THREADS={quote(text)}: expected a whole number from 1 to 1024"
    with pytest.raises(ImportError, match=f"^{re.escape(wanted)}$"):
        config._default_num_threads()


def test_a_wrong_variable_ends_the_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import mbt"], capture_output=True, text=True, check=False,
        env={**os.environ, "MBT_NUM_THREADS": "two"},
    )  # fmt: skip
    assert done.returncode != 0
    wanted = "ImportError: MBT_NUM_THREADS='two': expected a whole number from 1 to 1024"
    assert done.stderr.splitlines()[-1] == wanted


def test_config_tells_threads(capsys: pytest.CaptureFixture[str]) -> None:
    mbt.set_num_threads(5)
    mbt.show_config()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["threads", "5"] in lines
    assert [line[0] for line in lines] == ["mbt", "python", "numpy", "instruction", "threads"]


@pytest.mark.parametrize("isa", usable_isas())
def test_config_tells_instruction_sets(isa: str) -> None:
    line = next(
        line for line in _run("mbt.show_config()", MBT_ISA=isa).splitlines() if line.startswith("instr")
    )
    match = re.fullmatch(r"instruction set (\w+), (\d+) states at a time; MBT_ISA may be (.+)", line)
    assert match is not None
    assert (match[1], match[3].split(", ")) == (isa, usable_isas())


def test_an_instruction_set_that_is_not_known_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import mbt"], capture_output=True, text=True, check=False,
        env={**os.environ, "MBT_ISA": "v9"},
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "ImportError: environment variable MBT_ISA: 'v9' is not an instruction set that mbt supports; "
        f"expected {' or '.join(usable_isas())}, or unset it for the best"
    )


@pytest.mark.parametrize("variable", ["MBT_ISA", "MBT_NUM_THREADS"])
def test_the_command_line_tells_it_in_a_line(variable: str, tmp_path: pathlib.Path) -> None:
    """An invalid variable gives no traceback. The script that pip writes has the name `mbt`."""
    script = tmp_path / "mbt"
    script.write_text("from mbt.cli import main\nraise SystemExit(main())\n")
    for program in (["-m", "mbt"], ["-mmbt"], [str(script)]):
        done = subprocess.run(
            [sys.executable, *program, "--version"], capture_output=True, text=True, check=False,
            env={**os.environ, variable: "x"},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        line, end = done.stderr.split("\n")
        assert line.startswith("mbt: ")
        assert variable in line
        assert not end


@pytest.mark.parametrize(
    ("built", "usable", "forced", "message"),
    [
        (["v3"], ["v3"], "v4", "'v4' is not built; expected v3, or"),
        (["v4", "v3", "v2"], ["v3", "v2"], "v4", "is not supported by this processor; expected v3 or v2, or"),
        (["v4"], [], "v4", "that this processor does not support: built for v4"),
    ],
)
def test_an_instruction_set_that_cannot_be_had_is_explained(
    monkeypatch: pytest.MonkeyPatch, built: list[str], usable: list[str], forced: str, message: str
) -> None:
    monkeypatch.setenv("MBT_ISA", forced)
    with pytest.raises(ImportError, match=message):
        _core._choose(built, usable)
