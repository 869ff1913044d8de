"""Inverse kinematics, checked by forward kinematics rewritten here."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt import functional

# Origin of each joint in the link before it, and its axis: an arm of six joints.
JOINTS = [
    ((0.0, 0.0, 0.3), (0, 0, 1)),
    ((0.0, 0.1, 0.0), (0, 1, 0)),
    ((0.0, 0.0, 0.5), (0, 1, 0)),
    ((0.1, 0.0, 0.4), (0, 0, 1)),
    ((0.0, 0.0, 0.1), (0, 1, 0)),
    ((0.0, 0.1, 0.1), (0, 0, 1)),
]
LIMIT = 2.5


def urdf() -> str:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="l{i}">{inertial}</link>' for i in range(7))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
        f'<origin xyz="{p[0]} {p[1]} {p[2]}"/><axis xyz="{a[0]} {a[1]} {a[2]}"/>'
        f'<limit lower="-{LIMIT}" upper="{LIMIT}" effort="10" velocity="3"/></joint>'
        for i, (p, a) in enumerate(JOINTS)
    )
    fixed = '<link name="w"/><joint name="f" type="fixed"><parent link="w"/><child link="l0"/></joint>'
    return f'<robot name="arm">{fixed}{links}{joints}</robot>'


def forward(q: np.ndarray) -> np.ndarray:
    """Return the pose of the last link, by Rodrigues' formula."""
    X = np.eye(4)
    for (p, a), angle in zip(JOINTS, q, strict=True):
        K = np.cross(np.eye(3), np.array(a, float))
        step = np.eye(4)
        step[:3, :3] = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        step[:3, 3] = p
        X = X @ step
    return X


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> mbt.MultibodyTree:
    path = Path(tmp_path_factory.mktemp("arm")) / "arm.urdf"
    path.write_text(urdf())
    loaded = mbt.load_model(path)
    tree = getattr(loaded, "tree", loaded)
    # In URDF the root is free unless it is welded.
    assert tree.num_positions == 6, tree.num_positions
    return tree


def goals(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    q = np.random.default_rng(seed).uniform(-LIMIT, LIMIT, (count, 6))
    return q, np.array([forward(x) for x in q])


def angle_between(A: np.ndarray, B: np.ndarray) -> float:
    return float(2 * np.arcsin(min(1.0, np.linalg.norm(A - B) / np.sqrt(8))))


def test_poses_are_met(arm: mbt.MultibodyTree) -> None:
    _, X = goals(60)
    found = functional.inverse_kinematics(arm, "l6", X)
    assert found.success.all()
    assert np.all(np.abs(found.q) <= LIMIT)
    for q, wanted in zip(found.q, X, strict=True):
        there = forward(q)
        assert np.linalg.norm(there[:3, 3] - wanted[:3, 3]) <= 1e-4
        assert angle_between(there[:3, :3], wanted[:3, :3]) <= 1e-3


def test_a_single_goal_is_one_of_a_batch(arm: mbt.MultibodyTree) -> None:
    _, X = goals(3)
    found = functional.inverse_kinematics(arm, "l6", X[1])
    assert found.q.shape == (6,)
    assert found.success
    again = functional.inverse_kinematics(arm, "l6", X[1])
    assert np.array_equal(found.q, again.q)


def test_problems_of_some_frames_are_kept(arm: mbt.MultibodyTree) -> None:
    """A kept problem changes no result, is not shared with copies, and their number is bounded."""
    tree, q = pickle.loads(pickle.dumps(arm)), np.full(6, 0.3)
    functional.frame_pose(tree, q, "l6")
    unused = pickle.dumps(tree)
    for name in (f"l{i % 6 + 1}" for i in range(9)):
        X = functional.frame_pose(tree, q, name)
        ik = mbt.InverseKinematics(tree)
        ik.add_pose(name)
        wanted = ik.solve([X])
        for _ in range(2):
            found = functional.inverse_kinematics(tree, name, X)
            np.testing.assert_array_equal(found.q, wanted.q)
            np.testing.assert_array_equal(found.error, wanted.error)
    assert 0 < len(tree._fact("inverse_kinematics", dict)) <= 4
    assert pickle.dumps(tree) == unused


def test_a_goal_alone_and_in_a_batch(arm: mbt.MultibodyTree) -> None:
    _, X = goals(150, 7)
    batch = functional.inverse_kinematics(arm, "l6", X, rng=3)
    for i in range(0, 150, 10):
        alone = functional.inverse_kinematics(arm, "l6", X[i], rng=3)
        assert np.array_equal(alone.q, batch.q[i])
        assert np.array_equal(alone.error, batch.error[i])
    some = functional.inverse_kinematics(arm, "l6", X[20:30], rng=3)
    assert np.array_equal(some.q, batch.q[20:30])


def test_out_of_reach(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_position("l6")
    found = ik.solve([[5.0, 0.0, 0.3]])
    assert not found.success
    assert np.isfinite(found.q).all()
    np.testing.assert_allclose(found.error, [5.0, 0.0, 0.3] - forward(found.q)[:3, 3], atol=1e-12)
    assert f"not reached, largest error {np.abs(found.error).max():.2g}, " in repr(found)


def test_tasks_that_contradict_each_other(arm: mbt.MultibodyTree) -> None:
    """The best compromise of two points is midway, and errors are those of each task."""
    q = np.full(6, 0.3)
    here, apart = forward(q)[:3, 3], np.array([0.05, 0.01, -0.02])
    ik = mbt.InverseKinematics(arm)
    ik.add_position("l6")
    ik.add_position("l6")
    found = ik.solve([here + apart, here - apart], q)
    assert not found.success
    np.testing.assert_allclose(forward(found.q)[:3, 3], here, atol=1e-8)
    np.testing.assert_allclose(found.error, np.concatenate((apart, -apart)), atol=1e-8)


def test_frames_of_another_tree_are_refused(arm: mbt.MultibodyTree) -> None:
    other = mbt.load_model(mbt.models.model_path("mbt_arm")).get_frame_by_name("tool")
    ik = mbt.InverseKinematics(arm)
    message = r"^frame: expected a frame of this tree, got .* of another tree"
    for add in (ik.add_pose, ik.add_position, ik.add_orientation):
        with pytest.raises(mbt.ForeignElementError, match=message):
            add(other)
    with pytest.raises(mbt.ForeignElementError, match=message):
        functional.inverse_kinematics(arm, other, np.eye(4))


def test_results_in_short(arm: mbt.MultibodyTree) -> None:
    _, X = goals(3)
    X[1, 0, 3] += 9.0
    found = functional.inverse_kinematics(arm, "l6", X)
    assert repr(found) == "<InverseKinematicsResult: 2 of 3 goals reached>"
    found = functional.inverse_kinematics(arm, "l6", X[0])
    told = repr(found)
    assert told.startswith(f"<InverseKinematicsResult: reached, {found.num_steps} steps, q = [")
    shown = np.array(told[told.index("[") + 1 : told.index("]")].split(","), float)
    np.testing.assert_allclose(shown, found.q, atol=5e-5)


def test_nan_fails_alone(arm: mbt.MultibodyTree) -> None:
    _, X = goals(5)
    X[2, 0, 3] = np.nan
    assert functional.inverse_kinematics(arm, "l6", X).success.tolist() == [True, True, False, True, True]


def test_tasks_one_by_one(arm: mbt.MultibodyTree) -> None:
    _, X = goals(8, 2)
    point = np.array([0.1, -0.2, 0.05])
    for add, goal, measure in [
        ("add_orientation", X[:, :3, :3], lambda Y: Y[:3, :3]),
        ("add_position", X[:, :3, :3] @ point + X[:, :3, 3], lambda Y: Y[:3, :3] @ point + Y[:3, 3]),
        ("add_direction", 2.0 * X[:, :3, 0], lambda Y: 2.0 * Y[:3, 0]),
    ]:
        ik = mbt.InverseKinematics(arm)
        more = {"add_position": (point,), "add_direction": ([3, 0, 0],)}.get(add, ())
        getattr(ik, add)("l6", *more)
        found = ik.solve([goal])
        assert found.success.all(), add
        for x, wanted in zip(found.q, goal, strict=True):
            assert np.abs(measure(forward(x)) - wanted).max() < 3e-3


def test_center_of_mass_and_posture(arm: mbt.MultibodyTree) -> None:
    q, _ = goals(4, 3)
    center = functional.center_of_mass(arm, q)
    ik = mbt.InverseKinematics(arm)
    ik.add_center_of_mass("xy")
    ik.add_posture(np.zeros(6))
    found = ik.solve([center[:, :2]])
    assert found.success.all()
    assert np.abs(functional.center_of_mass(arm, found.q)[:, :2] - center[:, :2]).max() <= 1e-4


def test_relative_pose(arm: mbt.MultibodyTree) -> None:
    q, _ = goals(4, 4)
    A, B = functional.frame_pose(arm, q, "l2"), functional.frame_pose(arm, q, "l5")
    ik = mbt.InverseKinematics(arm)
    ik.add_relative_pose("l2", "l5")
    wanted = np.linalg.inv(A) @ B
    found = ik.solve([wanted])
    assert found.success.all()
    # Joints outside the chain between the two frames are unchanged.
    assert np.all(found.q[:, [0, 1, 5]] == arm.default_positions[[0, 1, 5]])


def test_locked_joints_stay(arm: mbt.MultibodyTree) -> None:
    context = arm.create_default_context()
    q, X = goals(1, 5)
    context.q = q[0]
    arm.get_joint_by_name("j1").lock(context)
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("l6")
    found = ik.solve([X[0]], q[0] + 0.1 * (np.arange(6) != 1), context=context)
    assert found.success
    assert found.q[1] == q[0, 1]


def test_all_solutions(arm: mbt.MultibodyTree) -> None:
    q, X = goals(1, 6)
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("l6")
    every = ik.solve_all([X[0]], q[0], seeds=512)
    assert len(every) >= 2
    np.testing.assert_allclose(every[0], q[0], atol=5e-3)
    for x in every:
        assert np.linalg.norm(forward(x)[:3, 3] - X[0, :3, 3]) <= 1e-4
    far = np.linalg.norm(every - q[0], axis=1)
    assert np.all(np.diff(far) >= 0)


def test_pickle(arm: mbt.MultibodyTree) -> None:
    _, X = goals(2)
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("l6", weight=(0.5, 2.0))
    ik.add_posture(np.zeros(6))
    before = ik.solve([X])
    copy = pickle.loads(pickle.dumps(ik))
    assert np.array_equal(copy.solve([X]).q, before.q)


def test_one_weight_is_that_of_rotation_and_distance(arm: mbt.MultibodyTree) -> None:
    _, X = goals(2)
    results = []
    for weight in (2.5, (2.5, 2.5)):
        ik = mbt.InverseKinematics(arm)
        ik.add_pose("l6", weight=weight)
        ik.add_relative_pose("l1", "l5", weight=weight)
        results.append(ik.velocities(np.full(6, 0.2), [X[0], X[1]], 0.01))
    np.testing.assert_array_equal(*results)


def test_bad_input(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    with pytest.raises(mbt.ArgumentValueError, match="no task"):
        ik.solve([])
    with pytest.raises(mbt.ArgumentValueError, match="weight"):
        ik.add_pose("l6", weight=(0.0, 0.0))
    for weight in (-1.0, 1e300, 1e-300):
        with pytest.raises(
            mbt.ArgumentValueError, match="weight: expected numbers from 1e-100 to 1e100, or 0"
        ):
            ik.add_pose("l6", weight=(weight, 1.0))
    with pytest.raises(mbt.ShapeError, match="weight: expected one number, or two: of the rotation and"):
        ik.add_pose("l6", weight=(1.0, 1.0, 1.0))
    with pytest.raises(mbt.ShapeError, match=r"weight: expected one number; got shape \(2,\)"):
        ik.add_position("l6", weight=(1.0, 1.0))
    with pytest.raises(mbt.ArgumentValueError, match="axis"):
        ik.add_direction("l6", [0, 0, 0])
    with pytest.raises(mbt.ArgumentValueError, match="axes: expected different letters of 'xyz', such as"):
        ik.add_center_of_mass("xx")
    with pytest.raises(mbt.ShapeError, match=r"X_WG: expected shape \(\.\.\., 4, 4\), got \(3,\)"):
        functional.inverse_kinematics(arm, "l6", [0.1, 0.2, 0.3])
    with pytest.raises(mbt.UnknownNameError):
        ik.add_pose("nothing")
    for add in (
        lambda: ik.add_pose(None),
        lambda: ik.add_position(None),
        lambda: ik.add_orientation(None),
        lambda: ik.add_direction(None, [0, 0, 1]),
        lambda: ik.add_relative_pose("l1", None),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match="frame: expected a Frame or its name, got NoneType"):
            add()
    ik.add_pose("l6")
    with pytest.raises(mbt.ArgumentTypeError, match="goals: expected a list"):
        ik.solve(np.eye(4))  # type: ignore[arg-type]
    with pytest.raises(mbt.ShapeError, match="goals: expected 1"):
        ik.solve([np.eye(4), np.eye(4)])
    with pytest.raises(mbt.ArgumentValueError, match="rotation"):
        ik.solve([2.0 * np.eye(4)])
    with pytest.raises(mbt.ShapeError, match="broadcast"):
        ik.solve([np.tile(np.eye(4), (2, 1, 1))], np.zeros((3, 6)))
    with pytest.raises(mbt.ArgumentValueError, match="tolerance"):
        ik.solve([np.eye(4)], tolerance=(0.0, 1.0))
    assert ik.solve([np.empty((0, 4, 4))]).q.shape == (0, 6)
    with pytest.raises(mbt.AlreadyFinalizedError):
        ik.add_pose("l5")
    still = mbt.InverseKinematics(arm)
    still.add_pose("l0")
    with pytest.raises(mbt.ArgumentValueError, match="no joint"):
        still.solve([np.eye(4)])
