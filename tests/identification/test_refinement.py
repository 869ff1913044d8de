"""Parameters from simulated motion: exact logs, noise, servos, contact, limits, undetermined values."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import refine

DT = 0.005
# Coulomb friction, damping, excess of the breakaway friction, stiffness of the spring.
TRUTH = np.array([0.8, 0.3, 0.7, 6.0])
START = np.array([0.5, 0.1, 0.3, 3.0])


@pytest.fixture(scope="module")
def model():
    """A double pendulum with damping, dry friction with a Stribeck curve, and a spring."""
    tree = mbt.MultibodyTree()
    inboard = tree.world_body
    for name in ("upper", "lower"):
        M = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.5).shift([0.0, 0.0, 0.25])
        body = tree.add_body(mbt.RigidBody(name, M))
        X_PF = mbt.math.make_pose([0.0, 0.0, 0.0 if name == "upper" else -0.5])
        tree.add_joint(mbt.RevoluteJoint, name, inboard, X_PF, body, None, axis=[0, 1, 0])
        inboard = body
    upper, lower = tree.get_joint_by_name("upper"), tree.get_joint_by_name("lower")
    friction = tree.add_force_element(mbt.JointFriction(upper, 0.1, transition_velocity=0.1))
    spring = tree.add_force_element(mbt.RevoluteSpring(lower, nominal_angle=0.2, stiffness=1.0))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()

    def apply(context, x):
        friction.set_friction(context, x[:, 0], x[:, 0] + x[:, 2])
        lower.set_damping(context, x[:, 1])
        spring.set_stiffness(context, x[:, 3])

    return tree, apply


def motion(model, rng, steps=400, values=TRUTH):
    tree, apply = model
    tau = 3.0 * np.sin(DT * np.arange(steps)[:, None] * [3.0, 5.0] + [0.0, 1.0])
    context = tree.create_default_context(batch_shape=1)
    context.q, context.v = rng.normal(size=(2, 1, 2))
    apply(context, values[None])
    q, v = tree.rollout(context, tau[None], DT)
    return q[0], v[0], tau


def test_exact_motion_gives_the_truth(model, rng):
    tree, apply = model
    q, v, tau = motion(model, rng)
    shares = []
    found = refine(tree, q, v, tau, DT, apply=apply, start=START, lower=np.zeros(4), progress=shares.append)
    np.testing.assert_allclose(found.values, TRUTH, rtol=1e-6)
    assert found.noise.max() < 1e-7 < found.start_noise.min()
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert repr(found) == f"<Refinement: 4 values in {found.num_iterations} steps>"


def test_coverage_with_noise(model):
    """Noise in all states, also in the segments' initial ones: errors match the standard errors."""
    tree, apply = model
    off, sizes = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q, v, tau = motion(model, rng)
        q, v = q + 1e-3 * rng.normal(size=q.shape), v + 5e-3 * rng.normal(size=v.shape)
        found = refine(tree, q, v, tau, DT, apply=apply, start=TRUTH * 0.7, lower=np.zeros(4))
        off.append((found.values - TRUTH) / found.standard_errors)
        sizes.append(found.noise)
    off = np.abs(off)
    assert abs((off < 1.0).mean() - 0.683) < 0.12
    assert (off < 3.0).mean() > 0.97
    np.testing.assert_allclose(np.mean(sizes, axis=0), [[1e-3] * 2, [5e-3] * 2], rtol=0.03)


def test_what_has_no_effect_has_no_error(model, rng):
    tree, apply = model
    q, v, tau = motion(model, rng)
    found = refine(tree, q, v, tau, DT, apply=apply, start=[0.7, 0.2, 0.5, 5.0, 1.0], lower=np.zeros(5))
    np.testing.assert_allclose(found.values[:4], TRUTH, rtol=1e-6)
    assert found.values[4] == 1.0
    assert np.isinf(found.standard_errors[4])
    assert np.isfinite(found.standard_errors[:4]).all()


def test_limits_hold(model, rng):
    """If limits exclude the truth, a value is at its limit, and the others are optimal given this."""
    tree, apply = model
    q, v, tau = motion(model, rng)
    asked = []

    def watched(context, x):
        asked.append(x.copy())
        apply(context, x)

    upper = [np.inf, np.inf, np.inf, 5.0]
    found = refine(
        tree, q, v, tau, DT, apply=watched, start=[0.5, 0.1, 0.3, 4.0], lower=np.zeros(4), upper=upper
    )
    assert np.concatenate(asked)[:, 3].max() <= 5.0
    assert found.values[3] == 5.0
    assert found.standard_errors[3] == 0.0

    def fixed(context, x):
        apply(context, np.hstack([x, np.full((len(x), 1), 5.0)]))

    others = refine(tree, q, v, tau, DT, apply=fixed, start=[0.5, 0.1, 0.3], lower=np.zeros(3))
    np.testing.assert_allclose(found.values[:3], others.values, atol=1e-2 * others.standard_errors.max())


def test_gains_of_a_servo_that_follows_targets(rng):
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.5).shift([0.0, 0.0, 0.25])
    link = tree.add_body(mbt.RigidBody("link", M))
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 0])
    motor = tree.add_joint_actuator("motor", hinge, stiffness=10.0, damping=1.0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()

    def apply(context, x):
        motor.set_stiffness(context, x[:, 0])
        motor.set_damping(context, x[:, 1])

    targets = np.sign(np.sin(DT * 15.0 * np.arange(60)))[:, None]
    real = tree.create_default_context(batch_shape=1)
    apply(real, np.array([[30.0, 2.0]]))
    q, v = [np.zeros(1)], [np.zeros(1)]
    for target in targets:
        real.q, real.v, real.servo_positions = q[-1][None], v[-1][None], target[None]
        q1, v1 = tree.rollout(real, np.zeros((1, 1, 1)), DT)
        q.append(q1[0, 1])
        v.append(v1[0, 1])
    q, v = np.array(q), np.array(v)
    q, v = q + 1e-4 * rng.normal(size=q.shape), v + 1e-3 * rng.normal(size=v.shape)
    found = refine(
        tree,
        q,
        v,
        np.zeros((60, 1)),
        DT,
        apply=apply,
        start=[10.0, 1.0],
        servo_positions=targets,
        segment=30,
    )
    assert (np.abs(found.values - [30.0, 2.0]) < 4.0 * found.standard_errors).all()
    assert (found.standard_errors < [0.1, 0.01]).all()


def test_contact_of_a_ball_that_floats(rng):
    """Stiffness, dissipation and friction of a floor, from bounces and slips of a free ball (quaternion)."""
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    floor = mbt.PointContact(ball, [[0.0, 0.0, 0.0]], stiffness=1e3, dissipation=0.1, static_friction=0.1)
    tree.add_force_element(floor)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()

    def apply(context, x):
        floor.set_stiffness(context, np.exp(x[:, 0]))
        floor.set_dissipation(context, x[:, 1])
        floor.set_friction(context, x[:, 2])

    truth = np.array([np.log(5e3), 0.3, 0.25])
    real = tree.create_default_context(batch_shape=1)
    apply(real, truth[None])
    real.q = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02]]
    real.v = [[0.1, 0.2, 0.0, 3.0, 0.0, 0.0]]
    q, v = (x[0] for x in tree.rollout(real, np.zeros((1, 300, 6)), 1e-3))
    q, v = q + 1e-4 * rng.normal(size=q.shape), v + 1e-2 * rng.normal(size=v.shape)
    found = refine(
        tree, q, v, np.zeros((300, 6)), 1e-3, apply=apply, start=[np.log(2e3), 0.1, 0.1], lower=[0.0] * 3
    )
    assert (np.abs(found.values - truth) < 4.0 * found.standard_errors).all()
    assert (found.standard_errors < [0.05, 0.05, 0.02]).all()


def test_wrong_arguments_are_refused(model, rng):
    tree, apply = model
    q, v, tau = motion(model, rng, steps=60)
    with pytest.raises(mbt.ShapeError, match="q"):
        refine(tree, q[1:], v, tau, DT, apply=apply, start=TRUTH)
    with pytest.raises(mbt.ArgumentValueError, match="too short: 60 steps"):
        refine(tree, q, v, tau, DT, apply=apply, start=TRUTH, segment=100)
    with pytest.raises(mbt.ArgumentTypeError, match="apply"):
        refine(tree, q, v, tau, DT, apply=None, start=TRUTH)
    with pytest.raises(mbt.ArgumentValueError, match="scale"):
        refine(tree, q, v, tau, DT, apply=apply, start=TRUTH, scale=-TRUTH)
    with pytest.raises(mbt.ArgumentValueError, match="start"):
        refine(tree, q, v, tau, DT, apply=apply, start=TRUTH, upper=0.5 * TRUTH)
    with pytest.raises(mbt.ArgumentValueError, match="method"):
        refine(tree, q, v, tau, DT, apply=apply, start=TRUTH, method="magic")
    with pytest.raises(mbt.SingularityError, match="start"):
        refine(tree, q, v, tau, DT, apply=apply, start=[1.0, 1.0, 1.0, 1e12])
    with pytest.raises(mbt.ArgumentTypeError, match="progress"):
        refine(tree, q, v, tau, DT, apply=apply, start=TRUTH, progress="yes")


def test_good_logs_leave_no_doubt_and_bad_ones_do(model, rng):
    """Late forces, wrong steps, rest, too few iterations, undetermined values or values at a limit."""
    tree, apply = model
    q, v, tau = motion(model, rng)
    q, v = q + 1e-3 * rng.normal(size=q.shape), v + 5e-3 * rng.normal(size=v.shape)
    given = {"apply": apply, "start": 0.8 * TRUTH, "lower": np.zeros(4)}
    good = refine(tree, q, v, tau, DT, **given)
    assert good.warnings == ()
    assert "warning" not in good.report()
    assert f"{good.values[3]:11.4g} {good.standard_errors[3]:11.4g}" in str(good)
    assert f"lower_w{'':17} {good.noise[0, 1]:11.3g} {good.start_noise[0, 1]:11.3g}" in str(good)
    late = refine(tree, q, v, np.roll(tau, 10, axis=0), DT, **given)
    assert "is not noise, as neighbours in time are alike" in late.report()
    long = refine(tree, q, v, tau, 3.0 * DT, **given)
    assert "is not noise" in long.report()
    still = np.zeros((401, 2)) + 1e-3 * rng.normal(size=(2, 401, 2))
    rest = refine(tree, *still, np.zeros((400, 2)), DT, **given)
    assert "simulations do not explain most of the positions: check units, dt" in rest.report()
    short = refine(tree, q, v, tau, DT, iterations=1, **given)
    assert "the search did not converge within 1 steps: allow more iterations" in short.warnings
    held = {"lower": np.zeros(5), "upper": [np.inf] * 3 + [5.0, np.inf]}
    more = refine(tree, q, v, tau, DT, apply=apply, start=[*0.8 * TRUTH, 1.0], **held)
    assert {
        "the motion does not determine value 4; it keeps its initial guess",
        "value 3 is at its limit",
    } <= set(more.warnings)
