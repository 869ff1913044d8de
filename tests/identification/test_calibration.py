"""Calibrations of simulated robots that differ from their descriptions."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import calibrate

X_CW = mbt.math.make_pose([1.5, -2.0, 0.7], rpy=[0.4, -0.3, 2.5])
X_FM = mbt.math.make_pose([0.02, 0.05, 0.1], rpy=[1.0, 0.5, -2.0])
OFFSETS = np.array([0.0, 0.02, -0.015, 0.01, 0.03, 0.0])


def measure(tree, q, rng, *, system=X_CW, marker=X_FM, noise=(0.0, 0.0)):
    context = tree.create_default_context(batch_shape=len(q))
    context.q = q
    X = (
        system
        @ tree.calc_relative_transform(context, tree.world_frame, tree.get_frame_by_name("tool"))
        @ marker
    )
    X[:, :3, :3] = mbt.math.exp_so3(noise[0] * rng.normal(size=(len(q), 3))) @ X[:, :3, :3]
    X[:, :3, 3] += noise[1] * rng.normal(size=(len(q), 3))
    return X


@pytest.fixture(scope="module")
def arm():
    return mbt.load_model(mbt.models.model_path("mbt_arm"))


def test_exact_poses_give_the_truth(arm, rng):
    q = rng.uniform(-1.5, 1.5, size=(15, 6))
    found = calibrate(arm, q, measure(arm, q + OFFSETS, rng), "tool")
    np.testing.assert_allclose(found.offsets, OFFSETS, atol=1e-9)
    np.testing.assert_allclose(found.X_CW, X_CW, atol=1e-9)
    np.testing.assert_allclose(found.X_FM, X_FM, atol=1e-9)
    # A rotation of the first joint is also one of World, and one of the last joint also one of the marker.
    assert found.undetermined == ("waist_w_offset", "tool_roll_w_offset")
    assert np.isinf(found.standard_errors[[12, 17]]).all()
    assert "do not determine waist_w_offset" in found.report()
    # The calibrated tree takes angles as measured.
    np.testing.assert_allclose(measure(found.tree, q, rng), measure(arm, q + OFFSETS, rng), atol=1e-9)
    np.testing.assert_array_equal(arm.default_positions, found.tree.default_positions)


@pytest.mark.parametrize("known", ["system", "marker", "both"])
def test_places_that_are_known_are_not_fitted(arm, rng, known):
    q = rng.uniform(-1.5, 1.5, size=(20, 6))
    offsets = np.full(6, 0.02)
    system, marker = np.eye(4) if known != "marker" else X_CW, np.eye(4) if known != "system" else X_FM
    X = measure(arm, q + offsets, rng, system=system, marker=marker)
    found = calibrate(
        arm, q, X, arm.get_body_by_name("tool"), system=known == "marker", marker=known == "system"
    )
    left = {"system": {5}, "marker": {0}, "both": set()}[known]
    assert len(found.undetermined) == len(left)
    if not left:
        np.testing.assert_allclose(found.offsets, offsets, atol=1e-9)
    np.testing.assert_allclose(found.residuals, 0.0, atol=1e-9)


def test_frames_of_joints_are_found(arm, rng):
    """A real robot with tilted joint frames: the fit predicts poses that were not measured."""
    real = arm.edit()
    for joint in real.joints:
        if joint.num_velocities:
            F = joint.frame_on_parent
            wrong = mbt.math.exp_se3(np.r_[0.01 * rng.normal(size=3), 0.002 * rng.normal(size=3)])
            F.set_default_pose_in_parent_frame(F.get_fixed_pose_in_parent_frame() @ wrong)
    real.finalize()
    q, other = rng.uniform(-1.5, 1.5, size=(2, 60, 6))
    names = [joint.name for joint in arm.joints if joint.num_velocities]
    found = calibrate(arm, q, measure(real, q, rng), "tool", offsets=False, frames=names)
    np.testing.assert_allclose(found.residuals, 0.0, atol=1e-8)
    assert set(found.frames) == set(names)
    predicted = measure(found.tree, other, rng, system=found.X_CW, marker=found.X_FM)
    np.testing.assert_allclose(predicted, measure(real, other, rng), atol=1e-7)
    # The known count of kinematic chains: four numbers a revolute joint, and six for each end.
    assert len(found.names) - len(found.undetermined) == 4 * 6 + 6


def test_coverage_of_standard_errors(arm):
    """In 100 calibrations with noise, errors stay within one and two standard errors as in a normal law."""
    off, noises = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-1.5, 1.5, size=(25, 6))
        found = calibrate(arm, q, measure(arm, q + OFFSETS, rng, noise=(2e-3, 5e-4)), "tool")
        off.append((found.offsets - OFFSETS)[1:5] / found.standard_errors[13:17])
        noises.append(found.noise)
    off = np.abs(off)
    assert abs((off < 1.0).mean() - 0.683) < 0.08
    assert abs((off < 2.0).mean() - 0.954) < 0.04
    assert (off < 3.0).mean() > 0.98
    np.testing.assert_allclose(np.mean(noises, axis=0), [2e-3, 5e-4], rtol=0.03)


def test_a_robot_that_hardly_moves_is_told(arm, rng):
    q = np.tile(rng.uniform(-1.0, 1.0, 6), (10, 1))
    found = calibrate(arm, q, measure(arm, q, rng), "tool")
    assert len(found.undetermined) == 6 + 6
    assert not np.isfinite(found.standard_errors[6:]).any()


def test_wrong_arguments_are_refused(arm, rng):
    q = rng.uniform(-1.0, 1.0, size=(10, 6))
    X = measure(arm, q, rng)
    with pytest.raises(mbt.ShapeError, match="X_CM"):
        calibrate(arm, q, X[1:], "tool")
    bad = X.copy()
    bad[3, 0, 0] += 0.1
    with pytest.raises(mbt.ArgumentValueError, match=r"X_CM\[3\]"):
        calibrate(arm, q, bad, "tool")
    with pytest.raises(mbt.UnknownNameError, match="spoon"):
        calibrate(arm, q, X, "spoon")
    with pytest.raises(mbt.ArgumentValueError, match="too few poses: 2"):
        calibrate(arm, q[:2], X[:2], "tool")
    with pytest.raises(mbt.ArgumentValueError, match="base_to_world"):
        calibrate(arm, q, X, "tool", frames=["base_to_world"])
    with pytest.raises(mbt.ArgumentValueError, match="not between"):
        calibrate(arm, q, X, "forearm", frames=["tool_roll"])
    with pytest.raises(mbt.ArgumentTypeError, match="frames"):
        calibrate(arm, q, X, "tool", frames="elbow")
    with pytest.raises(mbt.ArgumentValueError, match="nothing to fit"):
        calibrate(arm, q, X, "tool", offsets=False, system=False, marker=False)
    for wrong in (0.0, 1e-300, 1e300):
        with pytest.raises(mbt.ArgumentValueError, match="noise: expected numbers from 1e-100 to 1e100"):
            calibrate(arm, q, X, "tool", noise=[wrong, 1.0])
    with pytest.raises(mbt.ArgumentValueError, match="frame: expected one of this tree"):
        calibrate(arm, q, X, mbt.load_model(mbt.models.model_path("mbt_arm")).world_frame)


def test_what_does_not_fit_is_doubted(arm, rng):
    q = rng.uniform(-1.5, 1.5, size=(30, 6))
    X = measure(arm, q, rng, noise=(1e-3, 1e-3))
    assert calibrate(arm, q, X, "tool").warnings == ()
    millimetres = X.copy()
    millimetres[:, :3, 3] *= 1e3
    wrong = {
        "degrees": (np.degrees(q), X, "tool"),
        "millimetres": (q, millimetres, "tool"),
        "inverses": (q, np.linalg.inv(X), "tool"),
        "another frame": (q, X, "forearm"),
    }
    for what, arguments in wrong.items():
        found = calibrate(arm, *arguments)
        assert any("the poses do not fit the description" in text for text in found.warnings), what
        assert all(f"warning: {text}" in found.report() for text in found.warnings)
    assert "waist_q goes from" in calibrate(arm, *wrong["degrees"]).warnings[0]


def test_poses_that_only_turn_are_not_doubted(arm, rng):
    """A marker on the axis of the last joint, which alone moves: positions scatter only by their noise."""
    q = np.full((30, 6), 0.3)
    q[:, 5] = rng.uniform(-2.0, 2.0, 30)
    X = measure(arm, q, rng, marker=np.eye(4), noise=(1e-4, 1e-4))
    assert calibrate(arm, q, X, "tool", marker=False).warnings == ()
