"""Inverse kinematics for libraries that compile and differentiate programs, as calls like those of functions.

Operands are the goals, the start, and parameters; results are the positions and their success, as a number.
Derivatives of positions by goals and parameters are those of an implicit function; by the start they are
zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbt.context.checks import frame_index
from mbt.context.owned_parameters import parameter_shape, set_parameter
from mbt.errors import ArgumentTypeError, ArgumentValueError, MbtError, ShapeError, quote
from mbt.interop.host_calls import check_shapes, describe_owner, find_owner, register_call
from mbt.interop.linearizations import make_coordinate_map
from mbt.kinematics import InverseKinematics
from mbt.math.arrays import FloatArray
from mbt.saving.json_writer import hash_content
from mbt.tree import MultibodyTree

__all__ = ["InverseCall", "find_inverse_call", "find_problem", "take_operands"]

Shape = tuple[int, ...]


class InverseCall:
    """`solve` of a problem, on operands with common leading axes.

    Parameters
    ----------
    problem : InverseKinematics
        The problem, which owns the call.
    owners : tuple
        Elements whose parameters are operands.
    options : tuple
        Seeds, rng, tolerance and max_steps.
    order : int
        0: the results; 1: also their Jacobians.
    """

    def __init__(
        self, problem: InverseKinematics, owners: tuple[Any, ...], options: tuple[Any, ...], order: int
    ) -> None:
        tree = problem.tree
        self._problem, self._owners, self._options, self._order = problem, owners, options, order
        self.operand_shapes: list[Shape] = [task.shape for task in problem._tasks]
        self.operand_shapes.append((tree.num_positions,))
        self.operand_shapes += [parameter_shape(tree, owner) for owner in owners]
        self.result_shapes: list[Shape] = [(tree.num_positions,), ()]
        if order:
            self.result_shapes += [(*r, *o) for r in self.result_shapes for o in self.operand_shapes]
        #: The object that each library made for this call, by the name of the library.
        self.made: dict[str, Any] = {}
        self.number = register_call(self, self._hash())

    def __repr__(self) -> str:
        return f"<solve of {self._problem!r}>"

    def _hash(self) -> int | None:
        """Return a number that equal calls share in all processes."""
        problem = self._problem
        content = hash_content(problem.tree)
        if content is None or problem._distances:
            return None
        posture = problem._posture
        kept = None if posture is None else (posture[0].tobytes(), posture[1])
        owners = [describe_owner(x) for x in self._owners]
        what = (content, "solve", problem._tasks, kept, self._options, owners, self._order)
        return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8], "big")

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Return the results."""
        problem, num_tasks = self._problem, len(self._problem._tasks)
        operands = tuple(np.asarray(x, np.float64) for x in operands)
        goals, start, values = list(operands[:num_tasks]), operands[num_tasks], operands[num_tasks + 1 :]
        batch = start.shape[:-1]
        context = None
        if self._owners:
            context = problem.tree.create_default_context(*([batch] if batch else []))
            for owner, value in zip(self._owners, values, strict=True):
                set_parameter(problem.tree, context, owner, value)
        seeds, rng, tolerance, max_steps = self._options
        found = problem.solve(
            goals, start, seeds=seeds, rng=rng, tolerance=tolerance, max_steps=max_steps, context=context
        )
        results = found.q, np.asarray(found.success, np.float64)
        if not self._order:
            return results
        rates = problem.solution_derivatives(
            found.q, goals, parameters=self._owners, context=context, tolerance=tolerance
        )
        N = make_coordinate_map(problem.tree, found.q)
        by_operand = [*rates.goals, np.zeros((*batch, problem.tree.num_velocities, start.shape[-1]))]
        by_operand += rates.parameters
        jacobians = []
        for rate, operand, shape in zip(by_operand, operands, self.operand_shapes, strict=True):
            along = rate if N is None else N @ rate
            if len(shape) == 2:
                along = along @ _entries_to_motion(operand).reshape(*batch, along.shape[-1], -1)
            jacobians.append(along.reshape(*batch, along.shape[-2], *shape))
        nothing = [np.zeros((*batch, *shape)) for shape in self.operand_shapes]
        return (*results, *jacobians, *nothing)

    def write(self, operands: Sequence[FloatArray], results: Sequence[FloatArray]) -> None:
        """Write the results into arrays of floats."""
        for result, value in zip(results, self.evaluate(*operands), strict=True):
            result[...] = value

    def linearize(self) -> InverseCall:
        """Return the call for the results and their Jacobians.

        Raises
        ------
        MbtError
            When this is such a call itself.
        """
        if not self.is_differentiable:
            raise MbtError("inverse kinematics has first derivatives, but no higher ones")
        return _take(self._problem, self._owners, self._options, 1)

    @property
    def is_differentiable(self) -> bool:
        """Whether there is a linearization."""
        return self._order == 0


def _entries_to_motion(X: FloatArray) -> FloatArray:
    """Return the map, (..., 6 or 3, n, n), from changes of a matrix's entries to small motions from the left.

    Changes that would make a rotation matrix not a rotation are projected out.
    """
    is_pose = X.shape[-1] == 4
    motion = np.zeros((*X.shape[:-2], 6 if is_pose else 3, *X.shape[-2:]))
    for j in range(3):
        motion[..., :3, :3, j] = np.cross(0.5 * X[..., :3, j, None], np.eye(3), axis=-2)
    if is_pose:
        motion[..., 3:, :3, 3] = np.eye(3)
    return motion


def _take(
    problem: InverseKinematics, owners: tuple[Any, ...], options: tuple[Any, ...], order: int
) -> InverseCall:
    """Return the existing call of the problem, or a new one."""
    calls: dict[Any, InverseCall] = problem.__dict__.setdefault("_host_calls", {})
    key = owners, options, order
    call = calls.get(key)
    # If two threads race, both get the call of the first.
    return call if call is not None else calls.setdefault(key, InverseCall(problem, *key))


def find_problem(tree: Any, frame: Any) -> InverseKinematics:
    """Return the problem of the pose of a frame, the same one each time."""
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    key = "pose of frame", frame_index(tree, frame, "frame")
    calls: dict[Any, Any] = tree.__dict__.setdefault("_host_calls", {})
    if key not in calls:
        problem = InverseKinematics(tree)
        problem.add_pose(frame)
        calls.setdefault(key, problem)
    found: InverseKinematics = calls[key]
    return found


def find_inverse_call(
    problem: Any, owners: Sequence[Any], seeds: int, rng: int, tolerance: Any, max_steps: int
) -> InverseCall:
    """Return the call of a problem, the same one each time.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an option cannot be used, or one of `owners` has no parameter.
    """
    if not isinstance(problem, InverseKinematics):
        raise ArgumentTypeError(f"ik: expected an mbt.InverseKinematics, got {quote(problem)}")
    if type(rng) is not int:
        raise ArgumentTypeError(f"rng: expected an int, so that programs are reproducible, got {quote(rng)}")
    checked = problem._take_options(seeds, rng, tolerance, max_steps)
    elements = tuple(find_owner(problem.tree, owner) for owner in owners)
    if len(set(elements)) < len(elements):
        raise ArgumentValueError("parameters: expected each element once")
    return _take(problem, elements, (checked[0], rng, checked[2:4], checked[4]), 0)


def take_operands(
    call: InverseCall, problem: InverseKinematics, goals: Any, start: Any, values: Mapping[Any, Any]
) -> tuple[list[Any], Shape]:
    """Return the operands in their order, and their common leading axes; all are arrays of a library."""
    if len(goals) != len(problem._tasks):
        raise ShapeError(f"goals: expected {len(problem._tasks)}, one per task, got {len(goals)}")
    named = {f"goals[{i}]": goal for i, goal in enumerate(goals)}
    batch = check_shapes(call.operand_shapes, {**named, "start": start}, values)
    return [*goals, start, *values.values()], batch
