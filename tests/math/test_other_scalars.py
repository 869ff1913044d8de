"""Poses, rotations and mass properties of symbols, fractions, many digits and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from mbt.math import (
    exp_se3,
    exp_so3,
    inverse_pose,
    left_jacobian_inverse_se3,
    left_jacobian_inverse_so3,
    left_jacobian_se3,
    left_jacobian_so3,
    log_se3,
    log_so3,
    make_pose,
    matrix_to_quaternion,
    matrix_to_rpy,
    quaternion_to_matrix,
    right_jacobian_inverse_se3,
    right_jacobian_inverse_so3,
    right_jacobian_se3,
    right_jacobian_so3,
    rotation_about_axis,
    rpy_to_matrix,
    skew,
)
from support import lie_reference as reference
from support.scalar_names import require, scalar_names

# The first makes a scalar from a float; the second evaluates scalars that stand for numbers.
Make, Values = Callable[[float], Any], Callable[[Any], Any]


def _each(value: Callable[[Any], float]) -> Values:
    return lambda scalars: [value(scalar) for scalar in scalars]


def _symbols() -> tuple[Make, Values]:
    known: dict[Any, float] = {}

    def make(x: float) -> Any:
        symbol = sp.Symbol(f"x{len(known)}", real=True)
        known[symbol] = x
        return symbol

    def of_all(expressions: Any) -> Any:
        # With common subexpressions: `subs` would visit each of them as often as it occurs.
        wanted = [sp.sympify(expression) for expression in expressions]
        return sp.lambdify(list(known), wanted, "math", cse=True)(*known.values())

    return make, of_all


def _casadi() -> tuple[Make, Values]:
    casadi = pytest.importorskip("casadi")
    known: list[tuple[Any, float]] = []

    def make(x: float) -> Any:
        known.append((casadi.SX.sym(f"x{len(known)}"), x))
        return known[-1][0]

    def value(expression: Any) -> float:
        function = casadi.Function("f", [s for s, _ in known], [expression])
        return float(function(*(x for _, x in known)))

    return make, _each(value)


def _dual() -> tuple[Make, Values]:
    scalar = mbt.symbolic.dual("mpmath")
    of_all = _each(lambda d: float(getattr(d, "value", d)))
    return lambda x: scalar.make(mpmath.mpf(x), {0: mpmath.mpf(1)}), of_all


SCALARS: dict[str, Callable[[], tuple[Make, Values]]] = {
    "sympy": _symbols,
    "casadi": _casadi,
    "mpmath": lambda: (mpmath.mpf, _each(float)),
    "dual": _dual,
    "jax": lambda: (pytest.importorskip("jax").numpy.asarray, _each(float)),
    "autodiff": lambda: (lambda x: initialize(x), _each(lambda x: float(x.value))),
}


def values(array: Any, of_all: Values) -> Any:
    if isinstance(array, AutoDiffArray):
        return array.value
    assert array.dtype == object
    return np.array(of_all(array.ravel()), dtype=float).reshape(array.shape)


R = mbt.math.rpy_to_matrix([0.3, -0.4, 0.5])
X = make_pose([1.0, -2.0, 3.0], rpy=[0.3, -0.4, 0.5])
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "position": (make_pose, [1.0, -2.0, 0.5]),
    "make_pose of rpy": (lambda x: make_pose(rpy=x), [0.3, -0.4, 0.5]),
    "make_pose of both": (lambda x: make_pose(x, rpy=[0.3, 0.0, 0.5]), [0.3, -0.4, 0.5]),
    "make_pose of a quaternion": (lambda x: make_pose(quaternion=x), [0.3, -0.4, 0.5, 2.0]),
    "make_pose of a matrix": (lambda x: make_pose([1, 2, 3], R=x), R),
    "many positions": (make_pose, np.arange(6.0).reshape(2, 3)),
    "many angles": (lambda x: make_pose([1, 2, 3], rpy=x), np.arange(6.0).reshape(2, 3)),
    "inverse_pose": (inverse_pose, X),
    "many poses": (inverse_pose, np.stack([X, X @ X])),
    "many rotations to angles": (matrix_to_rpy, np.stack([R, R @ R])),
    "many rotations to quaternions": (matrix_to_quaternion, np.stack([R, R @ R])),
    "rpy_to_matrix": (rpy_to_matrix, [0.3, -0.4, 0.5]),
    "quaternion_to_matrix": (quaternion_to_matrix, [0.3, -0.4, 0.5, 2.0]),
    "matrix_to_rpy": (matrix_to_rpy, R),
    "matrix_to_quaternion": (matrix_to_quaternion, R),
    "matrix_to_quaternion of a large angle": (matrix_to_quaternion, rpy_to_matrix([3.0, 0.1, 0.2])),
    "rotation_about_axis": (lambda x: rotation_about_axis(x[:3], x[3]), [0.3, -0.4, 0.5, 2.0]),
    "rotation about a plain axis": (lambda x: rotation_about_axis([0, 3, 4], x[0]), [2.0]),
    "skew": (skew, [1.0, 2.0, 3.0]),
    # Near zero, and away from it.
    "exp_so3": (exp_so3, [0.3, -0.4, 0.5]),
    "exp_so3 of a large angle": (exp_so3, [1.3, -1.4, 1.5]),
    "exp_se3": (exp_se3, [0.3, -0.4, 0.5, 1.0, -2.0, 3.0]),
    "log_so3": (log_so3, R),
    "log_so3 of a large angle": (log_so3, rpy_to_matrix([3.0, 0.1, 0.2])),
    "log_se3": (log_se3, X),
    "left_jacobian_so3": (left_jacobian_so3, [1.3, -1.4, 1.5]),
    "left_jacobian_inverse_so3": (left_jacobian_inverse_so3, [1.3, -1.4, 1.5]),
    "right_jacobian_so3": (right_jacobian_so3, [0.3, -0.4, 0.5]),
    "right_jacobian_inverse_so3": (right_jacobian_inverse_so3, [0.3, -0.4, 0.5]),
    "left_jacobian_se3": (left_jacobian_se3, [0.3, -0.4, 0.5, 1.0, -2.0, 3.0]),
    "left_jacobian_inverse_se3": (left_jacobian_inverse_se3, [0.3, -0.4, 0.5, 1.0, -2.0, 3.0]),
    "right_jacobian_se3": (right_jacobian_se3, [1.3, -1.4, 1.5, 1.0, -2.0, 3.0]),
    "right_jacobian_inverse_se3": (right_jacobian_inverse_se3, [1.3, -1.4, 1.5, 1.0, -2.0, 3.0]),
}


def convert(numbers: Any, make: Make) -> Any:
    return [convert(entry, make) for entry in numbers] if np.ndim(numbers) else make(float(numbers))


@pytest.mark.parametrize("scalar", scalar_names(*SCALARS))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, scalar: str) -> None:
    """Same values as in doubles, for a list of objects that may include plain numbers."""
    function, x = FUNCTIONS[name]
    make, of_all = SCALARS[scalar]()
    wanted = function(np.asarray(x))
    tolerance = 1e-6 if scalar == "jax" else 1e-14
    got = values(function(convert(x, make)), of_all)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, atol=tolerance)
    if np.ndim(x) == 1:
        got = values(function([make(float(x[0])), *x[1:]]), of_all)
        np.testing.assert_allclose(got, wanted, atol=tolerance)


@pytest.mark.parametrize("function", [inverse_pose, matrix_to_rpy, matrix_to_quaternion])
def test_derivatives_of_many(function: Callable[[Any], Any]) -> None:
    """Many at once give the same as one by one, and errors name the place."""
    x = X if function is inverse_pose else R
    rates = np.random.default_rng(0).normal(size=(3, 2, *x.shape, 4))
    got = function(AutoDiffArray(np.broadcast_to(x, (3, 2, *x.shape)), rates))
    one = function(AutoDiffArray(x, rates[1, 1]))
    np.testing.assert_allclose(got.value[1, 1], one.value, rtol=0, atol=1e-15)
    np.testing.assert_allclose(got.derivatives[1, 1], one.derivatives, rtol=0, atol=1e-14)
    assert function(AutoDiffArray(np.zeros((0, *x.shape)), np.zeros((0, *x.shape, 4)))).shape[0] == 0
    with pytest.raises(mbt.ArgumentValueError, match="orthonormal"):
        function(
            AutoDiffArray(
                np.stack([x, x @ np.diag([-1.0, *np.ones(len(x) - 1)])]), np.zeros((2, *x.shape, 4))
            )
        )


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("many ")])
def test_derivatives(name: str) -> None:
    """`AutoDiffArray` has the derivatives of symbols."""
    function, x = FUNCTIONS[name]
    if function in (matrix_to_rpy, matrix_to_quaternion, inverse_pose, log_so3, log_se3):
        # Along a rotation: the nine entries of a rotation matrix are not independent.
        x = np.asarray(x)
        rate = x[:3, :3] @ skew([0.1, 0.2, 0.3])
        full = np.zeros(x.shape)
        full[:3, :3] = rate
        got = function(AutoDiffArray(x, full[..., None])).derivatives[..., 0]
        a = make_pose(R=x[:3, :3])[:3, :3]

        def moved(h: float) -> Any:
            other = x.copy()
            other[:3, :3] = a @ rotation_about_axis([0.1, 0.2, 0.3], h * np.sqrt(0.14))
            return function(other)

        np.testing.assert_allclose(got, (moved(1e-5) - moved(-1e-5)) / 2e-5, atol=1e-9)
        return
    got = function(initialize(x)).derivatives
    h = 1e-5
    for k in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[k] = h
        scalar = mbt.symbolic.dual("mpmath")
        seeded = np.array(convert(x, mpmath.mpf), dtype=object)
        for i in np.ndindex(seeded.shape):
            seeded[i] = scalar.make(seeded[i], {0: mpmath.mpf(1)} if i == k else {})
        exact = function(seeded.tolist())
        wanted = [float(getattr(d, "derivatives", {}).get(0, 0)) for d in exact.ravel()]
        index = int(np.ravel_multi_index(k, np.shape(x)))
        np.testing.assert_allclose(got[..., index].ravel(), wanted, atol=1e-14)


@pytest.mark.oracle
def test_matrices_of_casadi() -> None:
    casadi = pytest.importorskip("casadi")
    l = casadi.SX.sym("l")  # noqa: E741 - a length
    assert str(make_pose([l, 0, 0])[0, 3]) == "l"
    p = casadi.SX.sym("p", 3)
    assert [str(x) for x in make_pose(p)[:3, 3]] == ["p_0", "p_1", "p_2"]


def test_matrices_of_sympy() -> None:
    assert [str(x) for x in make_pose(sp.Matrix(sp.symbols("a b c")))[:3, 3]] == ["a", "b", "c"]
    assert str(rotation_about_axis([0, 0, 1], sp.Symbol("t"))[1, 0]) == "sin(t)"


def test_fractions_stay_exact() -> None:
    half = Fraction(1, 2)
    X_AB = make_pose([half, 0, 1], quaternion=[Fraction(3, 5), Fraction(4, 5), 0, 0])
    assert all(type(x) is Fraction for x in X_AB.ravel())
    assert X_AB[1, 1] == Fraction(9 - 16, 25)
    assert (inverse_pose(X_AB) @ X_AB == np.eye(4)).all()
    assert all(type(x) is Fraction for x in skew([half, 1, 2]).ravel())
    with pytest.raises(mbt.MbtError, match=r"\(1/2\) is not a fraction"):
        make_pose(rpy=[0, 0, half])


VECTORS = [name for name, (_, x) in FUNCTIONS.items() if "jacobian" in name or name in ("exp_so3", "exp_se3")]


@pytest.mark.oracle
@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-8, 1.0])
@pytest.mark.parametrize("name", VECTORS)
def test_derivatives_of_conditional_expressions(name: str, angle: float) -> None:
    """CasADi's derivatives are right where one of two cases is undefined, as those of doubles are."""
    casadi = pytest.importorskip("casadi")
    function, x = FUNCTIONS[name]
    x = np.append(np.multiply([0.36, -0.48, 0.8], angle), x[3:])
    symbols = casadi.SX.sym("x", x.size)
    entries = casadi.vertcat(*function(symbols).ravel())
    value, derivatives = casadi.Function("f", [symbols], [entries, casadi.jacobian(entries, symbols)])(x)
    wanted = function(initialize(x))
    np.testing.assert_allclose(value.full().ravel(), wanted.value.ravel(), atol=1e-15)
    np.testing.assert_allclose(derivatives.full(), wanted.derivatives.reshape(-1, x.size), atol=4e-15)


@pytest.mark.oracle
def test_derivatives_of_jax_at_zero() -> None:
    jax = pytest.importorskip("jax")
    differentiate = jax.jacfwd(lambda x: jax.numpy.array(left_jacobian_inverse_so3(x).tolist()))
    derivatives = jax.jit(differentiate)(jax.numpy.zeros(3))
    np.testing.assert_allclose(derivatives, left_jacobian_inverse_so3(initialize(np.zeros(3))).derivatives)


@pytest.mark.parametrize("name", VECTORS)
def test_fifty_digits(name: str) -> None:
    """Near zero, and on both sides of the series' bound."""
    function, x = FUNCTIONS[name]
    exact = {
        "exp": reference.exponential,
        "left": reference.left_jacobian,
        "right": reference.right_jacobian,
    }[name.split("_")[0]]
    with mpmath.workdps(60):
        for angle in (0, *map(mpmath.mpf, ("1e-30", "4.99e-5", "5.01e-5", "1.41", "1.42"))):
            axis = [angle * mpmath.mpf(k) / 25 for k in (9, -12, 20)]
            xi = [*axis, *map(mpmath.mpf, x[3:])]
            wanted = exact(xi)
            if "inverse" in name:
                wanted = reference.inverse(wanted)
            assert max(abs(function(xi) - wanted).ravel()) < mpmath.mpf(10) ** -49
            if name.startswith("exp"):
                log = {"exp_so3": log_so3, "exp_se3": log_se3}[name.split()[0]]
                assert max(abs(log(wanted) - xi)) < mpmath.mpf(10) ** -49


def test_second_derivatives_at_zero() -> None:
    """Of the exponential: ``([e_i]x [e_j]x + [e_j]x [e_i]x) / 2``."""
    scalar = mbt.symbolic.dual("autodiff")
    phi = initialize(np.zeros(3))
    R = exp_so3([scalar.make(phi[i], {i: 1.0}) for i in range(3)])
    for i, j in np.ndindex(3, 3):
        second = [[R[k, l].derivatives[i].derivatives[j] for l in range(3)] for k in range(3)]  # noqa: E741
        a, b = skew(np.eye(3)[i]), skew(np.eye(3)[j])
        np.testing.assert_array_equal(second, (a @ b + b @ a) / 2)


def test_formulas_of_exponentials() -> None:
    """As in textbooks, without cases, for nonzero angles; numbers that are zero are recognized."""
    t = sp.Symbol("t", positive=True)
    assert exp_so3([0, 0, t]).tolist() == [[sp.cos(t), -sp.sin(t), 0], [sp.sin(t), sp.cos(t), 0], [0, 0, 1]]
    assert left_jacobian_so3([0, 0, t])[0, 0] == sp.sin(t) / t
    x, y, z = sp.symbols("x y z", real=True)
    J = left_jacobian_se3([x, y, z, 1, 2, 3])
    assert not any(sp.sympify(entry).has(sp.Piecewise) for entry in J.ravel())
    assert exp_so3(sp.zeros(3, 1)).tolist() == sp.eye(3).tolist()
    assert log_so3(sp.eye(3)).tolist() == [0, 0, 0]
    assert log_so3(sp.diag(1, -1, -1)).tolist() == [sp.pi, 0, 0]


@pytest.mark.parametrize("name", VECTORS)
def test_exponentials_of_fractions(name: str) -> None:
    """Without rotation they are exact; the sine of any other angle is not a fraction."""
    function, x = FUNCTIONS[name]
    rho = [Fraction(1, 3), 2, Fraction(-1, 7)][: len(x) - 3]
    result = function([Fraction(0), 0, 0, *rho])
    assert all(type(entry) is Fraction for entry in result.ravel())
    np.testing.assert_allclose(result.astype(float), function([0.0, 0, 0, *map(float, rho)]), atol=1e-16)
    with pytest.raises(mbt.MbtError, match="is not a fraction"):
        function([Fraction(3, 5), Fraction(4, 5), 0, *rho])


def test_logarithms_of_fractions() -> None:
    X_AB = make_pose([Fraction(1, 3), 2, 3])
    assert log_se3(X_AB).tolist() == [0, 0, 0, Fraction(1, 3), 2, 3]
    with pytest.raises(mbt.MbtError, match="is not a fraction"):
        log_se3(make_pose(quaternion=[Fraction(3, 5), Fraction(4, 5), 0, 0]))


def test_arrays_of_symbols() -> None:
    """Leading axes of objects, one state after the other."""
    x = np.array(sp.symbols("a0:6")).reshape(2, 1, 3)
    R = exp_so3(x)
    assert R.shape == (2, 1, 3, 3)
    assert (R[1, 0] == exp_so3(x[1, 0])).all()
    assert (log_so3(R)[1, 0] == log_so3(R[1, 0])).all()
    assert log_so3(R).shape == (2, 1, 3)


def test_objects_of_another_class() -> None:
    """Functions that need only arithmetic work; the others ask the objects' methods."""
    X_AB = make_pose([Decimal("0.1"), 0, 0])
    assert X_AB[0, 3] == Decimal("0.1")
    with pytest.raises(mbt.ArgumentTypeError, match=r"Decimal has no method sin.*ScalarType"):
        make_pose(rpy=[Decimal("0.1"), 0, 0])


@pytest.mark.parametrize("scalar", SCALARS)
def test_refusals(scalar: str) -> None:
    make, _ = SCALARS[scalar]()
    x = make(0.5)
    with pytest.raises(mbt.ShapeError, match="p"):
        make_pose([x, 0.0])
    with pytest.raises(mbt.ShapeError, match="rpy"):
        rpy_to_matrix([x, 0.0])
    with pytest.raises(mbt.ShapeError, match="leading axes"):
        make_pose([[x, 0, 0]] * 2, rpy=[[0, 0, 0]] * 3)
    with pytest.raises(mbt.MbtError, match="axis"):
        rotation_about_axis([0, 0, 0], x)


def test_the_zero_quaternion_of_values_with_derivatives() -> None:
    for quaternions in ([0.0, 0.0, 0.0, 0.0], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]):
        with pytest.raises(mbt.SingularityError, match="quaternion"):
            quaternion_to_matrix(initialize(quaternions))


@pytest.mark.parametrize("name", ["make_pose of both", "make_pose of a quaternion", *VECTORS])
def test_derivatives_of_several_states(name: str) -> None:
    """Leading axes of numbers with derivatives: each state by itself."""
    function, x = FUNCTIONS[name]
    many = initialize(np.asarray(x) * np.linspace(0.1, 2.0, 6).reshape(3, 2, 1))
    got = function(many)
    for i in np.ndindex(3, 2):
        wanted = function(many[i])
        np.testing.assert_allclose(got.value[i], wanted.value, rtol=0, atol=4e-15)
        np.testing.assert_allclose(got.derivatives[i], wanted.derivatives, rtol=0, atol=1e-14)


class Hand(mbt.Frame):
    """A frame whose angles and position are parameters, by one of the functions of `mbt.math`."""

    def __init__(self, name: str, body: mbt.RigidBody, compute: Callable[[Any], Any]) -> None:
        super().__init__(name, body)
        self.compute = compute

    def do_declare_parameters(self) -> None:
        self.angles = self.declare_numeric_parameter([0.0, 0.0, 0.0])

    def do_calc_pose_in_body_frame(self, parameters: Any) -> Any:
        return self.compute(parameters.get_numeric_parameter(self.angles))


COMPUTE: dict[str, Callable[[Any], Any]] = {
    "yaw": lambda a: make_pose(rpy=[0, 0, a[..., 0]]),
    "position": lambda a: make_pose([a[..., 0], 0, 0], rpy=a),
    "product": lambda a: make_pose(R=rpy_to_matrix(a) @ rotation_about_axis([0, 1, 0], a[..., 1])),
    "inverse": lambda a: inverse_pose(make_pose(a, rpy=a)),
    "exponential": lambda a: make_pose(R=exp_so3(a)),
}


@pytest.mark.parametrize(
    "scalar", scalar_names("double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "own")
)
@pytest.mark.parametrize("name", COMPUTE)
def test_frames_written_in_python(name: str, scalar: str) -> None:
    require(scalar)
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0])))
    hand = tree.add_frame(Hand("hand", body, COMPUTE[name]))
    tree.finalize()
    # With its own sine, which the objects do not have: it returns a fraction.
    own = mbt.symbolic.ScalarType(
        Fraction(0),
        Fraction(1),
        sin=lambda x: x,
        cos=lambda x: 1 - x * x / 2,
        sqrt=lambda x: (1 + x) / 2,
        select_lt=lambda a, b, x, y: x if a < b else y,
        from_float=Fraction,
        name="own",
    )
    twin = tree if scalar == "double" else tree.clone_to_scalar(own if scalar == "own" else scalar)
    context = twin.create_default_context()
    angles = [0, 0, 0] if scalar == "fraction" else [0.5, 0.25, -0.25]
    context.set_numeric_parameter(twin.get_variant(hand).angles, angles)
    X_BF = twin.get_variant(hand).calc_pose_in_body_frame(context)
    if scalar == "own":
        assert all(isinstance(x, Fraction) for x in X_BF.ravel())
        if name == "yaw":
            assert X_BF[1, 0] == Fraction(1, 2)
            assert X_BF[0, 0] == Fraction(7, 8)
        return
    wanted = COMPUTE[name](np.array(angles, dtype=float))
    got = X_BF.value if scalar == "autodiff" else np.array([float(x) for x in X_BF.ravel()]).reshape(4, 4)
    np.testing.assert_allclose(got, wanted, atol=1e-15)


@pytest.mark.parametrize("scalar", scalar_names("sympy", "casadi", "mpmath", "fraction", "autodiff", "jax"))
def test_spatial_inertias(scalar: str) -> None:
    """All accessors of the result of `calc_spatial_inertia`."""
    require(scalar)
    tree = mbt.MultibodyTree()
    box = mbt.SpatialInertia.solid_box_with_mass(2.0, 1.0, 2.0, 3.0).shift([0.5, 0.25, 1.0])
    body = tree.add_body(mbt.RigidBody("body", box))
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, None, body, None)
    tree.finalize()
    twin = tree.clone_to_scalar(scalar)
    context = twin.create_default_context()
    M = twin.calc_spatial_inertia(context, twin.world_frame, [body.index])

    def check(got: Any, wanted: Any) -> None:
        entries = list(got.ravel()) if hasattr(got, "ravel") else [got]
        numbers = got.value if scalar == "autodiff" else np.array([float(x) for x in entries])
        np.testing.assert_allclose(numbers.ravel(), np.ravel(wanted), atol=1e-5 if scalar == "jax" else 1e-14)
        if scalar == "fraction":
            assert all(type(x) is Fraction for x in entries)

    R_AE, p = quaternion_to_matrix([0, 1, 0, 0]), [1.0, 2.0, 3.0]
    for get in (
        lambda M: M.mass,
        lambda M: M.com,
        lambda M: M.calc_com_moment(),
        lambda M: M.calc_rotational_inertia(),
        lambda M: M.calc_central_inertia(),
        lambda M: M.as_matrix6(),
        lambda M: M.unit_inertia.as_matrix(),
        lambda M: M.shift(p).as_matrix6(),
        lambda M: M.re_express(R_AE).as_matrix6(),
        lambda M: M.unit_inertia.re_express(R_AE).as_matrix(),
        lambda M: M.unit_inertia.shift_to_center_of_mass(p).as_matrix(),
        lambda M: M.unit_inertia.shift_from_center_of_mass(p).as_matrix(),
        lambda M: (M + M).as_matrix6(),
        lambda M: (M + box).as_matrix6(),
        lambda M: (box + M).as_matrix6(),
        lambda M: mbt.math.calc_inertial_parameters(M),
        lambda M: mbt.math.calc_pseudo_inertia(M),
    ):
        check(get(M), get(box))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("many ")])
def test_several_states(name: str) -> None:
    """A frame written in Python computes each state of a batch by itself."""
    function, x = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    if np.ndim(x) == 2:
        turns = rpy_to_matrix(rng.uniform(-3, 3, (5, 2, 3)))
        many = np.tile(np.asarray(x), (5, 2, 1, 1))
        many[..., :3, :3] = turns @ many[..., :3, :3]
    else:
        many = np.asarray(x) + rng.uniform(-0.5, 0.5, (5, 2, np.size(x)))
    # These functions are for one state, with their arguments in the last axis.
    calls = {
        "rotation_about_axis": lambda x: rotation_about_axis(x[..., :3], x[..., 3]),
        "rotation about a plain axis": lambda x: rotation_about_axis([0, 3, 4], x[..., 0]),
    }
    got = calls.get(name, function)(many)
    for i in np.ndindex(5, 2):
        np.testing.assert_allclose(got[i], function(many[i]), atol=1e-14)


def test_gimbal_lock_of_several_states() -> None:
    R = rpy_to_matrix([[0.3, np.pi / 2, 0.0], [0.3, np.pi / 2, 0.2], [0.1, -np.pi / 2, 0.5]])
    exact = np.array([[0.0, 0.6, 0.8], [0.0, 0.8, -0.6], [-1.0, 0.0, 0.0]])
    for matrices in (R, np.stack([exact, exact])):
        np.testing.assert_allclose(rpy_to_matrix(matrix_to_rpy(matrices)), matrices, atol=1e-15)


def test_refusals_of_several_states() -> None:
    with pytest.raises(mbt.ArgumentValueError, match=r"R\[1\].*orthonormal"):
        matrix_to_quaternion(np.stack([np.eye(3), 2 * np.eye(3)]))
    with pytest.raises(mbt.ArgumentValueError, match="axis"):
        rotation_about_axis([[0, 0, 1], [0, 0, 0]], [0.1, 0.2])
    with pytest.raises(mbt.ShapeError, match="angle"):
        rotation_about_axis(np.ones((2, 3)), np.ones(3))
    with pytest.raises(mbt.ArgumentValueError, match="finite"):
        skew([[0, 0, 1], [0, 0, np.nan]])
    with pytest.raises(mbt.SingularityError, match=r"quaternion\[1\]"):
        quaternion_to_matrix([[1, 0, 0, 0], [0, 0, 0, 0]])
