"""Inverse kinematics of trees with every joint, with loops, mimics, locks and parameters of a Context."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import mbt
from mbt import functional
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state
from support.linkages import MECHANISMS, assembled, calc_four_bar_angles, four_bar

BODY = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)
RIGHT, TIGHT = 1e-3, 1e-4


def chain_with(kind: str, seed: int) -> mbt.MultibodyTree:
    """Three hinges, a joint of this kind, and three more hinges."""
    rng = np.random.default_rng(seed)
    tree = mbt.MultibodyTree()
    inboard = tree.world_body
    for i, of_kind in enumerate([*["revolute"] * 3, kind, *["revolute"] * 3]):
        body = add_random_body(tree, rng, f"b{i}")
        add_joint_of_type(tree, of_kind, f"j{i}", inboard, body, rng)
        inboard = body
    tree.finalize()
    return tree


def assert_pose(tree: mbt.MultibodyTree, q: np.ndarray, frame: object, wanted: np.ndarray) -> None:
    there = functional.frame_pose(tree, q, frame)
    assert np.linalg.norm(there[:3, 3] - wanted[:3, 3]) <= TIGHT
    assert np.linalg.norm(mbt.math.log_so3(there[:3, :3].T @ wanted[:3, :3])) <= RIGHT


@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_joints_of_every_type_reach(kind: str) -> None:
    tree = chain_with(kind, 5)
    there = random_state(tree, np.random.default_rng(6)).q
    goal = functional.frame_pose(tree, there, "b6")
    found = functional.inverse_kinematics(tree, "b6", goal)
    assert found.success
    assert_pose(tree, found.q, "b6", goal)
    # Only one of these joints moves the body after it.
    ik = mbt.InverseKinematics(tree)
    ik.add_relative_pose("b2", "b3")
    goal = np.linalg.inv(functional.frame_pose(tree, there, "b2")) @ functional.frame_pose(tree, there, "b3")
    found = ik.solve([goal])
    assert found.success
    poses = (functional.frame_pose(tree, found.q, name) for name in ("b2", "b3"))
    assert np.linalg.norm(found.error[:3]) <= RIGHT
    assert np.linalg.norm(found.error[3:]) <= TIGHT
    inboard, outboard = poses
    np.testing.assert_allclose(np.linalg.inv(inboard) @ outboard, goal, atol=2e-3)


@pytest.mark.parametrize("kind", ["quaternion_ball", "quaternion_floating"])
def test_quaternions_stay_unit(kind: str) -> None:
    tree = chain_with(kind, 7)
    goal = functional.frame_pose(tree, random_state(tree, np.random.default_rng(8)).q, "b6")
    start = tree.default_positions.copy()
    place = tree.get_joint_by_name("j3").position_start
    start[place : place + 4] = [0.0, 2.0, 0.0, 0.0]
    found = functional.inverse_kinematics(tree, "b6", goal, start)
    assert found.success
    assert np.linalg.norm(found.q[place : place + 4]) == pytest.approx(1.0, abs=1e-14)
    assert_pose(tree, found.q, "b6", goal)
    unit = start.copy()
    unit[place : place + 4] *= 0.5
    assert np.array_equal(functional.inverse_kinematics(tree, "b6", goal, unit).q, found.q)
    start[place : place + 4] = 0.0
    with pytest.raises(mbt.SingularityError, match=f"start: the quaternion at positions {place}"):
        functional.inverse_kinematics(tree, "b6", goal, start)


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_stay_closed(name: str) -> None:
    build, dofs = MECHANISMS[name]
    tree = build()
    there = assembled(tree, np.random.default_rng(3)).q
    frame = tree.get_body_by_name({"four-bar": "coupler", "delta": "platform", "stewart": "plate"}[name])
    ik = mbt.InverseKinematics(tree)
    if dofs == 6:
        ik.add_pose(frame)
        goal = functional.frame_pose(tree, there, frame)
    else:
        point = [0.0, 0.0, 0.0] if name == "delta" else [0.4, 0.1, 0.0]
        ik.add_position(frame, point)
        goal = (functional.frame_pose(tree, there, frame) @ [*point, 1.0])[:3]
    found = ik.solve([goal])
    assert found.success
    assert np.abs(functional.constraint_errors(tree, found.q)).max() <= 1e-8
    assert np.linalg.norm(found.error) <= RIGHT
    if dofs < 6:  # the other mechanism's legs have no limits
        lost = ik.solve([goal + np.array([0.0, 0.0, 3.0])], seeds=8)
        assert not lost.success
        assert np.abs(functional.constraint_errors(tree, lost.q)).max() <= 1e-8


def test_a_four_bar_in_closed_form() -> None:
    tree = four_bar()
    angles = calc_four_bar_angles(np.linspace(0.3, 2.8, 6))
    tips = functional.frame_pose(tree, angles, "rocker")[:, :3, :3] @ [1.0, 0.0, 0.0]
    ik = mbt.InverseKinematics(tree)
    ik.add_direction("rocker", [1, 0, 0])
    found = ik.solve([tips], angles + 0.05, tolerance=(1e-9, 1e-9))
    assert found.success.all()
    np.testing.assert_allclose(found.q, angles, atol=1e-6)


def test_mimics_hold() -> None:
    tree = mbt.MultibodyTree()
    inboard = tree.world_body
    joints = []
    for i, axis in enumerate([[0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]):
        body = tree.add_body(mbt.RigidBody(f"b{i}", BODY))
        joints.append(
            tree.add_joint(
                mbt.RevoluteJoint,
                f"j{i}",
                inboard,
                mbt.math.make_pose([0.05, 0.0, 0.3]),
                body,
                None,
                axis,
                pos_lower_limit=-2.0,
                pos_upper_limit=2.0,
            )
        )
        inboard = body
    tree.add_constraint(mbt.CouplerConstraint("mimic", joints[2], joints[1], gear_ratio=-0.5, offset=0.1))
    tree.finalize()
    q = np.random.default_rng(2).uniform(-1.5, 1.5, (20, 7))
    q[:, 2] = -0.5 * q[:, 1] + 0.1
    goals = functional.frame_pose(tree, q, "b6")
    found = functional.inverse_kinematics(tree, "b6", goals)
    assert found.success.all()
    np.testing.assert_allclose(found.q[:, 2], -0.5 * found.q[:, 1] + 0.1, atol=1e-8)
    assert np.all(np.abs(found.q) <= 2.0)
    for x, goal in zip(found.q, goals, strict=True):
        assert_pose(tree, x, "b6", goal)
    # Out of reach, with the error that SciPy finds for the remaining dofs.
    ik = mbt.InverseKinematics(tree)
    ik.add_position("b6")
    places = np.random.default_rng(4).normal([2.0, 0.0, 1.0], size=(6, 3))
    places[2] = np.nan
    lost = ik.solve([places])
    assert not lost.success.any()
    assert np.isfinite(lost.q).all()
    assert np.all(np.abs(lost.q) <= 2.0)
    others = [0, 1, 3, 4, 5]
    np.testing.assert_allclose(lost.q[others, 2], -0.5 * lost.q[others, 1] + 0.1, atol=1e-8)

    def miss(x: np.ndarray, place: np.ndarray) -> np.ndarray:
        q = np.insert(x, 2, -0.5 * x[1] + 0.1)
        return functional.frame_pose(tree, q, "b6")[:3, 3] - place

    for i in others:
        # SciPy is slow at limits, but over half of such starts end within a micrometre of the best of twenty.
        ends = [
            optimize.least_squares(miss, x, bounds=(-1.8, 2.0), args=(places[i],), xtol=1e-12)
            for x in np.random.default_rng(i).uniform(-1.7, 1.7, (6, 6))
        ]
        least = min(np.linalg.norm(end.fun) for end in ends)
        assert np.linalg.norm(lost.error[i]) <= least + 1e-6
    # A Context that disables the constraint, and one that does not.
    context = tree.create_default_context()
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("b6")
    assert np.array_equal(ik.solve([goals[0]], context=context).q, ik.solve([goals[0]]).q)
    tree.get_constraint_by_name("mimic").set_enabled_in(context, False)
    loose = ik.solve([goals[0]], q[0] + 0.3, context=context)
    assert loose.success
    assert abs(loose.q[2] + 0.5 * loose.q[1] - 0.1) > 1e-3


def test_parameters_of_a_context() -> None:
    tree = chain_with("revolute", 9)
    context = tree.create_default_context()
    there = random_state(tree, np.random.default_rng(10)).q
    context.q = there
    frame = tree.get_joint_by_name("j6").frame_on_parent
    frame.set_pose_in_parent_frame(context, mbt.math.make_pose([0.3, -0.2, 0.1], rpy=[0.2, 0.1, 0.4]))
    goal = tree.get_body_by_name("b6").eval_pose_in_world(context)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("b6")
    with_it = ik.solve([goal], context=context)
    without = ik.solve([goal])
    assert with_it.success
    for q, is_right in ((with_it.q, True), (without.q, False)):
        context.q = q
        off = np.abs(tree.get_body_by_name("b6").eval_pose_in_world(context) - goal).max()
        assert bool(off < 2e-3) is is_right
    context.q = there
    frame.set_pose_in_parent_frame(context, mbt.math.make_pose([0.1, -0.2, 0.1]))
    goal = tree.get_body_by_name("b6").eval_pose_in_world(context)
    context.q = ik.solve([goal], context=context).q
    np.testing.assert_allclose(tree.get_body_by_name("b6").eval_pose_in_world(context), goal, atol=2e-3)


def test_starts_beyond_limits_are_told() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("b", BODY))
    tree.add_joint(
        mbt.RevoluteJoint,
        "j",
        tree.world_body,
        None,
        body,
        mbt.math.make_pose([-1, 0, 0]),
        [0, 0, 1],
        pos_lower_limit=-1.0,
        pos_upper_limit=1.0,
    )
    tree.finalize()
    ik = mbt.InverseKinematics(tree)
    ik.add_position("b")
    found = ik.solve([[np.cos(0.9), np.sin(0.9), 0.0]], [[0.0], [1.5]])
    assert found.start_moved.tolist() == [False, True]
    assert found.success.all()
    np.testing.assert_allclose(found.q, 0.9, atol=1e-4)
    one = ik.solve([[1.0, 0.0, 0.0]], [2.0])
    assert one.start_moved
    # A locked joint keeps its position, whatever that is.
    context = tree.create_default_context()
    context.q = [1.5]
    tree.get_joint_by_name("j").lock(context)
    with pytest.raises(mbt.ArgumentValueError, match="no joint that can move"):
        ik.solve([[1.0, 0.0, 0.0]], context=context)


def test_threads_give_the_same_bits() -> None:
    tree = chain_with("revolute", 11)
    q = np.random.default_rng(12).uniform(-2.0, 2.0, (700, 7))
    goals = functional.frame_pose(tree, q, "b6")
    before = mbt.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            mbt.set_num_threads(count)
            results.append(functional.inverse_kinematics(tree, "b6", goals, rng=5))
    finally:
        mbt.set_num_threads(before)
    for other in results[1:]:
        assert np.array_equal(other.q, results[0].q)
        assert np.array_equal(other.num_steps, results[0].num_steps)
    # A single goal is solved from the same start, but without the same neighbours.
    assert functional.inverse_kinematics(tree, "b6", goals[3], rng=5).success


def test_many_tasks_of_a_free_body() -> None:
    """Two feet stay, the center of mass moves, a hand reaches; with a posture task and a floating base."""
    tree = mbt.MultibodyTree()
    base = tree.add_body(mbt.RigidBody("base", BODY))
    tips = []
    for name, side, height in (("left", 0.1, -0.1), ("right", -0.1, -0.1), ("hand", 0.2, 0.4)):
        inboard, at = base, mbt.math.make_pose([0.0, side, height])
        for i, axis in enumerate([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]):
            body = tree.add_body(mbt.RigidBody(f"{name}{i}", BODY))
            joint = tree.add_joint(
                mbt.RevoluteJoint,
                f"{name}{i}",
                inboard,
                at,
                body,
                None,
                axis,
                pos_lower_limit=-2.2,
                pos_upper_limit=2.2,
            )
            joint.set_default_angle([0.0, 0.0, -0.4, 0.8, -0.4, 0.0][i])
            inboard, at = body, mbt.math.make_pose([0.0, 0.0, -0.3 if i in (2, 3) else -0.03])
        tips.append(inboard)
    tree.finalize()
    q = tree.default_positions
    feet = [functional.frame_pose(tree, q, tip) for tip in tips]
    center = functional.center_of_mass(tree, q)
    ik = mbt.InverseKinematics(tree)
    ik.add_pose(tips[0])
    ik.add_pose(tips[1])
    ik.add_center_of_mass("xy")
    ik.add_position(tips[2])
    ik.add_posture(q)
    assert [ik.rows[i] for i in (0, 2)] == [slice(0, 6), slice(12, 14)]
    hands = feet[2][:3, 3] + np.random.default_rng(1).uniform(-0.08, 0.08, (12, 3))
    found = ik.solve([feet[0], feet[1], center[:2], hands])
    assert found.success.all()
    for x, hand in zip(found.q, hands, strict=True):
        assert_pose(tree, x, tips[0], feet[0])
        assert_pose(tree, x, tips[1], feet[1])
        assert np.linalg.norm(functional.center_of_mass(tree, x)[:2] - center[:2]) <= TIGHT
        assert np.linalg.norm(functional.frame_pose(tree, x, tips[2])[:3, 3] - hand) <= TIGHT
    # Feet that would have to be in two places at once.
    ik = mbt.InverseKinematics(tree)
    ik.add_position(tips[0])
    ik.add_position(tips[0])
    lost = ik.solve([[0.0, 0.2, 0.0], [0.0, 0.0, 0.2]])
    assert not lost.success
    np.testing.assert_allclose(lost.error[ik.rows[0]], -lost.error[ik.rows[1]], atol=1e-5)
