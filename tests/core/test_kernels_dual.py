"""Dual: the values are those of double, the partial derivatives those of the function.

Derivatives are compared with two others: central differences of the kernel in Lanes, and the complex step,
which runs the kernel in complex numbers and is exact to rounding. Every number that a kernel reads
takes part, the entries of a pose one by one: off the rotations too, a kernel is a function with derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from core.kernel_calls import (
    AMPLIFIED,
    FUNCTIONS,
    LONG,
    SMALL_TREES,
    TREES,
    Arguments,
    Inputs,
    W,
    assert_same_to_rounding,
    assert_within,
    call_double,
    call_python,
    call_with_bounds,
    get_tree,
    parameter_slices,
    random_inputs,
)
from core.kernel_scalars import refuse
from mbt._core.engines.dual_engine import DualEngine
from mbt._core.quantities.names import Quantity
from support.description import Array
from support.engines import evaluate_dual, evaluate_lanes
from support.quantities import EPS
from support.taking_long import taking_long

F = Quantity
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
every_tree = pytest.mark.parametrize("name", taking_long(TREES, *LONG))
every_small_tree = pytest.mark.parametrize("name", SMALL_TREES)
RICH = "mixed4"

# Any step whose square vanishes beside 1: the complex step subtracts nothing.
COMPLEX_STEP = 1e-30


def select_by_real_part(a: Any, b: Any, x: Any, y: Any) -> Any:
    return np.where(np.real(a) < np.real(b), x, y)


# An array stands for one number: moved along all directions at once.
COMPLEX_FUNCTIONS = (
    np.sin,
    np.cos,
    refuse,
    select_by_real_part,
    refuse,
    refuse,
    lambda a: np.floor(np.real(a)),
)

# Largest steps of the central differences, about a fiftieth of the size of each number.
STEPS = {
    "gravity": 0.2,
    "mass": 0.02,
    "com": 0.005,
    "unit_inertia": 0.0005,
    "massless_inertia": 0.0005,
    "frame_pose": 0.02,
    "damping": 0.01,
    "rotor_inertia": 2e-5,
    "gear_ratio": 0.02,
    "q": 0.02,
    "v": 0.02,
    "x": 0.02,
}


def one_state(name: str, seed: int = 0) -> tuple[mbt.MultibodyTree, Inputs]:
    tree = get_tree(name)
    return tree, random_inputs(tree, 1, seed).state(0)


def input_slices(tree: mbt.MultibodyTree, arguments: Arguments) -> dict[str, slice]:
    """Slices of each kind of number in the concatenated inputs: parameters, q, v, x."""
    slices = parameter_slices(tree)
    start = arguments[0].size
    for name, array in zip("qvx", arguments[1:], strict=True):
        slices[name] = slice(start, start + array.size)
        start += array.size
    return slices


def split(flat: Array, arguments: Arguments) -> list[Array]:
    """The inputs again, split from their concatenation along the last axis."""
    return np.split(flat, np.cumsum([array.size for array in arguments])[:-1], axis=-1)


def jacobian_by_dual(tree: mbt.MultibodyTree, function: Quantity, arguments: Arguments) -> Array:
    """Jacobians (outputs, inputs), `lane_count()` columns at a time."""
    size = sum(array.size for array in arguments)
    seeds = np.eye(size)
    blocks = [evaluate_dual(tree, function, *arguments, seeds[:, i : i + W])[1] for i in range(0, size, W)]
    return np.concatenate(blocks, axis=1)


def derivatives_by_complex_step(
    tree: mbt.MultibodyTree, function: Quantity, arguments: Arguments, seeds: Array
) -> Array:
    """Directional derivatives (outputs, directions)."""
    moved = np.concatenate(arguments)[:, None] + 1j * COMPLEX_STEP * seeds
    numbers = [list(a.T) for a in split(moved.T, arguments)]
    out = call_python(tree, function, numbers, COMPLEX_FUNCTIONS)
    derivatives = np.zeros((len(out), seeds.shape[1]))
    for row, a in zip(derivatives, out, strict=True):
        row[:] = np.imag(a) / COMPLEX_STEP
    return derivatives


def jacobians_by_differences(
    tree: mbt.MultibodyTree, function: Quantity, arguments: Arguments, steps: Array
) -> tuple[Array, float]:
    """Jacobians (outputs, inputs) by central differences, steps h, h/2, h/4, extrapolated twice (Richardson).

    Also returns the size of the outputs that were subtracted.
    """
    inputs = np.concatenate(arguments)
    fractions = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])
    # (input, fraction, inputs): each input on its own is moved by six fractions of its step.
    moved = inputs + np.einsum("i,f,ij->ifj", steps, fractions, np.eye(inputs.size))
    p, q, v, x = (np.ascontiguousarray(a) for a in split(moved.reshape(-1, inputs.size), arguments))
    y = evaluate_lanes(tree, function, p, q, v, x).reshape(inputs.size, 6, -1)
    h = steps[:, None]
    D = [(y[:, 2 * j] - y[:, 2 * j + 1]) / (2 * h / 2**j) for j in range(3)]
    once = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
    return ((16 * once[1] - once[0]) / 15).T, float(np.max(np.abs(y), initial=0.0))


# --- Values -----------------------------------------------------------------------------------------------


@every_function
@every_tree
def test_values_vs_double(name: str, function: Quantity) -> None:
    tree, state = one_state(name)
    arguments = state.arguments(function)
    seeds = np.random.default_rng(0).normal(size=(sum(a.size for a in arguments), W))
    values, derivatives = evaluate_dual(tree, function, *arguments, seeds)
    _, bounds = call_with_bounds(tree, function, arguments)
    assert_same_to_rounding(values, call_double(tree, function, state), bounds)
    assert derivatives.shape == (values.size, W)


@every_function
def test_values_do_not_depend_on_directions(function: Quantity) -> None:
    tree, state = one_state(RICH)
    arguments = state.arguments(function)
    size = sum(array.size for array in arguments)
    values, _ = evaluate_dual(tree, function, *arguments, np.zeros((size, 1)))
    for seeds in (np.ones((size, W)), np.full((size, W), np.nan), np.full((size, W), np.inf)):
        np.testing.assert_array_equal(evaluate_dual(tree, function, *arguments, seeds)[0], values)


# --- Derivatives ------------------------------------------------------------------------------------------


@every_function
@every_small_tree
def test_every_derivative_vs_complex_step_and_differences(name: str, function: Quantity) -> None:
    tree, state = one_state(name, seed=7)
    arguments = state.arguments(function)
    got = jacobian_by_dual(tree, function, arguments)
    exact = derivatives_by_complex_step(tree, function, arguments, np.eye(got.shape[1]))
    slices = input_slices(tree, arguments)

    # Rounding, amplified as in the values.
    rounding = 1e-9 if function in AMPLIFIED else 1e-12
    # To rounding of the largest derivative with respect to the same kind of number. (All numbers are of order
    # 1, and so are the terms of a derivative that is zero.)
    for section, where in slices.items():
        size = np.max(np.abs(exact[:, where]), initial=1.0)
        assert_within(got[:, where], exact[:, where], rounding * size, section)

    # A step sweep: truncation falls with h^6 and rounding grows with 1/h, so one of the steps is good enough.
    missing = np.ones(got.shape, dtype=bool)
    for shrink in (1.0, 1 / 8, 1 / 64):
        steps = np.empty(got.shape[1])
        for section, where in slices.items():
            steps[where] = STEPS[section] * shrink
        differences, scale = jacobians_by_differences(tree, function, arguments, steps)
        # 100 roundings of the outputs over the smallest difference, 2 h/4.
        missing &= ~(np.abs(got - differences) <= max(100 * EPS, rounding / 100) * scale / (steps / 2))
    for section, where in slices.items():
        assert not missing[:, where].any(), f"{section}: {np.argwhere(missing[:, where])[:5]}"


@every_function
@every_tree
def test_random_directions_vs_complex_step(name: str, function: Quantity) -> None:
    """Trees of every shape, a whole block of directions at once."""
    tree, state = one_state(name, seed=8)
    arguments = state.arguments(function)
    seeds = np.random.default_rng(8).normal(size=(sum(array.size for array in arguments), W))
    _, got = evaluate_dual(tree, function, *arguments, seeds)
    exact = derivatives_by_complex_step(tree, function, arguments, seeds).reshape(got.shape)
    # Rounding, amplified as in the values: by the inverse of a mass matrix in forward dynamics.
    amplified = function in (F.FORWARD_DYNAMICS, *AMPLIFIED)
    tolerance = 1e-9 if amplified else 1e-12
    assert_within(got, exact, tolerance * np.max(np.abs(exact), initial=1.0))


# --- Along the motion -------------------------------------------------------------------------------------
# q moves with qdot = N v, and v with vdot. Quantities that are rates by definition have their own kernels.


def rates_along_the_motion(tree: mbt.MultibodyTree, state: Inputs, function: Quantity) -> tuple[Array, Array]:
    """Values, and their time derivatives."""
    arguments = state.arguments(function)
    qdot = np.array(call_python(tree, F.QDOT, state.arguments(F.QDOT)))
    direction = np.concatenate([np.zeros(arguments[0].size), qdot, state.x, np.zeros(arguments[3].size)])
    values, rates = evaluate_dual(tree, function, *arguments, direction[:, None])
    return values, rates[:, 0]


def evaluate(tree: mbt.MultibodyTree, state: Inputs, function: Quantity) -> Array:
    return np.array(call_python(tree, function, state.arguments(function)))


def assert_close(actual: Array, desired: Array) -> None:
    """To rounding of the largest entry; numbers are of order 1 to 1000."""
    assert_within(actual, desired, 1e-12 * np.max(np.abs(desired), initial=1.0))


@every_tree
def test_rate_of_velocities_vs_accelerations(name: str) -> None:
    tree, state = one_state(name, seed=9)
    _, rates = rates_along_the_motion(tree, state, F.VELOCITY_KINEMATICS)
    assert_close(rates.reshape(3, -1)[2], evaluate(tree, state, F.ACCELERATION_KINEMATICS))


@every_tree
def test_rate_of_poses_vs_velocities(name: str) -> None:
    tree, state = one_state(name, seed=10)
    X_WB, rates = (a.reshape(-1, 4, 4) for a in rates_along_the_motion(tree, state, F.BODY_POSES))
    V_WB = evaluate(tree, state, F.VELOCITY_KINEMATICS).reshape(3, -1, 6)[2]
    assert_close(rates[:, :3, 3], V_WB[:, 3:])
    # Rdot = w x R, column by column.
    assert_close(rates[:, :3, :3], np.cross(V_WB[:, None, :3], X_WB[:, :3, :3].swapaxes(1, 2)).swapaxes(1, 2))


@every_tree
def test_rate_of_mass_matrix_vs_coriolis_matrix(name: str) -> None:
    """Mdot = C + C', and C v is the velocity term of inverse dynamics."""
    tree, state = one_state(name, seed=11)
    nv = tree.num_velocities
    _, Mdot = (a.reshape(nv, nv) for a in rates_along_the_motion(tree, state, F.MASS_MATRIX))
    C = evaluate(tree, state, F.CORIOLIS_MATRIX).reshape(nv, nv)
    assert_close(C + C.T, Mdot)


@every_tree
def test_rate_of_kinetic_energy_vs_power(name: str) -> None:
    tree, state = one_state(name, seed=12)
    _, rate = rates_along_the_motion(tree, state, F.KINETIC_ENERGY)
    damping = state.parameters[parameter_slices(tree)["damping"]]
    forces = evaluate(tree, state, F.INVERSE_DYNAMICS) + evaluate(tree, state, F.GENERALIZED_FORCES)
    forces -= damping * state.v
    # Powers of the dofs may cancel in the sum.
    size = float(np.abs(forces) @ np.abs(state.v))
    assert_within(rate, np.array([forces @ state.v]), 1e-12 * (1.0 + size))


@every_tree
def test_rate_of_potential_energy_vs_gravity_forces(name: str) -> None:
    tree, state = one_state(name, seed=13)
    _, rate = rates_along_the_motion(tree, state, F.POTENTIAL_ENERGY)
    forces = evaluate(tree, state, F.GRAVITY_GENERALIZED_FORCES)
    assert_within(
        rate, np.array([-forces @ state.v]), 1e-12 * (1.0 + float(np.abs(forces) @ np.abs(state.v)))
    )


@every_tree
def test_rate_of_momentum_vs_reactions(name: str) -> None:
    """The reaction at World and gravity change the momentum of all bodies."""
    tree, state = one_state(name, seed=14)
    _, rate = rates_along_the_motion(tree, state, F.MOMENTUM)
    reaction = evaluate(tree, state, F.REACTION_FORCES)[:6]
    mass, *moment = evaluate(tree, state, F.COMPOSITE_INERTIA)[:4]
    g = state.parameters[parameter_slices(tree)["gravity"]]
    gravity = np.concatenate([np.cross(moment, g), mass * g])
    assert_close(rate, reaction + gravity)


# --- Nothing where nothing belongs ------------------------------------------------------------------------


@every_function
def test_derivatives_are_zero_exactly_where_nothing_depends(function: Quantity) -> None:
    """World's own mass properties, and the parameters that a function does not read, have no effect."""
    tree, state = one_state(RICH)
    arguments = state.arguments(function)
    J = jacobian_by_dual(tree, function, arguments)
    slices = input_slices(tree, arguments)
    kinematic = {F.BODY_POSES, F.POSITION_KINEMATICS, F.VELOCITY_KINEMATICS, F.ACCELERATION_KINEMATICS}
    if function in kinematic | {F.QDOT, F.VELOCITY, F.ANGULAR_JACOBIAN, F.TRANSLATIONAL_JACOBIAN}:
        for section in ("gravity", "mass", "com", "unit_inertia", "rotor_inertia", "gear_ratio", "damping"):
            np.testing.assert_array_equal(J[:, slices[section]], 0.0, err_msg=section)
    elif function in {F.INVERSE_DYNAMICS_REGRESSOR, F.KINETIC_ENERGY_REGRESSOR, F.POTENTIAL_ENERGY_REGRESSOR}:
        for section in ("mass", "com", "unit_inertia", "rotor_inertia", "gear_ratio", "damping"):
            np.testing.assert_array_equal(J[:, slices[section]], 0.0, err_msg=section)
    elif function != F.SPATIAL_INERTIAS:
        np.testing.assert_array_equal(J[:, slices["mass"]][:, 0], 0.0)


@every_function
def test_fewer_directions_vs_whole_block(function: Quantity) -> None:
    tree, state = one_state(RICH)
    arguments = state.arguments(function)
    seeds = np.random.default_rng(9).normal(size=(sum(array.size for array in arguments), W))
    values, derivatives = evaluate_dual(tree, function, *arguments, seeds)
    for count in range(1, W + 1):
        some_values, some = evaluate_dual(tree, function, *arguments, seeds[:, :count])
        np.testing.assert_array_equal(some_values, values)
        np.testing.assert_array_equal(some, derivatives[:, :count])


@every_function
def test_nan_stays_in_its_direction(function: Quantity) -> None:
    tree, state = one_state(RICH)
    arguments = state.arguments(function)
    seeds = np.random.default_rng(10).normal(size=(sum(array.size for array in arguments), W))
    _, clean = evaluate_dual(tree, function, *arguments, seeds)
    for direction in range(W):
        moved = seeds.copy()
        moved[:, direction] = np.nan
        _, got = evaluate_dual(tree, function, *arguments, moved)
        assert np.isnan(got[:, direction]).any()
        rest = np.arange(W) != direction
        np.testing.assert_array_equal(got[:, rest], clean[:, rest])


# --- The door ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["parameters", "q", "v"])
def test_shapes_are_checked(what: str) -> None:
    tree, state = one_state(RICH)
    assert tree._compiled is not None
    take = getattr(DualEngine(tree._compiled), f"set_{what}")
    value = getattr(state, what)
    rows = np.zeros((value.size, 2))
    for values, derivatives in (
        (value[:-1], rows),
        (value, rows[:-1]),
        (value, rows[:, 0]),
        (value, np.asfortranarray(rows)),
        (value.astype(np.float32), rows),
        (value.tolist(), rows),
    ):
        with pytest.raises(
            ValueError, match=rf"^expected C-contiguous float64 arrays of shapes \({value.size},"
        ):
            take(values, derivatives)
    take(value, rows)


def test_the_third_input_is_checked() -> None:
    tree, state = one_state(RICH)
    assert tree._compiled is not None
    engine, context = DualEngine(tree._compiled), tree.create_default_context()
    with pytest.raises(ValueError, match="must be set first"):
        engine.evaluate_numbers(context, F.INVERSE_DYNAMICS, (0,), state.x, None)
    for what in ("parameters", "q", "v"):
        value = getattr(state, what)
        getattr(engine, f"set_{what}")(value, np.zeros((value.size, 0)))
    for x in (None, state.x[:-1], state.x.tolist()):
        with pytest.raises(ValueError, match=rf"^x: expected a float64 array of {state.x.size} entries"):
            engine.evaluate_numbers(context, F.INVERSE_DYNAMICS, (0,), x, None)
    with pytest.raises(ValueError, match=r"^dx: expected"):
        engine.evaluate_numbers(context, F.INVERSE_DYNAMICS, (0,), state.x, np.zeros((state.x.size + 1, 2)))


def test_numbers_of_directions_must_agree() -> None:
    tree, state = one_state(RICH)
    assert tree._compiled is not None
    engine = DualEngine(tree._compiled)
    for what, directions in (("parameters", 0), ("q", 2), ("v", 3)):
        value = getattr(state, what)
        getattr(engine, f"set_{what}")(value, np.zeros((value.size, directions)))
    with pytest.raises(mbt.ShapeError, match="different numbers of derivatives, 2 in q, 3 in v: "):
        engine.evaluate_numbers(tree.create_default_context(), F.MASS_MATRIX, (), None, None)
