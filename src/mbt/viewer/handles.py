"""Handles at the goals of inverse kinematics: dragging them moves the model."""

from __future__ import annotations

import html
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ContextMismatchError, MbtError, quote
from mbt.kinematics import InverseKinematics
from mbt.kinematics.tasks import CENTER, DIRECTION, POSE, Task
from mbt.math.poses import make_pose, matrix_to_quaternion, quaternion_to_matrix

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.viewer.model import ViewedModel

__all__ = ["Handles", "check_handles"]

# Length of a handle relative to the model; attempts of a solve, which must not take longer than a picture.
_SIZE, _SEEDS = 0.15, 16


def check_handles(tree: MultibodyTree, ik: object) -> None:
    """Raise an error unless `ik` is a problem of this tree."""
    if not isinstance(ik, InverseKinematics):
        raise ArgumentTypeError(f"ik: expected an mbt.InverseKinematics, got {quote(ik)}")
    if ik.tree is not tree:
        raise ContextMismatchError("ik: expected a problem of the tree that is shown")


class Handles:
    """A handle for each task: at its frame until somebody drags it, and then at its goal.

    Parameters
    ----------
    server : ViserServer
        The server of the page.
    path : str
        Name of the node of the model, in whose World the handles are.
    model : ViewedModel
        The model that follows.
    ik : InverseKinematics
        The tasks.
    extent : float
        Size of the model [m].
    """

    def __init__(
        self, server: Any, path: str, model: ViewedModel, ik: InverseKinematics, extent: float
    ) -> None:
        self._model, self._ik = model, ik
        # Guards goals and places: callbacks run in threads of the server.
        self._lock = threading.RLock()
        self._context = ik.tree.create_default_context()
        self._q = self._context.q
        self._goals: list[FloatArray] = []
        self._gizmos: list[Any] = []
        self._dragged: int | None = None
        for i, task in enumerate(ik._tasks):
            turns, moves = task.weights[0] > 0.0, task.weights[1] > 0.0
            gizmo = server.scene.add_transform_controls(
                f"{path}/goals/{i}",
                scale=_SIZE * extent,
                active_axes=tuple(axis in task.axes for axis in range(3)),
                disable_axes=not moves,
                disable_sliders=not moves,
                disable_rotations=not turns,
            )
            gizmo.on_update(lambda event, i=i: self._drag(i, event.phase))
            self._gizmos.append(gizmo)
        self._line = server.gui.add_html("")
        self.follow()

    def follow(self) -> None:
        """Put handles at their frames, unless the positions shown come from the handles."""
        with self._lock, suppress(MbtError):  # of positions without poses
            q = self._model.q.reshape(-1, self._ik.tree.num_positions)[0]
            if self._goals and np.array_equal(q, self._q):
                return
            self._set_positions(q)
            self._goals = [self._find_goal(task) for task in self._ik._tasks]
            self._place()
            self._line.content = ""

    def _drag(self, i: int, phase: str) -> None:
        """Take the place of a handle as goal, and show positions that meet all goals as well as possible."""
        with self._lock:
            self._dragged = None if phase == "end" else i
            goal = self._goal_of_gizmo(i)
            if np.array_equal(goal, self._goals[i]):
                return  # A later event was handled before.
            self._goals[i] = goal
            # Prefer a solution near the current positions; jump only if that reaches the goal.
            found = self._ik.solve(self._goals, self._q, seeds=1)
            if not found.success:
                jump = self._ik.solve(self._goals, self._q, seeds=_SEEDS)
                found = jump if jump.success else found
            self._set_positions(found.q)
            self._model.show(found.q)
            self._place()
            self._line.content = "" if found.success else self._describe(found.error)

    def _describe(self, error: FloatArray) -> str:
        """Return a line on the goals that are not met."""
        said = []
        for task, rows in zip(self._ik._tasks, self._ik.rows, strict=True):
            parts, at = [], rows.start
            for weight, unit in zip(task.weights, ("rad", "m"), strict=True):
                if weight > 0.0:
                    parts.append(f"{np.linalg.norm(error[at : at + len(task.axes)]):.2g} {unit}")
                    at += len(task.axes)
            said.append(f"{task.what} {', '.join(parts)}")
        text = html.escape(f"Not reached: {'; '.join(said)}")
        return f'<div style="padding: 0 0.8em; font-size: 0.85em">{text}</div>'

    def _set_positions(self, q: FloatArray) -> None:
        self._context.q = q
        self._q = np.array(self._context.q)

    def _pose_of(self, frame: int) -> FloatArray:
        return self._ik.tree.get_frame(frame).calc_pose_in_world(self._context)

    def _center(self) -> FloatArray:
        return self._ik.tree.calc_center_of_mass_position_in_world(self._context)

    def _find_goal(self, task: Task) -> FloatArray:
        """Return the goal of a task that the current positions meet."""
        if task.kind == CENTER:
            return self._center()[list(task.axes)]
        X_WF = self._pose_of(task.frame)
        if task.kind == POSE:
            X_AF: FloatArray = np.linalg.inv(self._pose_of(task.base)) @ X_WF
            return X_AF if task.shape == (4, 4) else X_AF[:3, :3]
        arm: FloatArray = X_WF[:3, :3] @ np.array(task.point)
        return arm if task.kind == DIRECTION else X_WF[:3, 3] + arm

    def _place(self) -> None:
        """Move all handles to their goals, except one that is being dragged."""
        for i, (task, goal, gizmo) in enumerate(zip(self._ik._tasks, self._goals, self._gizmos, strict=True)):
            if i == self._dragged:
                continue
            X = self._place_of(task, goal)
            gizmo.wxyz, gizmo.position = matrix_to_quaternion(X[:3, :3]), X[:3, 3]

    def _place_of(self, task: Task, goal: FloatArray) -> FloatArray:
        """Return the pose of a handle: the goal if it is a pose; otherwise the frame completes it."""
        if task.kind == CENTER:
            place = self._center()
            place[list(task.axes)] = goal
            return make_pose(place)
        if task.kind == POSE:
            X_WA, X_AG = self._pose_of(task.base), np.eye(4)
            X_AG[: len(goal), : len(goal)] = goal
            X_WG: FloatArray = X_WA @ X_AG
            if task.shape == (3, 3):
                X_WG[:3, 3] = self._pose_of(task.frame)[:3, 3]
            return X_WG
        if task.kind == DIRECTION:
            return make_pose(self._pose_of(task.frame)[:3, 3], R=_turn_to(goal))
        return make_pose(goal)

    def _goal_of_gizmo(self, i: int) -> FloatArray:
        task, gizmo = self._ik._tasks[i], self._gizmos[i]
        place, R = np.array(gizmo.position), quaternion_to_matrix(gizmo.wxyz)
        if task.kind == CENTER:
            return place[list(task.axes)]
        if task.kind == DIRECTION:
            return R[:, 2]
        if task.kind != POSE:
            return place
        if task.shape == (3, 3):
            return R
        X_AG: FloatArray = np.linalg.inv(self._pose_of(task.base)) @ make_pose(place, R=R)
        return X_AG


def _turn_to(direction: FloatArray) -> FloatArray:
    """Return a rotation whose z axis has a given direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
