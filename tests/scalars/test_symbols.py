"""Trees of symbols and of numbers with many digits."""

from __future__ import annotations

import gc
import math
import pickle
import sys
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.symbolic import ScalarType
from scalars.scalar_trees import CALLS, evaluate, random_point
from support.build import build_tree
from support.description import Array
from support.force_element_types import make_everything
from support.random_trees import every_kind, random_model
from support.taking_long import taking_long


@cache
def tree_of(name: str) -> mbt.MultibodyTree:
    if name == "everything":
        return make_everything()
    if name == "compiled":
        return make_everything(user_written=False)
    if name == "every_kind":
        return build_tree(every_kind(3))
    return build_tree(random_model(201, 3, kinds=("revolute", "prismatic", "weld"), actuated=1.0))


def values_of_doubles(tree: mbt.MultibodyTree, method: str) -> tuple[Any, Array, Array, Array]:
    call = CALLS[method]
    shapes = list(call.shapes(tree).values())
    x = np.random.default_rng(7).normal(size=shapes[0]) if shapes else np.zeros(0)
    point = random_point(tree, x, 1)
    context = tree.create_default_context()
    context.q, context.v = point.q, point.v
    return evaluate(method, tree, context, x), point.q, point.v, x


@pytest.mark.parametrize("method", CALLS)
def test_fifty_digits(method: str) -> None:
    """Numbers with fifty digits agree with doubles, to rounding."""
    check_fifty_digits("every_kind", method)


# Methods for trees with all elements; expressions of derivatives or inverses would take minutes there.
OF_ELEMENTS = [
    "calc_inverse_dynamics",
    "calc_potential_energy",
    "calc_conservative_power",
    "calc_non_conservative_power",
    "calc_forward_dynamics",
]
OTHERS = CALLS.keys() - {*OF_ELEMENTS, "calc_inverse_dynamics_derivatives", "tree.rollout"}


@pytest.mark.parametrize("method", taking_long(CALLS, *OTHERS))
def test_fifty_digits_of_elements(method: str) -> None:
    check_fifty_digits("everything", method)


def check_fifty_digits(name: str, method: str) -> None:
    tree = tree_of(name)
    twin = tree.clone_to_scalar("mpmath")
    wanted, q, v, x = values_of_doubles(tree, method)
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q, context.v = [mpmath.mpf(a) for a in q], [mpmath.mpf(a) for a in v]
        got = np.asarray(evaluate(method, twin, context, x))
        assert got.dtype == object
        assert np.shape(wanted) == got.shape
        scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
        for a, b in zip(got.ravel(), np.ravel(wanted), strict=True):
            assert isinstance(a, mpmath.mpf)
            assert abs(a - mpmath.mpf(float(b))) < 1e-10 * scale


def test_digits_are_not_lost() -> None:
    """Inverse of forward dynamics to 45 digits."""
    twin = tree_of("everything").clone_to_scalar("mpmath")
    _, q, v, tau = values_of_doubles(tree_of("everything"), "calc_forward_dynamics")
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q, context.v = [mpmath.mpf(a) for a in q], [mpmath.mpf(a) for a in v]
        vdot = twin.calc_forward_dynamics(context, tau)
        back = twin.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        assert (
            max(abs(a - mpmath.mpf(float(b))) for a, b in zip(back, tau, strict=True)) < mpmath.mpf(10) ** -42
        )


@pytest.mark.parametrize("method", CALLS)
def test_sympy_expressions_evaluate_to_the_numbers(method: str) -> None:
    tree = tree_of("small")
    twin = tree.to_symbolic()
    wanted, q, v, x = values_of_doubles(tree, method)
    symbols = [sp.symbols(f"{name}:{a.size}") for name, a in zip("qvx", (q, v, x), strict=True)]
    context = twin.create_default_context()
    context.q, context.v = symbols[0], sp.Matrix(symbols[1])
    argument = np.array(symbols[2], dtype=object).reshape(x.shape)
    got = np.asarray(evaluate(method, twin, context, argument))
    assert got.dtype == object
    f = sp.lambdify(symbols, list(got.ravel()), modules="math", cse=True)
    numbers = np.array(f(*(a.ravel().tolist() for a in (q, v, x))), dtype=float)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(numbers, np.ravel(wanted), rtol=0, atol=1e-11 * scale)


def make_pendulum() -> tuple[mbt.MultibodyTree, Any, Any]:
    """Two rods in the x, z plane with point masses at their ends."""
    tree = mbt.MultibodyTree()
    point = mbt.SpatialInertia.point_mass(1.0, [0, 0, -1])
    upper, lower = (tree.add_body(mbt.RigidBody(name, point)) for name in ("upper", "lower"))
    X = mbt.math.make_pose([0, 0, -1])
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, axis=[0, 1, 0])
    tree.add_joint(mbt.RevoluteJoint, "elbow", upper, X, lower, None, axis=[0, 1, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -1]))
    tree.finalize()
    return tree, upper, lower


def test_mass_matrix_of_the_double_pendulum_prints_as_in_textbooks() -> None:
    tree, upper, lower = make_pendulum()
    sym = tree.to_symbolic()
    m1, m2, l1, l2, g = sp.symbols("m1 m2 l1 l2 g", positive=True)
    q1, q2 = sp.symbols("q1 q2")
    context = sym.create_default_context()
    for body, m, length in ((upper, m1, l1), (lower, m2, l2)):
        variant = sym.get_variant(body)
        variant.set_mass(context, m)
        M = variant.calc_spatial_inertia_in_body_frame(context)
        assert M.mass == m
        context._set_parameter("com", variant.node_index, [0, 0, -length])
        context._set_parameter("unit_inertia", variant.node_index, [length**2, length**2, 0, 0, 0, 0])
    (offset,) = (frame for frame in sym.frames if isinstance(frame, mbt.FixedOffsetFrame))
    offset.set_pose_in_parent_frame(context, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -l1], [0, 0, 0, 1]])
    (gravity,) = sym.force_elements
    gravity.set_gravity_vector(context, [0, 0, -g])
    context.q = [q1, q2]
    M = sp.simplify(sp.Matrix(sym.calc_mass_matrix(context)))
    assert not M.atoms(sp.Float)
    assert str(M[1, 1]) == "l2**2*m2"
    assert str(sp.expand(M[0, 1])) == "l1*l2*m2*cos(q2) + l2**2*m2"
    assert str(sp.expand(M[0, 0])) == "l1**2*m1 + l1**2*m2 + 2*l1*l2*m2*cos(q2) + l2**2*m2"
    tau_g = sp.Matrix(sym.calc_gravity_generalized_forces(context))
    energy = sym.calc_potential_energy(context)
    assert sp.simplify(sp.expand_trig(tau_g + sp.Matrix([sp.diff(energy, q) for q in (q1, q2)]))) == sp.zeros(
        2, 1
    )


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("every_kind", method) for method in CALLS),
        *(("everything", method) for method in OF_ELEMENTS[:2]),
        *(pytest.param("everything", method, marks=pytest.mark.exhaustive) for method in OF_ELEMENTS[2:]),
    ],
)
def test_casadi_functions_evaluate_to_the_numbers(name: str, method: str) -> None:
    casadi = pytest.importorskip("casadi")
    tree = tree_of(name)
    twin = tree.clone_to_scalar("casadi")
    wanted, q, v, x = values_of_doubles(tree, method)
    symbols = [casadi.SX.sym(n, a.size) for n, a in zip("qvx", (q, v, x), strict=True)]
    context = twin.create_default_context()
    context.q, context.v = symbols[0], symbols[1]
    argument = np.empty(x.size, dtype=object)
    for i in range(x.size):
        argument[i] = symbols[2][i]
    got = evaluate(method, twin, context, argument.reshape(x.shape))
    entries = list(got.ravel()) if isinstance(got, np.ndarray) else [got]
    f = casadi.Function("f", symbols, [casadi.vertcat(*entries)])
    numbers = np.asarray(f(q, v, x.ravel())).ravel()
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(numbers, np.ravel(wanted), rtol=0, atol=1e-10 * scale)


class BrokenError(Exception):
    """The error that an operation of a foreign scalar raises."""


def fragile(fail_at: int) -> tuple[ScalarType, list[int]]:
    """A scalar of floats whose functions fail at a given call."""
    calls = [0]

    def failing(function: Any) -> Any:
        def f(*args: Any) -> Any:
            calls[0] += 1
            if calls[0] == fail_at:
                raise BrokenError("no")
            return function(*args)

        return f

    names = ("sin", "cos", "sqrt", "tanh", "atan2", "floor")
    functions = [failing(getattr(math, name)) for name in names]
    scalar = ScalarType(
        Fraction(0), Fraction(1), *functions, lambda a, b, x, y: x if a < b else y, name="fragile"
    )
    return scalar, calls


@pytest.mark.parametrize("fail_at", [1, 2, 7, 20])
def test_errors_of_a_scalar_surface_and_leak_nothing(fail_at: int) -> None:
    tree = tree_of("compiled")
    wanted, q, v, x = values_of_doubles(tree, "calc_forward_dynamics")
    scalar, calls = fragile(fail_at)
    twin = tree.clone_to_scalar(scalar)
    context = twin.create_default_context()
    context.q, context.v = q, v
    marker = [float(a) for a in x]
    before = [sys.getrefcount(a) for a in marker]
    for _ in range(3):
        calls[0] = 0
        with pytest.raises(BrokenError, match=r"^no$"):
            twin.calc_forward_dynamics(context, marker)
    gc.collect()
    assert [sys.getrefcount(a) for a in marker] == before
    calls[0] = 1000
    got = twin.calc_forward_dynamics(context, marker)
    np.testing.assert_allclose(got.astype(float), wanted, rtol=1e-10)


def test_a_scalar_without_sine_says_so() -> None:
    def missing(x: Any) -> Any:
        raise TypeError("no sine")

    for scalar, message in (
        (ScalarType(0.0, 1.0, missing), "^no sine$"),
        (ScalarType(0.0, 1.0), r"^scalar 'float' has no sin, .*ScalarType\(\.\.\., sin=\.\.\.\)"),
        (ScalarType(Fraction(0), Fraction(1), name="bare"), "^scalar 'bare' has no sin"),
        (pickle.loads(pickle.dumps(ScalarType(0.0, 1.0, cos=math.cos))), "^scalar 'float' has no sin"),
    ):
        twin = make_pendulum()[0].clone_to_scalar(scalar)
        context = twin.create_default_context()
        context.q = [0.5, 0.0]
        with pytest.raises(TypeError, match=message):
            twin.calc_mass_matrix(context)


@pytest.mark.parametrize("field", ["sin", "select_lt", "from_float", "entries"])
def test_what_is_no_function_is_refused(field: str) -> None:
    with pytest.raises(
        mbt.ArgumentTypeError, match=f"^ScalarType 'float': {field}: expected a function, got int"
    ):
        ScalarType(0.0, 1.0, **{field: 3})


@pytest.mark.parametrize("digits", [0, 16.0, True, "16"])
def test_digits_are_a_positive_number(digits: Any) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match="digits: expected a positive int or None"):
        ScalarType(0.0, 1.0, digits=digits)


@pytest.mark.parametrize("value", ["text", None, [[1.0, 2.0], [3.0]], {}, b"x"])
def test_what_is_no_number_is_refused(value: object) -> None:
    twin = make_pendulum()[0].to_symbolic()
    context = twin.create_default_context()
    q = context.q
    with pytest.raises((mbt.ArgumentTypeError, mbt.ShapeError)):
        context.q = value
    assert context.q is q


@pytest.mark.parametrize("name", ["double", "autodiff"])
def test_names_of_compiled_scalars_are_taken(name: str) -> None:
    scalar = ScalarType(Fraction(0), Fraction(1), name=name)
    with pytest.raises(mbt.ArgumentTypeError, match=f"^scalar: the name '{name}' belongs to a scalar of mbt"):
        make_pendulum()[0].clone_to_scalar(scalar)
    assert make_pendulum()[0].clone_to_scalar(name).scalar_type.name == name
