"""Results of one instruction set: `python -m support.isa_results FILE.npz` writes all of them to a file.

Each quantity for a few states, with parameters of their own: one by one through the public methods, at once
in lanes, and, for small trees, in dual numbers. Each function of `mbt.functional`: one by one, and at once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mbt
from core.kernel_calls import FUNCTIONS, SMALL_TREES, TREES, Inputs, W, call_double, get_tree, random_inputs
from mbt import functional
from mbt._core.quantities.names import Quantity
from support.description import Array
from support.engines import evaluate_dual, evaluate_lanes

NUM_STATES = 11  # several blocks of any width, and a partial one
NUM_DIRECTIONS = 8
DUAL_STATES = 2
NUM_STEPS = 3
GOAL = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.3, -0.2, 0.5])
Results = Iterator[tuple[str, Array]]


def quantities_of(name: str, tree: mbt.MultibodyTree, inputs: Inputs) -> Results:
    states = [inputs.state(i) for i in range(NUM_STATES)]
    for function in FUNCTIONS:
        key = f"{name} {function.name.lower()}"
        yield f"{key} single", np.array([call_double(tree, function, state) for state in states])
        yield f"{key} lanes", evaluate_lanes(tree, function, *inputs.arguments(function))
        if name in SMALL_TREES:
            derivatives = [_directional(tree, function, state) for state in states[:DUAL_STATES]]
            yield f"{key} dual", np.array(derivatives)


def _directional(tree: mbt.MultibodyTree, function: Quantity, state: Inputs) -> Array:
    arguments = state.arguments(function)
    seeds = np.random.default_rng(0).normal(size=(sum(a.size for a in arguments), NUM_DIRECTIONS))
    blocks = [seeds[:, i : i + W] for i in range(0, NUM_DIRECTIONS, W)]
    return np.hstack([evaluate_dual(tree, function, *arguments, block)[1] for block in blocks])


def _arguments(
    tree: mbt.MultibodyTree, call: Callable[..., Any], q: Array, v: Array, x: Array
) -> tuple[list[Array], list[Any]]:
    """Return the arguments of a function, by name: those for each state, and those for all."""
    of_each = {"q": q, "v": v, "vdot": x, "tau": x, "q0": q, "q1": q[::-1], "v0": v}
    if call is functional.rollout:
        of_each["tau"] = np.stack([x] * NUM_STEPS, axis=1)
    # Exact in binary. Steps are short, as long ones amplify rounding by more than the mass matrix does.
    dt = 0.25 if call is functional.integrate_positions else 2.0**-10
    frame, motors = tree.bodies[-1].body_frame, np.ones(tree.num_velocities, bool)
    of_all = {"frame": frame, "dt": dt, "X_WG": GOAL, "restitution": 0.5}
    of_all["actuated"] = motors if motors.size else None
    names = [name for name, p in inspect.signature(call).parameters.items() if p.kind != p.KEYWORD_ONLY][1:]
    return [of_each[n] for n in names if n in of_each], [of_all[n] for n in names if n not in of_each]


def _is_defined(tree: mbt.MultibodyTree, function: str, q: Array) -> bool:
    if function == "inverse_kinematics":
        return False  # A search: lanes differ in steps, and so in results, by more than rounding.
    if function.startswith(("center_of_mass", "centroidal", "spatial_momentum")):
        return tree.calc_total_mass(tree.create_default_context()) > 0.0
    if function == "operational_space_inertia":
        return bool(np.all(_operational_condition(tree, q) < 1e8))
    return True


def _operational_condition(tree: mbt.MultibodyTree, q: Array) -> Array:
    """Return condition numbers, infinite if the last frame lacks one of six independent velocities."""
    return np.linalg.cond(functional.operational_space_inverse_inertia(tree, q, tree.bodies[-1].body_frame))


def functions_of(name: str, tree: mbt.MultibodyTree, q: Array, v: Array, x: Array) -> Results:
    for function in functional.__all__:
        if not _is_defined(tree, function, q):
            continue
        call = getattr(functional, function)
        operands, rest = _arguments(tree, call, q, v, x)
        batch = call(tree, *operands, *rest)
        singles = [call(tree, *rows, *rest) for rows in zip(*operands, strict=True)]
        if not isinstance(batch, tuple):
            batch, singles = (batch,), [(single,) for single in singles]
        for i, arrays in enumerate(zip(batch, *singles, strict=True)):
            yield f"{name} {function} batch {i}", arrays[0]
            yield f"{name} {function} one {i}", np.array(arrays[1:])


def results() -> Results:
    for name in TREES:
        tree = get_tree(name)
        inputs = random_inputs(tree, NUM_STATES)
        yield from quantities_of(name, tree, inputs)
        yield from functions_of(name, tree, inputs.q, inputs.v, inputs.x)
        # For the states with their own parameters, and with the default ones.
        nv = tree.num_velocities
        own = evaluate_lanes(tree, Quantity.MASS_MATRIX, *inputs.arguments(Quantity.MASS_MATRIX))
        default = functional.mass_matrix(tree, inputs.q)
        for kind, M in (("own", own.reshape(NUM_STATES, nv, nv)), ("default", default)):
            yield f"{name} condition {kind}", np.array([np.linalg.cond(m) if nv else 1.0 for m in M])
        yield f"{name} condition operational", np.array(_operational_condition(tree, inputs.q))


if __name__ == "__main__":
    np.savez(sys.argv[1], isa=mbt._core.isa, **dict(results()))
