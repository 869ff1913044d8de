"""Derivatives of implicit steps against differences, where no term changes its branch."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.motion.implicit_derivatives import differentiate_velocities
from mbt.motion.rollouts import core_of
from mbt.motion.step_derivatives import _Stages
from motion.moving_models import with_contact_and_friction
from motion.test_implicit_core import KINDS, make_leg, random_states
from motion.test_implicit_elements import bushing, make_ball, make_door, make_free_body, spring
from motion.test_implicit_steps import make_slider
from support import convex_problem
from support.case import FEW, MOVING, get_case
from support.constraints import tree_with_every_constraint, tree_with_loops
from support.convex_steps import ConvexSteps
from support.linkages import four_bar, stewart

H = 4e-3


def step(tree, q, v, tau, h):
    return functional.step(tree, q, v, tau, h, method="implicit")


def exact_step(tree, q, v, tau, h):
    """A step in NumPy, accurate to the last digits: differences divide by small numbers."""
    return ConvexSteps(tree.create_default_context(q.shape[:-1])).step(q, v, tau, h)


def error_of(tree, q, v, tau, make_step=step, size=2e-5):
    """Return the largest error along some directions, against extrapolated central differences."""
    nv = v.size
    directions = np.random.default_rng(0).normal(size=(5, 3 * nv))
    q1, _ = make_step(tree, *(x[np.newaxis] for x in (q, v, tau)), H)
    found = []
    for reach in (size, 0.5 * size):
        x = np.concatenate([directions, -directions]) * reach
        ends = make_step(
            tree, functional.integrate_positions(tree, q, x[:, :nv], 1.0), v + x[:, nv : 2 * nv],
            tau + x[:, 2 * nv :], H,
        )  # fmt: skip
        dq = functional.difference_positions(tree, np.broadcast_to(q1, ends[0].shape), ends[0])
        jumps = np.concatenate([dq, ends[1]], axis=-1)
        found.append((jumps[:5] - jumps[5:]).T / (2.0 * reach))
    expected = (4.0 * found[1] - found[0]) / 3.0
    A, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit")
    return np.abs(np.hstack([A, B]) @ directions.T - expected).max() / max(1.0, np.abs(expected).max())


def states_that_meet_all(tree):
    """Return states in which the terms act, and states in which they do not."""
    rng = np.random.default_rng(3)
    q, v = random_states(tree, 2, rng)
    v[0] *= 0.02
    q[:, 7:] = [0.1, 0.601, -0.2], [-0.05, 0.02, 0.03]
    tau = rng.normal(size=v.shape)
    q[1, 6] -= 0.1
    v[0, 7], tau[0, 7] = 10.0, 30.0  # into its limit; more than the motor can give
    return q, v, tau


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_each_term_has_the_derivatives_of_its_steps(kind, monkeypatch):
    monkeypatch.setattr(convex_problem, "TOLERANCE", 1e-14)
    # An open loop closes so fast that differences lose their digits.
    tree = make_leg(**{name: kind == name or (kind == "all" and name != "loop") for name in KINDS})
    make_step = exact_step if kind in ("contact", "all") else step
    for q, v, tau in zip(*states_that_meet_all(tree), strict=True):
        assert error_of(tree, q, v, tau, make_step=make_step) < 1e-7


def test_what_sticks_slips_pushes_and_saturates_is_among_them():
    tree = make_leg(loop=False)
    q, v, tau = states_that_meet_all(tree)
    steps = ConvexSteps(tree.create_default_context((2,)))
    _, v1 = steps.step(q, v, tau, H)
    problem = steps.problem
    u = np.einsum("bcki,bi->bck", problem.contacts.J, v1)[..., :2]
    sticks = problem.contacts.slope * np.linalg.norm(u, axis=-1) < problem.contacts.friction
    branches = steps.done.at_limit[:, 6:], steps.done.saturated, sticks[problem.contacts.friction > 0.0]
    assert all(x.any() and not x.all() for x in branches)


@pytest.mark.parametrize(("v", "tau"), [(0.0, 0.5), (0.0, 3.0), (-0.5, 0.2)])
def test_dry_friction_that_holds_or_slips_has_derivatives(v, tau):
    tree = make_slider(lambda joint: mbt.JointFriction(joint, 1.0, 2.0))
    assert error_of(tree, np.array([0.3]), np.array([v]), np.array([tau])) < 1e-7


@pytest.mark.parametrize(
    "tree",
    [
        make_free_body(bushing(1e4, 30.0)),
        make_free_body(spring(1e4, 30.0)),
        make_door(mbt.DoorHingeConfig()),
        make_ball(mbt.BallRpyJoint, [-0.3, -0.2, 0.0], [0.4, 0.2, 0.1]),
        make_ball(mbt.BallRpyJoint, [-2.0, -2.0, 0.8], [-0.7, 2.0, 2.0]),  # far beyond
        make_ball(mbt.RpyFloatingJoint, [-0.1, -1, -1, -2, -2, -2], [0.1, 1, 1, 2, 2, 2]),
    ],
    ids=["bushing", "spring", "door", "ball", "beyond", "floating"],
)
def test_elements_and_limits_of_angles_have_derivatives(tree):
    rng = np.random.default_rng(5)
    nv = tree.num_velocities
    for _ in range(3):
        q = functional.integrate_positions(tree, tree.default_positions, 0.2 * rng.normal(size=nv), 1.0)
        assert error_of(tree, q, rng.normal(size=nv), rng.normal(size=nv), size=1e-3) < 1e-7


@pytest.mark.parametrize(("v", "tau"), [(0.4, 20.0), (-0.8, -20.0)])
def test_friction_of_a_door_that_depends_on_its_speed_has_derivatives(v, tau):
    config = mbt.DoorHingeConfig(
        dynamic_friction_torque=3.0, static_friction_torque=4.0, motion_threshold=0.5, viscous_friction=0.2
    )
    tree = make_door(config)
    assert error_of(tree, np.array([0.1]), np.array([v]), np.array([tau]), size=1e-3) < 1e-7


def of_name(name):
    """Return a catalogue tree with contact, or one with constraints, whose loops are open."""
    if name in LOOPS:
        return LOOPS[name]()
    return with_contact_and_friction(get_case(name).tree)


LOOPS = {
    "four_bar": four_bar,
    "tilted_four_bar": lambda: four_bar(1e-5, [0.3, 0.4, 0.5]),
    "every_constraint": tree_with_every_constraint,
    "loops": lambda: tree_with_loops(3),
    "stewart": stewart,
}


@pytest.mark.parametrize(
    "name", [*FEW, *LOOPS, *(pytest.param(x, marks=pytest.mark.exhaustive) for x in MOVING)]
)
def test_compiled_derivatives_are_those_of_numbers_with_derivatives(name):
    tree = of_name(name)
    nv = tree.num_velocities
    # What sticks or is held is 1e6 times as stiff as what moves it: rounding of q changes A by 1.5e-9.
    lost = 1e-8
    rng = np.random.default_rng(7)
    for size in (1e-3, 1.0):
        q = functional.integrate_positions(tree, tree.default_positions, rng.normal(size=nv), 0.5)
        v, tau = size * rng.normal(size=(2, nv))
        assert core_of(tree, (True, None)).differentiate_one(tree, q, v, tau, H) is not None
        A, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit")
        arrays = [x[np.newaxis] for x in (q, v, tau)]
        v1, dv1 = differentiate_velocities(tree, *arrays, H, (True, None))
        dq1 = _Stages(tree, (1,), arrays, H).move(H * v1, H * dv1)
        expected = np.concatenate([dq1, dv1], axis=1)[0]
        np.testing.assert_allclose(
            np.hstack([A, B]), expected, rtol=0, atol=lost * max(1.0, np.abs(dv1).max())
        )


def test_samples_of_a_batch_are_those_of_single_states():
    tree = make_leg(contact=False)
    rng = np.random.default_rng(6)
    q, v = random_states(tree, 4, rng)
    tau = rng.normal(size=tree.num_velocities)
    v[2, 0] = np.nan
    batch = functional.step_derivatives(
        tree, q.reshape(2, 2, -1), v.reshape(2, 2, -1), tau, H, method="implicit"
    )
    for i in (0, 1, 3):
        one = functional.step_derivatives(tree, q[i], v[i], tau, H, method="implicit")
        for several, single in zip(batch, one, strict=True):
            np.testing.assert_allclose(several[divmod(i, 2)], single, rtol=0, atol=1e-12)
    assert np.isnan(batch[0][1, 0]).all()
    assert np.isnan(batch[1][1, 0]).all()
    none = functional.step_derivatives(tree, q[:0], v[:0], tau, H, method="implicit")
    assert [x.shape for x in none] == [(0, 18, 18), (0, 18, 9)]


def test_a_world_without_degrees_of_freedom_and_a_quaternion_of_zero():
    still = get_case("world_only").tree
    A, B = functional.step_derivatives(still, [], [], [], H, method="implicit")
    assert A.shape == B.shape == (0, 0)
    A, _ = functional.step_derivatives(still, *np.zeros((3, 5, 0)), H, method="implicit")
    assert A.shape == (5, 0, 0)
    tree = make_ball(mbt.QuaternionBallJoint, np.full(4, -np.inf), np.full(4, np.inf))
    v = np.ones(3)
    with pytest.raises(mbt.SingularityError, match="quaternion of joint 'shoulder'"):
        functional.step_derivatives(tree, np.zeros(4), v, v, H, method="implicit")
    A, B = functional.step_derivatives(tree, [np.zeros(4), [1, 0, 0, 0]], v, v, H, method="implicit")
    for x in (A, B):
        assert np.isnan(x[0]).all()
        assert np.isfinite(x[1]).all()


def test_out_is_written_and_what_cannot_be_is_refused():
    tree = make_leg(contact=False, loop=False)
    q, v, tau = tree.default_positions, np.full(9, 0.1), np.zeros(9)
    A, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit")
    out = np.zeros_like(A), np.zeros_like(B)
    same = functional.step_derivatives(tree, q, v, tau, H, method="implicit", out=out)
    assert same[0] is out[0]
    np.testing.assert_array_equal(out[1], B)
    with pytest.raises(mbt.ArgumentValueError, match="dt"):
        functional.step_derivatives(tree, q, v, tau, -H, method="implicit")
    with pytest.raises(mbt.ArgumentTypeError, match="doubles"):
        functional.step_derivatives(tree.to_autodiff(), q, v, tau, H, method="implicit")


def test_an_element_in_python_has_derivatives():
    class Cubic(mbt.ForceElement):
        """A force proportional to the cube of a position."""

        def __init__(self, joint):
            super().__init__(joint.model_instance)
            self.joint = joint

        def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
            k = self.joint.velocity_start
            q, v = self.joint.get_angle(context), self.joint.get_angular_rate(context)
            forces.generalized_forces[..., k] += -30.0 * q * q * q - 2.0 * v * q * q

    tree = mbt.MultibodyTree()
    arm = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.4)))
    X = mbt.math.make_pose([0.0, 0.0, 0.2])
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, arm, X, axis=[0, 1, 0])
    tree.add_force_element(Cubic(hinge))
    tree.finalize()
    assert error_of(tree, np.array([0.7]), np.array([-1.2]), np.array([0.3])) < 1e-7


def test_jax_differentiates_implicit_steps():
    jax = pytest.importorskip("jax")
    from mbt.interop import jax as mbt_jax

    tree = make_leg(contact=False, loop=False)
    rng = np.random.default_rng(8)
    q, v = (x[0] for x in random_states(tree, 1, rng))
    tau = rng.normal(size=9)
    _, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit")
    with jax.enable_x64(True):
        found = jax.jacobian(lambda x: mbt_jax.step(tree, q, v, x, H, method="implicit")[1])(tau)
        np.testing.assert_allclose(np.asarray(found), B[9:], rtol=1e-9, atol=1e-12)


def test_forces_beyond_effort_limits_have_no_derivatives():
    tree = make_leg(limits=False, friction=False, contact=False, loop=False)
    q, v = tree.default_positions, np.zeros(9)
    tau = np.zeros(9)
    tau[7] = 30.0
    _, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit")
    assert not B[:, 7].any()
    assert B[:, 8].any()
    assert error_of(tree, q, v, tau) < 1e-7
    _, B = functional.step_derivatives(tree, q, v, tau, H, method="implicit", limit_efforts=False)
    assert B[:, 7].any()


def test_derivatives_without_position_limits():
    tree = make_leg(floating=False, servos=False, springs=False, friction=False, contact=False, loop=False)
    at = np.array([0.6, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(4)
    free = make_leg(
        floating=False, limits=False, servos=False, springs=False, friction=False, contact=False, loop=False
    )
    pairs = functional.step_derivatives(tree, *at, H, method="implicit", joint_limits=False)
    for found, expected in zip(
        pairs, functional.step_derivatives(free, *at, H, method="implicit"), strict=True
    ):
        assert np.array_equal(found, expected)
