"""Functions of mbt in JAX programs: same values, every kind of derivative, clear errors."""

from __future__ import annotations

import ast
import gc
import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.interop.host_calls import FUNCTIONS
from mbt.interop.parameters import get_parameter
from mbt.models import model_path
from support.description import Array
from support.host_cases import (
    CASES,
    as_tuple,
    by_position,
    get_tree,
    is_defined,
    jacobians,
    make_arguments,
    side_by_side,
)

pytestmark = pytest.mark.engine
jax = pytest.importorskip("jax", reason="needs the extra `jax`: pip install '.[jax]'")
jnp: Any = pytest.importorskip("jax.numpy")
jax.config.update("jax_enable_x64", True)
mjax: Any = pytest.importorskip("mbt.interop.jax")
serialize_executable: Any = pytest.importorskip("jax.experimental.serialize_executable")
# A failing program raises when its results are computed, or when they are waited for.
ERRORS_OF_JAX = (jax.errors.JaxRuntimeError, ValueError)


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def random_state(tree: mbt.MultibodyTree, *batch: int) -> list[Array]:
    return list(np.random.default_rng(1).normal(size=(3, *batch, tree.num_velocities)))


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_values_are_those_of_the_function_to_the_last_bit(tree_name: str, name: str) -> None:
    """For one state, and for a batch by `vmap`."""
    tree = get_tree(tree_name)
    for batch in [(), (2, 2)] if is_defined(tree, name) else [(2, 2)]:
        operands, options = make_arguments(tree, name, batch)
        expected = as_tuple(by_position(functional, name)(tree, *operands, **options))
        program = partial(by_position(mjax, name), tree, **options)
        got = as_tuple(jax.jit(jax.vmap(program) if batch else program)(*operands))
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_derivatives_forward_and_in_reverse(tree_name: str, name: str) -> None:
    """Compare derivatives along coordinates with an autodiff clone of the tree."""
    tree = get_tree(tree_name)
    if not is_defined(tree, name):
        return
    operands, options = make_arguments(tree, name)
    rng = np.random.default_rng(2)
    changes = [rng.normal(size=x.shape) for x in operands]

    @jax.jit
    def differentiate(*operands: Any) -> Any:
        program = partial(by_position(mjax, name), tree, **options)
        results, rates = jax.jvp(program, operands, tuple(changes))
        weights = [np.random.default_rng(3).normal(size=x.shape) for x in as_tuple(results)]
        _, pull = jax.vjp(lambda *xs: as_tuple(program(*xs)), *operands)
        return rates, pull(tuple(weights)), weights

    rates, gradients, weights = differentiate(*operands)
    expected = jacobians(tree, name, operands, options)
    for rate, J in zip(as_tuple(rates), expected, strict=True):
        np.testing.assert_allclose(rate, J @ side_by_side(changes), rtol=1e-9, atol=1e-9)
    total = sum(np.tensordot(w, J, np.ndim(w)) for w, J in zip(weights, expected, strict=True))
    np.testing.assert_allclose(side_by_side(gradients), total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("tree_name", ["arm7", "every_kind", "one_floating_reversed"])
def test_second_derivatives(tree_name: str, name: str) -> None:
    tree = get_tree(tree_name)
    operands, _ = make_arguments(tree, name)
    weights = np.random.default_rng(2).normal(size=tree.num_velocities)

    def cost(x: Any) -> Any:
        parts = jnp.split(x, np.cumsum([len(o) for o in operands])[:-1])
        return weights @ getattr(mjax, name)(tree, *parts)

    x = np.concatenate(operands)
    gradient = jax.jit(jax.grad(cost))
    step = 1e-6 * np.eye(len(x))
    expected = np.stack([(gradient(x + h) - gradient(x - h)) / 2e-6 for h in step])
    # Jitted: otherwise JAX compiles each array operation separately for each shape.
    hessian = jax.jit(jax.hessian(cost))(x)
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    with pytest.raises(mbt.MbtError, match="first and second derivatives here, but no higher ones"):
        jax.jit(jax.jacfwd(jax.hessian(cost)))(x)


def test_a_map_is_one_call_of_a_batch(arm: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch) -> None:
    q, v, tau = random_state(arm, 50)
    shapes = []
    original = functional.forward_dynamics

    def spy(tree: Any, q: Any, *rest: Any, **options: Any) -> Any:
        shapes.append(np.shape(q))
        return original(tree, q, *rest, **options)

    mjax.forward_dynamics(arm, q[0], v[0], tau[0])
    monkeypatch.setattr(functional, "forward_dynamics", spy)
    got = jax.jit(jax.vmap(lambda q: mjax.forward_dynamics(arm, q, v[0], tau[0])))(q)
    got.block_until_ready()
    assert shapes == [(50, 6)]
    np.testing.assert_array_equal(got, original(arm, q, v[0], tau[0]))


def test_operands_broadcast_as_in_numpy(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm, 4)
    np.testing.assert_array_equal(
        mjax.inverse_dynamics(arm, q, v[0], tau), functional.inverse_dynamics(arm, q, v[0], tau)
    )
    with pytest.raises(mbt.ShapeError, match=r"leading axes that broadcast, got \(4,\) of q, \(3,\) of v"):
        mjax.inverse_dynamics(arm, q, v[:3], tau)


def test_masses_move_the_centre_of_mass(arm: mbt.MultibodyTree) -> None:
    """By momentum: the linear part of ``A v`` is m times the velocity of the centre of mass."""
    q, v, _ = random_state(arm)
    context = arm.create_default_context()
    body = next(b for b in arm.bodies[1:] if b.get_mass(context) > 0.0)
    mass, total = body.get_mass(context), arm.calc_total_mass(context)

    def linear_momentum(m: Any) -> Any:
        return mjax.centroidal_momentum_matrix(arm, q, parameters={body: m})[3:] @ v

    def by_velocity(m: Any) -> Any:
        return (total + m - mass) * mjax.center_of_mass_velocity(arm, q, v, parameters={body: m})

    for m in (mass, mass + 1.0):
        np.testing.assert_allclose(linear_momentum(m), by_velocity(m), rtol=0, atol=1e-12)
    wanted = functional.spatial_momentum(arm, q, v)[3:]
    np.testing.assert_allclose(linear_momentum(mass), wanted, rtol=0, atol=1e-12)
    rates = [jax.jacfwd(f)(mass) for f in (linear_momentum, by_velocity)]
    np.testing.assert_allclose(*rates, rtol=0, atol=1e-11)


def test_parameters_are_operands(arm: mbt.MultibodyTree) -> None:
    """Check inertial parameters against the regressor, and all others against differences."""
    q, v, vdot = random_state(arm)
    context = arm.create_default_context()
    context.q, context.v = q, v
    pi = arm.get_inertial_parameters(context)
    J = jax.jacrev(lambda p: mjax.inverse_dynamics(arm, q, v, vdot, parameters={arm: p}))(pi)
    has_mass = np.repeat(pi[::10] > 0.0, 10)
    assert has_mass.any()
    Y = arm.calc_inverse_dynamics_regressor(context, vdot)
    np.testing.assert_allclose(J[:, has_mass], Y[:, has_mass], atol=1e-12)

    body = next(b for b in arm.bodies[1:] if b.get_mass(context) > 0.0)
    (gravity,) = (e for e in arm.force_elements if isinstance(e, mbt.UniformGravityFieldElement))

    def vdot_of(mass: Any, g: Any) -> Any:
        return mjax.forward_dynamics(arm, q, v, vdot, parameters={body: mass, gravity: g})

    mass, g = body.get_mass(context), gravity.get_gravity_vector(context)
    np.testing.assert_array_equal(vdot_of(mass, g), functional.forward_dynamics(arm, q, v, vdot))
    by_mass, by_g = jax.jacfwd(vdot_of, argnums=(0, 1))(mass, g)
    np.testing.assert_allclose(
        by_mass, (vdot_of(mass + 1e-6, g) - vdot_of(mass - 1e-6, g)) / 2e-6, rtol=1e-6, atol=1e-6
    )
    columns = [(vdot_of(mass, g + h) - vdot_of(mass, g - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(by_g, np.stack(columns, axis=-1), rtol=1e-6, atol=1e-6)
    masses = mass * np.array([0.5, 1.0, 2.0])
    many = jax.vmap(lambda m: vdot_of(m, g))(masses)
    np.testing.assert_allclose(many, np.stack([vdot_of(m, g) for m in masses]), rtol=1e-12)


def make_slider() -> mbt.MultibodyTree:
    """A box on a rail and a swinging rod, with one of each element whose constants may be operands."""
    tree = mbt.MultibodyTree()
    bodies = [
        tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)))
        for name in ("box", "rod")
    ]
    rail = tree.add_joint(
        mbt.PrismaticJoint, "rail", tree.world_body, None, bodies[0], None, axis=[1, 0, 0], damping=1.0
    )
    X = mbt.math.make_pose([0, 0, 0.15])
    swing = tree.add_joint(mbt.RevoluteJoint, "swing", bodies[0], None, bodies[1], X, axis=[0, 1, 0])
    tree.add_joint_actuator("servo", swing, effort_limit=50.0, stiffness=20.0, damping=1.0)
    for element in (
        mbt.UniformGravityFieldElement(),
        mbt.PrismaticSpring(rail, 0.1, 50.0),
        mbt.JointFriction(rail, 0.2, 0.3),
        mbt.LinearSpringDamper(tree.world_body, [0, 0, 1], bodies[1], [0, 0, 0], 0.5, 100.0, 2.0),
        mbt.PointContact(
            bodies[1],
            [[0, 0, -0.15]],
            stiffness=1e3,
            dissipation=0.5,
            static_friction=0.7,
            dynamic_friction=0.5,
        ),
    ):
        tree.add_force_element(element)
    tree.finalize()
    return tree


@pytest.mark.parametrize("method", ["implicit", "semi_implicit_euler"])
def test_constants_of_elements_are_operands_of_steps(method: str) -> None:
    tree = make_slider()
    q, v, tau = np.array([0.05, 0.2]), np.array([0.5, -0.3]), np.array([0.4, 0.1])
    owners = [tree.bodies[2], *tree.joints[:1], *tree.joint_actuators, *tree.force_elements[1:]]
    assert len(owners) == 7
    context = tree.create_default_context()
    values = [get_parameter(tree, context, owner) for owner in owners]

    def end(*values: Any) -> Any:
        parameters = dict(zip(owners, values, strict=True))
        return mjax.step(tree, q, v, tau, 5e-3, method=method, parameters=parameters)[1]

    if method == "implicit":
        expected = functional.step(tree, q, v, tau, 5e-3, method=method)[1]
        np.testing.assert_allclose(end(*values), expected, rtol=0, atol=1e-12)
    rates = jax.jacobian(end, argnums=tuple(range(len(values))))(*values)
    acting = 0
    for i, (value, rate) in enumerate(zip(values, rates, strict=True)):
        for k in np.ndindex(np.shape(value)):
            size = 1e-3 * max(0.1, abs(np.asarray(value)[k]))
            ends = []
            for s in (size, -size):
                changed = np.array(value)
                changed[k] += s
                ends.append(end(*values[:i], changed, *values[i + 1 :]))
            got = np.asarray(rate)[(slice(None), *k)]
            np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2.0 * size), rtol=1e-4, atol=1e-7)
            acting += bool(np.abs(got).max() > 1e-6)
    assert acting >= 8


@pytest.mark.parametrize("tree_name", ["arm7", "every_kind"])
def test_rollouts(tree_name: str) -> None:
    tree = get_tree(tree_name)
    (q, v, _), _ = make_arguments(tree, "step")
    tau = np.random.default_rng(3).normal(size=(5, tree.num_velocities))
    got = jax.jit(lambda *xs: mjax.rollout(tree, *xs, 0.01))(q, v, tau)
    for a, b in zip(got, functional.rollout(tree, q, v, tau, 0.01), strict=True):
        np.testing.assert_array_equal(a, b)

    def last(tau: Any) -> Any:
        return mjax.rollout(tree, q, v, tau, 0.01)[0][-1]

    h = 1e-6 * np.random.default_rng(4).normal(size=tau.shape)
    _, along = jax.jvp(last, (tau,), (h,))
    np.testing.assert_allclose(along, (last(tau + h) - last(tau - h)) / 2.0, rtol=1e-6, atol=1e-13)


def test_single_precision_in_single_precision_out(arm: mbt.MultibodyTree) -> None:
    operands = [x.astype(np.float32) for x in random_state(arm)]
    got = mjax.forward_dynamics(arm, *operands)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, functional.forward_dynamics(arm, *operands).astype(np.float32))


def test_an_array_among_the_options_may_change_later(arm: mbt.MultibodyTree) -> None:
    q, v, _ = random_state(arm)
    point = np.array([1.0, 2.0, 3.0])
    wanted = functional.momentum_regressor(arm, q, v, p_WoP_W=point)
    program = jax.jit(lambda q: mjax.momentum_regressor(arm, q, v, p_WoP_W=point))
    np.testing.assert_array_equal(program(q), wanted)
    point[:] = 0.0
    np.testing.assert_array_equal(program(q), wanted)
    np.testing.assert_array_equal(mjax.momentum_regressor(arm, q, v, p_WoP_W=[1.0, 2.0, 3.0]), wanted)
    elsewhere = functional.momentum_regressor(arm, q, v, p_WoP_W=point)
    np.testing.assert_array_equal(mjax.momentum_regressor(arm, q, v, p_WoP_W=point), elsewhere)


def test_errors_name_the_argument(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    with pytest.raises(mbt.ShapeError, match=r"q: expected shape \(\.\.\., 6\), got \(5,\)"):
        jax.jit(lambda q: mjax.forward_dynamics(arm, q, v, tau))(q[:5])
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got str"):
        mjax.forward_dynamics("arm", q, v, tau)
    with pytest.raises(mbt.ArgumentTypeError, match="expected a tree of doubles, got one of autodiff"):
        mjax.forward_dynamics(arm.to_autodiff(), q, v, tau)
    with pytest.raises(mbt.ForeignElementError):
        mjax.frame_pose(arm, q, get_tree("arm7").bodies[-1].body_frame)
    with pytest.raises(mbt.MbtError, match="body_poses takes none; these do: bias_term"):
        mjax.body_poses(arm, q, parameters={arm.bodies[1]: 1.0})
    with pytest.raises(mbt.UnknownNameError, match="parameters: there is no frame named 'mass'"):
        mjax.mass_matrix(arm, q, parameters={"mass": 1.0})
    with pytest.raises(mbt.ArgumentTypeError, match="parameters: expected bodies"):
        mjax.mass_matrix(arm, q, parameters={3: 1.0})


def test_an_error_inside_of_a_program_is_an_error_of_jax_with_our_words(arm: mbt.MultibodyTree) -> None:
    """Neither the process nor later calls are harmed."""
    q, v, tau = random_state(arm)
    body = next(b for b in arm.bodies[1:] if b.get_mass(arm.create_default_context()) > 0.0)
    program = jax.jit(lambda m: mjax.forward_dynamics(arm, q, v, tau, parameters={body: m}))
    with pytest.raises(ERRORS_OF_JAX, match=r"ArgumentValueError.*mass"):
        program(-1.0).block_until_ready()
    assert np.isfinite(program(1.0)).all()


def test_an_error_whose_text_is_not_text_is_an_error_all_the_same(
    arm: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's element can raise one; without an error, results would be uninitialized memory."""
    program = jax.jit(lambda q: mjax.mass_matrix(arm, q))
    q = random_state(arm)[0]
    assert np.isfinite(program(q)).all()

    def fail(*arguments: Any, **options: Any) -> Any:
        raise ValueError("\udc80")

    monkeypatch.setattr(functional, "mass_matrix", fail)
    with pytest.raises(ERRORS_OF_JAX, match=r"INVALID_ARGUMENT: ValueError: \?"):
        program(q).block_until_ready()


def test_a_program_whose_tree_is_gone_says_so() -> None:

    def compile_program() -> tuple[Any, Any]:
        tree = mbt.load_model(model_path("mbt_arm"))
        q, v, tau = random_state(tree)
        program = jax.jit(lambda q: mjax.forward_dynamics(tree, q, v, tau)).lower(q).compile()
        assert np.isfinite(program(q)).all()
        return program, q

    program, q = compile_program()
    jax.clear_caches()
    gc.collect()
    with pytest.raises(ERRORS_OF_JAX, match="the tree of this function is gone"):
        program(q).block_until_ready()


ELSEWHERE = """
import pickle, sys, numpy as np, jax, mbt, mbt.interop.jax as mjax
from jax.experimental.serialize_executable import deserialize_and_load
from mbt.models import model_path
jax.config.update("jax_enable_x64", True)

def run():
    try:
        return np.asarray(program(q)).tolist()
    except Exception as error:
        return str(error)

data, q = pickle.load(sys.stdin.buffer)
program = deserialize_and_load(*data)
moon = mbt.load_model(model_path("mbt_arm"), gravity=[0, 0, -1.62])
results = [run()]
jax.eval_shape(lambda q: mjax.gravity_generalized_forces(moon, q), q)
results.append(run())
tree = mbt.load_model(model_path("mbt_arm"))
jax.eval_shape(lambda q: mjax.gravity_generalized_forces(tree, q), q)
results.append(run())
sys.stdout.write(repr(results))
"""


def test_a_program_in_another_process_computes_with_an_equal_tree_or_not_at_all(
    arm: mbt.MultibodyTree,
) -> None:
    """Never with a different tree that happens to be loaded: that gave wrong results without any message."""
    q = random_state(arm)[0]
    program = jax.jit(lambda q: mjax.gravity_generalized_forces(arm, q)).lower(q).compile()
    data = pickle.dumps((serialize_executable.serialize(program), q))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE], input=data, capture_output=True, check=True
    )
    without, with_another, with_an_equal = ast.literal_eval(done.stdout.decode())
    assert "the tree of this function is gone, or was never here" in without
    assert "the tree of this function is gone, or was never here" in with_another
    assert with_an_equal == functional.gravity_generalized_forces(arm, q).tolist()


def test_every_function_has_a_signature_and_a_text() -> None:
    for name in FUNCTIONS:
        assert name in mjax.__all__
        assert getattr(mjax, name).__doc__
