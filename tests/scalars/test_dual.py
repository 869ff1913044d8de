"""Numbers with derivatives over any scalar."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.symbolic import Dual, ScalarType, dual
from support.force_element_types import make_everything
from support.joint_types import random_state

DIGITS = dual("mpmath")
mpf = mpmath.mpf

# Name -> a function of duals, and the same function of mpmath numbers.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (np.sin, mpmath.sin),
    "cos": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "tanh": (np.tanh, mpmath.tanh),
    "arctan": (np.arctan, mpmath.atan),
    "arctan2": (lambda x: np.arctan2(x, 1 - x), lambda x: mpmath.atan2(x, 1 - x)),
    "hypot": (lambda x: np.hypot(x, 2 * x + 1), lambda x: mpmath.hypot(x, 2 * x + 1)),
    "square": (np.square, lambda x: x * x),
    "power": (lambda x: x**3 + x**-2 + x**0, lambda x: x**3 + x**-2 + 1),
    "quotients": (lambda x: (1 - x) / (2 + x) / 3 + 1 / x, lambda x: (1 - x) / (2 + x) / 3 + 1 / x),
    "differences": (lambda x: 5 - x - 2 - x * x, lambda x: 5 - x - 2 - x * x),
    "abs": (lambda x: np.abs(-x) * x, lambda x: x * x),
    "maximum": (lambda x: np.maximum(x * x, x), lambda x: x),
    "floor": (lambda x: np.floor(5 * x) * x, lambda x: mpmath.floor(5 * x) * x),
    "norm": (lambda x: np.linalg.norm(np.stack([x, x * x])), lambda x: mpmath.hypot(x, x * x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy(name: str) -> None:
    """Values and derivatives, of arrays of objects, to thirty digits."""
    f, wanted = FUNCTIONS[name]
    with mpmath.workdps(50):
        x = mpf(7) / 10
        array = np.empty((), dtype=object)
        array[()] = DIGITS.make(x, {3: mpf(2)})
        got = f(array)
        got = got.item() if isinstance(got, np.ndarray) else got
        assert abs(got.value - wanted(x)) < mpf(10) ** -45
        assert abs(got.derivatives.get(3, 0) - 2 * mpmath.diff(wanted, x)) < mpf(10) ** -20


def test_exponential_functions_where_there_are_some() -> None:
    exact = dual("autodiff")
    x = exact.make(mbt.autodiff.initialize(0.5), {0: 1.0})
    y = np.exp(np.array([x], dtype=object))[0]
    assert float(y.derivatives[0].derivatives[0]) == pytest.approx(np.exp(0.5), rel=1e-15)
    y = np.log(np.array([x], dtype=object))[0]
    assert float(y.derivatives[0].value) == 2.0
    with pytest.raises(TypeError, match="exp"):
        np.exp(np.array([DIGITS.make(mpf(1), {0: mpf(1)})], dtype=object))


def test_duals_of_duals() -> None:
    """Second derivatives, whichever dual comes first in an operation."""
    second = dual(dual("sympy"))
    x, y = sp.symbols("x y")
    one = sp.Integer(1)
    inner = second.scalar.make
    a = second.make(inner(x, {0: one}), {0: inner(one)})
    b = second.make(inner(y, {1: one}), {1: inner(one)})
    f = a * a * b / (a + b) + np.sin(np.array([a * b], dtype=object))[0]
    wanted = x * x * y / (x + y) + sp.sin(x * y)
    for i, u in enumerate((x, y)):
        for j, w in enumerate((x, y)):
            got = f.derivatives[i].derivatives[j]
            assert sp.simplify(got - sp.diff(wanted, u, w)) == 0
    # An inner number is a constant to the outer ones, on either side.
    c = inner(y, {0: one})
    for product in (c * a, a * c):
        assert type(product) is type(a)
        assert product.value.derivatives[0] == x + y
        assert product.derivatives[0].derivatives[0] == one


def test_zeros_are_not_there() -> None:
    x = dual("sympy").make(sp.Symbol("x"), {0: 1.0})
    assert (x * sp.Integer(3) * 0.0).value == 0
    assert (x + 1.0).derivatives == {0: 1.0}
    assert x**0 == 1
    assert (1.0 * x).derivatives == {0: 1.0}


def test_derivatives_are_not_lost() -> None:
    x = DIGITS.make(mpf(1), {0: mpf(1)})
    with pytest.raises(mbt.ArgumentTypeError, match=r"np\.sin"):
        float(x)
    with pytest.raises(TypeError):
        x**x
    with pytest.raises(TypeError):
        hash(x)
    assert x > 0.5
    assert not x <= 0.5
    assert x == 1
    assert x != 2
    assert x >= x
    assert not x < x
    assert bool(x)
    assert +x is x
    assert repr(x) == "Dual(mpf('1.0'), {0: mpf('1.0')})"


def test_it_is_a_scalar() -> None:
    assert isinstance(DIGITS, ScalarType)
    assert dual("mpmath") is DIGITS
    assert pickle.loads(pickle.dumps(DIGITS)) is DIGITS
    x = pickle.loads(pickle.dumps(DIGITS.make(mpf(1), {0: mpf(2)})))
    assert isinstance(x, Dual)
    assert x.derivatives == {0: mpf(2)}
    with pytest.raises(mbt.UnknownNameError):
        dual("mpmoth")


def test_own_scalars_need_nothing_else() -> None:
    """Fractions have arithmetic but no functions here: derivatives that need no functions are exact."""
    fractions = ScalarType(Fraction(0), Fraction(1), from_float=Fraction)
    scalar = dual(fractions)
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.point_mass(3.0, [0, 0, 0])))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, ball, None, axis=[0, 0, 1])
    tree.add_force_element(mbt.PrismaticSpring(rail, 0.0, 1.0))
    tree.finalize()
    twin = tree.clone_to_scalar(scalar)
    context = twin.create_default_context()
    context.q = [scalar.make(Fraction(1, 7), {0: Fraction(1)})]
    twin.bodies[1].set_mass(context, scalar.make(Fraction(2, 3), {1: Fraction(1)}))
    (vdot,) = twin.calc_forward_dynamics(context)
    assert vdot.value == Fraction(-3, 14)
    assert vdot.derivatives == {0: Fraction(-3, 2), 1: Fraction(9, 28)}


@pytest.mark.parametrize("method", ["calc_potential_energy", "calc_non_conservative_power", "calc_bias_term"])
def test_a_tree_of_duals_is_a_tree_of_derivatives(method: str) -> None:
    tree = make_everything()
    state = random_state(tree, np.random.default_rng(5))
    direction = np.random.default_rng(6).normal(size=tree.num_velocities)
    ad, twin = tree.to_autodiff(), tree.clone_to_scalar(DIGITS)
    context = ad.create_default_context()
    context.q, context.v = state.q, mbt.autodiff.AutoDiffArray(state.v, direction[:, None])
    wanted = getattr(ad, method)(context)
    context = twin.create_default_context()
    context.q = [DIGITS.make(mpf(x)) for x in state.q]
    context.v = [DIGITS.make(mpf(x), {0: mpf(d)}) for x, d in zip(state.v, direction, strict=True)]
    got = np.ravel(np.asarray(getattr(twin, method)(context), dtype=object))
    values = [float(x.value) for x in got]
    rates = [float(x.derivatives.get(0, 0)) for x in got]
    np.testing.assert_allclose(values, np.ravel(wanted.value), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(rates, np.ravel(wanted.derivatives), rtol=1e-10, atol=1e-10)
