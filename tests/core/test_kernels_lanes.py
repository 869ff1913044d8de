"""Lanes: every kernel gives each state the result of that state alone, whatever is in the other lanes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import mbt
from core.kernel_calls import (
    FUNCTIONS,
    LONG,
    TREES,
    Inputs,
    W,
    assert_same_to_rounding,
    bounds_of_states,
    call_double,
    get_tree,
    quaternion_starts,
    random_inputs,
)
from mbt._core.engines import lane_engine
from mbt._core.quantities.names import Quantity
from support.description import Array
from support.engines import evaluate_lanes
from support.taking_long import taking_long

F = Quantity
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
every_tree = pytest.mark.parametrize("name", taking_long(TREES, *LONG))
# All joint types, directions and branchings in one tree.
RICH = "mixed4"


def lanes(tree: mbt.MultibodyTree, function: Quantity, inputs: Inputs) -> Array:
    return evaluate_lanes(tree, function, *inputs.arguments(function))


def with_nan(array: Array, lane: int) -> Array:
    result = array.copy()
    result[lane] = np.nan
    return result


def others(lane: int) -> list[int]:
    return [i for i in range(W) if i != lane]


@every_function
@every_tree
def test_lanes_vs_loop_over_states(name: str, function: Quantity) -> None:
    """States and parameters are different in every lane."""
    tree = get_tree(name)
    inputs = random_inputs(tree, W)
    got = lanes(tree, function, inputs)
    bounds = bounds_of_states(tree, function, inputs)
    for i in range(W):
        assert_same_to_rounding(got[i], call_double(tree, function, inputs.state(i)), bounds[i], f"lane {i}")


@every_function
def test_part_of_a_block_vs_whole_block(function: Quantity) -> None:
    tree = get_tree(RICH)
    inputs = random_inputs(tree, W, seed=1)
    whole = lanes(tree, function, inputs)
    for count in range(1, W + 1):
        part = lanes(tree, function, inputs.state(slice(count)))
        np.testing.assert_array_equal(part, whole[:count])


@every_function
def test_order_of_lanes_does_not_matter(function: Quantity) -> None:
    tree = get_tree(RICH)
    inputs = random_inputs(tree, W, seed=2)
    order = np.roll(np.arange(W)[::-1], 1)
    reordered = Inputs(*(array[order] for array in vars(inputs).values()))
    np.testing.assert_array_equal(lanes(tree, function, reordered), lanes(tree, function, inputs)[order])


@every_function
@pytest.mark.parametrize("what", ["parameters", "q", "v", "x", "qdot"])
def test_nan_stays_in_its_lane(function: Quantity, what: str) -> None:
    tree = get_tree(RICH)
    inputs = random_inputs(tree, W, seed=3)
    clean = lanes(tree, function, inputs)
    assert np.isfinite(clean).all()
    for lane in range(W):
        got = lanes(tree, function, inputs.changed(**{what: with_nan(getattr(inputs, what), lane)}))
        np.testing.assert_array_equal(got[others(lane)], clean[others(lane)])
        if reads(function, what):
            assert np.isnan(got[lane]).any(), f"NaN in {what} is lost"
        else:
            np.testing.assert_array_equal(got[lane], clean[lane])


def reads(function: Quantity, what: str) -> bool:
    """Whether a function depends on an input."""
    readers = {
        "parameters": set(FUNCTIONS) - {F.QDOT, F.VELOCITY},
        "q": set(FUNCTIONS) - {F.NON_CONSERVATIVE_POWER, F.TOTAL_MASS},
        "v": {
            F.INVERSE_DYNAMICS,
            F.FORWARD_DYNAMICS,
            F.CORIOLIS_MATRIX,
            F.KINETIC_ENERGY,
            F.CONSERVATIVE_POWER,
            F.NON_CONSERVATIVE_POWER,
            F.MOMENTUM,
            F.QDOT,
            F.VELOCITY_KINEMATICS,
            F.ACCELERATION_KINEMATICS,
            F.REACTION_FORCES,
            F.INVERSE_DYNAMICS_REGRESSOR,
            F.KINETIC_ENERGY_REGRESSOR,
            F.INVERSE_DYNAMICS_DERIVATIVES,
            F.FORWARD_DYNAMICS_DERIVATIVES,
        },
        "x": {
            F.INVERSE_DYNAMICS,
            F.FORWARD_DYNAMICS,
            F.ACCELERATION_KINEMATICS,
            F.REACTION_FORCES,
            F.INVERSE_DYNAMICS_REGRESSOR,
            F.INVERSE_DYNAMICS_DERIVATIVES,
            F.FORWARD_DYNAMICS_DERIVATIVES,
        },
        "qdot": {F.VELOCITY},
    }
    return function in readers[what]


@every_function
def test_a_zero_quaternion_stays_in_its_lane(function: Quantity) -> None:
    tree = get_tree("one_floating_reversed")
    inputs = random_inputs(tree, W, seed=4)
    clean = lanes(tree, function, inputs)
    (start,) = quaternion_starts(tree)
    for lane in range(W):
        q = inputs.q.copy()
        q[lane, start : start + 4] = 0.0
        got = lanes(tree, function, inputs.changed(q=q))
        np.testing.assert_array_equal(got[others(lane)], clean[others(lane)])
        # A single state with these positions is rejected by every computation.
        assert np.isnan(got[lane]).all()


@every_function
def test_a_huge_angle_stays_in_its_lane(function: Quantity) -> None:
    """Beyond 1e6 rad, sine and cosine are computed in another way, one lane at a time."""
    tree = get_tree("arm7")
    inputs = random_inputs(tree, W, seed=5)
    clean = lanes(tree, function, inputs)
    huge = inputs.changed(q=1e7 * inputs.q)
    bounds = bounds_of_states(tree, function, huge)
    for lane in range(W):
        q = inputs.q.copy()
        q[lane] = huge.q[lane]
        got = lanes(tree, function, inputs.changed(q=q))
        np.testing.assert_array_equal(got[others(lane)], clean[others(lane)])
        assert_same_to_rounding(got[lane], call_double(tree, function, huge.state(lane)), bounds[lane])


@every_function
def test_nothing_is_left_over_from_the_call_before(function: Quantity) -> None:
    """Working memory is not initialized: after NaN everywhere, results are the same as before."""
    tree = get_tree(RICH)
    inputs = random_inputs(tree, W, seed=6)
    clean = lanes(tree, function, inputs)
    for _ in range(3):
        lanes(tree, function, Inputs(*(np.full_like(array, np.nan) for array in vars(inputs).values())))
        np.testing.assert_array_equal(lanes(tree, function, inputs), clean)


# --- The door ---------------------------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize("count", [0, 1, W + 1, 2 * W + 3])
def test_any_number_of_states(function: Quantity, count: int) -> None:
    """Each state with its own parameters; bit for bit equal to the result of that state alone."""
    tree = get_tree(RICH)
    inputs = random_inputs(tree, 2 * W + 3).state(slice(count))
    got = lanes(tree, function, inputs)
    assert len(got) == count
    for i in range(count):
        np.testing.assert_array_equal(got[i : i + 1], lanes(tree, function, inputs.state(slice(i, i + 1))))


def evaluate_four(**changed: Any) -> None:
    """Inverse dynamics of four states, with their own parameters, some arguments given."""
    tree = get_tree(RICH)
    compiled = tree._compiled
    assert compiled is not None
    size, nv = compiled.default_parameters.size, tree.num_velocities
    sizes = {"rows": size, "q": tree.num_positions, "v": nv, "x": nv, "outputs": nv}
    arrays: dict[str, Any] = {name: np.ones((4, n)) for name, n in sizes.items()}
    arrays = {**arrays, "columns": np.arange(size), **changed}
    arrays["outputs"] = (arrays["outputs"],)
    lane_engine.evaluate(
        tree.create_default_context(),
        F.INVERSE_DYNAMICS,
        (0,),
        4,
        lane_engine.LaneParameters(compiled, compiled.default_parameters),
        **arrays,
    )


@pytest.mark.parametrize("name", ["rows", "q", "v", "x", "outputs"])
@pytest.mark.parametrize("shape", [(3, 8), (5, 8), (4, 9), (0,)])
def test_sizes_are_checked(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"^{name}(\[0\])?: expected"):
        evaluate_four(**{name: np.ones(shape)})


def test_columns_are_checked() -> None:
    compiled = get_tree(RICH)._compiled
    assert compiled is not None
    size = compiled.default_parameters.size
    for columns in (np.arange(size) - 1, np.arange(size) + 1, [size], [-1]):
        with pytest.raises(ValueError, match=r"^columns: expected"):
            evaluate_four(columns=columns, rows=np.ones((4, len(columns))))


@pytest.mark.parametrize("name", ["rows", "q", "v", "x"])
def test_arrays_are_as_kernels_read_them(name: str) -> None:
    evaluate_four()
    array = np.ones((4, 8))
    for bad in (array.astype(np.float32), np.asfortranarray(array), array.astype(">f8"), array.tolist()):
        with pytest.raises(TypeError, match=f"^{name}: expected a float64, C-contiguous array"):
            evaluate_four(**{name: bad})


def test_a_tree_must_be_finalized() -> None:
    with pytest.raises(mbt.NotFinalizedError):
        mbt.MultibodyTree().create_default_context(batch_shape=2)


@pytest.mark.parametrize("number", [-1, len(Quantity)])
def test_an_unknown_quantity_is_refused(number: int) -> None:
    tree = get_tree(RICH)
    with pytest.raises(ValueError, match="quantity"):
        evaluate_lanes(tree, cast("Quantity", number), *random_inputs(tree, 1).arguments(F.MASS_MATRIX))
