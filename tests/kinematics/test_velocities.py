"""Velocities of inverse kinematics: optimality conditions, limits, and motions made of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.transform import Rotation

import mbt
from mbt import functional
from mbt._core.solvers.differential_kinematics import solve_bounded_least_squares
from mbt.models import model_path
from support.build import build_tree
from support.linkages import calc_four_bar_angles, four_bar
from support.random_trees import every_kind

DT = 0.01


def arm(joints: int = 7, reach: float = 2.0, speed: float = 1.5, acceleration: float = np.inf) -> Any:
    """An arm of revolute joints with alternating axes."""
    tree = mbt.MultibodyTree()
    body: Any = tree.world_body
    for i in range(joints):
        link = tree.add_body(
            mbt.RigidBody(f"link{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0 + i, 0.1))
        )
        X = mbt.math.make_pose([0.05, 0.02, 0.3 if i else 0.1])
        joint = tree.add_joint(
            mbt.RevoluteJoint, f"joint{i}", body, X, link, None, axis=[[0, 0, 1], [0, 1, 0]][i % 2]
        )
        joint.set_position_limits([-reach], [reach]).set_velocity_limits([-speed], [speed])
        joint.set_acceleration_limits([-acceleration], [acceleration])
        body = link
    tree.add_frame(mbt.FixedOffsetFrame("tool", body, mbt.math.make_pose([0.1, 0, 0.1], rpy=[0.1, 0.2, 0.3])))
    tree.finalize()
    return tree


def residual_of(A: Any, b: Any, damping: float, center: Any, E: Any, lower: Any, upper: Any, x: Any) -> float:
    """Return the residual of the optimality (KKT) conditions at x."""
    g = A.T @ (A @ x - b) + damping * (x - center)
    free = (x > lower) & (x < upper)
    if len(E):
        # Multipliers with the required signs that leave the least residual.
        sides = np.eye(len(x))[:, ~free] * np.where(x <= lower, -1.0, 1.0)[~free]
        columns = np.concatenate([E.T, sides], 1)
        least = np.where(lower == upper, -np.inf, 0.0)[~free]
        bounds = (np.r_[np.full(len(E), -np.inf), least], np.inf)
        y = lsq_linear(columns, -g, bounds, method="bvls", tol=1e-15).x
        return float(np.abs(g + columns @ y).max())
    wrong = np.where(free, np.abs(g), np.where(x <= lower, -g, g))
    return float(np.where(lower == upper, 0.0, wrong).max(initial=0.0))


def random_problem(rng: np.random.Generator, equations: bool) -> tuple[Any, ...]:
    n, rows = rng.integers(1, 20), rng.integers(1, 25)
    m = int(rng.integers(0, max(1, n // 2))) if equations else 0
    A, E = rng.normal(size=(rows, n)), rng.normal(size=(m, n))
    if rng.integers(3) == 0:
        A[rng.integers(rows)] = A[0]
        A[:, rng.integers(n)] *= 1e-3
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    lower[rng.random(n) < 0.1], upper[rng.random(n) < 0.1] = -np.inf, np.inf
    upper[0] = lower[0] = 0.1
    damping = float(rng.choice([0.0, 1e-6, 1e-2]))
    return A, 3.0 * rng.normal(size=rows), damping, rng.normal(size=n), E, lower, upper


def test_bounded_least_squares_is_optimal() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10_000):
        problem = random_problem(rng, equations=False)
        lower, upper = problem[-2:]
        x = np.clip(rng.normal(size=len(lower)), lower, upper)
        assert solve_bounded_least_squares(*problem, x) >= 0
        assert np.all((lower <= x) & (x <= upper))
        assert residual_of(*problem, x) < 1e-9


def test_bounded_least_squares_with_equations_is_optimal() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1000):
        problem = random_problem(rng, equations=True)
        E, lower, upper = problem[-3:]
        x = np.clip(rng.normal(size=len(lower)), lower, upper)
        before = E @ x
        assert solve_bounded_least_squares(*problem, x) >= 0
        assert np.all((lower <= x) & (x <= upper))
        assert np.abs(E @ x - before).max(initial=0.0) < 1e-9
        assert residual_of(*problem, x) < 1e-9


def test_bounded_least_squares_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        A, b, _, center, E, lower, upper = random_problem(rng, equations=False)
        upper[0] += 0.1  # SciPy needs a nonempty interval
        x = np.clip(np.zeros(len(lower)), lower, upper)
        solve_bounded_least_squares(A, b, 0.0, center, E, lower, upper, x)
        best = lsq_linear(A, b, (lower, upper), method="bvls", tol=1e-14, max_iter=500).cost
        assert abs(0.5 * np.sum((A @ x - b) ** 2) - best) < 1e-9 * (1.0 + best)


@pytest.mark.parametrize("far", [0.01, 1.0, 30.0])
def test_conditions_of_optimality(far: float) -> None:
    tree, rng = arm(), np.random.default_rng(3)
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool", weight=2.0)
    ik.add_position("link3", [0, 0.1, 0])
    for _ in range(100):
        q = rng.uniform(-2.0, 2.0, 7)
        goals = [
            functional.frame_pose(tree, q, name)[:3] @ p + far * 0.1 * rng.normal(size=3)
            for name, p in (("tool", [0, 0, 0, 1]), ("link3", [0, 0.1, 0, 1]))
        ]
        v = ik.velocities(q, goals, DT, gain=0.8)
        point = functional.frame_pose(tree, q, "link3")[:3, :3] @ [0, 0.1, 0]
        J3 = functional.frame_jacobian(tree, q, "link3")
        J = np.concatenate(
            [2.0 * functional.frame_jacobian(tree, q, "tool")[3:], J3[3:] + np.cross(J3[:3].T, point).T]
        )
        e = np.concatenate(
            [
                2.0 * (goals[0] - functional.frame_pose(tree, q, "tool")[:3, 3]),
                goals[1] - functional.frame_pose(tree, q, "link3")[:3, 3] - point,
            ]
        )
        lower = np.maximum(-1.5, (-2.0 - q) / DT)
        upper = np.minimum(1.5, (2.0 - q) / DT)
        assert np.all((v >= lower - 1e-12) & (v <= upper + 1e-12))
        near = np.where(v < lower + 1e-12, lower, np.where(v > upper - 1e-12, upper, v))
        damping = 2.0 * (0.8 * np.linalg.norm(e) + 2e-6)
        problem = (J, 0.8 * e, damping, np.zeros(7), np.zeros((0, 7)), DT * lower, DT * upper)
        assert residual_of(*problem, DT * near) < 1e-9 * max(1.0, far)


def test_secondary_tasks_use_what_is_left() -> None:
    tree, rng = arm(), np.random.default_rng(4)
    first, both = mbt.InverseKinematics(tree), mbt.InverseKinematics(tree)
    for ik in (first, both):
        ik.add_position("tool")
    both.add_position("link3", weight=0.5)
    both.add_posture(np.full(7, 0.3), weight=0.1)
    for _ in range(100):
        q = rng.uniform(-2.0, 2.0, 7)
        there, elbow = rng.normal(size=(2, 3))
        d1 = DT * first.velocities(q, [there], DT)
        d = DT * both.velocities(q, [there, elbow], DT)
        J = functional.frame_jacobian(tree, q, "tool")[3:]
        np.testing.assert_allclose(J @ d, J @ d1, atol=1e-11)
        A = np.concatenate([0.5 * functional.frame_jacobian(tree, q, "link3")[3:], 0.1 * np.eye(7)])
        b = np.concatenate([0.5 * (elbow - functional.frame_pose(tree, q, "link3")[:3, 3]), 0.1 * (0.3 - q)])
        lower = DT * np.maximum(-1.5, (-2.0 - q) / DT)
        upper = DT * np.minimum(1.5, (2.0 - q) / DT)
        d = np.where(d < lower + 1e-13, lower, np.where(d > upper - 1e-13, upper, d))
        damping = 0.5 * (np.linalg.norm(b[:3]) + 0.5e-6)
        assert residual_of(A, b, damping, np.zeros(7), J, lower, upper, d) < 1e-9


def errors_of(tree: Any, q: Any, goals: list[Any]) -> Any:
    """Of poses of "body8", and of "body5" in "body2"; of a direction, a point and the center of mass."""

    def log(X: Any) -> Any:
        w = Rotation.from_matrix(X[:3, :3]).as_rotvec()
        a = np.linalg.norm(w)
        K = np.cross(np.eye(3), w)
        c = (1.0 - 0.5 * a / np.tan(0.5 * a)) / a**2
        return np.concatenate([w, (np.eye(3) - 0.5 * K + c * K @ K) @ X[:3, 3]])

    X = {name: functional.frame_pose(tree, q, name) for name in ("body8", "body5", "body2", "body9")}
    relative = np.linalg.inv(X["body2"]) @ X["body5"]
    return np.concatenate(
        [
            log(np.linalg.inv(X["body8"]) @ goals[0]),
            log(np.linalg.inv(relative) @ goals[1]),
            goals[2] - X["body9"][:3, :3] @ [0.6, 0.0, 0.8],
            goals[3] - X["body9"][:3] @ [0.1, 0.2, 0.3, 1.0],
            goals[4] - functional.center_of_mass(tree, q)[[0, 2]],
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_all_tasks_are_exact(seed: int) -> None:
    """On every kind of joint: compare with least squares of errors and their difference quotients."""
    tree = build_tree(every_kind(7 + seed))
    rng = np.random.default_rng(5)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("body8", weight=(1.0, 2.0))
    ik.add_relative_pose("body2", "body5")
    ik.add_direction("body9", [3.0, 0.0, 4.0])
    ik.add_position("body9", [0.1, 0.2, 0.3])
    ik.add_center_of_mass("xz", weight=3.0)
    weights = np.r_[np.ones(3), np.full(3, 2.0), np.ones(12), np.full(2, 3.0)]
    nv = tree.num_velocities
    q = functional.integrate_positions(tree, tree.default_positions, 0.3 * rng.normal(size=nv), 1.0)
    goal = functional.integrate_positions(tree, q, 0.2 * rng.normal(size=nv), 1.0)
    X = {name: functional.frame_pose(tree, goal, name) for name in ("body8", "body5", "body2", "body9")}
    goals = [
        X["body8"],
        np.linalg.inv(X["body2"]) @ X["body5"],
        X["body9"][:3, :3] @ [0.6, 0.0, 0.8],
        X["body9"][:3] @ [0.1, 0.2, 0.3, 1.0],
        functional.center_of_mass(tree, goal)[[0, 2]],
    ]
    h = 1e-5
    J = np.empty((20, nv))
    for k, step in enumerate(np.eye(nv) * h):
        ends = [
            errors_of(tree, functional.integrate_positions(tree, q, s * step, 1.0), goals)
            for s in (-1.0, 1.0)
        ]
        J[:, k] = weights * (ends[0] - ends[1]) / (2.0 * h)
    e = 0.5 * weights * errors_of(tree, q, goals)
    d = 0.1 * ik.velocities(q, goals, 0.1, gain=0.5, velocity_limits=False)
    damping = 3.0 * (np.linalg.norm(e) + 3e-6)
    gradient = J.T @ (J @ d - e) + damping * d
    # A limit along the path of the curvilinear joint does not count as free.
    free = np.arange(nv) != nv - 1
    np.testing.assert_allclose(gradient[free], 0.0, atol=1e-7)
    assert np.linalg.norm(d) > 0.01


def test_limits_and_way_back() -> None:
    """1000 random steps: limits are never exceeded from inside, and reached without a jump from outside."""
    tree, rng = arm(speed=1.5, acceleration=20.0), np.random.default_rng(6)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("tool")
    q, v = rng.uniform(-2.0, 2.0, 7), np.zeros(7)
    q[:3] = [2.3, -2.2, 2.05]
    outside = np.abs(q) > 2.0
    for i in range(1000):
        if i % 50 == 0:
            goal = functional.frame_pose(tree, rng.uniform(-3.0, 3.0, 7), "tool")
        new = ik.velocities(q, [goal], 2e-3, last=v)
        assert np.all(np.abs(new) <= 1.5)
        assert np.all(np.abs(new - v) <= 20.0 * 2e-3 + 1e-12)
        after = q + new * 2e-3
        assert np.all(np.abs(after) <= np.maximum(2.0, np.abs(q)))
        assert np.all(np.abs(after[~outside]) <= 2.0)
        q, v, outside = after, new, np.abs(after) > 2.0
    assert not outside.any()


def test_limits_that_contradict_each_other() -> None:
    """A last velocity that no limit allows: position limits come first, then velocity, then acceleration."""
    tree = arm(1, reach=1.0, speed=1.5, acceleration=20.0)
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    goal = [np.array([5.0, 5.0, 0.0])]
    assert ik.velocities([0.0], goal, DT, last=[9.0]) == [1.5]
    assert 0.0 <= ik.velocities([1.0], goal, DT, last=[1.5])[0] <= 1e-12
    assert ik.velocities([1.1], goal, DT, last=[1.5]) == [1.3]


def test_a_moving_goal_is_followed() -> None:
    tree = arm(speed=10.0)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("tool")
    ik.add_posture(np.full(7, 0.4), weight=0.01)
    start = np.full(7, 0.4)
    X0 = functional.frame_pose(tree, start, "tool")
    q, dt, errors = start + 0.1, 1e-3, []
    out = np.empty(7)
    for i in range(2000):
        goal = X0.copy()
        goal[:3, 3] += 0.05 * np.array([np.sin(3e-3 * i), np.cos(3e-3 * i) - 1.0, 0.0])
        assert ik.velocities(q, [goal], dt, gain=0.3, out=out) is out
        q = functional.integrate_positions(tree, q, out, dt)
        errors.append(np.linalg.norm(goal[:3, 3] - functional.frame_pose(tree, q, "tool")[:3, 3]))
    # The tool lags by the goal's motion times (1/gain - 1): 0.15 mm a step.
    assert max(errors[200:]) < 4e-4
    assert errors[0] > 0.01


def test_constraints_hold() -> None:
    """The rocker of a four-bar follows; errors of an inconsistent start decay."""
    tree = four_bar()
    ik = mbt.InverseKinematics(tree)
    ik.add_posture(calc_four_bar_angles(1.2))
    q = calc_four_bar_angles(0.6) + np.array([0.0, 0.01, -0.01])
    for _ in range(100):
        q = functional.integrate_positions(tree, q, ik.velocities(q, [], DT, gain=0.5), DT)
        assert np.all(np.isfinite(q))
    assert np.abs(functional.constraint_errors(tree, q)).max() < 1e-12
    np.testing.assert_allclose(q, calc_four_bar_angles(1.2), atol=1e-6)
    # Another crank angle, by the coupler's end alone.
    ik = mbt.InverseKinematics(tree)
    ik.add_position("end_of_coupler")
    goal = functional.frame_pose(tree, calc_four_bar_angles(0.9), "end_of_coupler")[:3, 3]
    for _ in range(100):
        q = functional.integrate_positions(tree, q, ik.velocities(q, [goal], DT, gain=0.5), DT)
        assert np.abs(functional.constraint_errors(tree, q)).max() < 0.05
    np.testing.assert_allclose(q, calc_four_bar_angles(0.9), atol=1e-8)


def test_a_floating_base_with_a_ball_joint() -> None:
    tree = build_tree(every_kind(8))
    rng = np.random.default_rng(7)
    ik = mbt.InverseKinematics(tree)
    q = tree.default_positions.copy()
    there = functional.integrate_positions(tree, q, rng.normal(size=tree.num_velocities), 1.0)
    there = np.clip(there, tree.position_lower_limits, tree.position_upper_limits)
    ik.add_posture(there)
    v = ik.velocities(q, [], 0.5, damping=0.0)
    np.testing.assert_allclose(functional.integrate_positions(tree, q, v, 0.5), there, atol=1e-9)


@pytest.mark.parametrize("kind", ["BallRpyJoint", "RpyFloatingJoint"])
def test_limits_of_roll_pitch_and_yaw(kind: str) -> None:
    """Goals beyond limits: the angles stay within, and come to rest at the least error that SciPy finds."""
    low, high = np.array([-0.4, -0.7, -0.5]), np.array([0.5, 0.6, 0.3])
    tree = mbt.MultibodyTree()
    head = tree.add_body(mbt.RigidBody("head", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    neck = tree.add_joint(getattr(mbt, kind), "neck", tree.world_body, None, head, None)
    others = np.full(neck.num_positions - 3, np.inf)
    neck.set_position_limits(np.r_[low, -others], np.r_[high, others])
    tree.finalize()
    ik = mbt.InverseKinematics(tree)
    ik.add_orientation("head")
    rng = np.random.default_rng(0)
    q = np.zeros((6, tree.num_positions))
    q[:, :3] = rng.uniform(low, high, (6, 3))
    goals = np.tile(np.eye(4), (6, 1, 1))
    for X, angles in zip(goals, rng.uniform(-1.2, 1.2, (6, 3)), strict=True):
        X[:] = mbt.math.make_pose([0, 0, 0], rpy=angles)
    for _ in range(80):
        v = ik.velocities(q, [goals[:, :3, :3]], 0.1, gain=0.3)
        assert np.array_equal(v[2], ik.velocities(q[2], [goals[2, :3, :3]], 0.1, gain=0.3))
        q = functional.integrate_positions(tree, q, v, 0.1)
        assert np.all((q[:, :3] > low - 1e-3) & (q[:, :3] < high + 1e-3))
    assert np.all((q[:, :3] > low - 1e-9) & (q[:, :3] < high + 1e-9))
    on_limits = 0
    for X, x in zip(goals, q, strict=True):

        def cost(angles: np.ndarray, X: np.ndarray = X, x: np.ndarray = x) -> float:
            return float(np.sum(functional.pose_error(tree, np.r_[angles, x[3:]], "head", X)[:3] ** 2))

        best = minimize(
            cost, 0.5 * (low + high), bounds=np.c_[low, high], options={"ftol": 1e-15, "gtol": 1e-9}
        )
        assert cost(x[:3]) <= best.fun + 1e-9
        on_limits += np.isclose(x[:3], low).sum() + np.isclose(x[:3], high).sum()
    assert on_limits > 3
    # Back from beyond the limit, at the rate of the gain.
    beyond = np.zeros(tree.num_positions)
    beyond[1] = 1.0
    v = ik.velocities(beyond, [mbt.math.make_pose([0, 0, 0], rpy=[0, 1.0, 0])[:3, :3]], 0.1, gain=0.5)
    np.testing.assert_allclose(0.1 * v[1], -0.2, atol=1e-9)


def test_singular_and_out_of_reach() -> None:
    """A straight arm, and a goal out of reach: velocities are finite, within limits, and go to zero."""
    tree = arm()
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    q = np.zeros(7)
    for _ in range(3000):
        v = ik.velocities(q, [np.array([0.5, 0.3, 9.0])], DT, damping=4.0)
        assert np.all(np.abs(v) <= 1.5)
        q = q + v * DT
    assert np.abs(v).max() < 1e-3


def test_batches_threads_and_nan() -> None:
    tree, rng = arm(), np.random.default_rng(8)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("tool", weight=(0.5, 1.0))
    q = rng.uniform(-2.0, 2.0, (3, 200, 7))
    X = functional.frame_pose(tree, rng.uniform(-2.0, 2.0, (200, 7)), "tool")
    X[5, 0, 3] = np.nan
    q[1, 9, 2] = np.inf
    many, before = [], mbt.get_num_threads()
    for threads in (1, 2, 3):
        mbt.set_num_threads(threads)
        many.append(ik.velocities(q, [X], DT))
    mbt.set_num_threads(before)
    assert many[0].shape == (3, 200, 7)
    np.testing.assert_array_equal(many[0], many[1])
    np.testing.assert_array_equal(many[0], many[2])
    bad = np.zeros((3, 200), bool)
    bad[:, 5] = bad[1, 9] = True
    np.testing.assert_array_equal(np.isnan(many[0]), np.broadcast_to(bad[..., None], many[0].shape))
    one = ik.velocities(q[2, 7], [X[7]], DT)
    np.testing.assert_array_equal(one, many[0][2, 7])
    assert np.isnan(ik.velocities(q[0, 0], [X[5]], DT)).all()
    X[5, 0, 3] = 1e200  # its square overflows
    for damping in (0.0, 1.0):
        assert np.isnan(ik.velocities(q[0, 0], [X[5]], DT, damping=damping)).all()
    np.testing.assert_array_equal(ik.velocities(q, [X[7]], DT)[2, 7], one)
    np.testing.assert_array_equal(ik.velocities(q[2, 7], [X], DT, last=np.zeros(7))[7], one)
    assert ik.velocities(q[:, :0], [X[0]], DT).shape == (3, 0, 7)


def test_context() -> None:
    """Parameters, locked joints and disabled constraints are taken from the Context."""
    tree, rng = arm(), np.random.default_rng(9)
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    q, goal = rng.uniform(-1.0, 1.0, 7), [rng.normal(size=3)]
    context = tree.create_default_context()
    np.testing.assert_array_equal(ik.velocities(q, goal, DT, context=context), ik.velocities(q, goal, DT))
    tool = tree.get_frame_by_name("tool")
    tool.set_pose_in_parent_frame(context, mbt.math.make_pose([0.3, 0.0, 0.0]))
    other = mbt.InverseKinematics(tree)
    other.add_position("link6", [0.3, 0.0, 0.0])
    np.testing.assert_allclose(
        ik.velocities(q, goal, DT, context=context), other.velocities(q, goal, DT), atol=1e-12
    )
    context.q = q
    tree.get_joint_by_name("joint2").lock(context)
    v = ik.velocities(q, goal, DT, context=context)
    assert v[2] == 0.0
    assert np.all(v[[0, 1, 3]] != 0.0)


def test_no_dofs() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, None, body, None, mbt.math.make_pose())
    tree.finalize()
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("body")
    assert ik.velocities([], [np.eye(4)], DT).shape == (0,)
    still = mbt.InverseKinematics(arm())
    still.add_pose(still.tree.world_body.body_frame)
    np.testing.assert_array_equal(still.velocities(np.zeros(7), [np.eye(4)], DT), np.zeros(7))


def test_tasks_added_later_count() -> None:
    tree = arm()
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    q, goal = np.full(7, 0.3), np.array([0.5, 0.5, 0.5])
    ik.velocities(q, [goal], DT)
    ik.add_position("link3")
    assert ik.velocities(q, [goal, goal], DT).shape == (7,)


def test_bad_input_changes_nothing() -> None:
    tree = arm()
    ik = mbt.InverseKinematics(tree)
    q = np.zeros(7)
    with pytest.raises(mbt.ArgumentValueError, match="no task"):
        ik.velocities(q, [], DT)
    ik.add_pose("tool")
    ik.add_direction("link2", [0, 0, 1])
    X, u, out = np.eye(4), np.array([0.0, 0.0, 1.0]), np.full(7, 3.0)
    for message, error, change in [
        ("goals: expected a list", mbt.ArgumentTypeError, {"goals": X}),
        ("goals: expected 2", mbt.ShapeError, {"goals": [X]}),
        (r"goals\[0\]", mbt.ShapeError, {"goals": [X[:3], u]}),
        (r"goals\[0\]: expected poses", mbt.ArgumentValueError, {"goals": [2.0 * X, u]}),
        (r"goals\[1\]: expected a direction", mbt.ArgumentValueError, {"goals": [X, 0.0 * u]}),
        ("q", mbt.ShapeError, {"q": q[:6]}),
        ("last", mbt.ShapeError, {"last": q[:6]}),
        ("dt", mbt.ArgumentValueError, {"dt": 0.0}),
        ("dt", mbt.ArgumentValueError, {"dt": np.nan}),
        ("gain", mbt.ArgumentValueError, {"gain": 1.5}),
        ("damping", mbt.ArgumentValueError, {"damping": -1.0}),
        ("velocity_limits", mbt.ArgumentTypeError, {"velocity_limits": "no"}),
        ("context", mbt.ArgumentTypeError, {"context": 3}),
        ("context", mbt.ContextMismatchError, {"context": arm().create_default_context()}),
        ("broadcast", mbt.ShapeError, {"q": np.zeros((3, 7)), "goals": [np.tile(X, (2, 1, 1)), u]}),
        ("out", mbt.ShapeError, {"q": np.zeros((3, 7))}),
    ]:
        arguments: dict[str, Any] = {"q": q, "goals": [X, u], "dt": DT, "out": out} | change
        with pytest.raises(error, match=message):
            ik.velocities(**arguments)
    assert np.all(out == 3.0)
    with pytest.raises(mbt.ArgumentTypeError, match="out"):
        ik.velocities(q, [X, u], DT, out=[0.0] * 7)  # type: ignore[arg-type]
    # The same array may be argument and result.
    wanted = ik.velocities(q + 0.1, [X, u], DT)
    q += 0.1
    np.testing.assert_array_equal(ik.velocities(q, [X, u], DT, out=q), wanted)


def test_a_model_as_it_comes() -> None:
    """The arm of the package at 1 kHz, with a hand-moved goal that jumps: limits always hold."""
    tree = mbt.load_model(model_path("mbt_arm"))
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("tool")
    rng = np.random.default_rng(10)
    q, dt = tree.default_positions.copy(), 1e-3
    low, high = tree.position_lower_limits, tree.position_upper_limits
    q = np.clip(q, low, high)
    goal = functional.frame_pose(tree, q, "tool")
    for i in range(1000):
        if i % 100 == 0:
            goal[:3, 3] += 0.1 * rng.normal(size=3)
        v = ik.velocities(q, [goal], dt, gain=0.1)
        assert np.all(np.abs(v) <= tree.velocity_upper_limits)
        q = q + v * dt
        assert np.all((q >= low) & (q <= high))
