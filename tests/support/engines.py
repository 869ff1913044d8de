"""Every quantity by its kernel, in scalar types other than double: one call each, from flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import mbt
from mbt._core.engines import lane_engine
from mbt._core.engines.dual_engine import DualEngine
from mbt._core.engines.object_engine import ObjectEngine
from mbt._core.quantities.names import Quantity
from support.description import Array

Functions = tuple[Callable[..., Any], ...]

# Quantities that read vdot, tau, or qdot.
WITH_INPUT = (
    Quantity.MOTION_FORCES,
    Quantity.INVERSE_DYNAMICS,
    Quantity.FORWARD_DYNAMICS,
    Quantity.VELOCITY,
    Quantity.ACCELERATION_KINEMATICS,
    Quantity.INVERSE_DYNAMICS_REGRESSOR,
    Quantity.MOTION_FORCES_DERIVATIVES,
    Quantity.INVERSE_DYNAMICS_DERIVATIVES,
    Quantity.FORWARD_DYNAMICS_DERIVATIVES,
)


# Quantities of a body in the middle, in World.
OF_A_FRAME = (Quantity.SPATIAL_JACOBIAN, Quantity.ANGULAR_JACOBIAN, Quantity.TRANSLATIONAL_JACOBIAN)
WITH_FLAG = (
    Quantity.MOTION_FORCES,
    Quantity.INVERSE_DYNAMICS,
    Quantity.FORWARD_DYNAMICS,
    Quantity.MOTION_FORCES_DERIVATIVES,
    Quantity.INVERSE_DYNAMICS_DERIVATIVES,
    Quantity.FORWARD_DYNAMICS_DERIVATIVES,
    Quantity.TOTAL_MASS,
    Quantity.MOMENTUM,
)


def body_in_the_middle(tree: mbt.MultibodyTree) -> Any:
    return next(body for body in tree.bodies if body.node_index == tree.num_bodies // 2)


def integers_of(tree: mbt.MultibodyTree, quantity: Quantity) -> tuple[int, ...]:
    """Return the integer arguments of a quantity: a body in the middle, or all bodies, without forces."""
    if quantity in OF_A_FRAME:
        frame = body_in_the_middle(tree).body_frame.index
        return (frame, 0, 0, 0, -1) if quantity == Quantity.TRANSLATIONAL_JACOBIAN else (frame, 0, 0, 0)
    if quantity == Quantity.REACTION_FORCES:
        return (0, 1)
    if quantity == Quantity.COMPOSITE_INERTIA:
        return (0, 0)
    return (0,) if quantity in WITH_FLAG else ()


def third_input(quantity: Quantity, v: Any, x: Any, zeros: Any, evaluate: Callable[..., Any]) -> Any:
    """Return the further input of a kernel, besides parameters, q and v; its first axis counts numbers.

    Forces are those of gravity; points are the origins of the body and of World: `zeros`, three of them.
    """
    if quantity in WITH_INPUT:
        return x
    if quantity == Quantity.QDOT:
        return v
    if quantity == Quantity.GENERALIZED_FORCES:
        return evaluate(Quantity.GRAVITY_FORCES, x[:0])
    if quantity == Quantity.REACTION_FORCES:
        return np.concatenate([x, evaluate(Quantity.GRAVITY_FORCES, x[:0])])
    if quantity in (Quantity.TRANSLATIONAL_JACOBIAN, Quantity.MOMENTUM):
        return zeros
    return x[:0]


def evaluate_lanes(
    tree: mbt.MultibodyTree,
    quantity: Quantity,
    parameters: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    x: npt.ArrayLike,
) -> Array:
    """Evaluate any number of states, all inputs (states, numbers). Return (states, outputs)."""

    def evaluate(quantity: Quantity, third: Array) -> Array:
        integers = integers_of(tree, quantity)
        x = np.ascontiguousarray(third.T)
        out = np.empty((len(x), lane_engine.count_outputs(compiled, quantity, integers)))
        lane_engine.evaluate(
            context, quantity, integers, len(x), defaults, np.arange(rows.shape[1]), rows, *state, x, (out,)
        )
        return out.T

    compiled, context = tree._compiled, tree.create_default_context()
    assert compiled is not None
    defaults = lane_engine.LaneParameters(compiled, compiled.default_parameters)
    rows, *state = (np.ascontiguousarray(array) for array in (parameters, q, v))
    columns = [np.asarray(array).T for array in (v, x)]
    return evaluate(quantity, third_input(quantity, *columns, np.zeros((3, len(state[0]))), evaluate)).T


def evaluate_dual(
    tree: mbt.MultibodyTree, quantity: Quantity, parameters: Array, q: Array, v: Array, x: Array, seeds: Array
) -> tuple[Array, Array]:
    """Evaluate values, (outputs,), and derivatives, (outputs, directions).

    `seeds` is (inputs, directions), rows in the order parameters, q, v, x.
    """
    compiled, context = tree._compiled, tree.create_default_context()
    assert compiled is not None
    engine = DualEngine(compiled)
    sizes = np.cumsum([parameters.size, q.size, v.size])
    numbers = [
        np.column_stack([value, rows])
        for value, rows in zip((parameters, q, v, x), np.split(seeds, sizes), strict=True)
    ]

    def parts(rows: Array) -> tuple[Array, Array]:
        return np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:])

    def evaluate(quantity: Quantity, third: Array) -> Array:
        integers = integers_of(tree, quantity)
        return np.column_stack(engine.evaluate_numbers(context, quantity, integers, *parts(third)))

    engine.set_parameters(*parts(numbers[0]))
    engine.set_q(*parts(numbers[1]))
    engine.set_v(*parts(numbers[2]))
    zeros = np.zeros((3, 1 + seeds.shape[1]))
    third = third_input(quantity, numbers[2], numbers[3], zeros, evaluate)
    return parts(evaluate(quantity, third))


def evaluate_python(
    tree: mbt.MultibodyTree,
    quantity: Quantity,
    parameters: Sequence[Any],
    q: Sequence[Any],
    v: Sequence[Any],
    x: Sequence[Any],
    functions: Functions,
    from_float: Callable[[float], Any] = float,
) -> Any:
    """Evaluate Python objects, including floats. Return an array of objects, (outputs,)."""
    compiled, context = tree._compiled, tree.create_default_context()
    assert compiled is not None
    engine = ObjectEngine(compiled, (*functions, from_float), 0.0, 1.0)

    def evaluate(quantity: Quantity, third: Any) -> Any:
        return engine.evaluate_objects(context, quantity, integers_of(tree, quantity), third)

    engine.set_parameters(parameters)
    engine.set_q(q)
    engine.set_v(v)
    arrays = [objects_of(values) for values in (v, x)]
    return evaluate(quantity, third_input(quantity, *arrays, objects_of([0.0] * 3), evaluate))


def objects_of(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array
