"""Memory belongs to the holder of an array of it: nothing handed out changes, nothing freed is read."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import get_case


def test_frame_poses_outlive_the_parameters_they_came_from() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", link, mbt.math.make_pose([1.0, 2.0, 3.0])))
    tree.finalize()
    context = tree.create_default_context()
    pc = tree.calc_position_kinematics_cache(context)
    X_BF = pc.X_BF
    before = X_BF.copy()
    tip.set_pose_in_parent_frame(context, mbt.math.make_pose([9.0, 9.0, 9.0]))
    tree.calc_position_kinematics_cache(context, pc)
    rubbish = [np.full(X_BF.size, 7.0) for _ in range(50)]
    np.testing.assert_array_equal(X_BF, before)
    np.testing.assert_array_equal(pc.X_BF[tip.index, :3, 3], 9.0)
    del rubbish


def test_a_cache_that_is_computed_again_leaves_its_arrays_to_their_holders() -> None:
    case = get_case("mixed8")
    tree = case.tree
    first, second = case.context(case.state(0)), case.context(case.state(1))
    pc, vc = tree.eval_position_kinematics(first), tree.eval_velocity_kinematics(first)
    X_WB, V_WB = pc.X_WB, vc.V_WB
    before = X_WB.copy(), V_WB.copy()
    tree.calc_position_kinematics_cache(second, pc)
    tree.calc_velocity_kinematics_cache(second, pc, vc)
    np.testing.assert_array_equal(X_WB, before[0])
    np.testing.assert_array_equal(V_WB, before[1])
    np.testing.assert_array_equal(pc.X_WB, tree.eval_position_kinematics(second).X_WB)
    np.testing.assert_array_equal(vc.V_WB, tree.eval_velocity_kinematics(second).V_WB)


def test_a_cache_of_another_tree_is_not_computed_into() -> None:
    case, other = get_case("mixed8"), get_case("arm7")
    pc = other.tree.calc_position_kinematics_cache(other.context(other.state()))
    with pytest.raises(mbt.ContextMismatchError, match=r"pc: .* another tree"):
        case.tree.calc_position_kinematics_cache(case.context(case.state()), pc)


@pytest.mark.parametrize("make", [np.zeros_like, np.ones_like, np.empty_like, lambda q: q.astype(float)])
def test_arrays_in_the_likeness_of_a_context_may_be_written(make: object) -> None:
    case = get_case("mixed8")
    array = make(case.context(case.state()).v)  # type: ignore[operator]
    array[0] = 5.0
    array += 1.0
    array.fill(2.0)
    assert (array == 2.0).all()


def test_validation_costs_forward_dynamics_nothing() -> None:
    """Reading applied forces that were never set must not create them."""
    case = get_case("mixed8")
    context = case.context(case.state())
    context.validate()
    assert not context._has_applied_forces
    assert not context.clone()._has_applied_forces
    context.applied_forces.generalized_forces[0] = np.inf
    with pytest.raises(mbt.ArgumentValueError, match=r"applied_forces.generalized_forces\[0\] = inf"):
        context.validate()


def test_infinite_quaternions_propagate() -> None:
    case = get_case("one_floating")
    q = case.state().q.copy()
    q[1] = np.inf
    assert np.isnan(mbt.functional.body_poses(case.tree, q)[1]).any()
    context = case.tree.create_default_context()
    context.q = q
    assert np.isnan(case.tree.calc_mass_matrix(context)).any()
    q[1] = 1e160
    with pytest.raises(mbt.SingularityError, match="too large"):
        context.q = q
    assert np.isnan(mbt.functional.body_poses(case.tree, np.stack([q, q]))[0]).any()
