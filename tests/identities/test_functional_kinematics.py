"""Stateless kinematics agree with the Context, and with differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE


def frames_of(tree: mbt.MultibodyTree) -> list[mbt.Frame]:
    """World's frame, those of some bodies, and offset frames."""
    return [*tree.frames[:3], *(frame for frame in tree.frames if not frame.is_body_frame)][:8]


@pytest.mark.parametrize("model", CATALOGUE)
def test_frame_pose_vs_relative_transform(model: str) -> None:
    case = get_case(model)
    tree, state = case.tree, case.state()
    context, scale = case.context(state), QUANTITIES["poses"].scale(case.reference, state)
    for frame in frames_of(tree):
        X_WF = functional.frame_pose(tree, state.q, frame)
        assert_close(X_WF, tree.calc_relative_transform(context, tree.world_frame, frame), scale, frame.name)
        np.testing.assert_array_equal(X_WF[3], [0, 0, 0, 1])
    body = tree.bodies[-1]
    by_body = functional.frame_pose(tree, state.q, body)
    assert_close(by_body, functional.body_poses(tree, state.q)[body.node_index], scale)


@pytest.mark.parametrize("model", CATALOGUE)
def test_frame_jacobian_expressed_in_a_frame(model: str) -> None:
    case = get_case(model)
    tree, state = case.tree, case.state()
    scale = QUANTITIES["jacobians"].scale(case.reference, state)
    W, origin = tree.world_frame, np.zeros(3)
    for frame in frames_of(tree):
        for E in frames_of(tree)[::2]:
            J = functional.frame_jacobian(tree, state.q, frame, expressed_in=E)
            desired = tree.calc_jacobian_spatial_velocity(case.context(state), "v", frame, origin, W, E)
            assert_close(J, desired, scale, f"{frame.name} in {E.name}")


@pytest.mark.parametrize("model", MOVING)
def test_jacobian_vs_differences_of_poses(model: str) -> None:
    """V_WF is the rate of X_WF along v."""
    case = get_case(model)
    tree, state, h = case.tree, case.state(), 1e-5
    frame = tree.frames[-1]
    ahead, behind = (
        functional.frame_pose(tree, functional.integrate_positions(tree, state.q, state.v, step), frame)
        for step in (h, -h)
    )
    rate, R = (ahead - behind) / (2 * h), functional.frame_pose(tree, state.q, frame)[:3, :3]
    w = rate[:3, :3] @ R.T
    V = np.array([w[2, 1], w[0, 2], w[1, 0], *rate[:3, 3]])
    speed = 1.0 + float(np.abs(state.v).max())
    wanted = functional.frame_jacobian(tree, state.q, frame) @ state.v
    np.testing.assert_allclose(V, wanted, rtol=0, atol=1e-7 * speed**3 * (1.0 + np.abs(wanted).max()))


@pytest.mark.parametrize("model", CATALOGUE)
def test_center_of_mass(model: str) -> None:
    case = get_case(model)
    tree, state = case.tree, case.state()
    if tree.calc_total_mass(tree.create_default_context()) == 0.0:
        with pytest.raises(mbt.SingularityError, match="no mass"):
            functional.center_of_mass(tree, state.q)
        assert np.isnan(functional.center_of_mass(tree, state.q[None])).all()
        return
    desired = tree.calc_center_of_mass_position_in_world(case.context(state))
    scale = QUANTITIES["poses"].scale(case.reference, state)
    assert_close(functional.center_of_mass(tree, state.q), desired, scale)
    assert_close(functional.center_of_mass(tree, state.q[None])[0], desired, scale)


def test_nothing_has_no_center() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    out = np.ones(3)
    with pytest.raises(mbt.SingularityError, match="no mass outside World"):
        functional.center_of_mass(tree, [], out=out)
    assert out.tolist() == [1, 1, 1]
    assert np.isnan(functional.center_of_mass(tree, np.zeros((2, 0)))).all()


class TestOldOrder:
    """The arguments used to be frame_jacobian(tree, frame, q)."""

    def test_it_warns_and_works(self) -> None:
        case = get_case("arm7")
        tree, q, frame = case.tree, case.state().q, case.tree.frames[-1]
        wanted = functional.frame_jacobian(tree, q, frame)
        for old, given in ((frame, q), (frame.body, q.tolist())):
            with pytest.warns(DeprecationWarning, match=r"write frame_jacobian\(tree, q, frame\)") as caught:
                J = functional.frame_jacobian(tree, old, given)
            assert caught[0].filename == __file__
            np.testing.assert_array_equal(
                J, wanted if old is frame else functional.frame_jacobian(tree, q, frame.body)
            )

    def test_of_other_scalars(self) -> None:
        tree = get_case("arm7").tree.to_autodiff()
        q, frame = get_case("arm7").state().q, tree.frames[-1]
        with pytest.warns(DeprecationWarning, match="order"):
            J = functional.frame_jacobian(tree, frame, q)
        np.testing.assert_array_equal(J.value, functional.frame_jacobian(tree, q, frame).value)

    @pytest.mark.parametrize("kind", ["double", "autodiff"])
    def test_two_frames_are_refused(self, kind: str) -> None:
        tree = get_case("arm7").tree
        tree = tree if kind == "double" else tree.to_autodiff()
        frame = tree.frames[-1]
        with pytest.raises(mbt.ArgumentTypeError, match="q: expected"):
            functional.frame_jacobian(tree, frame, frame)
        with pytest.raises(mbt.ArgumentTypeError, match="q: expected"):
            functional.frame_jacobian(tree, frame.body, frame)

    def test_the_new_one_does_not_warn(self) -> None:
        tree, q = get_case("arm7").tree, get_case("arm7").state().q
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for positions in (q, q.tolist(), q[None]):
                functional.frame_jacobian(tree, positions, tree.frames[-1])
            functional.frame_jacobian(tree, frame=tree.frames[-1], q=q)


class TestSteps:
    @pytest.mark.parametrize("model", CATALOGUE)
    def test_they_are_those_of_the_tree_and_of_batches(self, model: str) -> None:
        case = get_case(model)
        tree, state, other = case.tree, case.state(0), case.state(1)
        q1 = functional.integrate_positions(tree, state.q, state.v, 0.25)
        v = functional.difference_positions(tree, state.q, other.q)
        np.testing.assert_array_equal(q1, tree.integrate_positions(state.q, state.v, 0.25))
        np.testing.assert_array_equal(v, tree.difference_positions(state.q, other.q))
        # Other kinds of input: lists, integers, leading axes.
        for q in (state.q.tolist(), state.q[None]):
            np.testing.assert_array_equal(
                np.reshape(functional.integrate_positions(tree, q, state.v, 0.25), -1), q1
            )
            np.testing.assert_array_equal(
                np.reshape(functional.difference_positions(tree, q, other.q), -1), v
            )
        whole = functional.integrate_positions(tree, state.q, state.v, 1)
        np.testing.assert_array_equal(whole, functional.integrate_positions(tree, state.q, state.v, 1.0))

    @pytest.mark.parametrize("model", MOVING)
    def test_results_may_overwrite_arguments(self, model: str) -> None:
        case = get_case(model)
        tree, state = case.tree, case.state()
        wanted = functional.integrate_positions(tree, state.q, state.v, 0.5)
        q = state.q.copy()
        assert functional.integrate_positions(tree, q, state.v, 0.5, out=q) is q
        np.testing.assert_array_equal(q, wanted)

    @pytest.mark.parametrize("dt", [np.nan, np.inf, np.float64("nan"), [0.1, np.nan]])
    @pytest.mark.parametrize("scalar", ["double", "autodiff"])
    def test_no_step_in_time(self, scalar: str, dt: object) -> None:
        tree = get_case("arm7").tree
        state, out = get_case("arm7").state(), np.full((*np.shape(dt), tree.num_positions), 7.0)
        clone = tree if scalar == "double" else tree.to_autodiff()
        steps = [lambda **kw: functional.integrate_positions(clone, state.q, state.v, dt, **kw)]
        if scalar == "double" or np.ndim(dt) == 0:
            steps.append(lambda **kw: clone.integrate_positions(state.q, state.v, dt, **kw))
        for step in steps:
            with pytest.raises(mbt.ArgumentValueError, match=r"^dt: expected finite numbers"):
                step(**({"out": out} if scalar == "double" else {}))
        assert (out == 7.0).all()

    def test_nan_propagates(self) -> None:
        case = get_case("arm7")
        tree, state = case.tree, case.state()
        for name in ("q", "v"):
            given = {"q": state.q.copy(), "v": state.v.copy()}
            given[name][2] = np.nan
            q1 = functional.integrate_positions(tree, given["q"], given["v"], 0.1)
            assert np.isnan(q1).tolist() == [k == 2 for k in range(7)]
        q = state.q.copy()
        q[4] = np.nan
        assert np.isnan(functional.difference_positions(tree, q, state.q)).tolist() == [
            k == 4 for k in range(7)
        ]
