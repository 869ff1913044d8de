"""Inverse dynamics may write into the arrays of the external forces, in every scalar and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.autodiff import AutoDiffArray, initialize
from support.scalar_names import require, scalar_names
from support.two_links import two_links

SCALARS = ("double", "batch", "autodiff", "derivatives", "sympy", "casadi", "mpmath", "fraction", "dual")


def number_of(scalar: str) -> Any:
    return mbt.symbolic.dual("mpmath") if scalar == "dual" else scalar


def make(scalar: str) -> tuple[Any, Any]:
    """Return a tree of a scalar and a Context; with derivatives, all of q, v and vdot are seeds."""
    require(scalar)
    tree = two_links()
    if scalar == "batch":
        context = tree.create_default_context((4,))
        context.q = np.linspace(-1.0, 1.0, 8).reshape(4, 2)
        context.v = np.linspace(2.0, 1.0, 8).reshape(4, 2)
        return tree, context
    if scalar == "derivatives":
        tree = tree.to_autodiff()
    elif scalar != "double":
        tree = tree.clone_to_scalar(number_of(scalar))
    context = tree.create_default_context()
    # Zero is the only angle whose sine and cosine are fractions.
    context.q = [0, 0]
    context.v = [0.5, 0.25]
    if scalar == "derivatives":
        context.q, context.v, _ = initialize([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    return tree, context


def vdot_of(scalar: str) -> Any:
    if scalar == "derivatives":
        return initialize([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])[2]
    return [0.5, 0.75]


def values_of(array: Any) -> list[Any]:
    """Return all values; those of CasADi as floats."""
    if isinstance(array, AutoDiffArray):
        return [*array.value.ravel(), *array.derivatives.ravel()]
    return [str(x) for x in array.ravel()] if array.dtype == object else list(array.ravel())


def fill(forces: Any) -> None:
    forces.body_forces = np.arange(forces.body_forces.size).reshape(forces.body_forces.shape) / 8
    forces.generalized_forces = (
        np.arange(forces.generalized_forces.size).reshape(forces.generalized_forces.shape) / 4
    )


@pytest.mark.parametrize("is_zero", [True, False])
@pytest.mark.parametrize("include_force_elements", [True, False])
@pytest.mark.parametrize("scalar", scalar_names(*SCALARS))
def test_forces_are_overwritten(scalar: str, include_force_elements: bool, is_zero: bool) -> None:
    tree, context = make(scalar)
    batch = (4,) if scalar == "batch" else ()
    forces = mbt.MultibodyForces(tree, batch)
    if not is_zero:
        fill(forces)
    kept = forces.clone()
    vdot, options = vdot_of(scalar), {"include_force_elements": include_force_elements}
    empty = mbt.MultibodyForces(tree, batch)
    F_BMo_W, out = empty.body_forces, empty.generalized_forces
    wanted = tree.calc_inverse_dynamics(context, vdot, kept, F_BMo_W_array=F_BMo_W, out=out, **options)
    assert values_of(wanted) == values_of(tree.calc_inverse_dynamics(context, vdot, kept, **options))

    F_array, tau = forces.body_forces, forces.generalized_forces
    result = tree.calc_inverse_dynamics(context, vdot, forces, F_BMo_W_array=F_array, out=tau, **options)
    assert result is tau
    assert values_of(tau) == values_of(forces.generalized_forces) == values_of(wanted)
    assert values_of(F_array) == values_of(forces.body_forces) == values_of(empty.body_forces)
    assert kept == kept.clone()


@pytest.mark.parametrize("scalar", scalar_names(*SCALARS))
def test_functions_too(scalar: str) -> None:
    tree, context = make(scalar)
    forces = mbt.MultibodyForces(tree, (4,) if scalar == "batch" else ())
    fill(forces)
    arguments = tree, context.q, context.v, vdot_of(scalar)
    wanted = functional.inverse_dynamics(*arguments, external_forces=forces)
    got = functional.inverse_dynamics(*arguments, external_forces=forces, out=forces.generalized_forces)
    assert values_of(got) == values_of(forces.generalized_forces) == values_of(wanted)


@pytest.mark.parametrize("scalar", scalar_names(*(s for s in SCALARS if s != "batch")))
def test_arrays_of_forces_stay_the_same(scalar: str) -> None:
    """References to the arrays of forces stay valid, whatever is written into these."""
    tree, context = make(scalar)
    forces = mbt.MultibodyForces(tree)
    body_forces, generalized_forces = forces.body_forces, forces.generalized_forces
    tree.calc_force_elements_contribution(context, forces)
    assert values_of(body_forces) == values_of(forces.body_forces)
    fill(forces)
    forces *= 2
    forces += forces.clone()
    assert values_of(generalized_forces) == values_of(forces.generalized_forces)
    forces.set_zero()
    assert values_of(generalized_forces) == values_of(mbt.MultibodyForces(tree).generalized_forces)


def test_a_refused_call_changes_no_forces() -> None:
    tree, context = make("derivatives")
    forces = mbt.MultibodyForces(tree)
    with pytest.raises(mbt.ShapeError, match="out"):
        tree.calc_inverse_dynamics(
            context, vdot_of("derivatives"), forces,
            F_BMo_W_array=forces.body_forces, out=AutoDiffArray(np.zeros(3), np.zeros((3, 6))),
        )  # fmt: skip
    assert forces.body_forces.num_derivatives == 0
    assert not forces.body_forces.value.any()


def test_forces_with_derivatives_refuse_another_number_of_them() -> None:
    """The number of derivatives can change only while all of them are zero."""
    tree, _ = make("derivatives")
    forces = mbt.MultibodyForces(tree)
    forces.generalized_forces[0] = initialize([1.0, 2.0])[0]
    assert forces.generalized_forces.num_derivatives == 2
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        forces.generalized_forces[1] = initialize([1.0, 2.0, 3.0])[0]
    forces.generalized_forces = initialize([1.0, 2.0])
    forces.set_zero()
    forces.generalized_forces[1] = initialize([1.0, 2.0, 3.0])[0]
    assert forces.generalized_forces.num_derivatives == 3
