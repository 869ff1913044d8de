"""Scalars known by name: exact fractions, tracers of JAX, and numbers as SymPy shows them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt import functional
from scalars.scalar_trees import CALLS, evaluate
from support.build import build_tree
from support.description import Array
from support.random_trees import random_model
from symbolic.models import MODELS, load, random_inputs, rounding
from symbolic.models import evaluate as evaluate_functional


def make_gantry(*, skew: bool = True, quaternion: bool = True) -> mbt.MultibodyTree:
    """Rails and a free body: nothing that needs a sine. A skew axis is a unit vector only up to rounding."""
    tree = mbt.MultibodyTree()
    parent, M = tree.world_body, mbt.SpatialInertia.solid_box_with_mass(3.0, 0.1, 0.3, 0.7)
    for i, axis in enumerate(([1, 0, 0], [0, 3, 4 if skew else 0], [0, 0, 1])):
        body = tree.add_body(mbt.RigidBody(f"slide{i}", M))
        X = mbt.math.make_pose([0.1, 0.2, 0.3])
        tree.add_joint(mbt.PrismaticJoint, f"rail{i}", parent, X, body, None, axis=axis, damping=0.5)
        parent = body
    if quaternion:
        free = tree.add_body(mbt.RigidBody("free", M))
        tree.add_joint(mbt.QuaternionFloatingJoint, "floating", parent, None, free, None)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


# --- Fractions --------------------------------------------------------------------------------------------

#: Methods that turn quaternions into angles or lengths.
IRRATIONAL = {"integrate_positions", "difference_positions", "normalize_positions", "tree.rollout"}


def fractions_of(tree: mbt.MultibodyTree, count: int, seed: int) -> list[Fraction]:
    rng = np.random.default_rng(seed)
    return [
        Fraction(int(n), int(d))
        for n, d in zip(rng.integers(1, 9, count), rng.integers(1, 9, count), strict=True)
    ]


@pytest.mark.parametrize("method", [name for name in CALLS if name not in IRRATIONAL])
def test_fractions_stay_fractions(method: str) -> None:
    """Every method on a mechanism without angles gives fractions that match the results of doubles."""
    tree = make_gantry()
    twin = tree.clone_to_scalar("fraction")
    q, v = fractions_of(tree, tree.num_positions, 1), fractions_of(tree, tree.num_velocities, 2)
    shapes = list(CALLS[method].shapes(tree).values())
    x = np.array(fractions_of(tree, math.prod(shapes[0]) if shapes else 0, 3), dtype=object)
    x = x.reshape(shapes[0]) if shapes else x
    context, exact = tree.create_default_context(), twin.create_default_context()
    context.q, context.v = [float(a) for a in q], [float(a) for a in v]
    exact.q, exact.v = q, v
    wanted = np.asarray(evaluate(method, tree, context, x.astype(float)))
    got = np.asarray(evaluate(method, twin, exact, x))
    assert {type(entry) for entry in got.ravel()} <= {Fraction}
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(got.astype(float), wanted, rtol=0, atol=1e-11 * scale)


def test_fractions_are_exact() -> None:
    """Inverse dynamics of forward dynamics is the identity, without any rounding."""
    tree = make_gantry(skew=False)
    twin = tree.clone_to_scalar("fraction")
    context = twin.create_default_context()
    context.q, context.v = (
        fractions_of(tree, tree.num_positions, 4),
        fractions_of(tree, tree.num_velocities, 5),
    )
    tau = fractions_of(tree, tree.num_velocities, 6)
    vdot = twin.calc_forward_dynamics(context, tau)
    assert list(twin.calc_inverse_dynamics(context, vdot, include_force_elements=True)) == tau
    M = twin.calc_mass_matrix(context)
    assert (M @ twin.calc_mass_matrix_inverse(context) == np.eye(tree.num_velocities)).all()
    assert (M == M.T).all()


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "sqrt"])
def test_what_is_no_fraction_says_so(name: str) -> None:
    f = getattr(mbt.symbolic.get_scalar_type("fraction"), name)
    with pytest.raises(
        mbt.ArgumentValueError, match=rf"^{name}\(1/3\) is not a fraction: choose a scalar that has it"
    ):
        f(Fraction(1, 3))
    assert f(Fraction(0)) == getattr(math, name)(0)


def test_functions_of_fractions() -> None:
    t = mbt.symbolic.get_scalar_type("fraction")
    assert t.sqrt(Fraction(4, 9)) == Fraction(2, 3)
    assert t.floor(Fraction(-7, 2)) == -4
    assert t.atan2(Fraction(0), Fraction(3)) == 0
    with pytest.raises(mbt.ArgumentValueError, match=r"^arctangent\(2\) is not a fraction"):
        t.atan2(Fraction(4), Fraction(2))
    with pytest.raises(mbt.ArgumentValueError, match=r"^sqrt\(-1\) is not a fraction"):
        t.sqrt(Fraction(-1))


def test_an_arm_of_fractions_computes_at_rest_only() -> None:
    tree = build_tree(random_model(3, 4, kinds=("revolute", "prismatic")))
    twin = tree.clone_to_scalar("fraction")
    context = twin.create_default_context()
    M = twin.calc_mass_matrix(context)
    assert {type(entry) for entry in M.ravel()} == {Fraction}
    np.testing.assert_allclose(
        M.astype(float), functional.mass_matrix(tree, tree.default_positions), rtol=1e-12
    )
    context.q = [Fraction(1, 2)] * tree.num_positions
    with pytest.raises(mbt.ArgumentValueError, match=r"^sin\(1/2\) is not a fraction"):
        twin.calc_mass_matrix(context)
    context.q = [0] * tree.num_positions
    assert (twin.calc_mass_matrix(context) == M).all()


def test_integers_are_exact() -> None:
    """Also those that no double represents, and quotients of small ones."""
    tree = make_gantry(quaternion=False)
    twin = tree.clone_to_scalar("fraction")
    context = twin.create_default_context()
    context.v = [0, 0, 10**400 + 1]
    assert context.v[2] == 10**400 + 1
    assert twin.calc_kinetic_energy(context) == Fraction(3, 2) * (10**400 + 1) ** 2
    body = twin.bodies[-1]
    for mass in (1, 3, np.int64(7)):
        body.set_mass(context, mass)
        assert type(body.get_mass(context)) is Fraction
        assert twin.calc_mass_matrix_inverse(context)[2, 2] > 0


# --- SymPy ------------------------------------------------------------------------------------------------


def test_numbers_of_sympy_are_exact_where_they_were_meant_so() -> None:
    t = mbt.symbolic.get_scalar_type("sympy")
    assert [t.lift(x) for x in (0.0, 1.0, 0.5, -0.375, 12.0)] == [
        sp.S.Zero, sp.S.One, sp.Rational(1, 2), sp.Rational(-3, 8), sp.Integer(12)
    ]  # fmt: skip
    for number in (0.1, 1 / 3, 1e300, math.inf, math.nan):
        assert isinstance(t.lift(number), (sp.Float, type(sp.oo), type(sp.nan)))
    assert float(t.lift(0.1)) == 0.1


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
def test_right_angles_leave_no_rounding_behind(axis: list[int]) -> None:
    """The cosine of a right angle is 6e-17 in doubles; expressions contain none of it."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(3):
        body = tree.add_body(mbt.RigidBody(f"body{i}", mbt.SpatialInertia.point_mass(2.0, [0, 0.5, -1])))
        X = mbt.math.make_pose([0, 0, -1], rpy=[math.pi / 2, math.pi, -math.pi / 2])
        tree.add_joint(mbt.RevoluteJoint, f"joint{i}", parent, X, body, None, axis=axis)
        parent = body
    tree.finalize()
    inputs, outputs = mbt.symbolic.make_expressions(tree, "mass_matrix")
    M = sp.Matrix(outputs["M"])
    assert not M.atoms(sp.Float)
    q = [0.3, -0.8, 1.2]
    values = M.subs(dict(zip(inputs["q"], q, strict=True))).evalf()
    np.testing.assert_allclose(
        np.array(values, dtype=float), functional.mass_matrix(tree, q), rtol=1e-14, atol=1e-14
    )


def test_a_skew_frame_keeps_its_numbers() -> None:
    """Only numbers within rounding of 0, 1 or -1 are replaced by these."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.point_mass(1.0, [0, 0, -1])))
    X = mbt.math.make_pose([1e-17, 0, 1 - 1e-16], rpy=[1e-12, 0.3, 0])
    tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, X, body, None, axis=[0, 1, 0])
    tree.finalize()
    twin = tree.clone_to_scalar("mpmath")
    got = twin.create_default_context()._get_parameter("frame_pose", 2).astype(float)
    wanted = tree.create_default_context()._get_parameter("frame_pose", 2)
    assert np.array_equal(got, wanted)
    assert got[3] == 1e-17


# --- CasADi -----------------------------------------------------------------------------------------------


@pytest.mark.oracle
def test_matrix_symbols_of_casadi_are_refused() -> None:
    casadi = pytest.importorskip("casadi")
    twin = make_gantry().clone_to_scalar("casadi")
    context = twin.create_default_context()
    q = context.q
    for value in (casadi.MX.sym("q", twin.num_positions), [casadi.MX.sym("q")] * twin.num_positions):
        with pytest.raises(mbt.ArgumentTypeError, match=r"^q: expected casadi.SX, got casadi.MX"):
            context.q = value
    assert context.q is q


# --- JAX --------------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


def jax_function(tree: mbt.MultibodyTree, quantity: str, jnp: Any) -> Any:
    """A function of arrays of JAX."""
    twin = tree.clone_to_scalar("jax")

    def f(q: Any, *rest: Any) -> Any:
        context = twin.create_default_context()
        context.q = q
        if quantity == "mass_matrix":
            return jnp.array(twin.calc_mass_matrix(context).tolist())
        v, x = rest
        context.v = v
        if quantity == "forward_dynamics":
            return jnp.array(twin.calc_forward_dynamics(context, x).tolist())
        return jnp.array(twin.calc_inverse_dynamics(context, x, include_force_elements=True).tolist())

    return f


@pytest.mark.oracle
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
@pytest.mark.parametrize(("name", "base"), MODELS)
def test_jax_computes(name: str, base: str, quantity: str, jax: Any) -> None:
    tree = load(name, base)
    x = random_inputs(tree, ["q"] if quantity == "mass_matrix" else ["q", "v", "x"], 3)
    (wanted,) = evaluate_functional(tree, quantity, x)
    got = jax_function(tree, quantity, jax.numpy)(*map(jax.numpy.asarray, x))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, wanted, rtol=0, atol=rounding(tree, quantity, x, wanted))


@pytest.mark.oracle
def test_jax_compiles_differentiates_and_vectorizes(jax: Any) -> None:
    """In forward and reverse mode, against the analytic derivatives."""
    tree = build_tree(random_model(7, 3, kinds=("revolute", "prismatic"), actuated=1.0))
    f = jax.jit(jax_function(tree, "inverse_dynamics", jax.numpy))
    samples = [random_inputs(tree, ["q", "v", "x"], seed) for seed in range(4)]
    batch = [np.stack(column) for column in zip(*samples, strict=True)]
    wanted = functional.inverse_dynamics(tree, *batch)
    atol = 1e-12 * max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(jax.vmap(f)(*batch), wanted, rtol=0, atol=atol)
    analytic = functional.inverse_dynamics_derivatives(tree, *samples[0])
    for got, by in zip(jax.jacfwd(f, (0, 1, 2))(*samples[0]), analytic, strict=True):
        np.testing.assert_allclose(got, by, rtol=0, atol=10 * atol)
    weights = np.arange(1.0, 1.0 + tree.num_velocities)
    gradient = jax.grad(lambda q: f(q, *samples[0][1:]) @ weights)(samples[0][0])
    np.testing.assert_allclose(gradient, weights @ analytic[0], rtol=0, atol=10 * atol)


@pytest.mark.oracle
def test_jax_takes_lists_and_arrays_in_single_precision() -> None:
    pytest.importorskip("jax")
    import jax.numpy as jnp

    tree = load("mbt_arm", "fixed")
    twin = tree.clone_to_scalar("jax")
    context = twin.create_default_context()
    q = np.linspace(-1, 1, tree.num_positions)
    context.q = jnp.array(q, dtype=jnp.float32)
    M = jnp.array(twin.calc_mass_matrix(context).tolist())
    assert M.dtype == jnp.float32
    wanted: Array = functional.mass_matrix(tree, q)
    np.testing.assert_allclose(M, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    context.q = list(jnp.array(q))
    np.testing.assert_allclose(jnp.array(twin.calc_mass_matrix(context).tolist()), M, rtol=1e-5, atol=1e-6)


class Magnet(mbt.ForceElement):
    """A force along one velocity, written as for trees of doubles."""

    def __init__(self, joint: mbt.PrismaticJoint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        x = self.joint.get_translation(context)
        forces.generalized_forces[..., self.joint.velocity_start] -= x / (1.0 + x * x) ** 2
        forces.body_forces[..., self.joint.child_body.node_index, 3] += vc.V_WB[..., -1, 3][()] * x


@pytest.mark.oracle
def test_jax_computes_with_elements_written_in_python(jax: Any) -> None:
    tree = mbt.MultibodyTree()
    sled = tree.add_body(mbt.RigidBody("sled", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, sled, None, axis=[1, 0, 0])
    tree.add_force_element(Magnet(rail))
    tree.finalize()
    x = [np.array([0.5]), np.array([3.0]), np.array([1.0])]
    f = jax.jit(jax_function(tree, "forward_dynamics", jax.numpy))
    np.testing.assert_allclose(f(*x), functional.forward_dynamics(tree, *x), rtol=1e-15)
    (slope,) = functional.forward_dynamics_derivatives(tree, *x)[0]
    np.testing.assert_allclose(jax.jacfwd(f)(*x)[0], slope, rtol=1e-14)
