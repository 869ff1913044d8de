"""A task-space controller: one quadratic program per tick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context import Context
from mbt.context.checks import compile_copy, frame_index
from mbt.control.contacts import ContactPoints
from mbt.control.problem import Problem
from mbt.control.results import TaskSpaceResult
from mbt.control.tasks import CenterOfMassTask, FrameTask, MomentumTask, PostureTask, Task
from mbt.control.ticks import Ticks
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    quote,
)
from mbt.kinematics.tasks import as_axes
from mbt.math.arrays import (
    FloatArray,
    as_bool,
    as_finite_array,
    as_float_array,
    as_nonnegative,
    as_positive,
)
from mbt.tree import Joint
from mbt.tree.context_access import raise_foreign_element
from mbt.tree.report_tables import plural

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["TaskSpaceController"]

# From a thousand times this on, daqp violates limits but reports success.
_MOST_WEIGHT = 1e12
_LIMITS = frozenset({"effort", "position", "velocity", "acceleration"})


class TaskSpaceController:
    """Computes torques that fulfil tasks as well as dynamics, contacts and limits allow.

    Each tick solves one quadratic program, whose unknowns are accelerations and contact forces. Every task
    requests an acceleration, by a spring and a damper, and has a weight; the solution is the weighted
    least-squares one within the friction pyramids of the contacts and the limits of effort, velocity,
    position and acceleration. Gravity, joint damping and all force elements of the tree are compensated.
    The solver is ``daqp``: ``pip install "multibodytree[control]"``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    contacts : sequence of ContactPoints, optional
        Points that must not move relative to what they touch.
    dt : float, optional
        Time between ticks [s]: accelerations are bounded such that limits hold at the end of it.
    limits : collection of str, optional
        The limits to obey: any of "effort", "position", "velocity" and "acceleration"; all by default.
    actuated : sequence of Joint or str, optional
        Joints with motors; by default, those with actuators.
    model_instance : int or str, optional
        The robot to control, in a tree with several: motors of the others exert no forces in its ticks.
    braking : float, optional
        The deceleration [rad/s^2, m/s^2] with which joints can stop before position limits.
    contact_weight : float, optional
        Weight of keeping contacts at rest, relative to tasks of weight one. Contacts whose rows depend on
        each other (feet of legs with five joints) are kept at rest as far as possible.
    regularization : float, optional
        Weight of squared accelerations, and of squared contact forces in units of the weight that a point
        carries; it makes the solution unique.

    Examples
    --------
    >>> import mbt
    >>> import numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> controller = mbt.TaskSpaceController(tree)
    >>> tool = controller.add_position(tree.bodies[-1], stiffness=100, damping=20)
    >>> posture = controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    >>> q, v = np.full(6, 0.3), np.zeros(6)
    >>> result = controller.solve(q, v, [[0.4, 0.1, 0.5], None])
    >>> result.status, result.tau.shape
    ('optimal', (6,))
    """

    def __init__(
        self,
        tree: MultibodyTree,
        contacts: Sequence[ContactPoints] = (),
        *,
        dt: float = 1e-3,
        limits: Sequence[str] = tuple(sorted(_LIMITS)),
        actuated: Sequence[Joint | str] | None = None,
        model_instance: int | str | None = None,
        braking: float = 50.0,
        contact_weight: float = 1e5,
        regularization: float = 1e-4,
    ) -> None:
        compile_copy(tree)
        chosen = list(limits) if isinstance(limits, Iterable) and not isinstance(limits, str) else None
        if chosen is None or not all(isinstance(one, str) and one in _LIMITS for one in chosen):
            raise ArgumentValueError(f"limits: expected some of {sorted(_LIMITS)}, got {quote(limits)}")
        if not isinstance(contacts, Iterable):
            raise ArgumentTypeError(f"contacts: expected a list of mbt.ContactPoints, got {quote(contacts)}")
        self._tree, self._instance = tree, model_instance
        self._options: dict[str, Any] = {
            "is_driven": _driven(tree, actuated, model_instance),
            "dt": as_positive(dt, "dt"),
            "braking": as_positive(braking, "braking"),
            "contact_weight": _as_weight(contact_weight, "contact_weight"),
            "regularization": _as_weight(regularization, "regularization"),
            "limits": frozenset(chosen),
        }
        self._contacts = tuple(self._as_contact(contact, k) for k, contact in enumerate(contacts))
        self._stands = np.ones(len(self._contacts))
        self._tasks: list[Task] = []
        self._force_tasks: list[tuple[int, float]] = []
        self._places: list[tuple[bool, int]] = []  # for each entry of `references`
        self._ticks: Ticks | None = None
        self.references: Any = None

    @property
    def tree(self) -> MultibodyTree:
        """The controlled tree."""
        return self._tree

    @property
    def num_tasks(self) -> int:
        """Number of tasks, and of entries of ``references``."""
        return len(self._places)

    @property
    def contacts(self) -> tuple[ContactPoints, ...]:
        """All contacts, including lifted ones."""
        return tuple(contact for contact, _, _ in self._contacts)

    def add_pose(
        self,
        frame: Frame | str,
        *,
        stiffness: float,
        damping: float,
        weight: Any = 1.0,
        priority: int = 0,
    ) -> int:
        """Add a task for the pose of a frame; return its place in ``references``.

        Its goal is a pose X_WG, shape (4, 4); its velocity and acceleration, shape (6,), are spatial, of the
        frame's origin in World axes, rotation first. Orientation and position have separate springs, so the
        origin moves along a straight line.

        Parameters
        ----------
        frame : Frame, RigidBody or str
            The frame.
        stiffness, damping : float
            Gains of the requested acceleration [1/s^2, 1/s]; critically damped if
            ``damping = 2 sqrt(stiffness)``.
        weight : float or array_like, shape (2,), optional
            For rotation and translation.
        priority : int, optional
            1 for tasks that must not disturb those of priority 0.
        """
        both = as_float_array(weight, "weight")
        rows = np.repeat(np.broadcast_to(both, (2,)), 3) if both.shape in ((), (2,)) else both
        return self._add_frame(frame, (4, 4), range(6), rows, stiffness, damping, priority)

    def add_position(
        self,
        frame: Frame | str,
        p_FP: Any = (0.0, 0.0, 0.0),
        *,
        axes: str = "xyz",
        stiffness: float,
        damping: float,
        weight: Any = 1.0,
        priority: int = 0,
    ) -> int:
        """Add a task for the position of a point of a frame [m]: coordinates `axes` in World.

        Goal, velocity and acceleration have one entry for each of `axes`. The other parameters are those of
        `add_pose`.
        """
        rows = [3 + axis for axis in as_axes(axes)]
        point = as_finite_array(p_FP, "p_FP", (3,))
        return self._add_frame(frame, (len(rows),), rows, weight, stiffness, damping, priority, point)

    def add_orientation(
        self, frame: Frame | str, *, stiffness: float, damping: float, weight: Any = 1.0, priority: int = 0
    ) -> int:
        """Add a task for the orientation of a frame: goals are rotations R_WG, shape (3, 3).

        The other parameters are those of `add_pose`.
        """
        return self._add_frame(frame, (3, 3), range(3), weight, stiffness, damping, priority)

    def add_center_of_mass(
        self, *, axes: str = "xyz", stiffness: float, damping: float, weight: Any = 1.0, priority: int = 0
    ) -> int:
        """Add a task for the centre of mass [m]: coordinates `axes` in World.

        The other parameters are those of `add_pose`.
        """
        chosen = as_axes(axes)
        return self._add(
            CenterOfMassTask, "centre of mass", (len(chosen),), len(chosen), weight, stiffness, damping,
            priority, axes=chosen,
        )  # fmt: skip

    def add_momentum(
        self, *, axes: str = "xyz", angular: bool = True, damping: float, weight: Any = 1.0, priority: int = 0
    ) -> int:
        """Add a task for the momentum about the centre of mass, in World axes [kg m^2/s or kg m/s].

        The goal is a momentum, its "velocity" is ignored, its acceleration is a rate of momentum; `damping`
        [1/s] is the rate at which the momentum converges to the goal.

        Parameters
        ----------
        axes : str, optional
            Coordinates.
        angular : bool, optional
            Whether it is angular rather than linear momentum.
        damping : float
            The rate [1/s].
        weight, priority
            As for `add_pose`.
        """
        is_angular = as_bool(angular, "angular")
        chosen = tuple(axis if is_angular else 3 + axis for axis in as_axes(axes))
        what = "angular momentum" if is_angular else "momentum"
        return self._add(
            MomentumTask, what, (len(chosen),), len(chosen), weight, damping, 0.0, priority, rows=chosen
        )

    def add_posture(
        self,
        q0: Any = None,
        *,
        joints: Sequence[Joint | str] | None = None,
        stiffness: float,
        damping: float,
        weight: Any = 1.0,
        priority: int = 0,
    ) -> int:
        """Add a task for the positions of joints.

        The goal is a configuration, shape (num_positions,), or None for `q0`; velocities and accelerations
        are those of `joints`.

        Parameters
        ----------
        q0 : array_like, shape (num_positions,), optional
            The configuration; by default, the default positions.
        joints : sequence of Joint or str, optional
            The joints; by default, those with motors.
        stiffness, damping, weight, priority
            As for `add_pose`.
        """
        tree = self._tree
        default = tree.default_positions if q0 is None else as_finite_array(q0, "q0", (tree.num_positions,))
        mask = (
            self._options["is_driven"]
            if joints is None
            else _velocities_of(tree, joints, "joints", self._instance)
        )
        chosen = tuple(np.flatnonzero(mask).tolist())
        return self._add(
            PostureTask, "posture", (tree.num_positions,), len(chosen), weight, stiffness, damping, priority,
            velocities=chosen, default=default,
        )  # fmt: skip

    def add_contact_force(self, contact: ContactPoints | int, *, weight: float) -> int:
        """Add a task for the forces on the points of a contact: goals have shape (n, 3), in World axes [N].

        Parameters
        ----------
        contact : ContactPoints or int
            One of `contacts`, or its place there.
        weight : float
            Weight of squared deviations [1/N^2], relative to that of accelerations [1/(m/s^2)^2].
        """
        self._check_not_used()
        self._force_tasks.append((self._place_of(contact), _as_weight(weight, "weight")))
        self._places.append((True, len(self._force_tasks) - 1))
        return len(self._places) - 1

    def lift(self, contact: ContactPoints | int) -> None:
        """Disable a contact until `touch`: its points exert no force and may move."""
        self._stands[self._place_of(contact)] = 0.0

    def touch(self, contact: ContactPoints | int) -> None:
        """Enable a contact that was lifted."""
        self._stands[self._place_of(contact)] = 1.0

    def compile(self, *, compiler: str | None = None, cache: bool = True) -> Self:
        """Compile everything but the quadratic program to native code, with `mbt.compile`.

        A tick is then several times faster. Compilation needs a C compiler, and takes seconds, or
        milliseconds if the code is in the cache. The first tick with ``context=`` also compiles.

        Parameters
        ----------
        compiler, cache
            As for `mbt.compile`.
        """
        self._made().compile(compiler, cache)
        return self

    def solve(
        self,
        q: Any,
        v: Any,
        references: Sequence[Any],
        *,
        out: TaskSpaceResult | None = None,
        context: Context | None = None,
    ) -> TaskSpaceResult:
        """Return torques, accelerations and contact forces of one tick.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions.
        v : array_like, shape (..., num_velocities)
            Velocities. Leading axes broadcast: a batch of states, whose ticks do not depend on each other. If
            a state is not finite, the results of its tick are not either.
        references : sequence
            One entry per task, in order: a goal, or a tuple (goal, velocity, acceleration). All of them may
            have the leading axes of a batch, even with a single state.
        out : TaskSpaceResult, optional
            A result of this controller, into whose arrays to write.
        context : Context, optional
            A Context of this tree whose parameters apply: masses, gravity, poses of frames, disabled
            constraints, locked joints. Its positions and velocities do not matter. A batch Context has
            separate parameters for each sample.

        Returns
        -------
        TaskSpaceResult
            The solution. If bounds contradict each other, `status` says so, and `violations` lists the
            violated bounds.

        Raises
        ------
        ArgumentValueError
            When a reference is not finite, a goal is not a pose, or a locked joint moves.
        ContextMismatchError
            When the Context belongs to another tree.
        ConcurrentUseError
            When another thread is computing a tick with this controller.
        MissingPackageError
            When daqp is not installed.
        """
        if context is not None:
            self._check_context(context)
        return self._made().solve(q, v, references, self._stands, out, context)

    def __call__(self, time: float, q: Any, v: Any) -> FloatArray:
        """Return tau for this controller's `references`, for ``mbt.simulate(..., control=controller)``.

        First set ``controller.references``: a sequence as for `solve`, or a function of time that returns
        one.
        """
        references = self.references(time) if callable(self.references) else self.references
        if references is None and self._places:
            raise ArgumentValueError("references: set controller.references before a simulation")
        return self.solve(q, v, references or ()).tau

    def __getstate__(self) -> dict[str, Any]:
        # A copy is an independent controller: the same tasks, separate buffers.
        own = ("_stands", "_tasks", "_force_tasks", "_places")
        return self.__dict__ | {"_ticks": None} | {name: copy(self.__dict__[name]) for name in own}

    def __repr__(self) -> str:
        tasks = ", ".join(task.what for task in self._tasks) or "no tasks"
        return f"<TaskSpaceController: {tasks}; {plural(len(self._contacts), 'contact')}>"

    def _made(self) -> Ticks:
        if self._ticks is None:
            starts = np.cumsum([0, *(3 * contact.num_points for contact, _, _ in self._contacts)]).tolist()
            force_tasks = tuple((slice(starts[k], starts[k + 1]), weight) for k, weight in self._force_tasks)
            problem = Problem(self._tree, self._contacts, tuple(self._tasks), force_tasks, **self._options)
            self._ticks = Ticks(problem, tuple(self._places))
        return self._ticks

    def _check_not_used(self) -> None:
        if self._ticks is not None:
            raise ArgumentValueError(
                "tasks: expected all of them before the first tick; create a new controller"
            )

    def _check_context(self, context: object) -> None:
        if not isinstance(context, Context):
            raise ArgumentTypeError(f"context: expected a Context, got {quote(context)}")
        if context.tree is not self._tree:
            raise ContextMismatchError(
                "context: expected a Context of the tree of this controller, got one of another tree"
            )

    def _as_contact(self, contact: object, k: int) -> tuple[ContactPoints, Frame, Frame | None]:
        if not isinstance(contact, ContactPoints):
            raise ArgumentTypeError(f"contacts[{k}]: expected mbt.ContactPoints, got {quote(contact)}")
        tree, name = self._tree, f"contacts[{k}]"
        frame = tree.get_frame(frame_index(tree, contact.frame, f"{name}: frame"))
        if contact.surface is None:
            return contact, frame, None
        surface = tree.get_frame(frame_index(tree, contact.surface, f"{name}: surface"))
        if surface.body is frame.body:
            raise ArgumentValueError(f"{name}: expected a surface of another body than {frame.body.name!r}")
        return contact, frame, surface

    def _place_of(self, contact: object) -> int:
        for k, (known, _, _) in enumerate(self._contacts):
            if contact is known or (type(contact) is int and contact == k):
                return k
        raise ArgumentValueError(f"contact: expected one of controller.contacts, got {quote(contact)}")

    def _add_frame(
        self,
        frame: object,
        shape: tuple[int, ...],
        rows: Sequence[int],
        weight: object,
        stiffness: float,
        damping: float,
        priority: int,
        point: Any = (0.0, 0.0, 0.0),
    ) -> int:
        found = self._tree.get_frame(frame_index(self._tree, frame, "frame"))
        return self._add(
            FrameTask, f"frame {found.name!r}", shape, len(rows), weight, stiffness, damping, priority,
            frame=found, p_FP=np.array(point), rows=tuple(rows),
        )  # fmt: skip

    def _add(
        self,
        kind: type[Task],
        what: str,
        shape: tuple[int, ...],
        num_rows: int,
        weight: object,
        stiffness: float,
        damping: float,
        priority: int,
        **own: Any,
    ) -> int:
        self._check_not_used()
        weights = as_finite_array(weight, "weight")
        if weights.shape not in ((), (num_rows,)) or np.any((weights < 0.0) | (weights > _MOST_WEIGHT)):
            raise ArgumentValueError(
                f"weight: expected numbers from 0 to {_MOST_WEIGHT:g}, one or {num_rows}, got {quote(weight)}"
            )
        if type(priority) is not int or priority not in (0, 1):
            raise ArgumentValueError(f"priority: expected 0 or 1, got {quote(priority)}")
        gains = as_nonnegative(stiffness, "stiffness"), as_nonnegative(damping, "damping")
        task = kind(
            what, shape, num_rows, np.broadcast_to(weights, (num_rows,)).copy(), *gains, priority, **own
        )
        self._tasks.append(task)
        self._places.append((False, len(self._tasks) - 1))
        return len(self._places) - 1


def _as_weight(value: object, name: str) -> float:
    number = as_positive(value, name)
    if number > _MOST_WEIGHT:
        raise ArgumentValueError(f"{name}: expected a number of at most {_MOST_WEIGHT:g}, got {number}")
    return number


def _velocities_of(tree: MultibodyTree, joints: Sequence[Joint | str], argument: str, instance: Any) -> Any:
    """Return which velocities belong to joints, shape (num_velocities,)."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise ArgumentTypeError(f"{argument}: expected a list of joints or their names, got {quote(joints)}")
    mask = np.zeros(tree.num_velocities, dtype=bool)
    for one in joints:
        if not isinstance(one, (Joint, str)):
            raise ArgumentTypeError(f"{argument}: expected joints or their names, got {quote(one)}")
        joint = one if isinstance(one, Joint) else tree.get_joint_by_name(one, instance)
        if joint._tree is not tree:
            raise_foreign_element(tree, joint, f"{argument}: expected joints")
        mask[joint.velocity_start : joint.velocity_start + joint.num_velocities] = True
    return mask


def _driven(tree: MultibodyTree, actuated: Sequence[Joint | str] | None, instance: Any) -> Any:
    if actuated is not None:
        return _velocities_of(tree, actuated, "actuated", instance)
    driven = tree.actuation_matrix.any(axis=1)
    if instance is not None:
        own = np.zeros_like(driven)
        own[tree._velocity_indices(instance)] = True
        driven &= own
    if tree.num_velocities and not driven.any():
        what = "tree" if instance is None else "model_instance"
        raise ArgumentValueError(
            f"{what}: expected one with actuators, got none; name the joints that have motors in `actuated`, "
            "or add actuators to the model"
        )
    return driven
