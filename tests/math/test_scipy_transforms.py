"""Rotations and rigid transforms of SciPy, accepted wherever poses and rotations are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import transform

import mbt
from mbt.math import as_pose, as_rotation, inverse_pose, log_se3, log_so3, make_pose
from mbt.models import model_path
from mbt.parsing import add_model

TURN = transform.Rotation.from_euler("xyz", [0.3, -0.2, 0.5])
TURNS = transform.Rotation.from_euler("xyz", [[0.3, -0.2, 0.5], [0.1, 0.2, 0.3], [0.0, 0.0, 1.0]])
#: Poses of SciPy (since 1.16) and their matrices, for one state and for three.
POSES: dict[str, Any] = {"Rotation": TURN}
BATCHES: dict[str, Any] = {"Rotation": TURNS}
if hasattr(transform, "RigidTransform"):
    POSES["RigidTransform"] = transform.RigidTransform.from_components([1.0, 2.0, 3.0], TURN)
    BATCHES["RigidTransform"] = transform.RigidTransform.from_components(np.eye(3), TURNS)


def matrix(pose: Any) -> Any:
    X = pose.as_matrix()
    if X.shape[-1] == 4:
        return X
    return np.stack([make_pose(R=R) for R in X]) if X.ndim == 3 else make_pose(R=X)


def make_box(name: str) -> mbt.RigidBody:
    return mbt.RigidBody(name, mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3))


def of_frame(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(mbt.FixedOffsetFrame("F", tree.add_body(make_box("body")), X))
    tree.finalize()
    return frame.get_fixed_pose_in_body_frame()


def of_joint(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    joint = tree.add_joint(
        mbt.RevoluteJoint, "pin", tree.world_body, X, tree.add_body(make_box("body")), X, axis=[0, 0, 1]
    )
    tree.finalize()
    np.testing.assert_array_equal(joint.frame_on_child.get_fixed_pose_in_body_frame(), matrix(X))
    return joint.frame_on_parent.get_fixed_pose_in_body_frame()


def of_weld(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, None, tree.add_body(make_box("body")), None, X)
    tree.finalize()
    return mbt.functional.body_poses(tree, [])[1]


def of_base(X: Any) -> Any:
    tree = mbt.load_model(model_path("mbt_arm"), base_pose=X)
    return mbt.functional.body_poses(tree, np.zeros(6))[1]


def of_model(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    add_model(tree, model_path("mbt_arm"), parent=tree.world_frame, X_PF=X)
    tree.finalize()
    return mbt.functional.body_poses(tree, np.zeros(6))[1]


def of_free_body(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    body = tree.add_body(make_box("body"))
    tree.finalize()
    context = tree.create_default_context()
    tree.get_joint_by_name("body").set_pose(context, X)
    return body.eval_pose_in_world(context)


def of_context(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(mbt.FixedOffsetFrame("F", tree.add_body(make_box("body")), np.eye(4)))
    tree.finalize()
    context = tree.create_default_context()
    frame.set_pose_in_parent_frame(context, X)
    return frame.get_pose_in_parent_frame(context)


def of_autodiff(X: Any) -> Any:
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(mbt.FixedOffsetFrame("F", tree.add_body(make_box("body")), np.eye(4)))
    tree.finalize()
    twin = tree.to_autodiff()
    context = twin.create_default_context()
    twin.get_variant(frame).set_pose_in_parent_frame(context, X)
    return twin.get_variant(frame).get_pose_in_parent_frame(context).value


PLACES = {
    f.__name__: f
    for f in (of_frame, of_joint, of_weld, of_base, of_model, of_free_body, of_context, of_autodiff)
} | {
    "as_pose": lambda X: as_pose(X, "X"),
    "shape": lambda X: mbt.Shape("box", [1, 1, 1], X).X_BG,
    "inverse": lambda X: inverse_pose(inverse_pose(X)),
    "log": lambda X: mbt.math.exp_se3(log_se3(X)),
}


@pytest.mark.parametrize("kind", POSES)
@pytest.mark.parametrize("place", PLACES)
def test_poses(place: str, kind: str) -> None:
    function: Callable[[Any], Any] = PLACES[place]
    np.testing.assert_allclose(function(POSES[kind]), matrix(POSES[kind]), atol=1e-15)


@pytest.mark.parametrize("kind", BATCHES)
def test_poses_of_samples(kind: str) -> None:
    X = BATCHES[kind]
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(mbt.FixedOffsetFrame("F", tree.add_body(make_box("body")), np.eye(4)))
    tree.finalize()
    context = tree.create_default_context(batch_shape=3)
    frame.set_pose_in_parent_frame(context, X)
    np.testing.assert_array_equal(frame.get_pose_in_parent_frame(context), matrix(X))
    np.testing.assert_allclose(inverse_pose(inverse_pose(X)), matrix(X), atol=1e-15)


def test_rotations() -> None:
    np.testing.assert_array_equal(as_rotation(TURN, "R"), TURN.as_matrix())
    np.testing.assert_array_equal(make_pose([1, 2, 3], R=TURN)[:3, :3], TURN.as_matrix())
    np.testing.assert_allclose(log_so3(TURN), TURN.as_rotvec(), atol=1e-15)
    np.testing.assert_allclose(log_so3(TURNS), TURNS.as_rotvec(), atol=1e-15)


@pytest.mark.parametrize("kind", POSES)
def test_poses_of_mbt_are_those_of_scipy(kind: str) -> None:
    tree = mbt.load_model(model_path("mbt_arm"))
    q = np.linspace(-1.0, 1.0, 6)
    X = mbt.functional.frame_pose(tree, np.stack([q, -q]), tree.frames[-1])
    made = getattr(transform, kind).from_matrix(X if kind == "RigidTransform" else X[:, :3, :3])
    n = made.as_matrix().shape[-1]
    np.testing.assert_allclose(made.as_matrix(), X[:, :n, :n], atol=1e-14)


def test_what_is_neither_is_refused() -> None:
    for wrong, message in (
        (np.eye(3), r"X: expected shape \(4, 4\), got \(3, 3\)"),
        (TURNS, "X: expected shape"),
    ):
        with pytest.raises(mbt.ShapeError, match=message):
            as_pose(wrong, "X")
    if "RigidTransform" in POSES:
        with pytest.raises(mbt.ShapeError, match=r"R: expected shape \(3, 3\), got \(4, 4\)"):
            as_rotation(POSES["RigidTransform"], "R")
