"""Fits against simulated truth, plain least squares of NumPy, and optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import Accumulator, identify, validate
from mbt.identification.physical import inside

ALL = {"friction": "viscous+coulomb", "rotors": True}


def plain_columns(robot, q, v, vdot):
    """Return the regressor of all parameters, one state after another."""
    rows = []
    context = robot.tree.create_default_context()
    for i in range(len(q)):
        context.q, context.v = q[i], v[i]
        Y = robot.tree.calc_inverse_dynamics_regressor(context, vdot[i])
        rows.append(np.hstack([Y, np.diag(v[i]), np.diag(np.tanh(v[i] / 0.01)), np.diag(vdot[i])]))
    return np.array(rows)


def test_base_parameters_explain_all_columns(robot, rng):
    q, v, vdot, _ = robot.log(50, rng)
    X = plain_columns(robot, q, v, vdot).reshape(300, -1)
    base = Accumulator(robot.tree, **ALL)._columns.base
    assert np.linalg.matrix_rank(X) == base.rank
    np.testing.assert_allclose(X[:, base.independent] @ base.regrouping, X, atol=1e-9)


def test_equals_weighted_least_squares_of_numpy(robot, rng):
    q, v, vdot, tau = robot.log(300, rng)
    noise = np.array([0.5, 0.2, 0.1, 0.05, 0.04, 0.03])
    found = identify(robot.tree, q, v, vdot, tau, **ALL, noise=noise, physical=False, prior=0.0)
    X = plain_columns(robot, q, v, vdot)
    weighted = (X / noise[:, None]).reshape(1800, -1)[:, found.base.independent]
    expected = np.linalg.lstsq(weighted, (tau / noise).ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.base_values, expected, atol=1e-9)
    errors = np.sqrt(np.diag(np.linalg.inv(weighted.T @ weighted)))
    np.testing.assert_allclose(found.base_standard_errors, errors, rtol=1e-7)
    residuals = tau - X[..., found.base.independent] @ expected
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-8)
    np.testing.assert_allclose(found.residual_rms, np.sqrt((residuals**2).mean(axis=0)), rtol=1e-6)


@pytest.mark.parametrize("physical", [False, True])
def test_truth_lies_within_the_standard_errors(robot, rng, physical):
    q, v, vdot, tau = robot.log(2000, rng)
    found = identify(robot.tree, q, v, vdot, tau, **ALL, physical=physical)
    np.testing.assert_allclose(found.noise, robot.noise, rtol=0.1)
    off = (found.base_values - found.base.calc_values(robot.truth())) / found.base_standard_errors
    assert np.abs(off).max() < 5.0
    assert (np.abs(off) < 3.0).mean() > 0.95
    alone = np.isfinite(found.standard_errors)
    actual = robot.real.get_inertial_parameters().reshape(-1, 10)
    assert 0 < alone.sum() < alone.size
    assert (np.abs(found.parameters - actual)[alone] < 5.0 * found.standard_errors[alone]).all()
    assert found.unseen == ()
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("physical", "count"),
    [(False, 200), (True, 20), pytest.param(True, 200, marks=pytest.mark.exhaustive)],
)
def test_coverage_of_standard_errors(robot, physical, count):
    """Over all experiments, the truth lies within one, two and three errors as often as in a normal law."""
    rng = np.random.default_rng(7)
    q, v, vdot, tau = robot.log(200, rng, noise=0.0)
    sums = Accumulator(robot.tree, **ALL)
    sums.add(q, v, vdot, tau)
    columns = sums._columns
    X, known = columns.evaluate(q, v, vdot)
    X = X[..., columns.base.independent]
    truth = columns.base.calc_values(robot.truth())
    exact, quiet = sums._b.copy(), sums._c.copy()
    off = []
    for _ in range(count):
        # The sums that a log with other noise would give.
        e = robot.noise * rng.normal(size=tau.shape)
        sums._b = exact + np.einsum("njk,nj->jk", X, e)
        sums._c = quiet + (2.0 * (tau - known) * e + e * e).sum(axis=0)
        found = sums.solve(physical=physical, prior=1e-6 if physical else 0.0)
        off.append((found.base_values - truth) / found.base_standard_errors)
    off = np.abs(off)
    assert (off < 3.0).mean() > 0.99
    if physical:
        # Physical limits, where near, exclude errors.
        assert (off < 1.0).mean() > 0.66
        assert (off < 2.0).mean() > 0.94
    else:
        assert abs((off < 1.0).mean() - 0.683) < 0.02
        assert abs((off < 2.0).mean() - 0.954) < 0.01


def test_blocks_sum_to_the_whole(robot, rng):
    log = robot.log(700, rng)
    whole, blocks = Accumulator(robot.tree, **ALL), Accumulator(robot.tree, **ALL)
    whole.add(*log)
    for part in (slice(0, 1), slice(1, 600), slice(600, 700)):
        blocks.add(*(x[part] for x in log))
    assert whole.num_samples == blocks.num_samples == 700
    one, other = whole.solve(), blocks.solve()
    np.testing.assert_allclose(one.base_values, other.base_values, rtol=1e-9, atol=1e-9)
    with pytest.raises(mbt.ArgumentValueError, match="keeps no samples"):
        one.residuals  # noqa: B018 - it raises


def test_few_noisy_samples_give_bodies_that_exist(robot, rng):
    q, v, vdot, tau = robot.log(30, rng, noise=20.0)
    free = identify(robot.tree, q, v, vdot, tau, **ALL, physical=False)
    assert not mbt.math.is_physically_consistent(free.parameters).all()
    found = identify(robot.tree, q, v, vdot, tau, **ALL)
    assert mbt.math.is_physically_consistent(found.parameters).all()
    assert min(found.rotors.min(), found.friction["viscous"].min(), found.friction["coulomb"].min()) > 0.0
    assert found.tree.num_bodies == robot.tree.num_bodies


def test_a_fit_starts_from_a_body_that_exists():
    """A ball stays as it is; a violated triangle inequality is corrected, with a margin."""
    ball = [2.0, 0.0, 0.0, 0.0, 0.072, 0.0, 0.072, 0.0, 0.0, 0.072]
    flat = [2.0, 0.0, 0.0, 0.0, 0.072, 0.0, 0.072, 0.0, 0.0, 0.3]
    start = inside(np.array([ball, flat]), 1e-3, 0.3)
    np.testing.assert_allclose(start[0], ball, atol=1e-15)
    # The second moments about the planes of x and y are 0.15 each, that of z would be -0.078.
    least = 1e-3 * 2.0 * 0.3**2
    np.testing.assert_allclose(start[1, [4, 6, 9]], [0.15 + least, 0.15 + least, 0.3], atol=1e-15)
    np.testing.assert_allclose(start[1, [0, 1, 2, 3, 5, 7, 8]], [2.0, 0, 0, 0, 0, 0, 0], atol=1e-15)


def test_the_physical_fit_is_the_best_one(robot, rng):
    """The gradient, as a pseudo-inertia of each body, is positive and complementary: a dual certificate."""
    q, v, vdot, tau = robot.log(30, rng, noise=20.0)
    noise, prior = 20.0 * robot.noise, 1e-2
    found = identify(robot.tree, q, v, vdot, tau, noise=noise, prior=prior)
    sums = Accumulator(robot.tree)
    sums.add(q, v, vdot, tau)
    pi0, pi = robot.tree.get_inertial_parameters(), found.parameters.ravel()
    X, known = sums._columns.evaluate(q, v, vdot)
    mass = pi0[::10].mean()
    length = np.sqrt(pi0.reshape(-1, 10)[:, [4, 6, 9]].sum() / pi0[::10].sum())
    scale = np.tile(mass * np.repeat([1.0, length, length**2], [1, 3, 6]), len(found.parameters))
    W = X / noise[:, None]
    gradient = np.einsum("njk,nj->k", W, W @ pi - (tau - known) / noise) + prior * (pi - pi0) / scale**2
    # For all physical pi': cost(pi') - cost(pi) >= gradient (pi' - pi), by convexity; so this bounds the gap.
    for g, x in zip(gradient.reshape(-1, 10), found.parameters, strict=True):
        i, j = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
        dual = np.zeros((4, 4))
        dual[3, 3], dual[:3, 3] = g[0], g[1:4] / 2
        dual[3, :3] = dual[:3, 3]
        S = np.zeros((3, 3))
        S[i, j] = g[4:] / np.where(i == j, 1.0, 2.0)
        S = S + np.triu(S, 1).T
        dual[:3, :3] = (g[4:] @ (i == j)) * np.eye(3) - S
        unit = np.diag([length, length, length, 1.0]) * np.sqrt(mass)
        assert np.linalg.eigvalsh(unit @ dual @ unit).min() > -1e-4
        assert abs(g @ x) < 1e-3


def test_the_tree_found_predicts_as_the_fit_does(robot, rng):
    found = identify(robot.tree, *robot.log(1000, rng), **ALL)
    q, v, vdot, tau = robot.log(500, rng)
    check = validate(found, q, v, vdot, tau)
    context = found.tree.create_default_context(batch_shape=500)
    context.q, context.v = q, v
    predicted = found.tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    np.testing.assert_allclose(tau - predicted, check.residuals, atol=1e-10)
    assert np.abs(check.noise_ratio - 1.0).max() < 0.2
    assert check.explained.min() > 0.98


def test_payload_alone(robot, rng):
    loaded = robot.tree.edit()
    tool = next(body for body in loaded.bodies if body.name == "tool")
    M = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.1).shift([0.0, 0.0, -0.05])
    tool.set_default_spatial_inertia(M)
    loaded.finalize()
    q, v, vdot = rng.normal(size=(3, 2000, 6))
    context = loaded.create_default_context(batch_shape=2000)
    context.q, context.v = q, v
    tau = loaded.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    tau = tau + 0.2 * rng.normal(size=tau.shape)
    found = identify(robot.tree, q, v, vdot, tau, bodies=["tool"])
    row = robot.tree.get_body_by_name("tool").node_index - 1
    assert found.parameters[row, 0] == pytest.approx(2.0, rel=0.01)
    others = np.delete(found.parameters, row, axis=0)
    np.testing.assert_array_equal(
        others, np.delete(robot.tree.get_inertial_parameters().reshape(-1, 10), row, axis=0)
    )


def test_a_robot_at_rest_is_reported(robot, rng):
    q, v, _, _ = robot.log(200, rng)
    still = np.zeros_like(v)
    context = robot.real.create_default_context()
    context.q = q[0]
    tau = np.tile(robot.real.calc_inverse_dynamics(context, still[0], include_force_elements=True), (200, 1))
    tau = tau + 0.05 * rng.normal(size=tau.shape)
    found = identify(robot.tree, np.tile(q[0], (200, 1)), still, still, tau, **ALL)
    assert len(found.unseen) > 20
    assert not np.isfinite(found.condition_number)
    assert not np.isfinite(found.base_standard_errors).all()
    assert "the log does not determine" in found.report()


def test_a_joint_that_stands_is_not_told_but_for_its_weight(robot, rng):
    """Columns of mere rounding are ignored; they used to get finite errors, of 1e14."""
    q, v, vdot, _ = robot.log(300, rng)
    v[:, 0] = vdot[:, 0] = 0.0
    v[:, 3] = vdot[:, 3] = 0.0
    q[:, 3] = 0.3
    context = robot.real.create_default_context(batch_shape=300)
    context.q, context.v = q, v
    tau = robot.real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    tau += robot.noise * rng.normal(size=tau.shape)
    found = identify(robot.tree, q, v, vdot, tau, **ALL)
    errors = found.base_standard_errors
    assert np.isinf(errors).any()
    assert errors[np.isfinite(errors)].max() < 1e3
    assert {"waist_w_viscous", "wrist_roll_w_coulomb"} <= set(found.unseen)


@pytest.mark.parametrize("physical", [False, True])
def test_a_constant_log_without_noise_is_reported(robot, physical):
    q, still = np.full((300, 6), 0.3), np.zeros((300, 6))
    context = robot.real.create_default_context(batch_shape=300)
    context.q, context.v = q, still
    tau = robot.real.calc_inverse_dynamics(context, still, include_force_elements=True)
    found = identify(robot.tree, q, still, still, tau, friction="viscous", physical=physical)
    assert len(found.unseen) > 20
    assert "the log does not determine" in found.report()
    nothing = identify(robot.tree, *robot.log(300, np.random.default_rng(0))[:3], np.zeros((300, 6)))
    assert not any("time stamps; preprocess" in text for text in nothing.warnings)


def test_wrong_units_are_reported(robot, rng):
    q, v, vdot, tau = robot.log(500, rng)
    shuffled = tau[rng.permutation(500)]
    found = identify(robot.tree, q, v, vdot, shuffled - shuffled.mean(axis=0), **ALL)
    assert "check units, signs and the time stamps" in found.report()


def test_wrong_arguments_are_refused(robot, rng):
    q, v, vdot, tau = robot.log(20, rng)
    with pytest.raises(mbt.ArgumentValueError, match="too short: 2 samples"):
        identify(robot.tree, q[:2], v[:2], vdot[:2], tau[:2])
    with pytest.raises(mbt.ShapeError, match="tau"):
        identify(robot.tree, q, v, vdot, tau[:5])
    with pytest.raises(mbt.ArgumentValueError, match="friction"):
        identify(robot.tree, q, v, vdot, tau, friction="sticky")
    with pytest.raises(mbt.ArgumentValueError, match="prior"):
        identify(robot.tree, q, v, vdot, tau, prior=0.0)
    with pytest.raises(mbt.UnknownNameError, match="spoon"):
        identify(robot.tree, q, v, vdot, tau, bodies=["spoon"])
    with pytest.raises(mbt.ArgumentTypeError, match="bodies: expected a list of names"):
        identify(robot.tree, q, v, vdot, tau, bodies=5)
    with pytest.raises(mbt.ArgumentTypeError, match="bodies: expected a list of names"):
        identify(robot.tree, q, v, vdot, tau, bodies="tool")
    for huge in ((q, 1e200 * v, vdot, tau), (q, v, vdot, 1e200 * tau)):
        with pytest.raises(mbt.ArgumentValueError, match="overflow"):
            identify(robot.tree, *huge)
    tau[3, 2] = np.nan
    sums = Accumulator(robot.tree)
    with pytest.raises(mbt.ArgumentValueError, match="tau"):
        sums.add(q, v, vdot, tau)
    assert sums.num_samples == 0
