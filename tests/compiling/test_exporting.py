"""Exported C computes the same as the function, with any compiler, and needs nothing but libm."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from symbolic.models import load

COMPILER = next((path for path in map(shutil.which, ("gcc", "clang", "cc")) if path), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler here")
F = mbt.functional
SHAPES = {"q": 6, "v": 6, "goal": (4, 4)}

#: A user's program: two calls by name with its own arrays, the second into its inputs.
PROGRAM = """
#include "arm_control.h"
#include <stdio.h>
int main(void) {
  F q[ARM_CONTROL_SIZE_OF_Q], v[ARM_CONTROL_SIZE_OF_V], tau[ARM_CONTROL_SIZE_OF_TAU], error[6], x[1];
  F goal[ARM_CONTROL_SIZE_OF_GOAL] = {1, 0, 0, 0.3f, 0, 0, -1, 0.1f, 0, 1, 0, 0.2f, 0, 0, 0, 1};
  for (int i = 0; i < 6; ++i) { q[i] = 0.25f * i; v[i] = 0.125f * i - 0.5f; }
  arm_control(q, v, goal, tau, error, x);
  for (int i = 0; i < 6; ++i) printf("%.17g\\n", (double)tau[i]);
  arm_control(q, v, goal, q, v, x);
  for (int i = 0; i < 6; ++i) printf("%.17g\\n", (double)q[i]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    return load("mbt_arm", "fixed")


def control_of(tree: mbt.MultibodyTree) -> Any:
    tool = tree.bodies[-1]

    def control(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        J = F.frame_jacobian(tree, q, tool, expressed_in=tool)
        e = mbt.math.log_se3(mbt.math.inverse_pose(F.frame_pose(tree, q, tool)) @ goal)
        tau = J.T @ (100.0 * e - 20.0 * (J @ v)) - F.gravity_generalized_forces(tree, q)
        return {"tau": np.clip(tau, -50.0, 50.0), "error": e, "x": np.where(e[0] > 0, e @ e, np.tanh(e[1]))}

    return control


@pytest.fixture(scope="module", params=["float64", "float32"])
def folder(request: Any, tree: mbt.MultibodyTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "deep" / request.param
    made = mbt.compile(
        tree, control_of(tree), arguments=SHAPES, export=path, name="arm_control", dtype=request.param
    )
    assert made == path
    return made


def run(folder: Path, *words: object, **options: Any) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


#: Additional files for a board: memory layout and startup code.
BOARD = Path(__file__).parent / "cortex_m"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@needs_compiler
def test_its_own_test_passes_and_can_fail(folder: Path) -> None:
    sources = ["arm_control.c", "arm_control_test.c"]
    run(folder, COMPILER, "-Os", *STRICT, *sources, "-o", "own", "-lm")
    assert re.search(r"arm_control: largest error \S+ in 8 tests", run(folder, "./own"))
    # One number is off by a thousandth.
    text = (folder / "arm_control_test.c").read_text()
    wrong = re.sub(r"(wanted_error\[8\]\[6\] = \{\s*\{)", r"\g<1>0.01 + ", text)
    assert wrong != text
    (folder / "wrong.c").write_text(wrong)
    run(folder, COMPILER, "-Os", *STRICT, "arm_control.c", "wrong.c", "-o", "wrong", "-lm")
    assert subprocess.run([folder / "wrong"], capture_output=True).returncode == 1


@needs_compiler
def test_a_program_of_c(folder: Path, tree: mbt.MultibodyTree) -> None:
    single = folder.name == "float32"
    (folder / "program.c").write_text(PROGRAM)
    number = f"-DF={'float' if single else 'double'}"
    run(folder, COMPILER, "-Os", *STRICT, number, "arm_control.c", "program.c", "-o", "program", "-lm")
    printed = np.array(run(folder, "./program").split(), dtype=float)
    goal = np.array([[1, 0, 0, 0.3], [0, 0, -1, 0.1], [0, 1, 0, 0.2], [0, 0, 0, 1]], np.float32).astype(float)
    i = np.arange(6)
    wanted = control_of(tree)(0.25 * i, 0.125 * i - 0.5, goal)["tau"]
    np.testing.assert_allclose(printed[:6], wanted, rtol=0, atol=(1e-4 if single else 1e-12) * 50)
    np.testing.assert_array_equal(printed[6:], printed[:6])


@needs_compiler
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm, which lists what a library refers to")
def test_it_needs_libm_alone(folder: Path) -> None:
    run(folder, COMPILER, "-Os", "-std=c99", "-c", "arm_control.c", "-o", "alone.o")
    suffix = "f" if folder.name == "float32" else ""
    known = {f"{name}{suffix}" for name in ("sin", "cos", "sincos", "sqrt", "atan2", "tanh")}
    assert {line.split()[-1] for line in run(folder, "nm", "-u", "alone.o").splitlines()} <= known


@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here")
def test_cmake(folder: Path) -> None:
    for switch in ("OFF", "ON"):
        build = folder / f"build-{switch}"
        run(
            folder,
            "cmake",
            "-S",
            ".",
            "-B",
            build,
            f"-DARM_CONTROL_BATCHES={switch}",
            f"-DCMAKE_C_COMPILER={COMPILER}",
        )
        run(folder, "cmake", "--build", build)
        assert "100% tests passed" in run(build, "ctest")
        library = (build / "libarm_control.a").read_bytes()
        assert (b"arm_control_batch" in library) == (switch == "ON")


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="there is no arm-none-eabi-gcc here")
def test_for_a_microcontroller(folder: Path) -> None:
    processor = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
    run(folder, "arm-none-eabi-gcc", "-Os", *STRICT, *processor, "-c", "arm_control.c", "-o", "m7.o")
    emulator = shutil.which("qemu-system-arm")
    if emulator is None:
        return
    # The test program itself on an emulated Cortex-M7, and one with a number that is off by a hundredth.
    given = (folder / "arm_control_test.c").read_text()
    (folder / "wrong.c").write_text(re.sub(r"(wanted_error\[8\]\[6\] = \{\s*\{)", r"\g<1>0.01 + ", given))
    parts = [str(BOARD / "startup.c"), "-T", str(BOARD / "mps2.ld"), "--specs=rdimon.specs", "-lm"]
    for test, status in (("arm_control_test.c", 0), ("wrong.c", 1)):
        run(
            folder,
            "arm-none-eabi-gcc",
            "-Os",
            "-std=gnu99",
            *processor,
            "arm_control.c",
            test,
            *parts,
            "-o",
            "m7.elf",
        )
        done = subprocess.run(
            [emulator, "-M", "mps2-an500", "-nographic", "-monitor", "none", "-serial", "none",
             "-semihosting-config", "enable=on,target=native", "-kernel", folder / "m7.elf"],
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        assert re.search(r"arm_control: largest error \S+ in 8 tests", done.stdout)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "2fast"}, "name: expected letters, digits and _, no C keyword, got '2fast'"),
        ({"name": "double"}, "name: expected letters, digits and _, no C keyword, got 'double'"),
        ({"name": 3}, "name: expected a name in C, got 3"),
        ({"export": 3, "name": "f"}, "export: expected the path of a folder, got 3"),
        ({"function": lambda q: {"my tau": q}, "name": "f"}, "got 'my tau'"),
        ({"function": lambda q: {"q": 2 * q}, "name": "f"}, "export: 'q' is an argument and a result"),
        ({"export": None, "name": "f"}, "name: expected none without export="),
    ],
)
def test_bad_names(tree: mbt.MultibodyTree, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    given = {"export": tmp_path / "made", "function": lambda q: q, **options}
    with pytest.raises((mbt.ArgumentTypeError, mbt.ArgumentValueError), match=re.escape(message)):
        mbt.compile(tree, given.pop("function"), arguments={"q": 6}, **given)
    assert not (tmp_path / "made").exists()


def test_a_folder_that_cannot_be(tree: mbt.MultibodyTree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(mbt.ArgumentValueError, match="export: cannot make"):
        mbt.compile(tree, lambda q: q, arguments={"q": 6}, export=tmp_path / "file" / "x", name="f")
    with pytest.raises(mbt.ArgumentTypeError, match="export: only allowed with a function that you write"):
        mbt.compile(tree, "mass_matrix", export=tmp_path)


@needs_compiler
def test_results_without_names_and_of_no_size(tree: mbt.MultibodyTree, tmp_path: Path) -> None:
    def function(q: Any, none: Any) -> tuple[Any, Any]:
        return q[:2] * 3.0, none

    mbt.compile(tree, function, arguments={"q": 3, "none": 0}, export=tmp_path, name="f")
    text = (tmp_path / "f.h").read_text()
    assert "void f(const double* q, const double* none, double* result0, double* result1);" in text
    run(tmp_path, COMPILER, *STRICT, "f.c", "f_test.c", "-o", "own", "-lm")
    run(tmp_path, "./own")
