"""Control by tasks: which constraints a tick obeys, and which goals it reaches."""

import pickle
import tracemalloc

import numpy as np
import pytest

import mbt
from control.standing_robots import check_batch_of_contexts, make_biped, make_hopper, make_quadruped
from mbt import functional
from mbt.control.limits import acceleration_bounds
from mbt.math import exp_so3
from support.linkages import calc_four_bar_angles, four_bar

daqp = pytest.importorskip("daqp")


def standing(make=make_quadruped, posture=1e-4, **options):
    tree, contacts, q = make()
    controller = mbt.TaskSpaceController(tree, contacts, **options)
    X_WB = functional.frame_pose(tree, q, "trunk")
    controller.add_orientation("trunk", stiffness=100, damping=20)
    controller.add_position("trunk", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=posture)
    return tree, controller, q, [X_WB[:3, :3], X_WB[:3, 3], None]


def arm(**options):
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    return tree, mbt.TaskSpaceController(tree, **options)


def contact_jacobian(tree, controller, q):
    """Return dp/dv of all contact points, in World axes, shape (3n, nv)."""
    rows = []
    for contact in controller.contacts:
        X_WF, J = (
            functional.frame_pose(tree, q, contact.frame),
            functional.frame_jacobian(tree, q, contact.frame),
        )
        for p_FC in contact.p_FC:
            rows.append(J[3:] - np.cross(X_WF[:3, :3] @ p_FC, J[:3], axisb=0).T)
    return np.concatenate(rows)


@pytest.mark.parametrize("make", [make_quadruped, make_biped])
@pytest.mark.parametrize("seed", range(4))
def test_torques_and_contact_forces_give_the_accelerations(make, seed):
    tree, controller, q, goals = standing(make)
    rng = np.random.default_rng(seed)
    q = functional.integrate_positions(tree, q, 0.05 * rng.normal(size=tree.num_velocities), 1.0)
    v = 0.2 * rng.normal(size=tree.num_velocities)
    goals[1] = goals[1] + 0.05 * rng.normal(size=3)
    result = controller.solve(q, v, goals)
    assert result.status == "optimal"
    tau = result.tau + contact_jacobian(tree, controller, q).T @ result.contact_forces.ravel()
    scale = max(1.0, np.abs(result.vdot).max())
    np.testing.assert_allclose(
        functional.forward_dynamics(tree, q, v, tau), result.vdot, rtol=0, atol=1e-10 * scale
    )
    assert not result.tau[:6].any()
    np.testing.assert_array_equal(tree.actuation_matrix @ result.actuation, result.tau)


def test_forces_stay_within_cones_and_efforts_within_limits():
    tree, controller, q, goals = standing()
    goals[1] = goals[1] + [0.5, 0.3, 0.2]  # asks for 50 m/s^2
    result = controller.solve(q, np.zeros(tree.num_velocities), goals)
    assert result.status == "optimal"
    normal, tangential = result.contact_forces[:, 2], np.linalg.norm(result.contact_forces[:, :2], axis=1)
    assert np.all(normal >= -1e-6)
    assert np.all(tangential <= 0.7 * normal + 1e-6)
    assert np.max(tangential - 0.7 / np.sqrt(2.0) * normal) > -1e-6  # a face of the pyramid is active
    assert np.all(np.abs(result.tau) <= np.where(np.isinf(tree.effort_upper_limits), 1e9, 40.0 + 1e-6))


def test_points_at_rest_stay_at_rest():
    tree, controller, q, goals = standing()
    goals[1] = goals[1] + [0.01, 0.02, -0.03]
    result = controller.solve(q, np.zeros(tree.num_velocities), goals)
    assert result.status == "optimal"
    accelerations = contact_jacobian(tree, controller, q) @ result.vdot
    # 1e-5 of the acceleration that the tasks ask for there.
    np.testing.assert_allclose(accelerations, 0.0, atol=1e-3)
    X_WB = functional.frame_jacobian(tree, q, "trunk") @ result.vdot
    np.testing.assert_allclose(X_WB[3:], [1.0, 2.0, -3.0], atol=0.1)  # the posture has weight, too


def test_contacts_that_turn_and_move_are_slowed_down_as_their_points_do():
    # Independent check: positions of the points along the motion, by differences.
    for make in (make_quadruped, make_biped):
        tree, controller, q, goals = standing(make)
        rng = np.random.default_rng(3)
        v = 0.3 * rng.normal(size=tree.num_velocities)
        result = controller.solve(q, v, goals)

        def points(t, v=v, q=q, tree=tree, controller=controller, vdot=result.vdot):
            at = functional.integrate_positions(tree, q, v + 0.5 * t * vdot, t)
            found = []
            for contact in controller.contacts:
                X_WF = functional.frame_pose(tree, at, contact.frame)
                found += [X_WF[:3, :3] @ p + X_WF[:3, 3] for p in contact.p_FC]
            return np.array(found)

        h = 1e-4
        velocity = (points(h) - points(-h)) / (2 * h)
        acceleration = (points(h) - 2 * points(0.0) + points(-h)) / h**2
        if make is make_quadruped:
            np.testing.assert_allclose(acceleration, -20.0 * velocity, atol=0.02)
        else:  # twelve rows of rank eleven: they contradict one another, so a residual remains
            assert np.abs(acceleration + 20.0 * velocity).max() < np.abs(20.0 * velocity).max()


def test_a_lifted_contact_exerts_nothing_and_moves():
    tree, controller, q, goals = standing()
    v = np.zeros(tree.num_velocities)
    before = controller.solve(q, v, goals)
    controller.lift(controller.contacts[0])
    result = controller.solve(q, v, goals)
    assert not result.contact_forces[0].any()
    assert result.status == "optimal"
    controller.touch(0)
    again = controller.solve(q, v, goals)
    np.testing.assert_allclose(again.tau, before.tau, atol=1e-6)


def test_tasks_of_priority_one_do_not_disturb_those_of_priority_zero():
    tree, controller = arm()
    goal = [0.4, 0.1, 0.5]
    controller.add_position(tree.bodies[-1], stiffness=10, damping=6)
    q, v = np.full(6, 0.3), np.zeros(6)
    alone = controller.solve(q, v, [goal])
    _, both = arm()
    tree2 = both.tree
    both.add_position(tree2.bodies[-1], stiffness=10, damping=6)
    both.add_posture(stiffness=50, damping=14, weight=100.0, priority=1)
    result = both.solve(q, v, [goal, np.zeros(6)])
    J = functional.frame_jacobian(tree, q, tree.bodies[-1])[3:]
    np.testing.assert_allclose(J @ result.vdot, J @ alone.vdot, atol=1e-6)
    # Only the posture's gradient remains: it lies in the rows of J.
    residual = result.vdot + 50.0 * q
    assert np.linalg.norm(residual - J.T @ np.linalg.lstsq(J.T, residual, rcond=None)[0]) < 1e-4


def test_native_code_gives_the_same_ticks():
    compilers = pytest.importorskip("shutil")
    if not (compilers.which("gcc") or compilers.which("clang")):
        pytest.skip("no C compiler")
    tree, contacts, q = make_hopper()
    controller = mbt.TaskSpaceController(tree, contacts)
    controller.add_position("trunk", axes="xz", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-3)
    goals = [functional.frame_pose(tree, q, "trunk")[[0, 2], 3] + [0.01, 0.02], None]
    v = np.array([0.1, -0.2, 0.3, 0.4])
    batch = q + 0.01 * np.arange(12.0).reshape(3, 4)
    plain, plain_batch = controller.solve(q, v, goals), controller.solve(batch, v, goals)
    fast = np.array([0.0, 0.0, 5000.0, 0.0])  # too fast for any motor
    plain_violations = controller.solve(q, fast, goals).violations
    plain_contexts = check_batch_of_contexts(tree, controller, q, v, goals)
    native = controller.compile().solve(q, v, goals)
    assert abs(plain.contact_forces).max() > 10.0
    # In a loop, no memory is kept except the result.
    tracemalloc.start()
    try:
        for _ in range(20):
            controller.solve(q, v, goals, out=native)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            controller.solve(q, v, goals, out=native)
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()
    native_batch = controller.solve(batch, v, goals)
    infeasible = controller.solve(q, fast, goals)
    assert infeasible.status == "infeasible"
    assert infeasible.violations == pytest.approx(plain_violations, rel=1e-4)
    native_contexts = check_batch_of_contexts(tree, controller, q, v, goals)
    pairs = (plain, native), (plain_batch, native_batch), (plain_contexts, native_contexts)
    for one, other in pairs:
        for array, expected in zip(other.arrays(), one.arrays(), strict=True):
            np.testing.assert_allclose(array, expected, atol=1e-7)


@pytest.mark.parametrize("make", [make_quadruped, make_biped])
def test_stands_after_a_push(make):
    tree, controller, q, goals = standing(make)
    v = np.zeros(tree.num_velocities)
    v[3:6] = [0.05, 0.05, 0.0]
    dt = 4e-3
    result = None
    for _ in range(250):
        result = controller.solve(q, v, goals, out=result)
        assert result.status == "optimal"
        v = v + dt * result.vdot  # the ground exerts the forces that the tick found
        q = functional.integrate_positions(tree, q, v, dt)
    np.testing.assert_allclose(functional.frame_pose(tree, q, "trunk")[:3, 3], goals[1], atol=5e-3)
    assert np.abs(v).max() < 0.02


def test_follows_a_reference_with_velocity_and_acceleration():
    tree, controller = arm()
    controller.add_position(tree.bodies[-1], stiffness=100, damping=20)
    controller.add_posture(stiffness=4, damping=4, weight=1e-4)
    q, v, dt = np.full(6, 0.3), np.zeros(6), 4e-3
    start, amplitude, rate = (
        functional.frame_pose(tree, q, tree.bodies[-1])[:3, 3],
        np.array([0.05, 0.0, 0.05]),
        3.0,
    )

    def reference(t):
        return (
            start - amplitude * (1.0 - np.cos(rate * t)),
            -amplitude * rate * np.sin(rate * t),
            -amplitude * rate**2 * np.cos(rate * t),
        )

    controller.references = lambda t: [reference(t), None]
    context = tree.create_default_context()
    context.q, context.v = q, v
    motion = mbt.simulate(tree, context, 1.0, dt=dt, control=controller)
    reached = functional.frame_pose(tree, motion.q, tree.bodies[-1])[:, :3, 3]
    wanted = np.array([reference(t)[0] for t in motion.time])
    assert np.abs(reached - wanted).max() < 2e-3


def slider(most=np.inf):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("b", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    joint = tree.add_joint(mbt.PrismaticJoint, "j", tree.world_body, None, body, None, axis=[1, 0, 0])
    joint.set_position_limits([-1.0], [0.5])
    joint.set_velocity_limits([-2.0], [1.0])
    joint.set_acceleration_limits([-most], [most])
    tree.add_joint_actuator("m", joint, 100.0)
    tree.finalize()
    controller = mbt.TaskSpaceController(tree, dt=1e-2)
    controller.add_posture(stiffness=100, damping=0.0)
    return tree, controller


@pytest.mark.parametrize("most", [np.inf, 5.0])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_position_limits_stop_a_joint(most, share):
    """With held accelerations, and in semi-implicit steps."""
    _, controller = slider(most)
    for goal, end in ((3.0, 0.5), (-3.0, -1.0)):
        q, v, top = np.zeros(1), np.zeros(1), 0.0
        for _ in range(300):
            vdot = controller.solve(q, v, [[goal]]).vdot
            q, v = q + 1e-2 * v + share * 1e-4 * vdot, v + 1e-2 * vdot
            assert -1.0 - 1e-9 <= q[0] <= 0.5 + 1e-9
            assert abs(vdot[0]) <= most + 1e-9
            top = max(top, abs(v[0]))
        assert q[0] == pytest.approx(end, abs=1e-3)
        assert top == pytest.approx(1.0 if goal > 0 else 2.0, abs=1e-6)


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
def test_a_simulated_joint_that_is_driven_into_its_limit_stops_there(method, dt):
    """It does not pass the limit, so nothing warns, in steps as long as the ticks or shorter."""
    tree, controller = slider()
    controller.references = [np.array([3.0])]
    held = {}

    def control(time, q, v):
        tick = round(time / dt) * dt // 1e-2
        return held.setdefault(tick, controller(time, q, v).copy())

    context = tree.create_default_context()
    motion = mbt.simulate(tree, context, 2.0, dt, method=method, control=control, joint_limits=False)
    assert motion.q.max() <= 0.5 + 1e-9
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-6)
    assert abs(motion.v[-1, 0]) < 1e-6


def test_within_bounds_joints_stay_within_limits_from_any_state():
    """Even with the largest acceleration at each tick, in steps of either kind."""
    rng = np.random.default_rng(0)
    n, dt, braking = 2000, 1e-2, rng.uniform(1.0, 80.0, 2000)
    limits = (np.full(n, -1.0), np.full(n, 0.5)), (np.full(n, -2.0), np.full(n, 2.0))
    limits += ((np.full(n, -np.inf), np.full(n, np.inf)),)
    q = rng.uniform(-1.0, 0.5, n)
    # Slow enough to stop with half of the braking acceleration.
    v = rng.uniform(-1.0, 1.0, n) * np.minimum(2.0, np.sqrt(braking * np.minimum(q + 1.0, 0.5 - q)))
    v *= np.minimum(1.0, np.minimum(q + 1.0, 0.5 - q) / (2.0 * dt * np.abs(v) + 1e-12))
    side, share = rng.random(n) < 0.5, rng.choice([0.5, 1.0], n)
    for _ in range(600):
        lower, upper = acceleration_bounds(q, v, *limits, braking, dt)
        assert (lower <= upper).all()
        vdot = np.where(side, lower, upper)
        q, v = q + dt * v + share * dt**2 * vdot, v + dt * vdot
        assert (q >= -1.0 - 1e-9).all()
        assert (q <= 0.5 + 1e-9).all()
    assert np.where(side, q + 1.0, 0.5 - q).max() < 1e-6
    assert abs(v).max() < 1e-6


def test_contradicting_bounds_are_named_and_violated_least():
    tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    shoulder = tree.get_joint_by_name(tree.joints[1].name)
    shoulder.set_acceleration_limits([-0.01], [0.01])
    tree.finalize()
    controller = mbt.TaskSpaceController(tree)
    controller.add_posture(stiffness=1, damping=1)
    q, v = np.full(6, 0.4), np.zeros(6)
    v[0] = 1000.0  # such a motion needs more than the motors can give
    result = controller.solve(q, v, [None])
    assert result.status == "infeasible"
    assert any(shoulder.name in label for label in result.violations)
    assert np.isfinite(result.tau).all()
    assert controller.solve(q, np.zeros(6), [None]).status == "optimal"


def test_motion_that_no_motor_can_hold_names_the_weak_ones():
    tree, controller, q, goals = standing()
    v = np.zeros(tree.num_velocities)
    v[6:] = 400.0
    result = controller.solve(q, v, goals)
    assert result.status == "infeasible"
    assert {label.split()[0] for label in result.violations} == {"effort"}
    excess = np.maximum(np.abs(result.tau[6:]) - 40.0, 0.0)
    assert max(result.violations.values()) == pytest.approx(excess.max(), rel=1e-5)
    # Dynamics still holds, and the next tick is not affected.
    tau = result.tau + contact_jacobian(tree, controller, q).T @ result.contact_forces.ravel()
    found = functional.forward_dynamics(tree, q, v, tau)
    np.testing.assert_allclose(found, result.vdot, rtol=0, atol=1e-9 * np.abs(result.vdot).max())
    assert controller.solve(q, 0.0 * v, goals).status == "optimal"


def test_gives_what_a_force_task_asks():
    tree, controller, q, goals = standing()
    controller.add_contact_force(controller.contacts[0], weight=1.0)
    result = controller.solve(q, np.zeros(tree.num_velocities), [*goals, [[0.0, 0.0, 10.0]]])
    np.testing.assert_allclose(result.contact_forces[0], [0, 0, 10.0], atol=0.1)


def test_loops_are_obeyed():
    tree = four_bar()
    q, v = calc_four_bar_angles(0.9), np.zeros(3)
    controller = mbt.TaskSpaceController(tree, actuated=["drive"])
    controller.add_posture(joints=["drive"], stiffness=0, damping=0)
    result = controller.solve(q, v, [(None, None, [0.7])])
    vdot, _ = functional.constrained_forward_dynamics(tree, q, v, result.tau)
    np.testing.assert_allclose(vdot, result.vdot, atol=1e-7)
    assert result.vdot[0] == pytest.approx(0.7, abs=1e-2)
    assert not result.tau[1:].any()


def test_writes_into_a_result_and_refuses_others():
    tree, controller, q, goals = standing()
    v = np.zeros(tree.num_velocities)
    first = controller.solve(q, v, goals)
    tau = first.tau
    assert controller.solve(q, v, goals, out=first) is first
    assert first.tau is tau
    _, other = arm()
    with pytest.raises(mbt.ArgumentValueError, match="out: expected a result of this controller"):
        controller.solve(q, v, goals, out=other.solve(np.zeros(6), np.zeros(6), []))


@pytest.mark.parametrize("is_native", [False, True])
def test_arrays_may_lie_in_memory_as_they_like(is_native):
    tree, contacts, q = make_hopper()  # small, so that a C compiler takes a second
    controller = mbt.TaskSpaceController(tree, contacts=contacts, dt=1e-3)
    controller.add_pose("trunk", stiffness=100.0, damping=20.0)
    controller.add_posture(stiffness=10.0, damping=1.0, weight=1e-3)
    controller.add_contact_force(contacts[0], weight=1e-3)
    if is_native:
        controller.compile()
    context = tree.create_default_context()
    context.q = q
    X = tree.eval_body_pose_in_world(context, tree.get_body_by_name("trunk"))
    v = np.linspace(-0.1, 0.1, tree.num_velocities)
    references = [X @ mbt.math.make_pose([0.01, 0, 0], rpy=[0.1, 0.2, 0.3]), q, np.array([[1.0, 2.0, 30.0]])]
    wanted = controller.solve(q, v, references).tau.copy()
    spread_out = [np.repeat(x, 2, axis=-1)[..., ::2] for x in (q, v, *references)]
    assert not any(x.flags.c_contiguous for x in spread_out)
    found = controller.solve(*spread_out[:2], spread_out[2:]).tau
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


def test_a_pickled_controller_gives_the_same():
    tree, controller, q, goals = standing()
    v = np.zeros(tree.num_velocities)
    before = controller.solve(q, v, goals)
    copy = pickle.loads(pickle.dumps(controller))
    np.testing.assert_allclose(copy.solve(q, v, goals).tau, before.tau, atol=1e-9)


def test_bad_arguments():
    tree, controller, q, goals = standing()
    v = np.zeros(tree.num_velocities)
    with pytest.raises(mbt.ArgumentValueError, match="references: expected a list of 3, one per task, got 2"):
        controller.solve(q, v, goals[:2])
    with pytest.raises(mbt.ArgumentValueError, match=r"references\[0\]"):
        controller.solve(q, v, [2.0 * np.eye(3), *goals[1:]])
    with pytest.raises(mbt.ArgumentValueError, match=r"references\[1\]"):
        controller.solve(q, v, [goals[0], np.array([0.0, np.nan, 0.0]), None])
    with pytest.raises(mbt.ArgumentTypeError, match=r"contacts: expected a list of mbt\.ContactPoints"):
        mbt.TaskSpaceController(tree, mbt.ContactPoints("trunk", [0.0, 0.0, 0.0]))
    for limits in (3, "effort", [["effort"]]):
        with pytest.raises(mbt.ArgumentValueError, match="limits: expected some of"):
            mbt.TaskSpaceController(tree, limits=limits)
    assert mbt.TaskSpaceController(tree, limits=iter(["effort"]))._options["limits"] == {"effort"}
    for angular in ("no", 3, np.nan, None, np.ones(3)):
        with pytest.raises(mbt.ArgumentTypeError, match="angular: expected True or False"):
            mbt.TaskSpaceController(tree).add_momentum(angular=angular, damping=1)
    with pytest.raises(mbt.ShapeError, match="v: expected shape"):
        controller.solve(q, v[1:], goals)
    ragged = [[1, 2], [3]]
    for name, state in (("q", (ragged, v)), ("v", (q, ragged))):
        with pytest.raises(mbt.ArgumentTypeError, match=f"{name}: .* list with entries of different lengths"):
            controller.solve(*state, goals)
    with pytest.raises(mbt.ArgumentTypeError, match="actuated: expected joints or their names, got 3"):
        mbt.TaskSpaceController(tree, actuated=[3])
    with pytest.raises(
        mbt.ArgumentTypeError, match="actuated: expected a list of joints or their names, got 3"
    ):
        mbt.TaskSpaceController(tree, actuated=3)
    with pytest.raises(
        mbt.ArgumentTypeError, match="joints: expected a list of joints or their names, got 3"
    ):
        mbt.TaskSpaceController(tree).add_posture(joints=3, stiffness=1, damping=1)
    with pytest.raises(mbt.ForeignElementError, match="actuated: expected joints of this tree"):
        mbt.TaskSpaceController(tree, actuated=[make_biped()[0].joints[2]])
    with pytest.raises(mbt.ArgumentValueError, match="before the first tick"):
        controller.add_posture(stiffness=1, damping=1)
    with pytest.raises(mbt.ArgumentValueError, match="contact: expected one of controller"):
        controller.lift(9)
    with pytest.raises(mbt.ShapeError, match=r"p_FC: expected shape \(n, 3\), got \(3, 4\); transpose it"):
        mbt.ContactPoints("trunk", np.zeros((3, 4)))
    with pytest.raises(mbt.ArgumentValueError, match="priority: expected 0 or 1"):
        mbt.TaskSpaceController(tree).add_posture(stiffness=1, damping=1, priority=2)
    with pytest.raises(mbt.ArgumentValueError, match="axes: expected different letters"):
        mbt.TaskSpaceController(tree).add_position("trunk", axes="xx", stiffness=1, damping=1)
    with pytest.raises(mbt.UnknownNameError, match="trunk"):
        mbt.TaskSpaceController(tree).add_position("trunc", stiffness=1, damping=1)
    with pytest.raises(mbt.ArgumentValueError, match=r"weight: expected numbers from 0 to 1e\+12"):
        mbt.TaskSpaceController(tree).add_position("trunk", stiffness=1, damping=1, weight=1e16)
    for name in ("contact_weight", "regularization"):
        with pytest.raises(mbt.ArgumentValueError, match=rf"{name}: expected a number of at most 1e\+12"):
            mbt.TaskSpaceController(tree, **{name: 1e16})
    passive = mbt.MultibodyTree()
    body = passive.add_body(mbt.RigidBody("b", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    passive.add_joint(mbt.RevoluteJoint, "j", passive.world_body, None, body, None, axis=[1, 0, 0])
    passive.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="tree: expected one with actuators"):
        mbt.TaskSpaceController(passive)


@pytest.mark.parametrize("is_native", [False, True])
def test_goals_far_away_saturate_motors_or_are_refused(is_native):
    tree, controller = arm()
    controller.add_position("tool", stiffness=100, damping=20)
    controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    if is_native:
        controller.compile()
    q, v = np.full(6, 0.3), np.full(6, 0.1)
    tau = controller.solve(q, v, [[1e6, 0.0, 0.0], None]).tau
    np.testing.assert_allclose(np.abs(tau), tree.effort_upper_limits, rtol=1e-6)
    np.testing.assert_allclose(controller.solve(q, v, [[5e11, 0.0, 0.0], None]).tau, tau, rtol=1e-6)
    for far in (1e13, 1e200):
        with pytest.raises(mbt.ArgumentValueError, match=r"accelerations and forces are less than 1e\+14"):
            controller.solve(q, v, [[far, 0.0, 0.0], None])


def test_a_list_of_references_may_change_while_one_is_read():
    _, controller = arm()
    controller.add_position("tool", stiffness=100, damping=20)
    controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    goal = np.array([0.4, 0.1, 0.5])

    class Emptying:
        def __array__(self, dtype=None, copy=None):
            references.clear()
            return goal

    references = [Emptying(), None]
    result = controller.solve(np.full(6, 0.3), np.zeros(6), references)
    np.testing.assert_allclose(
        result.tau, controller.solve(np.full(6, 0.3), np.zeros(6), [goal, None]).tau, rtol=1e-12
    )


def test_a_robot_without_limits_has_one_tick_after_the_other():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("b", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    joint = tree.add_joint(mbt.PrismaticJoint, "j", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.add_joint_actuator("m", joint)
    tree.finalize()
    controller = mbt.TaskSpaceController(tree, regularization=1e-9)
    controller.add_posture(stiffness=10.0, damping=6.0)
    for q in (0.1, 0.2, -0.3):  # programs without rows
        assert controller.solve([q], [0.5], [None]).tau == pytest.approx(2.0 * (-10.0 * q - 3.0), rel=1e-6)
    many = controller.solve([[0.1], [0.2]], [0.5], [None])
    np.testing.assert_allclose(many.tau, [[-8.0], [-10.0]], rtol=1e-6)


def test_orientations_turn_the_short_way():
    tree, controller = arm()
    tool = tree.bodies[-1]
    controller.add_orientation(tool, stiffness=10, damping=6)
    controller.add_posture(stiffness=1, damping=2, weight=1e-4)
    q = np.full(6, 0.3)
    R_WF = functional.frame_pose(tree, q, tool)[:3, :3]
    turn = np.array([0.1, -0.2, 0.15])
    result = controller.solve(q, np.zeros(6), [exp_so3(turn) @ R_WF, None])
    angular = functional.frame_jacobian(tree, q, tool)[:3] @ result.vdot
    np.testing.assert_allclose(angular, 10.0 * turn, atol=2e-2)


@pytest.mark.oracle
def test_solutions_equal_those_of_clarabel():
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    tree, controller, q, goals = standing(posture=1e-2, contact_weight=1e3)
    ticks = controller._made()
    rng = np.random.default_rng(1)
    for _ in range(20):
        q_now = functional.integrate_positions(tree, q, 0.1 * rng.normal(size=tree.num_velocities), 1.0)
        v = 0.3 * rng.normal(size=tree.num_velocities)
        result = controller.solve(q_now, v, goals)
        H, g, program = ticks._part["H"], ticks._part["g"], ticks._programs[0]
        rows = np.vstack([np.eye(len(g)), program._A])
        lower, upper, equal = program._lower, program._upper, program._is_equation
        below, above = ~equal & (lower > -1e20), ~equal & (upper < 1e20)
        A = sparse.csc_matrix(np.vstack([rows[equal], rows[above], -rows[below]]))
        b = np.concatenate([upper[equal], upper[above], -lower[below]])
        cones = [
            clarabel.ZeroConeT(int(equal.sum())),
            clarabel.NonnegativeConeT(int(above.sum() + below.sum())),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        unit = np.abs(g).max()
        solver = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(H / unit)), g / unit, A, b, cones, settings)
        solution = solver.solve()
        x = np.array(solution.x)
        assert str(solution.status) == "Solved"
        scale = np.abs(result.vdot).max()
        np.testing.assert_allclose(x[: tree.num_velocities], result.vdot, atol=1e-4 * scale)


@pytest.mark.parametrize("make", [make_quadruped, make_biped])
def test_ticks_are_optimal(make):
    """Gradient, signs of multipliers, and complementarity, for random states."""
    tree, controller, q, goals = standing(make)
    ticks = controller._made()
    rng = np.random.default_rng(5)
    for _ in range(30):
        q_now = functional.integrate_positions(tree, q, 0.1 * rng.normal(size=tree.num_velocities), 1.0)
        controller.solve(q_now, 0.3 * rng.normal(size=tree.num_velocities), goals)
        H, g, program = ticks._part["H"], ticks._part["g"], ticks._programs[0]
        x, multipliers = program.solve(H, g)
        rows = np.vstack([np.eye(len(g)), program._A])
        scale = np.abs(H).max() * np.abs(x).max()
        np.testing.assert_allclose(H @ x + g + rows.T @ multipliers, 0.0, atol=1e-14 * scale)
        at_upper, at_lower = program._upper - rows @ x, rows @ x - program._lower
        assert min(at_upper.min(), at_lower.min()) > -1e-8
        free = ~program._is_equation
        assert np.all(np.abs(at_upper[free & (multipliers > 1e-9)]) < 1e-8)
        assert np.all(np.abs(at_lower[free & (multipliers < -1e-9)]) < 1e-8)


def test_the_centre_of_mass_and_the_momentum_do_what_is_asked():
    tree, contacts, q = make_quadruped()
    controller = mbt.TaskSpaceController(tree, contacts)
    controller.add_center_of_mass(axes="xz", stiffness=10.0, damping=4.0)
    controller.add_momentum(axes="yz", damping=5.0)
    controller.add_posture(q, stiffness=10, damping=6, weight=1e-6)
    rng = np.random.default_rng(2)
    v = np.zeros(tree.num_velocities)
    v[6:] = 0.1 * rng.normal(size=12)
    center = functional.center_of_mass(tree, q)
    goal = center[[0, 2]] + [0.02, -0.03]
    result = controller.solve(q, v, [goal, np.zeros(2), None])
    assert result.status == "optimal"

    # By differences along the motion.
    def at(t):
        moved = functional.integrate_positions(tree, q, v + 0.5 * t * result.vdot, t)
        rates = v + t * result.vdot
        center = functional.center_of_mass(tree, moved)
        return np.concatenate([center, functional.spatial_momentum(tree, moved, rates)])

    h = 1e-4
    acceleration = (at(h)[:3] - 2 * at(0.0)[:3] + at(-h)[:3]) / h**2
    rate = (at(h)[3:] - at(-h)[3:]) / (2 * h)
    velocity = functional.center_of_mass_velocity(tree, q, v)
    wanted = 10.0 * np.array([0.02, -0.03]) - 4.0 * velocity[[0, 2]]
    np.testing.assert_allclose(acceleration[[0, 2]], wanted, atol=5e-3)
    np.testing.assert_allclose(rate[1:3], -5.0 * at(0.0)[4:6], atol=5e-3)


def test_a_body_on_two_points_may_turn_about_their_line():
    tree, contacts, q = make_biped()
    ends = [mbt.ContactPoints(contact.frame, contact.p_FC[:2], friction=0.8) for contact in contacts]
    controller = mbt.TaskSpaceController(tree, ends)
    foot = tree.get_body_by_name(ends[0].frame)
    controller.add_posture(q, stiffness=0.0, damping=0.0, weight=1e-3)
    rng = np.random.default_rng(4)
    v = 0.1 * rng.normal(size=tree.num_velocities)
    result = controller.solve(q, v, [None])
    assert result.status == "optimal"
    J = functional.frame_jacobian(tree, q, foot)
    bias = functional.frame_bias_acceleration(tree, q, v, foot)
    rate, angular, w = J[3:] @ result.vdot + bias[3:], J[:3] @ result.vdot + bias[:3], J[:3] @ v
    R_WF = functional.frame_pose(tree, q, foot)[:3, :3]
    for p_FC in ends[0].p_FC:
        arm = R_WF @ p_FC
        acceleration = rate + np.cross(angular, arm) + np.cross(w, np.cross(w, arm))
        velocity = J[3:] @ v + np.cross(w, arm)
        np.testing.assert_allclose(acceleration, -20.0 * velocity, atol=0.05)


def test_a_velocity_above_its_limit_comes_back_at_the_deceleration_of_braking():
    tree, controller = arm(braking=50.0, limits=["velocity", "effort"])
    controller.add_posture(stiffness=0.0, damping=0.0)
    v = np.zeros(6)
    v[5] = tree.velocity_upper_limits[5] + 1.0
    result = controller.solve(np.full(6, 0.3), v, [None])
    assert result.status == "optimal"
    assert result.vdot[5] == pytest.approx(-50.0, abs=1e-6)


@pytest.mark.parametrize(("v", "vdot"), [(3.0, -50.0), (0.25, -25.0), (-3.0, 50.0), (-0.25, 25.0)])
def test_where_limits_contradict_one_another_a_joint_stops(v, vdot):
    """Beyond a position limit it must move back, but it moves faster than allowed."""
    tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    last = tree.joints[-2]
    last.set_position_limits([-1.0], [1.0])
    last.set_velocity_limits([-0.125], [0.125])
    tree.finalize()
    controller = mbt.TaskSpaceController(tree, dt=0.01, braking=50.0)
    controller.add_posture(stiffness=0.0, damping=0.0)
    outside = -2.0 * np.sign(v)
    result = controller.solve(np.r_[np.full(5, 0.3), outside], np.r_[np.zeros(5), v], [None])
    # It should stop within a tick, or as soon as braking allows.
    assert result.vdot[5] == pytest.approx(vdot, abs=1e-6)


def test_the_point_of_a_task_is_written_as_in_inverse_kinematics():
    results = []
    for arguments, keywords in ((([0.0, 0.1, 0.2],), {}), ((), {"p_FP": [0.0, 0.1, 0.2]})):
        _, controller = arm()
        controller.add_position("tool", *arguments, stiffness=100, damping=20, **keywords)
        controller.add_posture(stiffness=10, damping=6, weight=1e-3)
        results.append(controller.solve(np.full(6, 0.3), np.zeros(6), [[0.4, 0.1, 0.5], None]).tau)
    np.testing.assert_array_equal(*results)
