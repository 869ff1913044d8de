"""Pose errors take frames to their goals, and their Jacobians agree with differences."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.autodiff import AutoDiffArray
from support.case import MOVING, get_case


def goal_of(seed: int = 0) -> np.ndarray:
    """A pose anywhere: errors are large."""
    return mbt.math.exp_se3(np.random.default_rng(seed).uniform(-1.5, 1.5, 6))


def frame_of(tree: mbt.MultibodyTree) -> mbt.Frame:
    return tree.frames[-1]


@pytest.mark.parametrize("model", MOVING)
def test_motion_by_the_error_arrives(model: str) -> None:
    case = get_case(model)
    tree, q, X_WG = case.tree, case.state().q, goal_of()
    for frame in (tree.world_frame, frame_of(tree), tree.bodies[-1]):
        e = functional.pose_error(tree, q, frame, X_WG)
        X_WF = functional.frame_pose(tree, q, frame)
        np.testing.assert_allclose(X_WF @ mbt.math.exp_se3(e), X_WG, rtol=1e-12, atol=1e-12)
        assert np.linalg.norm(e[:3]) <= np.pi * (1 + 1e-15)


@pytest.mark.parametrize("model", MOVING)
def test_jacobian_vs_differences(model: str) -> None:
    case = get_case(model)
    tree, state, X_WG, h = case.tree, case.state(), goal_of(), 1e-5
    e, J = functional.pose_error(tree, state.q, frame_of(tree), X_WG, jacobian=True)
    alone = functional.pose_error(tree, state.q, frame_of(tree), X_WG)
    np.testing.assert_allclose(alone, e, rtol=1e-12, atol=1e-13)
    for v in (state.v, *np.eye(tree.num_velocities)[:6]):
        ahead, behind = (
            functional.pose_error(
                tree, functional.integrate_positions(tree, state.q, v, step), frame_of(tree), X_WG
            )
            for step in (h, -h)
        )
        scale = 1 + np.abs(v).max() ** 3
        np.testing.assert_allclose(J @ v, (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * scale)


def test_at_the_goal_the_jacobian_is_the_negative_one_of_the_frame() -> None:
    case = get_case("mixed20")
    tree, q = case.tree, case.state().q
    frame = frame_of(tree)
    e, J = functional.pose_error(tree, q, frame, functional.frame_pose(tree, q, frame), jacobian=True)
    np.testing.assert_allclose(e, np.zeros(6), rtol=0, atol=1e-14)
    J_F = functional.frame_jacobian(tree, q, frame, expressed_in=frame)
    np.testing.assert_allclose(J, -J_F, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["arm7", "mixed8", "humanoid"])
def test_leading_axes(model: str) -> None:
    """A batch equals single states, whichever of the arguments has the axes."""
    case = get_case(model)
    tree = case.tree
    frame = frame_of(tree)
    q = np.stack([case.state(k).q for k in range(3)])
    X_WG = np.stack([goal_of(k) for k in range(2)])
    e, J = functional.pose_error(tree, q[:, None], frame, X_WG, jacobian=True)
    assert e.shape == (3, 2, 6)
    assert J.shape == (3, 2, 6, tree.num_velocities)
    for i in range(3):
        for k in range(2):
            one = functional.pose_error(tree, q[i], frame, X_WG[k], jacobian=True)
            np.testing.assert_allclose(e[i, k], one[0], rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(J[i, k], one[1], rtol=1e-11, atol=1e-12)
    assert functional.pose_error(tree, q[0], frame, X_WG).shape == (2, 6)
    assert functional.pose_error(tree, q[:0], frame, goal_of()).shape == (0, 6)
    assert functional.pose_error(tree, q, frame, X_WG[0].tolist()).shape == (3, 6)


def test_sample_without_a_pose_has_no_result() -> None:
    case = get_case("free_body")
    q = np.stack([case.state().q, case.state().q])
    q[0, :4] = 0.0
    e, J = functional.pose_error(case.tree, q, frame_of(case.tree), goal_of(), jacobian=True)
    assert np.isnan(e[0]).all()
    assert np.isfinite(e[1]).all()
    assert np.isnan(J[0]).any()
    assert np.isfinite(J[1]).all()
    with pytest.raises(mbt.SingularityError):
        functional.pose_error(case.tree, q[0], frame_of(case.tree), goal_of())


def test_numbers_with_derivatives() -> None:
    """Derivatives with respect to q, and to a goal that moves."""
    case = get_case("arm7")
    tree, q, X_WG = case.tree, case.state().q, goal_of()
    frame = frame_of(tree)
    e, J = functional.pose_error(tree, q, frame, X_WG, jacobian=True)
    dual = tree.to_autodiff()
    by_q = functional.pose_error(dual, AutoDiffArray(q, np.eye(7)), frame.name, X_WG)
    np.testing.assert_allclose(by_q.value, e, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(by_q.derivatives, J, rtol=0, atol=1e-12)
    # Of several states, and of several goals.
    several = AutoDiffArray(np.stack([q, q]), np.stack([np.eye(7), np.zeros((7, 7))]))
    both, by_both = functional.pose_error(dual, several, frame.name, X_WG, jacobian=True)
    np.testing.assert_allclose(both.derivatives, np.stack([J, 0 * J]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_both.value, np.stack([J, J]), rtol=0, atol=1e-12)
    # X_WG exp(xi) at xi = 0: the rate of e is the inverse right Jacobian of e.
    moved = X_WG @ mbt.math.exp_se3(AutoDiffArray(np.zeros(6), np.eye(6)))
    by_goal = functional.pose_error(tree, q, frame, moved)
    wanted = mbt.math.right_jacobian_inverse_se3(e)
    np.testing.assert_allclose(by_goal.derivatives, wanted, rtol=0, atol=1e-12)
    by_goals = functional.pose_error(tree, q, frame, np.stack([moved, moved]))
    np.testing.assert_allclose(by_goals.derivatives[1], wanted, rtol=0, atol=1e-12)


def test_expressions() -> None:
    """A tree of SymPy gives the same at numeric positions."""
    pytest.importorskip("sympy")
    case = get_case("arm7")
    tree, q, X_WG = case.tree, case.state().q, goal_of()
    frame = frame_of(tree)
    wanted = functional.pose_error(tree, q, frame, X_WG, jacobian=True)
    found = functional.pose_error(tree.to_symbolic(), q, frame.name, X_WG, jacobian=True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.astype(float), b, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("X_WG", "error", "message"),
    [
        (np.eye(3), mbt.ShapeError, r"^X_WG: expected shape \(4, 4\), got \(3, 3\)$"),
        (2 * np.eye(4), mbt.ArgumentValueError, "^X_WG: expected a pose with bottom row"),
        (np.full((4, 4), np.nan), mbt.ArgumentValueError, "^X_WG: expected finite numbers"),
        (
            np.stack([np.eye(4)] * 2),
            mbt.ShapeError,
            r"^leading axes do not broadcast: q \(3,\), X_WG \(2,\)$",
        ),
        ("here", mbt.ArgumentTypeError, "^X_WG"),
    ],
)
def test_bad_goals(X_WG: object, error: type[Exception], message: str) -> None:
    tree = get_case("arm7").tree
    with pytest.raises(error, match=message):
        functional.pose_error(tree, np.zeros((3, 7)), frame_of(tree), X_WG)


def test_bad_option() -> None:
    tree = get_case("arm7").tree
    with pytest.raises(mbt.ArgumentTypeError, match=r"^jacobian: expected True or False, got 'yes'$"):
        functional.pose_error(tree, np.zeros(7), frame_of(tree), np.eye(4), jacobian="yes")  # type: ignore[call-overload]
