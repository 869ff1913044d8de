"""Inverse kinematics that keeps distances between shapes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import minimize

import mbt
from mbt import functional
from mbt.errors import AlreadyFinalizedError, ArgumentTypeError, ArgumentValueError, ContextMismatchError
from mbt.kinematics import distances
from mbt.models import model_path

MARGIN = 0.02


def make_arm() -> mbt.MultibodyTree:
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    capsule = mbt.Shape("capsule", [0.05, 0.2], mbt.math.make_pose([0, 0, 0.1]))
    for name in ("turret", "upper_arm", "forearm", "hand"):
        tree.get_body_by_name(name).add_collision(capsule)
    tree.finalize()
    return tree


@pytest.fixture(scope="module")
def arm():
    return make_arm()


@pytest.fixture(scope="module")
def scene(arm):
    post = mbt.Shape("capsule", [0.05, 1.0], mbt.math.make_pose([0.35, 0.2, 0.4]), name="post")
    ball = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0.3, -0.3, 0.5]), name="ball")
    return mbt.CollisionModel(arm, obstacles=[post, ball])


def make_problem(arm, scene, task="position", at_least=MARGIN):
    ik = mbt.InverseKinematics(arm)
    getattr(ik, f"add_{task}")("tool")
    if scene is not None:
        ik.add_distance(scene, at_least)
    return ik


def reachable(arm, scene, count, seed=0):
    """Return positions without contact."""
    q = np.random.default_rng(seed).uniform(-2, 2, (4 * count, arm.num_positions))
    return q[scene.is_free(q, margin=MARGIN)][:count]


@pytest.mark.parametrize("task", ["position", "pose"])
def test_solutions_keep_distances(arm, scene, task):
    X = functional.frame_pose(arm, reachable(arm, scene, 150), "tool")
    goals = X if task == "pose" else X[:, :3, 3]
    plain = make_problem(arm, None, task).solve([goals], seeds=256)
    found = make_problem(arm, scene, task).solve([goals], seeds=256)
    # Without the distance, some solutions would collide.
    assert not scene.is_free(plain.q[plain.success], margin=MARGIN).all()
    assert found.success.all()
    assert scene.is_free(found.q, margin=MARGIN).all()
    there = functional.frame_pose(arm, found.q, "tool")
    assert np.abs(there[:, :3, 3] - X[:, :3, 3]).max() < 1e-4
    if task == "pose":
        assert np.abs(there - X).max() < 1e-3
        error = functional.pose_error(arm, found.q, "tool", X)
        assert np.allclose(found.error, error, atol=1e-9)
    # Solutions that were already free are unchanged.
    same = plain.success & scene.is_free(plain.q, margin=MARGIN)
    assert np.array_equal(found.q[same], plain.q[same])


def test_a_goal_of_a_batch_gets_the_same_as_alone(arm, scene):
    ik = make_problem(arm, scene)
    p = functional.frame_pose(arm, reachable(arm, scene, 60), "tool")[:, :3, 3]
    start = np.zeros(6)
    batch = ik.solve([p.reshape(3, 20, 3)], start)
    for i in range(0, 60, 7):
        alone = ik.solve([p[i]], start)
        assert np.array_equal(alone.q, batch.q.reshape(60, -1)[i])
        assert np.array_equal(alone.error, batch.error.reshape(60, -1)[i])


def test_a_goal_inside_an_obstacle_is_no_success(arm):
    # The tool is on the hand, whose capsule cannot leave the ball while the tool is at the ball's centre.
    hand = functional.frame_pose(arm, np.zeros(6), "tool")[:3, 3]
    ball = mbt.Shape("sphere", [0.3], mbt.math.make_pose(hand), name="ball")
    scene = mbt.CollisionModel(arm, [("hand", "ball")], obstacles=[ball])
    found = make_problem(arm, scene).solve([hand])
    assert not found.success
    # The result meets the task, as far from the ball as was found.
    assert np.abs(found.error).max() < 1e-4
    assert not scene.is_free(found.q)
    assert make_problem(arm, None).solve([hand]).success


def slide():
    """A ball on two crossed sliders and a redundant third one."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    inboard = tree.world_body
    for i, axis in enumerate(([1, 0, 0], [0, 1, 0], [1, 0, 0])):
        body = tree.add_body(mbt.RigidBody(f"cart{i}", inertia))
        tree.add_joint(mbt.PrismaticJoint, f"slider{i}", inboard, None, body, None, axis=axis)
        inboard = body
    for name in ("cart1", "cart2"):
        tree.get_body_by_name(name).add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    return tree


def test_solutions_are_pushed_apart_where_no_attempt_is_free():
    """The last cart stays where it is, and the one before it moves away from the post."""
    tree = slide()
    post = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0.01, 0.0, 0.0]), name="post")
    scene = mbt.CollisionModel(tree, [("cart1", "post")], obstacles=[post])
    ik = make_problem_of_slide(tree, scene)
    found = ik.solve([[0.0, 0.0, 0.0]], np.zeros(3), seeds=1)
    assert found.success
    d = scene.distances(found.q)
    assert MARGIN <= d[0] < MARGIN + 1e-5
    # No farther than needed: two balls of 0.1 m, and the margin.
    assert np.allclose(found.q[0], 0.01 - 0.22, atol=1e-5)
    assert np.allclose(found.q[0] + found.q[2], 0.0, atol=1e-4)


def make_problem_of_slide(tree, scene):
    ik = mbt.InverseKinematics(tree)
    ik.add_position("cart2")
    ik.add_distance(scene, MARGIN)
    return ik


def test_compromises_of_mechanisms_keep_distances_and_no_more():
    """A goal above a post, out of the plane: the last cart stops at the nearest allowed point."""
    tree = slide().edit()
    tree.add_constraint(mbt.CouplerConstraint("half", tree.joints[0], tree.joints[2], gear_ratio=0.5))
    tree.finalize()
    post = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0.5, 0.0, 0.0]), name="post")
    scene = mbt.CollisionModel(tree, [("cart2", "post")], obstacles=[post])
    found = make_problem_of_slide(tree, scene).solve([[[0.45, 0.05, 0.3], [0.45, -0.05, 0.2]]])
    assert not found.success.any()
    y = (0.2 + MARGIN) / np.sqrt(2.0)
    x = [(0.5 - y) / 3.0, (0.5 - y) / 1.5]
    assert np.allclose(found.q, [[x[0], y, x[1]], [x[0], -y, x[1]]], atol=1e-8)
    assert np.allclose(found.error, [[y - 0.05, 0.05 - y, 0.3], [y - 0.05, y - 0.05, 0.2]], atol=1e-8)


def test_all_solutions_keep_distances(arm, scene):
    X = functional.frame_pose(arm, reachable(arm, scene, 40), "tool")
    counts = []
    for goal in X:
        every = make_problem(arm, None, "pose").solve_all([goal], seeds=128)
        free = make_problem(arm, scene, "pose").solve_all([goal], seeds=128)
        assert scene.is_free(free, margin=MARGIN).all()
        counts.append((len(free), scene.is_free(every, margin=MARGIN).sum(), len(every)))
    counts = np.array(counts)
    assert np.array_equal(counts[:, 0], counts[:, 1])
    assert (counts[:, 0] < counts[:, 2]).any()


# Velocities


def reference_step(arm, scene, q, goal, dt, damping, at_least):
    """Solve the same least squares by SLSQP, with all pairs as inequalities."""
    e = goal - functional.frame_pose(arm, q, "tool")[:3, 3]
    J = functional.frame_jacobian(arm, q, "tool")[3:]
    weight = damping * (np.linalg.norm(e) + 1e-6)
    d, J_d = scene.distances(q, jacobian=True)
    low = np.maximum(arm.position_lower_limits - q, arm.velocity_lower_limits * dt)
    high = np.minimum(arm.position_upper_limits - q, arm.velocity_upper_limits * dt)
    H, g = J.T @ J + weight * np.eye(6), J.T @ e
    scale = 1.0 / np.linalg.norm(g)
    result = minimize(
        lambda x: scale * (0.5 * x @ H @ x - g @ x),
        np.zeros(6),
        jac=lambda x: scale * (H @ x - g),
        bounds=np.stack([low, high], 1),
        constraints=[{"type": "ineq", "fun": lambda x: J_d @ x - (at_least - d), "jac": lambda _: J_d}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return result.x, lambda x: 0.5 * x @ H @ x - g @ x


def test_velocities_are_least_squares_with_distances_as_inequalities(arm, monkeypatch):
    """Only with the rows of the current state; those of the state after the step are left out."""
    monkeypatch.setattr(distances, "_ROUNDS", 0)
    rng = np.random.default_rng(11)
    held = np.zeros(13, int)
    for i in range(60):
        places = rng.uniform([-0.6, -0.6, 0.1], [0.6, 0.6, 0.9], (6, 3))
        balls = [
            mbt.Shape("sphere", [0.05], mbt.math.make_pose(p), name=f"ball{k}") for k, p in enumerate(places)
        ]
        obstructed = mbt.CollisionModel(
            arm, [(x, y.name) for x in ("hand", "forearm") for y in balls], obstacles=balls
        )
        assert obstructed.num_pairs == 12
        q = rng.uniform(-2, 2, 6)
        goal = functional.frame_pose(arm, q, "tool")[:3, 3] + rng.uniform(-0.3, 0.3, 3)
        d, J = obstructed.distances(q, jacobian=True)
        # In every other problem the nearest pair is too near.
        at_least = np.sort(d)[i % 2] - 0.002
        x = make_problem(arm, obstructed, at_least=at_least).velocities(q, [goal], 0.5) * 0.5
        wanted, cost = reference_step(arm, obstructed, q, goal, 0.5, 1.0, at_least)
        if (d + J @ wanted - at_least).min() < -1e-8:
            continue  # Velocity limits forbid the distance.
        slack = d + J @ x - at_least
        assert slack.min() > -1e-9
        assert cost(x) <= cost(wanted) + 1e-9 * abs(cost(wanted))
        assert np.allclose(x, wanted, atol=1e-4)
        held[(slack < 1e-9).sum()] += 1
    assert held[1] > 10
    assert held[2:].sum() > 1


def test_a_loop_of_velocities_stops_before_obstacles(arm, scene):
    """Goals inside the obstacles: the arm comes close, but not closer than allowed."""
    ik = make_problem(arm, scene)
    nearest = []
    for q in reachable(arm, scene, 6, seed=8):
        for goal in ([0.35, 0.2, 0.4], [0.3, -0.3, 0.5]):
            for _ in range(150):
                q = functional.integrate_positions(arm, q, ik.velocities(q, [goal], 0.02, gain=0.2), 0.02)
                nearest.append(scene.distances(q).min())
    assert min(nearest) > MARGIN - 1e-3
    assert min(nearest) < MARGIN + 1e-3


def test_a_capsule_flat_on_a_wall_comes_to_rest():
    """Its two ends take turns at being nearest: rows of the current state alone would let it through."""
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    tree.get_body_by_name("hand").add_collision(
        mbt.Shape("capsule", [0.05, 0.2], mbt.math.make_pose([0, 0, 0.1]))
    )
    tree.finalize()
    wall = mbt.Shape("box", [0.1, 2, 2], mbt.math.make_pose([0.75, 0, 0.5]), name="wall")
    scene = mbt.CollisionModel(tree, obstacles=[wall])
    ik = make_problem(tree, scene)
    q, nearest = np.array([0.2, -0.6, 1.0, 0.1, 0.5, 0.0]), []
    for _ in range(200):
        v = ik.velocities(q, [[1.2, 0.0, 0.5]], 0.01, gain=0.2)
        q = functional.integrate_positions(tree, q, v, 0.01)
        nearest.append(scene.distances(q)[0])
    assert min(nearest) > MARGIN - 1e-4
    assert np.allclose(nearest[-20:], MARGIN, atol=1e-4)


def test_a_pair_that_is_too_near_moves_apart_by_the_gain():
    tree = slide()
    post = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0.1, 0.0, 0.0]), name="post")
    scene = mbt.CollisionModel(tree, [("cart2", "post")], obstacles=[post])
    ik = make_problem_of_slide(tree, scene)
    q = np.zeros(3)  # penetrates by 0.1 m, so 0.12 m are missing
    v = ik.velocities(q, [[0.0, 0.0, 0.0]], 0.1, gain=0.5)
    assert np.allclose(scene.distance_jacobian(q) @ v * 0.1, 0.06, atol=1e-9)
    for _ in range(60):
        q = q + 0.1 * ik.velocities(q, [[0.0, 0.0, 0.0]], 0.1, gain=0.5)
    assert np.allclose(scene.distances(q), MARGIN, atol=1e-9)


def test_limits_go_before_distances_and_distances_before_tasks():
    tree = slide().edit()
    for i in range(3):
        tree.get_joint_by_name(f"slider{i}").set_velocity_limits([-0.1], [0.1])
    tree.finalize()
    post = mbt.Shape("sphere", [0.1], mbt.math.make_pose([0.1, 0.0, 0.0]), name="post")
    scene = mbt.CollisionModel(tree, [("cart2", "post")], obstacles=[post])
    v = make_problem_of_slide(tree, scene).velocities(np.zeros(3), [[1.0, 0.0, 0.0]], 0.1)
    # Away at full speed, though the goal is on the other side.
    assert np.allclose(v[[0, 2]], -0.1, atol=1e-9)


def test_batches_of_velocities_equal_single_states(arm, scene):
    ik = make_problem(arm, scene)
    ik.add_posture(np.zeros(6))
    q = reachable(arm, scene, 130)
    goals = functional.frame_pose(arm, q, "tool")[:, :3, 3] + 0.1
    v = ik.velocities(q, [goals], 0.1)
    for i in range(0, 130, 17):
        assert np.array_equal(ik.velocities(q[i], [goals[i]], 0.1), v[i])
    goals[3, 0] = q[5, 0] = np.nan
    w = ik.velocities(q, [goals], 0.1)
    assert np.isnan(w[[3, 5]]).all()
    others = np.delete(np.arange(130), [3, 5])
    assert np.array_equal(w[others], v[others])
    assert ik.velocities(np.zeros((0, 6)), [goals[:1]], 0.1).shape == (0, 6)
    # A batch of goals from one state.
    assert ik.velocities(q[0], [goals[:4]], 0.1).shape == (4, 6)


def test_threads_share_a_problem(arm, scene):
    """Other threads compute distances at the same time: each has its own rows and goals."""
    ik = make_problem(arm, scene)
    q = reachable(arm, scene, 8)
    goals = functional.frame_pose(arm, q, "tool")[:, :3, 3] + 0.1
    wanted = [ik.velocities(x, [goal], 0.1) for x, goal in zip(q, goals, strict=True)]

    def step(i):
        return [np.array_equal(ik.velocities(q[i], [goals[i]], 0.1), wanted[i]) for _ in range(150)]

    with ThreadPoolExecutor(8) as pool:
        assert all(all(same) for same in pool.map(step, range(8)))


def test_locked_joints_stay_and_parameters_of_a_context_apply(arm, scene):
    context = arm.create_default_context()
    arm.get_joint_by_name(arm.joints[1].name).lock(context)
    ik = make_problem(arm, scene)
    q = reachable(arm, scene, 20)
    goals = functional.frame_pose(arm, q, "tool")[:, :3, 3] + 0.1
    v = ik.velocities(q, [goals], 0.5, context=context)
    locked = context._locked_dofs()
    assert locked.any()
    assert (v[:, locked] == 0.0).all()
    found = ik.solve([goals[:4]], context=context)
    assert scene.is_free(found.q[found.success], margin=MARGIN, context=context).all()


def test_several_distances_and_scenes_without_pairs(arm, scene):
    ik = make_problem(arm, scene)
    ik.add_distance(mbt.CollisionModel(arm, []), 0.5)
    ik.add_distance(mbt.CollisionModel(arm), 0.0)
    assert repr(ik) == "<InverseKinematics: position, distance, distance, distance>"
    q = reachable(arm, scene, 20)
    p = functional.frame_pose(arm, q, "tool")[:, :3, 3]
    alone = make_problem(arm, scene)
    assert np.array_equal(ik.solve([p]).q, alone.solve([p]).q)
    assert np.allclose(ik.velocities(q, [p + 0.1], 0.1), alone.velocities(q, [p + 0.1], 0.1), atol=1e-7)
    only_empty = make_problem(arm, mbt.CollisionModel(arm, []))
    plain = make_problem(arm, None)
    assert np.array_equal(only_empty.solve([p]).q, plain.solve([p]).q)
    assert np.allclose(
        only_empty.velocities(q, [p + 0.1], 0.1), plain.velocities(q, [p + 0.1], 0.1), atol=1e-9
    )


def test_pickles_keep_distances(arm, scene):
    ik = make_problem(arm, scene)
    p = functional.frame_pose(arm, reachable(arm, scene, 30), "tool")[:, :3, 3]
    other = pickle.loads(pickle.dumps(ik))
    assert other._distances[0].scene.tree is other.tree
    assert np.array_equal(other.solve([p]).q, ik.solve([p]).q)


def test_wrong_arguments(arm, scene):
    ik = mbt.InverseKinematics(arm)
    ik.add_position("tool")
    with pytest.raises(ArgumentTypeError, match=r"scene: expected an mbt\.CollisionModel, got 3"):
        ik.add_distance(3)
    with pytest.raises(ContextMismatchError, match="scene: expected one of the tree of this problem"):
        ik.add_distance(mbt.CollisionModel(make_arm()))
    with pytest.raises(ArgumentValueError, match="at_least: expected a finite number, got nan"):
        ik.add_distance(scene, np.nan)
    assert ik._distances == []
    ik.solve([[0.3, 0.0, 0.5]])
    with pytest.raises(AlreadyFinalizedError):
        ik.add_distance(scene)
