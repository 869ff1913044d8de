"""Regressors times inertial parameters are inverse dynamics and energies, column by column too."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import FEW, MOVING, Case, get_case
from support.description import Array
from support.quantities import QUANTITIES, State, assert_close
from support.random_trees import CATALOGUE, random_body


def inverse_dynamics(case: Case, context: mbt.Context, state: State) -> Array:
    """M vdot + C v - tau_g without rotors."""
    tau = case.tree.calc_inverse_dynamics(context, state.vdot)
    rotors = case.reference.reflected_inertia * state.vdot
    return tau - rotors - case.tree.calc_gravity_generalized_forces(context)


def rotor_energy(case: Case, state: State) -> float:
    return 0.5 * float(np.sum(case.reference.reflected_inertia * state.v**2))


def random_parameters(num_bodies: int, rng: np.random.Generator) -> Array:
    """Inertial parameters of other bodies, from their definition: about Bo."""
    rows = []
    for _ in range(num_bodies):
        body = random_body(rng, "body")
        c = body.com
        inertia = body.I_BBcm_B + body.mass * ((c @ c) * np.eye(3) - np.outer(c, c))
        rows += [body.mass, *(body.mass * c), *inertia[np.tril_indices(3)]]
    return np.array(rows)


@pytest.mark.parametrize("model", MOVING)
def test_inverse_dynamics(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    Y = tree.calc_inverse_dynamics_regressor(context, state.vdot)
    assert Y.shape == (tree.num_velocities, 10 * (tree.num_bodies - 1))
    scale = QUANTITIES["inverse_dynamics"].scale(case.reference, state)
    desired = inverse_dynamics(case, context, state)
    assert_close(Y @ tree.get_inertial_parameters(context), desired, scale)
    # Independent of the kernels: Newton and Euler by the reference.
    reference = case.reference
    desired = reference.inverse_dynamics(state.q, state.v, state.vdot) - reference.gravity_forces(state.q)
    rotors = reference.reflected_inertia * state.vdot
    assert_close(Y @ tree.get_inertial_parameters(), desired - rotors, scale)


@pytest.mark.parametrize("model", MOVING)
def test_other_bodies(model: str) -> None:
    """The regressor does not depend on the masses; with new masses in the Context it predicts dynamics."""
    case, state = get_case(model), get_case(model).state(1)
    tree, context = case.tree, case.context(state)
    Y = tree.calc_inverse_dynamics_regressor(context, state.vdot)
    pi = random_parameters(tree.num_bodies - 1, np.random.default_rng(3))
    tree.set_inertial_parameters(context, pi)
    np.testing.assert_array_equal(tree.calc_inverse_dynamics_regressor(context, state.vdot), Y)
    scale = QUANTITIES["inverse_dynamics"].scale(case.reference, state)
    # Formerly light bodies far from World may be heavy now.
    assert_close(Y @ pi, inverse_dynamics(case, context, state), 20 * scale)


@pytest.mark.parametrize("model", ["arm7", "mixed8", "mixed8_reversed", "one_rpy_floating_reversed"])
def test_columns(model: str) -> None:
    """A column is the effect of one unit of its parameter, with all others zero."""
    case, state = get_case(model), get_case(model).state(2)
    tree, context = case.tree, case.context(state)
    Y = tree.calc_inverse_dynamics_regressor(context, state.vdot)
    size = max(1.0, float(np.abs(Y).max()))
    for b in range(tree.num_bodies - 1):
        pi = np.zeros((tree.num_bodies - 1, 10))
        pi[b, 0] = 1.0
        tree.set_inertial_parameters(context, pi.ravel())
        particle = inverse_dynamics(case, context, state)
        assert_close(Y[:, 10 * b], particle, 10 * size)
        for j in range(1, 10):
            pi[b] = np.eye(10)[j]
            pi[b, 0] = 1.0
            tree.set_inertial_parameters(context, pi.ravel(), skip_validity_check=True)
            column = inverse_dynamics(case, context, state) - particle
            assert_close(Y[:, 10 * b + j], column, 10 * size, f"body {b + 1}, parameter {j}")


@pytest.mark.parametrize("model", MOVING)
def test_zeros(model: str) -> None:
    """Exactly zero where the body is not outboard of the dof."""
    case, state = get_case(model), get_case(model).state()
    tree = case.tree
    Y = tree.calc_inverse_dynamics_regressor(case.context(state), state.vdot)
    J = case.reference.jacobians(state.q)
    for b in range(1, tree.num_bodies):
        for k in range(tree.num_velocities):
            if not J[b, :, k].any():
                assert not Y[k, 10 * b - 10 : 10 * b].any()


@pytest.mark.parametrize("model", CATALOGUE)
def test_energies(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    pi = tree.get_inertial_parameters(context)
    for name, rotors in (("kinetic_energy", rotor_energy(case, state)), ("potential_energy", 0.0)):
        y = getattr(tree, f"calc_{name}_regressor")(context)
        assert y.shape == pi.shape
        desired = getattr(tree, f"calc_{name}")(context) - rotors
        scale = QUANTITIES[name].scale(case.reference, state)
        assert_close(y @ pi, desired, scale, name)
        other = random_parameters(tree.num_bodies - 1, np.random.default_rng(4))
        tree.set_inertial_parameters(context, other)
        desired = getattr(tree, f"calc_{name}")(context) - rotors
        assert_close(y @ other, desired, 20 * scale, name)
        tree.set_inertial_parameters(context, pi)


@pytest.mark.parametrize("model", FEW)
def test_power(model: str) -> None:
    """The forces of a parameter do the work that its energies gain: v' Y = d/dt (KE + PE)."""
    case, state = get_case(model), get_case(model).state(3)
    tree, context = case.tree, case.context(state)
    Y = tree.calc_inverse_dynamics_regressor(context, state.vdot)
    qdot = tree.map_velocity_to_qdot(context, state.v)

    def energies(t: float) -> Array:
        context.q = state.q + t * qdot
        context.v = state.v + t * state.vdot
        return tree.calc_kinetic_energy_regressor(context) + tree.calc_potential_energy_regressor(context)

    h = 1e-4
    rate = (8 * (energies(h) - energies(-h)) - (energies(2 * h) - energies(-2 * h))) / (12 * h)
    np.testing.assert_allclose(state.v @ Y, rate, rtol=0, atol=1e-7 * max(1.0, np.abs(rate).max()))


def test_gravity_that_spares_bodies() -> None:
    """Bodies exempt from gravity, in the model or in one Context, have no weight in a regressor."""
    tree = mbt.MultibodyTree()
    instances = [tree.add_model_instance(name) for name in ("light", "heavy")]
    rng = np.random.default_rng(0)
    inboard = tree.world_body
    for k in range(4):
        M = mbt.SpatialInertia.solid_box_with_mass(1.0 + k, 0.3, 0.2, 0.1).shift(rng.uniform(-1, 1, 3))
        body = tree.add_body(mbt.RigidBody(f"link{k}", M, instances[k % 2]))
        tree.add_joint(mbt.RevoluteJoint, f"j{k}", inboard, None, body, None, axis=rng.normal(size=3))
        inboard = body
    gravity = tree.add_force_element(mbt.UniformGravityFieldElement(disabled_model_instances=instances[:1]))
    tree.finalize()
    context = tree.create_default_context()
    pi = tree.get_inertial_parameters()
    for set_up in (lambda: None, lambda: gravity.set_enabled_in(context, instances[1], False)):
        set_up()
        context.q, context.v, vdot = rng.normal(size=(3, 4))
        Y = tree.calc_inverse_dynamics_regressor(context, vdot)
        desired = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        np.testing.assert_allclose(Y @ pi, desired, rtol=1e-12, atol=1e-12)
        y = tree.calc_potential_energy_regressor(context)
        np.testing.assert_allclose(y @ pi, tree.calc_potential_energy(context), rtol=1e-12, atol=1e-12)
    assert not y.any()
    gravity.set_gravity_vector(context, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(tree.calc_inverse_dynamics_regressor(context, vdot), Y)


def test_trees_that_cannot_move() -> None:
    for model in ("world_only", "all_weld"):
        tree = get_case(model).tree
        context = tree.create_default_context()
        columns = 10 * (tree.num_bodies - 1)
        assert tree.calc_inverse_dynamics_regressor(context, []).shape == (0, columns)
        assert not tree.calc_kinetic_energy_regressor(context).any()


def test_sensors_that_fail() -> None:
    """NaN in an acceleration reaches only results that depend on it."""
    tree = get_case("star").tree
    context = get_case("star").context(get_case("star").state())
    last = tree.num_velocities - 1
    vdot = np.zeros(tree.num_velocities)
    clean = tree.calc_inverse_dynamics_regressor(context, vdot)
    vdot[last] = np.nan
    Y = tree.calc_inverse_dynamics_regressor(context, vdot)
    changed = np.isnan(Y).any(axis=0)
    assert 0 < np.count_nonzero(changed) <= 10
    np.testing.assert_array_equal(Y[:, ~changed], clean[:, ~changed])


def test_acceleration_in_the_output() -> None:
    """`known_vdot` may share memory with `out`."""
    case, state = get_case("arm7"), get_case("arm7").state()
    context = case.context(state)
    desired = case.tree.calc_inverse_dynamics_regressor(context, state.vdot)
    out = np.zeros(desired.shape)
    out.ravel()[:7] = state.vdot
    case.tree.calc_inverse_dynamics_regressor(context, out.ravel()[:7], out=out)
    np.testing.assert_array_equal(out, desired)


@pytest.mark.parametrize("model", MOVING)
def test_momentum(model: str) -> None:
    """Y pi is the momentum about a point, for these bodies and for others."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    p = np.array([0.3, -0.5, 0.2])
    Y = tree.calc_momentum_regressor(context, p)
    assert Y.shape == (6, 10 * (tree.num_bodies - 1))
    scale = case.reference.total_mass() * (1.0 + case.reference.length_scale(state.q)) ** 2
    scale *= 1.0 + float(np.abs(state.v).sum())
    desired = tree.calc_spatial_momentum_in_world_about_point(context, p)
    assert_close(Y @ tree.get_inertial_parameters(context), desired, scale)
    np.testing.assert_allclose(
        mbt.functional.momentum_regressor(tree, state.q, state.v, p_WoP_W=p), Y, rtol=1e-12, atol=1e-12
    )
    other = random_parameters(tree.num_bodies - 1, np.random.default_rng(5))
    tree.set_inertial_parameters(context, other)
    desired = tree.calc_spatial_momentum_in_world_about_point(context, p)
    assert_close(
        Y @ other, desired, scale + 10.0 * float(np.abs(other).sum()) * (1.0 + np.abs(state.v).sum())
    )
