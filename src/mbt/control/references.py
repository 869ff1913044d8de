"""Conversion of task references, as users give them, to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from mbt.control.problem import Problem
from mbt.control.tasks import Task
from mbt.errors import ArgumentValueError, ShapeError
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array

__all__ = ["References", "as_numbers"]

_DOUBLE = np.dtype(np.float64)


class References:
    """Checks and converts a list of references."""

    def __init__(self, problem: Problem, places: tuple[tuple[bool, int], ...]) -> None:
        self._problem, self._places = problem, places
        self._zeros = {rows: np.zeros(rows) for rows in {task.num_rows for task in problem.tasks}}
        self._wanted = np.zeros(problem.num_forces)
        self._names = [f"references[{k}]" for k in range(len(places))]
        self._of_forces: list[tuple[int, str, FloatArray, float, bool]] = []
        seen = set()
        for k, (is_force, place) in enumerate(places):
            if is_force:
                chosen, weight = problem.force_tasks[place]
                forces = self._wanted[chosen].reshape(-1, 3)
                self._of_forces.append((k, self._names[k], forces, weight, chosen.start not in seen))
                seen.add(chosen.start)
        self._of_tasks = [
            (k, self._names[k], problem.tasks[place], self._zeros[problem.tasks[place].num_rows])
            for k, (is_force, place) in enumerate(places)
            if not is_force
        ]

    def as_arrays(self, references: Sequence[Any]) -> list[FloatArray]:
        """Return the desired forces times weights, and goal, velocity and acceleration of each task."""
        references = self._check_length(references)
        for k, name, forces, weight, is_first in self._of_forces:
            given = as_numbers(references[k], name, forces.shape)
            if is_first:
                np.multiply(given, weight, forces)
            else:
                forces += weight * given
        arrays = [self._wanted]
        for k, name, task, zero in self._of_tasks:
            reference = references[k]
            if type(reference) is not tuple:
                arrays += (task.as_goal(reference, name), zero, zero)
            else:
                goal, *rates = self._split(reference, name)
                arrays.append(task.as_goal(goal, name))
                arrays += [self._as_rate(rate, task, f"{name}[{i}]") for i, rate in enumerate(rates, 1)]
        return arrays

    def batch_of(self, references: Sequence[Any], batch: tuple[int, ...]) -> tuple[int, ...]:
        """Return the leading axes of states and references; mismatches raise later, when they are read."""
        references = self._check_length(references)
        for (is_force, place), reference in zip(self._places, references, strict=True):
            parts = reference if type(reference) is tuple else (reference,)
            goal = 2 if is_force else len(self._problem.tasks[place].shape)
            for value, ndim in zip(parts, (goal, 1, 1), strict=False):
                with suppress(ValueError):
                    batch = np.broadcast_shapes(batch, _leading(value, ndim))
        return batch

    def as_batch(self, references: Sequence[Any], batch: tuple[int, ...]) -> list[FloatArray]:
        """Return the same for a batch of states, broadcast to one leading axis."""
        references = self._check_length(references)
        count = int(np.prod(batch))
        wanted = np.zeros((count, self._problem.num_forces))
        arrays = [wanted]
        for name, (is_force, place), reference in zip(self._names, self._places, references, strict=True):
            if is_force:
                chosen, weight = self._problem.force_tasks[place]
                forces = _spread(as_finite_array(reference, name), name, batch, (_points(chosen), 3))
                wanted[:, chosen] += weight * forces.reshape(count, -1)
                continue
            task = self._problem.tasks[place]
            goal, *rates = (
                self._split(reference, name) if type(reference) is tuple else (reference, None, None)
            )
            if not _leading(goal, len(task.shape)):
                one = as_finite_array(task.as_goal(goal, name), name)
                goals = np.broadcast_to(one, (count, *task.shape))
            else:
                goals = _spread(as_finite_array(goal, name), name, batch, task.shape)
                goals = np.array([task.as_goal(one, name) for one in goals]).reshape(count, *task.shape)
            arrays.append(goals)
            for i, rate in enumerate(rates, 1):
                given = self._zeros[task.num_rows] if rate is None else as_finite_array(rate, f"{name}[{i}]")
                arrays.append(_spread(given, f"{name}[{i}]", batch, (task.num_rows,)))
        return arrays

    def refuse_numbers(self, arrays: list[FloatArray]) -> None:
        """Raise an error that names a value that is not finite among contacts and results of `as_arrays`."""
        if arrays[1] is self._wanted:
            for _, name, forces, _, _ in self._of_forces:
                as_finite_array(forces, name)
        names = ["stands", "forces wanted"]
        for name, (is_force, _) in zip(self._names, self._places, strict=True):
            names += [] if is_force else [name] * 3
        for name, array in zip(names, arrays, strict=True):
            as_finite_array(array, name)

    def _check_length(self, references: object) -> tuple[Any, ...]:
        """Return the references as a tuple: a list may change while an entry is converted to an array."""
        if not isinstance(references, (list, tuple)) or len(references) != len(self._places):
            got = f"{len(references)}" if isinstance(references, (list, tuple)) else type(references).__name__
            raise ArgumentValueError(
                f"references: expected a list of {len(self._places)}, one per task, got {got}"
            )
        return tuple(references)

    def _split(self, reference: tuple[Any, ...], name: str) -> tuple[Any, ...]:
        if len(reference) != 3:
            raise ArgumentValueError(
                f"{name}: expected a goal or (goal, velocity, acceleration), got a tuple "
                f"of length {len(reference)}"
            )
        return reference

    def _as_rate(self, value: object, task: Task, name: str) -> FloatArray:
        return self._zeros[task.num_rows] if value is None else as_numbers(value, name, (task.num_rows,))


def as_numbers(value: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return an array; values that are not finite are detected later, in the result."""
    if type(value) is np.ndarray and value.dtype is _DOUBLE and value.shape == shape:
        return value
    return as_float_array(value, name, shape)


def _points(chosen: Any) -> int:
    return int(chosen.stop - chosen.start) // 3


def _leading(value: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a value before the last `ndim`; none if it is not an array."""
    try:
        own: tuple[int, ...] = np.shape(value)
    except ValueError:
        return ()
    return own[: max(len(own) - ndim, 0)]


def _spread(value: FloatArray, name: str, batch: tuple[int, ...], shape: tuple[int, ...]) -> FloatArray:
    """Return an array broadcast from any leading axes to shape (count, *shape)."""
    try:
        spread = np.broadcast_to(value, (*batch, *shape))
    except ValueError:
        expected = ", ".join(map(str, shape))
        raise ShapeError(
            f"{name}: expected shape (..., {expected}), with leading axes that broadcast to {batch}, "
            f"got {value.shape}"
        ) from None
    return spread.reshape(-1, *shape)
