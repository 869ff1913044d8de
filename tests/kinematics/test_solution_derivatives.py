"""Derivatives of solutions, against solutions for slightly different goals and models."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.kinematics.task_errors import calc_task_errors, goal_size, move_goal
from mbt.models import model_path
from support.linkages import four_bar

Q = np.array([0.2, -0.6, 1.0, 0.1, 0.5, 0.3])
STEP = 3e-5


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def settle(ik: mbt.InverseKinematics, q: np.ndarray, goals: list, context: object = None) -> np.ndarray:
    """Return the solution near q to rounding, by Newton's method with full steps."""
    for _ in range(60):
        v = ik.velocities(q, goals, 1.0, velocity_limits=False, damping=0.0, context=context)
        q = functional.integrate_positions(ik.tree, q, v, 1.0)
    return q


def differences(ik: mbt.InverseKinematics, q: np.ndarray, goals: list, i: int) -> np.ndarray:
    """Return difference quotients of solutions along goal i, each solved anew."""
    columns = []
    for change in STEP * np.eye(goal_size(ik._tasks[i])):
        ends = [
            settle(
                ik, q, [*goals[:i], move_goal(ik._tasks[i], np.asarray(goals[i], float), d), *goals[i + 1 :]]
            )
            for d in (change, -change)
        ]
        columns.append(functional.difference_positions(ik.tree, ends[1], ends[0]) / (2.0 * STEP))
    return np.stack(columns, -1)


def test_errors_of_tasks_have_exact_derivatives(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("tool")
    ik.add_position("hand", [0.1, 0.2, 0.3])
    ik.add_orientation("forearm")
    ik.add_direction("tool", [1, 2, 3])
    ik.add_relative_pose("forearm", "tool")
    ik.add_center_of_mass("xz")
    X = mbt.math.make_pose([0.3, 0.2, 0.1], rpy=[1.0, 2.0, 0.5])
    goals = [X, X[:3, 3], X[:3, :3], np.array([1.0, 2.0, 3.0]), X, np.array([0.1, 0.2])]
    # The last pose is so near its goal that series are used.
    near = functional.frame_pose(arm, Q + 1e-3, "tool")

    def errors(task, q, goal):
        context = arm.create_default_context(batch_shape=(1,))
        context.q = q
        return [x[0] for x in calc_task_errors(arm, task, context, goal[None])]

    h = 1e-6
    for task, goal in [*zip(ik._tasks, goals, strict=True), (ik._tasks[0], near)]:
        _, by_v, by_goal = errors(task, Q, goal)
        for k, d in enumerate(h * np.eye(6)):
            change = (errors(task, Q + d, goal)[0] - errors(task, Q - d, goal)[0]) / (2 * h)
            np.testing.assert_allclose(by_v[:, k], change, atol=2e-9)
        for k, d in enumerate(h * np.eye(goal_size(task))):
            ends = [errors(task, Q, move_goal(task, goal, side * d))[0] for side in (1, -1)]
            np.testing.assert_allclose(by_goal[:, k], (ends[0] - ends[1]) / (2 * h), atol=2e-9)
    np.testing.assert_allclose(
        errors(ik._tasks[0], Q, X)[0], functional.pose_error(arm, Q, "tool", X), atol=1e-14
    )


def test_a_pose_is_followed(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("tool")
    goal = functional.frame_pose(arm, Q, "tool")
    rates = ik.solution_derivatives(np.stack([Q, Q]), [np.stack([goal, np.full((4, 4), np.nan)])]).goals[0]
    np.testing.assert_allclose(functional.frame_jacobian(arm, Q, "tool") @ rates[0], np.eye(6), atol=1e-11)
    assert np.isnan(rates[1]).all()


def test_what_is_open_moves_least(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool")
    ik.add_direction("tool", [0, 0, 1])
    goals = [functional.frame_pose(arm, Q, "tool")[:3, 3], functional.frame_pose(arm, Q, "tool")[:3, 2]]
    rates = ik.solution_derivatives(Q, goals).goals[0]
    np.testing.assert_allclose(rates, differences(ik, Q, goals, 0), rtol=1e-5, atol=1e-5)
    J = functional.frame_jacobian(arm, Q, "tool")
    along_axis = np.linalg.solve(J, np.r_[goals[1], 0, 0, 0])  # moves neither the point nor the axis
    np.testing.assert_allclose(along_axis @ rates, 0.0, atol=1e-9)


def test_postures_and_secondary_tasks_have_their_optimum(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool")
    ik.add_direction("forearm", [0, 0, 1], weight=0.3)
    ik.add_posture(Q + 0.2, weight=0.1)
    goals = [functional.frame_pose(arm, Q, "tool")[:3, 3] + 0.03, np.array([0.3, 0.2, 2.0])]
    q = settle(ik, Q, goals)
    found = ik.solution_derivatives(q, goals)
    for i in range(2):
        np.testing.assert_allclose(found.goals[i], differences(ik, q, goals, i), atol=2e-5)


@pytest.fixture(scope="module")
def beside_a_ball() -> tuple[mbt.MultibodyTree, mbt.CollisionModel]:
    """An arm whose forearm may come near a ball."""
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    tree.get_body_by_name("forearm").add_collision(mbt.Shape("capsule", [0.05, 0.3]))
    tree.finalize()
    place = functional.frame_pose(tree, Q, "forearm")[:3, 3] + [0.02, 0.25, 0.03]
    ball = mbt.Shape("sphere", [0.1], mbt.math.make_pose(place), name="ball")
    return tree, mbt.CollisionModel(tree, [("forearm", "ball")], obstacles=[ball])


def test_pairs_at_their_least_distance_keep_it(beside_a_ball: tuple) -> None:
    """Against SciPy's optima with the distance as an equation; pairs farther apart change nothing."""
    tree, scene = beside_a_ball
    q0, at_least = Q + 0.1, float(scene.distances(Q)[0])
    place = functional.frame_pose(tree, Q, "tool")[:3, 3]

    def optimum(goal: np.ndarray, keep: bool) -> np.ndarray:
        equations = [
            {
                "type": "eq",
                "fun": lambda q: functional.frame_pose(tree, q, "tool")[:3, 3] - goal,
                "jac": lambda q: functional.frame_jacobian(tree, q, "tool")[3:],
            },
            {
                "type": "eq",
                "fun": lambda q: scene.distances(q) - at_least,
                "jac": lambda q: scene.distances(q, jacobian=True)[1],
            },
        ]
        found = optimize.minimize(
            lambda q: np.sum((q - q0) ** 2), Q, jac=lambda q: 2.0 * (q - q0), method="SLSQP",
            constraints=equations[: 1 + keep], options={"ftol": 1e-16, "maxiter": 200},
        )  # fmt: skip
        return found.x

    optimize = pytest.importorskip("scipy.optimize")
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    ik.add_posture(q0, weight=0.1)
    ik.add_distance(scene, at_least)

    def along(d: np.ndarray, keep: bool) -> np.ndarray:
        """Differences of fourth order."""
        near, far = (optimum(place + k * d, keep) - optimum(place - k * d, keep) for k in (1, 2))
        return (8.0 * near - far) / (12.0 * np.linalg.norm(d))

    for keep, problem in ((True, ik), (False, None)):
        q = optimum(place, keep)
        if problem is None:
            problem = mbt.InverseKinematics(tree)
            problem.add_position("tool")
            problem.add_posture(q0, weight=0.1)
            problem.add_distance(scene, float(scene.distances(q)[0]) - 0.001)
        rates = problem.solution_derivatives(q, [place]).goals[0]
        wanted = [along(d, keep) for d in 5e-4 * np.eye(3)]
        np.testing.assert_allclose(rates, np.stack(wanted, -1), atol=2e-5)
        kept = scene.distances(q, jacobian=True)[1] @ rates
        assert np.abs(kept).max() < 1e-9 if keep else np.abs(kept).max() > 0.1


@pytest.mark.oracle
def test_out_of_reach_the_best_compromise_moves(arm: mbt.MultibodyTree) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool", weight=2.0)
    ik.add_orientation("tool")
    goals = [np.array([1.3, 0.4, 0.5]), mbt.math.make_pose([0, 0, 0], rpy=[0.3, 1.0, 0.2])[:3, :3]]

    def least(place: np.ndarray, q: np.ndarray) -> np.ndarray:
        def residual(q: np.ndarray) -> np.ndarray:
            X = functional.frame_pose(arm, q, "tool")
            return np.r_[2.0 * (place - X[:3, 3]), mbt.math.log_so3(X[:3, :3].T @ goals[1])]

        bounds = arm.position_lower_limits, arm.position_upper_limits
        options = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-13, "bounds": bounds}
        return optimize.least_squares(residual, q, **options).x

    found = ik.solve(goals)
    assert not found.success
    q = least(goals[0], found.q)
    rates = ik.solution_derivatives(q, goals).goals[0]
    h = 1e-3
    other = np.stack([(least(goals[0] + d, q) - least(goals[0] - d, q)) / (2 * h) for d in h * np.eye(3)], -1)
    np.testing.assert_allclose(rates, other, atol=2e-3 * np.abs(other).max())


def test_dofs_on_limits_and_locked_ones_stay(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool")
    q = Q.copy()
    q[2] = arm.position_upper_limits[2]
    context = arm.create_default_context()
    waist = arm.get_joint_by_name("waist")
    waist.lock(context)
    goal = functional.frame_pose(arm, q, "tool")[:3, 3]
    rates = ik.solution_derivatives(q, [goal], context=context).goals[0]
    locked = waist.velocity_start
    assert np.all(rates[[locked, 2]] == 0.0)
    J = functional.frame_jacobian(arm, q, "tool")[3:]
    free = [k for k in range(6) if k not in (locked, 2)]
    np.testing.assert_allclose(rates[free], np.linalg.pinv(J[:, free]), atol=1e-9)


def test_parameters(arm: mbt.MultibodyTree) -> None:
    tree = arm.edit()
    mount = tree.add_frame(mbt.FixedOffsetFrame("mount", tree.get_body_by_name("hand"), np.eye(4)))
    tree.finalize()
    ik = mbt.InverseKinematics(tree)
    ik.add_position("mount", [0.02, 0.01, 0.1])
    ik.add_center_of_mass("xz")
    ik.add_posture(Q, weight=0.1)
    context = tree.create_default_context()
    context.q = Q
    com = tree.calc_center_of_mass_position_in_world(context)
    goals = [functional.frame_pose(tree, Q, "mount")[:3, 3] + 0.02, com[[0, 2]] + 0.005]
    q = settle(ik, Q, goals)
    hand = tree.get_body_by_name("hand")
    by_mount, by_mass, by_all = ik.solution_derivatives(q, goals, parameters=["mount", hand, tree]).parameters

    def difference(change, h):
        ends = []
        for side in (h, -h):
            other = tree.create_default_context()
            change(other, side)
            ends.append(settle(ik, q, goals, other))
        return (ends[0] - ends[1]) / (2 * h)

    for k in (1, 3, 5):

        def turn_or_move(other, h, k=k):
            d = h * np.eye(6)[k]
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = mbt.math.exp_so3(d[:3]), d[3:]
            mount.set_pose_in_parent_frame(other, X)

        np.testing.assert_allclose(by_mount[:, k], difference(turn_or_move, 3e-5), rtol=1e-5, atol=1e-5)
    mass = hand.default_mass
    other = difference(lambda c, h: hand.set_mass(c, mass + h), 1e-4)
    np.testing.assert_allclose(by_mass[:, 0], other, atol=1e-5 * max(1.0, np.abs(other).max()))
    # Only the mass varies; first moment and moments of inertia are constant.
    first = 10 * (hand.node_index - 1)
    standard = tree.get_inertial_parameters(context).reshape(-1)

    def change_entry(other, h):
        tree.set_inertial_parameters(other, standard + h * (np.arange(standard.size) == first))

    assert by_all.shape == (6, standard.size)
    np.testing.assert_allclose(by_all[:, first], difference(change_entry, 1e-4), rtol=1e-5, atol=1e-5)


def test_loops_and_quaternions() -> None:
    tree = four_bar()
    ik = mbt.InverseKinematics(tree)
    body = tree.bodies[1]
    ik.add_orientation(body)
    context = tree.create_default_context()
    tree.assemble(context)
    q = np.array(context.q)
    goal = functional.frame_pose(tree, q, body)[:3, :3]
    rates = ik.solution_derivatives(q, [goal]).goals[0]
    J_c = functional.constraint_jacobian(tree, q)
    np.testing.assert_allclose(J_c @ rates, 0.0, atol=1e-9)
    assert np.abs(rates).max() > 0.5
    free = mbt.MultibodyTree()
    one = free.add_body(mbt.RigidBody("one", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    free.finalize()
    ik = mbt.InverseKinematics(free)
    ik.add_pose(one)
    ik.add_posture(free.default_positions, weight=0.1)
    q = functional.integrate_positions(free, free.default_positions, np.arange(6) / 10, 1.0)
    goal = functional.frame_pose(free, q, one)
    rates = ik.solution_derivatives(q, [goal]).goals[0]
    np.testing.assert_allclose(functional.frame_jacobian(free, q, one) @ rates, np.eye(6), atol=1e-9)


def test_wrong_arguments(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool")
    goal = np.zeros(3)
    with pytest.raises(mbt.ShapeError, match=r"goals: expected 1"):
        ik.solution_derivatives(Q, [goal, goal])
    with pytest.raises(mbt.ShapeError, match=r"q"):
        ik.solution_derivatives(Q[:3], [goal])
    with pytest.raises(mbt.ArgumentTypeError, match=r"parameters: expected"):
        ik.solution_derivatives(Q, [goal], parameters=[arm.joints[0]])
    with pytest.raises(mbt.ArgumentTypeError, match=r"parameters: expected a list"):
        ik.solution_derivatives(Q, [goal], parameters="tool")
    other = mbt.load_model(model_path("mbt_arm"))
    with pytest.raises(mbt.ContextMismatchError, match=r"parameters"):
        ik.solution_derivatives(Q, [goal], parameters=[other.bodies[1]])
    with pytest.raises(mbt.ContextMismatchError, match=r"context"):
        ik.solution_derivatives(Q, [goal], context=other.create_default_context())
