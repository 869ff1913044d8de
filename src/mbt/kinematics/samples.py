"""Goals, positions and parameters of batches: some have leading axes, others all samples share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.context.context import Context
from mbt.errors import ArgumentTypeError, ContextMismatchError, ShapeError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array

if TYPE_CHECKING:
    from mbt.kinematics.tasks import Task
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_context", "find_common_axes", "split_samples", "take_samples"]


def check_context(tree: MultibodyTree, context: object) -> Context:
    """Return a Context of this tree."""
    if not isinstance(context, Context):
        raise ArgumentTypeError(f"context: expected a Context, got {quote(context)}")
    if context.tree is not tree:
        raise ContextMismatchError(
            "context: expected a Context of the tree of this problem, got one of another tree"
        )
    return context


def _find_states(context: Context | None, batch: tuple[int, ...]) -> list[Context | None]:
    """Return a Context of one state for each sample of a batch, or only one if all share its parameters."""
    own = () if context is None else context.batch_shape
    if not own:
        return [context]
    held: Any = context
    if not math.prod(batch):
        return []
    if not held._parameters.columns.size:
        return [held._sample((0,) * len(own))]
    states = [held._sample(i) for i in np.ndindex(own)]
    numbers = np.broadcast_to(np.arange(len(states)).reshape(own), batch)
    return [states[k] for k in numbers.reshape(-1)]


def split_samples(
    tree: MultibodyTree,
    tasks: list[Task],
    goals: Any,
    q: Any,
    name: str,
    context: Context | None,
    each: bool = False,
    lead: tuple[int, ...] | None = None,
) -> tuple[list[tuple[list[FloatArray], FloatArray, Context | None]], tuple[int, ...]]:
    """Return goals, positions and a Context of one state for each sample of a batch, and its axes.

    If all samples have the same parameters, they stay together as one, unless `each` is True.
    `lead` are axes to broadcast with those of goals and positions, by default those of the Context.
    """
    if lead is None:
        lead = () if context is None else context.batch_shape
    parts, q, batch = take_samples(tree, tasks, goals, q, name, lead)
    states = _find_states(context, batch)
    if len(states) == 1 and not each:
        return [(parts, np.broadcast_to(q, (*batch, q.shape[-1])), states[0])], batch
    if len(states) == 1:
        states *= math.prod(batch)
    samples = []
    for state, i in zip(states, np.ndindex(batch), strict=True):
        own = [x[i] if x.ndim > len(task.shape) else x for x, task in zip(parts, tasks, strict=True)]
        samples.append((own, q[i] if q.ndim > 1 else q, state))
    return samples, batch


def take_samples(
    tree: MultibodyTree, tasks: list[Task], goals: Any, q: Any, name: str, lead: tuple[int, ...] = ()
) -> tuple[list[FloatArray], FloatArray, tuple[int, ...]]:
    """Return goals and positions, each with the leading axes of the batch or none, and these axes."""
    if not isinstance(goals, (list, tuple)) or len(goals) != len(tasks):
        _refuse_goals(tasks, goals)
    parts = [task.as_goal(goals[i], f"goals[{i}]") for i, task in enumerate(tasks)]
    # Of `velocities`, a sample with NaN has no velocities; a start must be finite.
    take = as_float_array if name == "q" else as_finite_array
    q = take(q, name, (..., tree.num_positions))
    leads = [part.shape[: part.ndim - len(task.shape)] for part, task in zip(parts, tasks, strict=True)]
    batch: tuple[int, ...] = ()
    if lead or any(leads) or q.ndim > 1:
        named = {f"goals[{i}]": axes for i, axes in enumerate(leads)}
        batch = find_common_axes({**named, name: q.shape[:-1], **({"context": lead} if lead else {})})
        for i, task in enumerate(tasks):
            if leads[i] not in ((), batch):
                parts[i] = np.broadcast_to(parts[i], (*batch, *task.shape))
        if q.ndim > 1:
            q = np.broadcast_to(q, (*batch, q.shape[-1]))
    return parts, q, batch


def find_common_axes(axes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which the leading axes of arguments broadcast."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        got = ", ".join(f"{shape} of {name}" for name, shape in axes.items())
        raise ShapeError(f"expected leading axes that broadcast, got {got}") from None


def _refuse_goals(tasks: list[Task], goals: object) -> NoReturn:
    """Raise an error that says what is wrong with a list of goals."""
    wanted = ", ".join(f"{task.what} {task.shape}" for task in tasks)
    if not isinstance(goals, (list, tuple)):
        raise ArgumentTypeError(f"goals: expected a list, one goal per task ({wanted}), got {quote(goals)}")
    raise ShapeError(f"goals: expected {len(tasks)}, one per task ({wanted}), got {len(goals)}")
