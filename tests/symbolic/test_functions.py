"""Functions of expressions give the results of doubles; what cannot become a function is refused."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.symbolic import make_c_code, make_casadi_function, make_expressions, make_python_function
from support.description import Array
from symbolic.models import MODELS, QUANTITIES, evaluate, last_frame, load, random_inputs, rounding

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
UNDEFINED = sp.Function("g")(sp.Symbol("a"))
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


@cache
def expressions_of(tree: mbt.MultibodyTree, quantity: str, scalar: str) -> tuple[dict[str, Any], ...]:
    options = {"frame": last_frame(tree)} if quantity.startswith("frame_") else {}
    return make_expressions(tree, quantity, scalar, **options)


def check(tree: mbt.MultibodyTree, quantity: str, inputs: Any, function: Any) -> None:
    for seed in range(3):
        x = random_inputs(tree, inputs, seed)
        got = function(*x)
        got = got if isinstance(got, tuple) else (got,)
        wanted = evaluate(tree, quantity, x)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            atol = rounding(tree, quantity, x, b)
            np.testing.assert_allclose(np.asarray(a).reshape(b.shape), b, rtol=0, atol=atol)


@pytest.mark.oracle
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("name", "base"), MODELS)
def test_casadi_functions_of_models(name: str, base: str, quantity: str) -> None:
    pytest.importorskip("casadi")
    tree = load(name, base)
    inputs, outputs = expressions_of(tree, quantity, "casadi")
    assert tuple(outputs) == QUANTITIES[quantity]
    f = make_casadi_function(quantity, inputs, outputs)
    assert f.name_in() == list(inputs)
    assert f.name_out() == list(outputs)
    check(tree, quantity, inputs, f)


@pytest.mark.oracle
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_expressions_are_small(base: str) -> None:
    """Measured counts plus five percent: expressions that fail to fold would exceed them."""
    pytest.importorskip("casadi")
    tree = load("mbt_arm", base)
    counts = {
        quantity: make_casadi_function("f", *make_expressions(tree, quantity, "casadi")).n_instructions()
        for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    }
    limits = {"fixed": (549, 1321, 314), "floating": (914, 2722, 1005)}[base]
    assert all(count <= 1.05 * limit for count, limit in zip(counts.values(), limits, strict=True)), counts


@pytest.mark.oracle
def test_casadi_differentiates_what_we_differentiate() -> None:
    """CasADi's Jacobian of inverse dynamics is the analytic one, where q is made of angles."""
    casadi = pytest.importorskip("casadi")
    tree = load("mbt_arm", "fixed")
    inputs, outputs = make_expressions(tree, "inverse_dynamics", "casadi")
    f = make_casadi_function("f", inputs, outputs)
    arguments = f.sx_in()
    jacobian = casadi.Function("J", arguments, [casadi.jacobian(f(*arguments), arguments[0])])
    x = random_inputs(tree, inputs, 5)
    wanted = evaluate(tree, "inverse_dynamics_derivatives", x)[0]
    np.testing.assert_allclose(np.asarray(jacobian(*x)), wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())


# --- SymPy ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return load("mbt_arm", "fixed")


SYMPY_QUANTITIES = ["mass_matrix", "inverse_dynamics", "forward_dynamics", "frame_jacobian", "body_poses"]


@pytest.mark.parametrize("quantity", SYMPY_QUANTITIES)
def test_python_functions(arm: mbt.MultibodyTree, quantity: str) -> None:
    inputs, outputs = expressions_of(arm, quantity, "sympy")
    f = make_python_function(quantity, inputs, outputs)
    check(arm, quantity, inputs, f)
    # The source works by itself, and so does a pickle.
    namespace: dict[str, Any] = {}
    exec(f.source, namespace)
    x = random_inputs(arm, inputs, 9)
    assert np.array_equal(namespace[quantity](*x), f(*x))
    assert np.array_equal(pickle.loads(pickle.dumps(f))(*x), f(*x))


class CFunction:
    """A compiled function, called with arrays."""

    def __init__(self, code: str, name: str, shapes: list[tuple[int, ...]], folder: Path) -> None:
        (folder / "f.c").write_text(code, encoding="ascii")
        library = folder / "f.so"
        flags = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
        subprocess.run([str(COMPILER), *flags, str(folder / "f.c"), "-o", str(library), "-lm"], check=True)
        self.function = ctypes.CDLL(str(library))[name]
        self.function.restype = None
        self.shapes = shapes

    def __call__(self, *inputs: Array) -> tuple[Array, ...]:
        outputs = tuple(np.full(shape, np.nan) for shape in self.shapes)
        self.function(*(a.ctypes.data_as(ctypes.c_void_p) for a in (*inputs, *outputs)))
        return outputs


@needs_compiler
@pytest.mark.parametrize("quantity", SYMPY_QUANTITIES)
def test_c_functions(arm: mbt.MultibodyTree, quantity: str, tmp_path: Path) -> None:
    inputs, outputs = expressions_of(arm, quantity, "sympy")
    code = make_c_code(quantity, inputs, outputs)
    shapes = [array.shape for array in outputs.values()]
    check(arm, quantity, inputs, CFunction(code, quantity, shapes, tmp_path))


@needs_compiler
def test_every_kind_of_expression(tmp_path: Path) -> None:
    """Expressions that kernels build or users may write, in both languages."""
    x, y = sp.symbols("x y")
    expressions = [
        x, -x, x - y, x / y, x**2, x**3, 1 / x**2, y / x**2, x**-3, sp.sqrt(x), 1 / sp.sqrt(x), x**5,
        (x + y) ** 2, sp.sin(x), sp.cos(x), sp.tanh(x), sp.atan2(x, y), sp.floor(x), sp.Abs(x),
        sp.exp(x), sp.Max(x, y), sp.Piecewise((x, x < y), (y**2, True)), sp.pi * x, sp.E,
        sp.Rational(1, 3), sp.Integer(7), 0.1, 2, x**y,
    ]  # fmt: skip
    inputs, outputs = {"a": [x, y]}, {"b": expressions, "c": sp.Matrix([[x, y], [1, 0]]), "d": [x * y]}
    python = make_python_function("f", inputs, outputs)
    c = CFunction(make_c_code("f", inputs, outputs), "f", [(len(expressions),), (2, 2), (1,)], tmp_path)
    for point in ([1.7, 0.3], [0.2, 2.5]):
        at = {x: point[0], y: point[1]}
        wanted = [float(sp.sympify(e).subs(at)) for e in expressions]
        for got in (python(point), c(np.array(point))):
            np.testing.assert_allclose(got[0], wanted, rtol=1e-14)
            assert got[1].tolist() == [point, [1, 0]]
            np.testing.assert_allclose(got[2], [point[0] * point[1]], rtol=1e-15)


def test_names_of_symbols_do_not_matter() -> None:
    """Symbols with equal names, or names invalid in a language, are told apart by their place."""
    t0, prime, reserved, real = (
        sp.Symbol("t0"),
        sp.Symbol("q'"),
        sp.Symbol("lambda"),
        sp.Symbol("t0", real=True),
    )
    inputs = {"x": [t0, prime], "t1": [reserved, real]}
    outputs = {"y": [(t0 + prime) ** 2 + sp.sin(t0 + prime), reserved - real]}
    f = make_python_function("f", inputs, outputs)
    np.testing.assert_allclose(f([1.0, 2.0], [5.0, 3.0]), [9 + np.sin(3.0), 2.0])
    assert "lambda" not in make_c_code("f", inputs, outputs)


def test_functions_without_inputs_or_outputs() -> None:
    assert make_python_function("f", {}, {"y": [1, 2]})().tolist() == [1, 2]
    assert make_python_function("f", {"q": []}, {"y": np.empty((0, 0))})([]).shape == (0, 0)
    assert make_python_function("f", {"x": sp.Symbol("x")}, {"y": sp.Symbol("x")})(3.0) == 3.0


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "message"),
    [
        ({"x": ["a"]}, {"y": [1]}, mbt.ArgumentTypeError, r"inputs\['x'\]: expected expressions of .*str"),
        ({"x": [1.0]}, {"y": [1]}, mbt.ArgumentTypeError, r"inputs\['x'\]: expected symbols of .*1.0"),
        ({"x": "ab"}, {"y": "ac"}, mbt.ArgumentValueError, "outputs: depend on c, not among the inputs"),
        ({"x": "aa"}, {"y": "a"}, mbt.ArgumentValueError, r"inputs\['x'\]: a occurs twice"),
        ({"x": "a"}, {"x": "a"}, mbt.ArgumentValueError, "outputs: 'x' is the name of an input"),
        ({"1x": "a"}, {"y": "a"}, mbt.ArgumentValueError, r"inputs: expected an identifier .* got '1x'"),
        ({"x": "a"}, {"for": "a"}, mbt.ArgumentValueError, r"outputs: expected an identifier .* got 'for'"),
        ({"x": "a"}, {"y": [UNDEFINED]}, mbt.ArgumentValueError, "outputs: g has no translation"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", [make_python_function, make_c_code])
def test_what_makes_no_function_is_refused(
    make: Any, inputs: Any, outputs: Any, error: type, message: str
) -> None:
    def symbols(arrays: Any) -> Any:
        return {
            key: [sp.Symbol(letter) for letter in value] if isinstance(value, str) else value
            for key, value in arrays.items()
        }

    with pytest.raises(error, match=message):
        make("f", symbols(inputs), symbols(outputs))


def test_arguments_of_a_python_function_are_checked() -> None:
    f = make_python_function("f", {"x": sp.symbols("a b")}, {"y": sp.symbols("a")})
    with pytest.raises(mbt.ShapeError, match=r"^f: expected 1 arguments \(x\), got 2$"):
        f([1, 2], [3])
    with pytest.raises(mbt.ShapeError, match=r"^x: expected shape \(2,\), got \(3,\)$"):
        f([1, 2, 3])


@pytest.mark.oracle
def test_what_makes_no_casadi_function_is_refused() -> None:
    casadi = pytest.importorskip("casadi")
    a, b = casadi.SX.sym("a"), casadi.SX.sym("b")
    with pytest.raises(mbt.ArgumentValueError, match=r"^outputs: depend on b, not among the inputs$"):
        make_casadi_function("f", {"a": a}, {"y": [a * b]})
    with pytest.raises(mbt.ArgumentTypeError, match=r"^inputs\['a'\]: expected symbols of casadi.SX, got"):
        make_casadi_function("f", {"a": [2 * a]}, {"y": [a]})
    with pytest.raises(mbt.ArgumentTypeError, match=r"^outputs\['y'\]: expected casadi.SX, got Symbol$"):
        make_casadi_function("f", {"a": [a]}, {"y": [sp.Symbol("a")]})
    with pytest.raises(mbt.ArgumentTypeError, match=r"^outputs\['y'\]: expected casadi.SX, got MX$"):
        make_casadi_function("f", {"a": [a]}, {"y": casadi.MX.sym("y")})


def test_what_has_no_expressions_is_refused(arm: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=r"^tree: expected a MultibodyTree, got int$"):
        make_expressions(3, "mass_matrix")
    with pytest.raises(mbt.UnknownNameError, match="mass_matrix"):
        make_expressions(arm, "mass_matrx")
    with pytest.raises(mbt.UnknownNameError, match="sympy"):
        make_expressions(arm, "mass_matrix", "simpy")
    with pytest.raises(
        mbt.ArgumentTypeError, match=r"^quantity: expected one of inverse_dynamics, .* got int$"
    ):
        make_expressions(arm, 3)  # type: ignore[arg-type]
    with pytest.raises(
        mbt.ArgumentValueError, match=r"^frame: expected a frame for 'frame_jacobian', got None$"
    ):
        make_expressions(arm, "frame_jacobian")
    with pytest.raises(
        mbt.ArgumentValueError, match=r"^frame: only 'frame_pose' and 'frame_jacobian' take a frame"
    ):
        make_expressions(arm, "mass_matrix", frame=arm.world_frame)
    with pytest.raises(mbt.NotFinalizedError):
        make_expressions(mbt.MultibodyTree(), "mass_matrix")
