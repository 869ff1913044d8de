"""Stateless functions over leading axes: bit for bit what a loop over single states gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import FEW, Case, get_case
from support.random_trees import CATALOGUE

# Name -> (function of the tree and its operands, the operands it takes).
Function = Callable[..., Any]
FUNCTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "inverse_dynamics": (functional.inverse_dynamics, ("q", "v", "vdot")),
    "forward_dynamics": (functional.forward_dynamics, ("q", "v", "tau")),
    "mass_matrix": (functional.mass_matrix, ("q",)),
    "bias_term": (functional.bias_term, ("q", "v")),
    "gravity_generalized_forces": (functional.gravity_generalized_forces, ("q",)),
    "body_poses": (functional.body_poses, ("q",)),
    "frame_jacobian": (
        lambda tree, q, **keywords: functional.frame_jacobian(
            tree, tree.bodies[-1].body_frame, q, **keywords
        ),
        ("q",),
    ),
}


def _operands(case: Case, names: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    count = int(np.prod(shape))
    states = [case.state(k) for k in range(count)]
    stacked = {}
    for name in names:
        rows = np.array([getattr(state, name) for state in states])
        width = case.tree.num_positions if name == "q" else case.tree.num_velocities
        stacked[name] = rows.reshape(*shape, width)
    return stacked


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", FEW)
# Around the widths of vector registers: 1, a remainder, exact multiples, a multiple and one more.
@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (17,), (2, 3), (2, 1, 5)])
def test_leading_axes(model: str, function: str, shape: tuple[int, ...]) -> None:
    case = get_case(model)
    f, names = FUNCTIONS[function]
    operands = _operands(case, names, shape)
    result = f(case.tree, *operands.values())
    for index in np.ndindex(shape):
        single = f(case.tree, *(operands[name][index] for name in names))
        np.testing.assert_array_equal(result[index], single, str(index))
    assert result.shape[: len(shape)] == shape


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", CATALOGUE)
def test_empty_batch(model: str, function: str) -> None:
    case = get_case(model)
    f, names = FUNCTIONS[function]
    operands = _operands(case, names, (0, 3))
    single = f(case.tree, *(getattr(case.state(), name) for name in names))
    assert f(case.tree, *operands.values()).shape == (0, 3, *single.shape)


@pytest.mark.parametrize("model", FEW)
@pytest.mark.parametrize("batched", ["q", "v", "vdot"])
def test_broadcasting_one_operand(model: str, batched: str) -> None:
    """One operand has leading axes, the others serve every sample."""
    case, state = get_case(model), get_case(model).state()
    names = ("q", "v", "vdot")
    operands: dict[str, Any] = {name: getattr(state, name) for name in names}
    operands[batched] = _operands(case, (batched,), (5,))[batched]
    result = functional.inverse_dynamics(case.tree, *operands.values())
    assert result.shape == (5, case.tree.num_velocities)
    for i in range(5):
        single = functional.inverse_dynamics(
            case.tree, *({**operands, batched: operands[batched][i]}).values()
        )
        np.testing.assert_array_equal(result[i], single)


@pytest.mark.parametrize("model", FEW)
def test_broadcasting_axes_against_each_other(model: str) -> None:
    """(4, 1, nq) with (3, nv) makes (4, 3, nv)."""
    case = get_case(model)
    q = _operands(case, ("q",), (4, 1))["q"]
    v = _operands(case, ("v",), (3,))["v"]
    result = functional.bias_term(case.tree, q, v)
    assert result.shape == (4, 3, case.tree.num_velocities)
    for i, j in np.ndindex(4, 3):
        np.testing.assert_array_equal(result[i, j], functional.bias_term(case.tree, q[i, 0], v[j]))


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("model", FEW)
@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_batches_of_forces(model: str, function: str, shape: tuple[int, ...]) -> None:
    """External forces have leading axes of their own."""
    case = get_case(model)
    f, names = FUNCTIONS[function]
    state, rng = case.state(), np.random.default_rng(0)
    forces = mbt.MultibodyForces(case.tree, shape)
    forces.body_forces[:] = rng.normal(size=forces.body_forces.shape)
    forces.generalized_forces[:] = rng.normal(size=forces.generalized_forces.shape)
    operands = [getattr(state, name) for name in names]
    result = f(case.tree, *operands, external_forces=forces)
    assert result.shape == (*shape, case.tree.num_velocities)
    for index in np.ndindex(shape):
        one = case.subject().forces(forces.body_forces[index], forces.generalized_forces[index])
        np.testing.assert_array_equal(result[index], f(case.tree, *operands, external_forces=one))


@pytest.mark.parametrize("model", FEW)
def test_strided_views(model: str) -> None:
    """A view of every second sample, backwards, is the same as its copy."""
    case = get_case(model)
    q = _operands(case, ("q",), (9,))["q"]
    view = q[::-2]
    np.testing.assert_array_equal(
        functional.mass_matrix(case.tree, view), functional.mass_matrix(case.tree, view.copy())
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_out(function: str) -> None:
    """Every entry of a batch is written into `out`, which is returned."""
    case = get_case("mixed8")
    f, names = FUNCTIONS[function]
    operands = _operands(case, names, (11,))
    desired = f(case.tree, *operands.values())
    out = np.full(desired.shape, np.nan)
    assert f(case.tree, *operands.values(), out=out) is out
    np.testing.assert_array_equal(out, desired)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_bad_sample_stays_alone(function: str) -> None:
    """NaN in one sample reaches no other."""
    case = get_case("mixed8_reversed")
    f, names = FUNCTIONS[function]
    operands = _operands(case, names, (19,))
    clean = f(case.tree, *operands.values())
    operands["q"][7] = np.nan
    result = f(case.tree, *operands.values())
    others = np.arange(19) != 7
    np.testing.assert_array_equal(result[others], clean[others])
    assert np.isnan(result[7]).any()
