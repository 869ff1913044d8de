"""The tasks of a problem of inverse kinematics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from mbt.context.checks import frame_index
from mbt.errors import AlreadyFinalizedError, ArgumentValueError, quote
from mbt.kinematics.distances import Distance, as_distance
from mbt.kinematics.tasks import (
    CENTER,
    DIRECTION,
    POSE,
    POSITION,
    Task,
    as_axes,
    as_unit_vector,
    as_weights,
)
from mbt.math.arrays import FloatArray, as_finite_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.geometry.collision_model import CollisionModel
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["TaskList"]


class TaskList(ABC):
    """Tasks of frames of a tree, a posture, and distances."""

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree = tree
        self._tasks: list[Task] = []
        self._posture: tuple[FloatArray, float] | None = None
        self._distances: list[Distance] = []

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""
        return self._tree

    @property
    def rows(self) -> list[slice]:
        """The rows of `InverseKinematicsResult.error` that belong to each task, in their order."""
        ends = [0, *accumulate(task.num_errors for task in self._tasks)]
        return [slice(*pair) for pair in pairwise(ends)]

    def add_pose(self, frame: Frame | str, *, weight: npt.ArrayLike = (1.0, 1.0)) -> None:
        """Add a task: the pose of a frame in World. Its goal is (4, 4).

        Parameters
        ----------
        frame : Frame or str
            A frame or a body, or its name.
        weight : float or array_like, shape (2,), optional
            Weights of rotation and distance, or one number for both; zero leaves one free, less than one
            makes it secondary.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            When an argument is invalid, or the frame is of another tree.
        UnknownNameError
            When there is no such frame.
        AlreadyFinalizedError
            When this problem has been solved before. All other tasks raise the same errors.
        """
        self._add("pose", (4, 4), POSE, frame, as_weights(weight, 2))

    def add_position(
        self, frame: Frame | str, p_FP: npt.ArrayLike = (0.0, 0.0, 0.0), *, weight: float = 1.0
    ) -> None:
        """Add a task: the position in World of a point of a frame. Its goal is (3,).

        Parameters
        ----------
        frame : Frame or str
            A frame or a body, or its name.
        p_FP : array_like, shape (3,), optional
            The point P in the frame F [m]; by default its origin.
        weight : float, optional
            Less than one makes the task secondary.
        """
        point = tuple(as_finite_array(p_FP, "p_FP", (3,)).tolist())
        self._add("position", (3,), POSITION, frame, (0.0, *as_weights(weight, 1)), point=point)

    def add_orientation(self, frame: Frame | str, *, weight: float = 1.0) -> None:
        """Add a task: the rotation of a frame in World. Its goal is (3, 3).

        Parameters
        ----------
        frame : Frame or str
            A frame or a body, or its name.
        weight : float, optional
            Less than one makes the task secondary.
        """
        self._add("orientation", (3, 3), POSE, frame, (*as_weights(weight, 1), 0.0))

    def add_direction(self, frame: Frame | str, axis: npt.ArrayLike, *, weight: float = 1.0) -> None:
        """Add a task: the direction in World of an axis of a frame. Its goal is (3,), of any nonzero length.

        Parameters
        ----------
        frame : Frame or str
            A frame or a body, or its name.
        axis : array_like, shape (3,)
            The axis in the frame, of any nonzero length.
        weight : float, optional
            Less than one makes the task secondary.
        """
        unit = as_unit_vector(axis, "axis")
        self._add("direction", (3,), DIRECTION, frame, (*as_weights(weight, 1), 0.0), point=unit)

    def add_relative_pose(
        self, base: Frame | str, frame: Frame | str, *, weight: npt.ArrayLike = (1.0, 1.0)
    ) -> None:
        """Add a task: the pose of a frame in another one, the base. Its goal is (4, 4).

        Parameters
        ----------
        base, frame : Frame or str
            Frames or bodies, or their names.
        weight : float or array_like, shape (2,), optional
            Weights of rotation and distance, or one number for both; zero leaves one free, less than one
            makes it secondary.
        """
        index = frame_index(self._tree, base, "base")
        self._add("relative pose", (4, 4), POSE, frame, as_weights(weight, 2), base=index)

    def add_center_of_mass(self, axes: str = "xyz", *, weight: float = 1.0) -> None:
        """Add a task: coordinates of the center of mass in World. Its goal has as many numbers as axes.

        Parameters
        ----------
        axes : str, optional
            Letters of the axes, as "xy".
        weight : float, optional
            Less than one makes the task secondary.
        """
        numbers = as_axes(axes)
        weights = (0.0, *as_weights(weight, 1))
        self._add("center of mass", (len(numbers),), CENTER, None, weights, axes=numbers)

    def add_posture(self, q0: npt.ArrayLike, *, weight: float = 1e-3) -> None:
        """Draw positions towards a posture. It takes no goal and does not affect success.

        Parameters
        ----------
        q0 : array_like, shape (num_positions,)
            The posture.
        weight : float, optional
            Less than one.
        """
        self._check_open()
        q = as_finite_array(q0, "q0", (self._tree.num_positions,))
        if self._posture is not None:
            raise ArgumentValueError("q0: this problem already has a posture")
        (number,) = as_weights(weight, 1)
        if number >= 1.0:
            raise ArgumentValueError(
                f"weight: expected a number less than 1 for a posture, got {quote(weight)}"
            )
        self._posture = (q, number)

    def add_distance(self, scene: CollisionModel, at_least: float = 0.01) -> None:
        """Keep the shapes of all pairs of a scene apart. It takes no goal.

        `solve` and `solve_all` never report success where a pair is nearer. `velocities` reduces larger
        distances no further than to `at_least`, and increases smaller ones by what is missing, as far as
        limits allow. It considers the 16 pairs with the least room.

        Parameters
        ----------
        scene : CollisionModel
            A scene of the same tree.
        at_least : float, optional
            The least distance [m]; a negative one allows that much overlap.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ContextMismatchError
            When an argument is invalid, or the scene is of another tree.
        AlreadyFinalizedError
            When this problem has been solved before.

        Examples
        --------
        A ball on a slider shall go to 1 m, but a wall is in the way:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        >>> ball = tree.add_body(mbt.RigidBody("ball", inertia))
        >>> _ = ball.add_collision(mbt.Shape("sphere", [0.1]))
        >>> _ = tree.add_joint(
        ...     mbt.PrismaticJoint, "slider", tree.world_body, None, ball, None, axis=[1, 0, 0])
        >>> tree.finalize()
        >>> wall = mbt.Shape("box", [0.2, 2, 2], mbt.math.make_pose([1.1, 0, 0]), name="wall")
        >>> ik = mbt.InverseKinematics(tree)
        >>> ik.add_position("ball")
        >>> ik.add_distance(mbt.CollisionModel(tree, obstacles=[wall]), at_least=0.02)
        >>> bool(ik.solve([[1.0, 0, 0]]).success), bool(ik.solve([[0.8, 0, 0]]).success)
        (False, True)
        >>> ik.velocities([0.8], [[1.0, 0, 0]], 0.1).round(6)  # as far as 0.88 m
        array([0.8])
        """
        self._check_open()
        self._distances.append(as_distance(self._tree, scene, at_least))

    @abstractmethod
    def _is_closed(self) -> bool:
        """Return whether the problem takes no more tasks."""

    def _add(
        self, what: str, shape: tuple[int, ...], kind: int, frame: object, weights: Any, **more: Any
    ) -> None:
        self._check_open()
        index = 0 if kind == CENTER else frame_index(self._tree, frame, "frame")
        self._tasks.append(Task(what, shape, kind, index, more.pop("base", 0), weights, **more))

    def _check_open(self) -> None:
        if self._is_closed():
            raise AlreadyFinalizedError(
                "tasks are added before the first solve; make another InverseKinematics"
            )

    def __repr__(self) -> str:
        tasks = ", ".join(task.what for task in self._tasks)
        more = ", posture" if self._posture is not None else ""
        more += ", distance" * len(self._distances)
        return f"<InverseKinematics: {tasks or 'no tasks'}{more}>"
