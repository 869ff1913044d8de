"""Every quantity by its kernel, in the scalars other than double: one call each, from flat arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import mbt
from mbt._core import lane_engine
from mbt._core.dual_engine import DualEngine
from mbt._core.object_engine import ObjectEngine
from mbt._core.variants import Quantity
from support.description import Array

Functions = tuple[Callable[..., Any], ...]

# Of one body.
OF_A_BODY = (Quantity.ANGULAR_JACOBIAN, Quantity.TRANSLATIONAL_JACOBIAN)
# Those that read vdot, tau, or qdot.
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


def index_of(tree: mbt.MultibodyTree, quantity: Quantity) -> int:
    """Return the index that goes with a quantity: a body in the middle."""
    return tree.num_bodies // 2 if quantity in OF_A_BODY else -1


def third_input(
    tree: mbt.MultibodyTree,
    quantity: Quantity,
    parameters: Any,
    v: Any,
    x: Any,
    evaluate: Callable[..., Any],
    multiply: Callable[[Any, Any], Any] = operator.mul,
) -> Any:
    """Return what a kernel reads besides parameters, q and v, all with numbers in their first axis.

    Masses and inertias are those of the bodies, forces those of gravity, a point the origin of the body.
    """
    if quantity in WITH_INPUT:
        return x
    if quantity == Quantity.QDOT:
        return v
    if quantity == Quantity.MASS_MOMENT:
        return _section_of(tree, parameters, "mass", 1)
    if quantity == Quantity.MOMENTUM:
        mass = _section_of(tree, parameters, "mass", 1)
        of_bodies = np.repeat(np.arange(tree.num_bodies), 6)
        inertias = multiply(_section_of(tree, parameters, "unit_inertia", 6), mass[of_bodies])
        return np.concatenate([mass, inertias + _section_of(tree, parameters, "massless_inertia", 6)])
    if quantity == Quantity.GENERALIZED_FORCES:
        return evaluate(Quantity.GRAVITY_FORCES, x[:0])
    if quantity == Quantity.REACTION_FORCES:
        return np.concatenate([x, evaluate(Quantity.GRAVITY_FORCES, x[:0])])
    if quantity == Quantity.TRANSLATIONAL_JACOBIAN:
        start = 16 * index_of(tree, quantity)
        return evaluate(Quantity.BODY_POSES, x[:0])[[start + 3, start + 7, start + 11]]
    return x[:0]


def _multiply_duals(a: Array, b: Array) -> Array:
    """Multiply numbers of which each has its value first, then its derivatives, (numbers, 1 + directions)."""
    with np.errstate(invalid="ignore"):
        product = a[:, :1] * b + a * b[:, :1]
    product[:, 0] = a[:, 0] * b[:, 0]
    return product


def _section_of(tree: mbt.MultibodyTree, parameters: Any, name: str, width: int) -> Any:
    compiled = tree._compiled
    assert compiled is not None
    start = compiled.parameter_slice(name, 0).start
    return parameters[start : start + width * tree.num_bodies]


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
        index = index_of(tree, quantity)
        x = np.ascontiguousarray(third.T)
        out = np.empty((len(x), lane_engine.count_outputs(compiled, quantity)))
        lane_engine.evaluate(
            context, quantity, index, len(x), defaults, np.arange(rows.shape[1]), rows, *state, x, (out,)
        )
        return out.T

    compiled, context = tree._compiled, tree.create_default_context()
    assert compiled is not None
    defaults = lane_engine.LaneParameters(compiled, compiled.default_parameters)
    rows, *state = (np.ascontiguousarray(array) for array in (parameters, q, v))
    columns = [np.asarray(array).T for array in (parameters, v, x)]
    return evaluate(quantity, third_input(tree, quantity, *columns, evaluate)).T


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
        index = index_of(tree, quantity)
        return np.column_stack(engine.evaluate(context, quantity, index, *parts(third)))

    engine.set_parameters(*parts(numbers[0]))
    engine.set_q(*parts(numbers[1]))
    engine.set_v(*parts(numbers[2]))
    third = third_input(tree, quantity, numbers[0], numbers[2], numbers[3], evaluate, _multiply_duals)
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
    """Evaluate Python objects, floats being objects like others. Return an array of objects, (outputs,)."""
    compiled, context = tree._compiled, tree.create_default_context()
    assert compiled is not None
    engine = ObjectEngine(compiled, (*functions, from_float), 0.0, 1.0)

    def evaluate(quantity: Quantity, third: Any) -> Any:
        return engine.evaluate(context, quantity, index_of(tree, quantity), third)

    engine.set_parameters(parameters)
    engine.set_q(q)
    engine.set_v(v)
    arrays = [objects_of(values) for values in (parameters, v, x)]
    return evaluate(quantity, third_input(tree, quantity, *arrays, evaluate))


def objects_of(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array
