"""Batched Contexts in inverse kinematics: each sample gets the same result as alone."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path

Q = np.array([0.2, -0.6, 1.0, 0.1, 0.5, 0.3])


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    tree.add_frame(mbt.FixedOffsetFrame("mount", tree.get_body_by_name("flange"), np.eye(4)))
    tree.finalize()
    return tree


@pytest.fixture(scope="module")
def batch(arm: mbt.MultibodyTree) -> mbt.Context:
    """Return a Context with three mounts."""
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 2, 3] = [0.0, 0.01, 0.02]
    context = arm.create_default_context(batch_shape=(3,))
    arm.get_frame_by_name("mount").set_pose_in_parent_frame(context, poses)
    context.q = Q + 0.05
    return context


def alone(arm: mbt.MultibodyTree, i: int) -> mbt.Context:
    context = arm.create_default_context()
    pose = np.eye(4)
    pose[2, 3] = 0.01 * i
    arm.get_frame_by_name("mount").set_pose_in_parent_frame(context, pose)
    context.q = Q + 0.05
    return context


@pytest.fixture(scope="module")
def ik(arm: mbt.MultibodyTree) -> mbt.InverseKinematics:
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("mount")
    return ik


def test_solutions(arm: mbt.MultibodyTree, ik: mbt.InverseKinematics, batch: mbt.Context) -> None:
    goal = functional.frame_pose(arm, Q, "mount")
    goals = np.stack([goal, goal])[:, None]
    goals[1, 0, 2, 3] -= 0.01
    found = ik.solve([goals], context=batch)
    assert found.q.shape == (2, 3, 6)
    assert found.success.all()
    for k in range(2):
        for i in range(3):
            one = ik.solve([goals[k, 0]], context=alone(arm, i))
            for name in ("q", "success", "error", "num_steps", "start_moved"):
                assert np.array_equal(getattr(found, name)[k, i], getattr(one, name))
    assert np.abs(found.q[0, 0] - found.q[0, 1]).max() > 1e-3
    # What all samples share forms one batch, for which a generator draws once.
    same = arm.create_default_context(batch_shape=(3,))
    same.q = Q + 0.05
    one = ik.solve([goal], Q + 0.05, rng=np.random.default_rng(1))
    many = ik.solve([goal], context=same, rng=np.random.default_rng(1))
    assert np.array_equal(many.q, np.tile(one.q, (3, 1)))
    nothing = ik.solve([goal], context=arm.create_default_context(batch_shape=(0,)))
    assert (nothing.q.shape, nothing.error.shape) == ((0, 6), (0, 6))
    with pytest.raises(mbt.ShapeError, match=r"\(2,\) of goals\[0\].*\(3,\) of context"):
        ik.solve([goals[:, 0]], context=batch)


def test_all_solutions(arm: mbt.MultibodyTree, ik: mbt.InverseKinematics, batch: mbt.Context) -> None:
    goal = functional.frame_pose(arm, Q, "tool")
    found = ik.solve_all([goal], seeds=64, context=batch)
    assert isinstance(found, list)
    for i, q in enumerate(found):
        assert np.array_equal(q, ik.solve_all([goal], seeds=64, context=alone(arm, i)))
    two = ik.solve_all([np.stack([goal, goal])], seeds=64)
    assert len(two) == 2
    assert np.array_equal(two[0], two[1])


def test_velocities(arm: mbt.MultibodyTree, ik: mbt.InverseKinematics, batch: mbt.Context) -> None:
    goal = functional.frame_pose(arm, Q, "tool")
    last = np.full((2, 1, 6), 0.1)
    last[1] = -0.1
    found = ik.velocities(Q, [goal], 0.01, last=last, context=batch)
    assert found.shape == (2, 3, 6)
    for k in range(2):
        for i in range(3):
            one = ik.velocities(Q, [goal], 0.01, last=last[k, 0], context=alone(arm, i))
            assert np.array_equal(found[k, i], one)
    out = np.full((3, 6), 7.0)
    bad = np.stack([goal, goal, 2.0 * goal])
    with pytest.raises(mbt.ArgumentValueError, match=r"goals\[0\]"):
        ik.velocities(Q, [bad], 0.01, context=batch, out=out)
    assert np.all(out == 7.0)
    bad[2] = np.nan
    assert ik.velocities(Q, [bad], 0.01, context=batch, out=out) is out
    assert np.array_equal(np.isnan(out).all(1), [False, False, True])


def test_derivatives(arm: mbt.MultibodyTree, ik: mbt.InverseKinematics, batch: mbt.Context) -> None:
    goal = functional.frame_pose(arm, Q, "tool")
    q = ik.solve([goal], context=batch).q
    rates = ik.solution_derivatives(q, [goal], parameters=["mount"], context=batch)
    assert (rates.goals[0].shape, rates.parameters[0].shape) == ((3, 6, 6), (3, 6, 6))
    for i in range(3):
        one = ik.solution_derivatives(q[i], [goal], parameters=["mount"], context=alone(arm, i))
        assert np.array_equal(rates.goals[0][i], one.goals[0])
        assert np.array_equal(rates.parameters[0][i], one.parameters[0])


def test_copies_of_a_context_at_many_states_keep_disabled_constraints() -> None:
    """The copies are used to compute derivatives."""
    from mbt.scalars.repeated_context import repeat_context
    from support.linkages import four_bar

    tree = four_bar()
    context = tree.create_default_context()
    constraint = tree.constraints[0]
    constraint.set_enabled_in(context, False)
    assert not constraint.is_enabled_in(repeat_context(context, 2))
