"""Arguments of steps: checked, converted, and broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import compile_copy
from mbt.errors import ArgumentValueError, ShapeError, quote, shape_error
from mbt.math.arrays import Shape, as_bool, check_leading_axes, has_shape

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "BACKWARDS",
    "BOTH_LIMITS",
    "EXPLICIT",
    "IMPLICIT",
    "METHODS",
    "Limits",
    "as_spread_array",
    "broadcast",
    "check_limits",
    "check_method",
    "goes_back",
    "rows_of_samples",
    "take_operands",
]

#: Methods of steps, by name.
METHODS = {"semi_implicit_euler": 0, "rk4": 1, "implicit": 4}
#: Number of the method whose steps minimise a convex function; see `implicit.py`.
IMPLICIT = METHODS["implicit"]
#: Methods that are unstable if a step is too long.
EXPLICIT = ("semi_implicit_euler", "rk4")
#: Added to the number of a compiled step with negative dt, so that constraint errors decay in that direction.
BACKWARDS = 2

#: Whether position limits act in implicit steps, and whether these clip forces to effort limits.
Limits = tuple[bool, bool]
BOTH_LIMITS: Limits = (True, True)


def check_method(method: object) -> int:
    """Return the number of a method, by its name."""
    number = METHODS.get(method) if isinstance(method, str) else None
    if number is None:
        raise ArgumentValueError(f"method: expected {' or '.join(map(repr, METHODS))}, got {quote(method)}")
    return number


def check_limits(method: object, joint_limits: object, limit_efforts: object) -> Limits:
    """Return which limits of the tree act in steps of a method."""
    if joint_limits is True and limit_efforts is None:  # Fast path: a step of one state takes microseconds.
        return BOTH_LIMITS
    acts = as_bool(joint_limits, "joint_limits")
    clips = limit_efforts is None or as_bool(limit_efforts, "limit_efforts")
    if limit_efforts is not None and clips and method != "implicit":
        raise ArgumentValueError(
            "limit_efforts: only steps with method='implicit' clip forces; with other methods pass "
            "np.clip(tau, tree.effort_lower_limits, tree.effort_upper_limits) as tau"
        )
    return acts, clips


def goes_back(numbers: Any, dt: Any) -> bool:
    """Return whether the length of a step is negative; a symbol counts as positive."""
    return bool(np.any(numbers.known_values(dt) < 0.0))


def take_operands(
    tree: MultibodyTree, operands: dict[str, object], *, of_steps: bool = False
) -> tuple[tuple[int, ...], list[Any]]:
    """Return the leading axes to which operands broadcast, and the operands broadcast to them.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree; anything else raises an error.
    operands : dict of str to array_like
        Positions, velocities and forces, by the names of the arguments.
    of_steps : bool, optional
        Whether forces have an axis of steps.
    """
    compile_copy(tree)
    nv = tree.num_velocities
    cores = [(tree.num_positions,), (nv,), (None, nv) if of_steps else (nv,)]
    arrays = [
        as_spread_array(tree, value, name, (..., *core))
        for (name, value), core in zip(operands.items(), cores, strict=True)
    ]
    leads = [array.shape[: array.ndim - len(core)] for array, core in zip(arrays, cores, strict=True)]
    batch = broadcast(dict(zip(operands, leads, strict=True)))
    return batch, [
        np.broadcast_to(array, (*batch, *array.shape[len(lead) :]))
        for array, lead in zip(arrays, leads, strict=True)
    ]


def as_spread_array(tree: MultibodyTree, value: Any, name: str, shape: Shape) -> Any:
    """Return an array of the tree's scalar type; what `np.broadcast_to` repeats takes no memory here."""
    if type(value) is not np.ndarray or value.ndim < 2 or 0 not in value.strides[:-1]:
        return tree._numbers.as_float_array(value, name, shape)
    if not has_shape(value.shape, shape):
        raise shape_error(name, shape, value.shape)
    once = value[tuple(slice(0, 1 if stride == 0 else None) for stride in value.strides[:-1])]
    return np.broadcast_to(tree._numbers.as_float_array(once, name), value.shape)


def broadcast(leads: dict[str, tuple[int, ...]], batch: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return the shape to which the leading axes of arguments, by name, broadcast: `batch`, if given."""
    for name, lead in leads.items():
        check_leading_axes(lead, name)
    try:
        shape = np.broadcast_shapes(*leads.values(), batch or ())
    except ValueError:
        shape = None
    if shape is None or (batch is not None and shape != batch):
        described = ", ".join(f"{name} {lead}" for name, lead in leads.items())
        wanted = "" if batch is None else f" to those of the context, {batch}"
        raise ShapeError(f"leading axes do not broadcast{wanted}: {described}")
    return shape


def rows_of_samples(forces: FloatArray, batch: tuple[int, ...], count: int) -> FloatArray:
    """Return forces (..., T, nv) as (count, T, nv), or (1, T, nv) if all samples share them."""
    lead = forces.ndim - 2
    axes = zip(forces.shape[:lead], forces.strides[:lead], strict=True)
    if all(extent == 1 or (extent and step == 0) for extent, step in axes):
        return np.ascontiguousarray(forces[(0,) * lead])[np.newaxis]
    spread = np.broadcast_to(forces, (*batch, *forces.shape[lead:]))
    return np.ascontiguousarray(spread.reshape(count, *forces.shape[lead:]))
