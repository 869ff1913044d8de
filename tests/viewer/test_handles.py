"""Handles at goals: what happens when somebody drags one."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.cli import main
from mbt.models import model_path

pytestmark = pytest.mark.viewer

Q = np.array([0.2, -0.6, 1.0, 0.1, 0.5, 0.3])


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def drag(viewer: mbt.Viewer, i: int, place: np.ndarray | None = None, R: np.ndarray | None = None) -> None:
    """Do what the server does when a browser reports a drag: set the pose, then call the listeners."""
    gizmo = viewer.models[0]._handles._gizmos[i]
    for phase in ("start", "update", "end"):
        if phase == "update":
            if place is not None:
                gizmo.position = place
            if R is not None:
                gizmo.wxyz = mbt.math.matrix_to_quaternion(R)
        for callback in gizmo._impl_aux.update_cb:
            callback(SimpleNamespace(phase=phase, target=gizmo, client=None))


def place_of(viewer: mbt.Viewer, i: int) -> np.ndarray:
    gizmo = viewer.models[0]._handles._gizmos[i]
    return mbt.math.make_pose(gizmo.position, quaternion=gizmo.wxyz)


def wait_until(is_so) -> None:
    end = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_handles_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, seen = str(model_path("mbt_arm")), []

    def look(viewer: mbt.Viewer) -> None:
        handles = viewer.models[0]._handles
        seen.append(None if handles is None else len(handles._gizmos))

    monkeypatch.setattr(mbt.Viewer, "wait", look)
    assert main(["view", file, "--no-browser", "--ik", "tool", "--ik", "forearm"]) == 0
    assert main(["view", file, "--no-browser"]) == 0
    assert seen == [2, None]
    for options, message in (
        (["--ik", "tol"], "Did you mean 'tool'?"),
        (["--ik", "tool", "--record", "page.html"], "--ik: a recorded page has no handles"),
    ):
        assert main(["view", file, "--no-browser", *options]) == 2
        assert message in capsys.readouterr().err


def test_the_model_follows_a_pose(arm: mbt.MultibodyTree) -> None:
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("tool")
    with mbt.view(arm, Q, open_browser=False, ik=ik) as viewer:
        goal = functional.frame_pose(arm, Q, "tool")
        np.testing.assert_allclose(place_of(viewer, 0), goal, atol=1e-9)
        goal[:3, 3] += [-0.02, 0.03, 0.01]
        goal[:3, :3] = mbt.math.exp_so3([0.0, 0.0, 0.1]) @ goal[:3, :3]
        drag(viewer, 0, goal[:3, 3], goal[:3, :3])
        np.testing.assert_allclose(functional.frame_pose(arm, viewer.q, "tool"), goal, atol=1e-3)
        handles = viewer.models[0]._handles
        assert handles._line.content == ""
        # Out of reach the goal stays where it is, the model comes as near as it can, and a line says so.
        far = goal[:3, 3] + [3.0, 0.0, 0.0]
        drag(viewer, 0, far)
        assert "Not reached: pose" in handles._line.content
        np.testing.assert_allclose(place_of(viewer, 0)[:3, 3], far, atol=1e-9)
        tool = functional.frame_pose(arm, viewer.q, "tool")[:3, 3]
        assert np.linalg.norm(tool - far) < np.linalg.norm(goal[:3, 3] - far)
        # Sliders, or a program, move the handles.
        viewer.show(Q + 0.1)
        wanted = functional.frame_pose(arm, Q + 0.1, "tool")
        wait_until(lambda: np.allclose(place_of(viewer, 0), wanted, atol=1e-9))
        wait_until(lambda: handles._line.content == "")


def test_every_kind_of_task_has_a_handle(arm: mbt.MultibodyTree) -> None:
    tree = arm
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool", [0.0, 0.0, 0.05])
    ik.add_orientation("forearm", weight=0.5)
    ik.add_direction("hand", [0, 0, 1], weight=0.5)
    ik.add_relative_pose("upper_arm", "hand", weight=(0.1, 0.1))
    ik.add_center_of_mass("xz", weight=0.1)
    ik.add_posture(Q)
    with mbt.view(tree, Q, open_browser=False, ik=ik) as viewer:
        X = {name: functional.frame_pose(tree, Q, name) for name in ("tool", "forearm", "hand")}
        np.testing.assert_allclose(place_of(viewer, 0)[:3, 3], (X["tool"] @ [0, 0, 0.05, 1])[:3], atol=1e-9)
        np.testing.assert_allclose(place_of(viewer, 1), X["forearm"], atol=1e-9)
        np.testing.assert_allclose(place_of(viewer, 2)[:3, 2], X["hand"][:3, 2], atol=1e-9)
        np.testing.assert_allclose(place_of(viewer, 3), X["hand"], atol=1e-9)
        np.testing.assert_allclose(place_of(viewer, 4)[:3, 3], functional.center_of_mass(tree, Q), atol=1e-9)
        # Each goal can be dragged, and what is read back is what was set.
        goals = [goal.copy() for goal in viewer.models[0]._handles._goals]
        turn = mbt.math.exp_so3([0.02, 0.0, 0.03])
        for i in range(5):
            X_G = place_of(viewer, i)
            drag(viewer, i, X_G[:3, 3] + 0.01, turn @ X_G[:3, :3])
        after = viewer.models[0]._handles._goals
        np.testing.assert_allclose(after[0], goals[0] + 0.01, atol=1e-9)
        np.testing.assert_allclose(after[1], turn @ goals[1], atol=1e-9)
        np.testing.assert_allclose(after[2], turn @ goals[2], atol=1e-9)
        assert after[4].shape == (2,)
        point = functional.frame_pose(tree, viewer.q, "tool") @ [0, 0, 0.05, 1]
        np.testing.assert_allclose(point[:3], after[0], atol=1e-4)


def test_handles_of_something_else(arm: mbt.MultibodyTree) -> None:
    other = mbt.InverseKinematics(mbt.load_model(model_path("mbt_arm")))
    with pytest.raises(mbt.ContextMismatchError, match=r"ik: expected a problem of the tree"):
        mbt.view(arm, open_browser=False, ik=other)
    with pytest.raises(mbt.ArgumentTypeError, match=r"ik: expected an mbt.InverseKinematics"):
        mbt.view(arm, open_browser=False, ik="tool")
