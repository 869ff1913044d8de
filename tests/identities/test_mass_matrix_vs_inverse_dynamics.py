"""M is what inverse dynamics says: its columns are the forces for unit accelerations."""

from __future__ import annotations

import numpy as np
import pytest

from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", CATALOGUE)
def test_columns(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    M = tree.calc_mass_matrix(context)
    context.v = np.zeros(tree.num_velocities)
    columns = [tree.calc_inverse_dynamics(context, e) for e in np.eye(tree.num_velocities)]
    scale = QUANTITIES["mass_matrix"].scale(case.reference, state)
    assert_close(M.T, np.reshape(columns, M.shape), scale)


@pytest.mark.parametrize("model", CATALOGUE)
def test_both_algorithms(model: str) -> None:
    """`calc_mass_matrix_via_inverse_dynamics` ignores v."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    M = case.tree.calc_mass_matrix(context)
    via = case.tree.calc_mass_matrix_via_inverse_dynamics(context)
    assert_close(via, M, QUANTITIES["mass_matrix"].scale(case.reference, state))


def test_long_branches_have_an_algorithm_of_their_own() -> None:
    """So these tests are of both, and of all joint types in each."""
    has = {model: get_case(model).tree._compiled.has_long_branches for model in CATALOGUE}
    assert {"deep_chain", "long_branches"} <= {model for model in has if has[model]}
    assert {"world_only", "every_joint", "arm7", "humanoid"} <= {model for model in has if not has[model]}


@pytest.mark.parametrize("model", MOVING)
def test_symmetric_and_positive_definite(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    M = case.tree.calc_mass_matrix(case.context(state))
    np.testing.assert_array_equal(M, M.T)
    # Raises unless positive definite; all masses of the catalogue are positive.
    np.linalg.cholesky(M)


@pytest.mark.parametrize("model", MOVING)
def test_affine_in_acceleration(model: str) -> None:
    """tau = M vdot + C v."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    tau = tree.calc_mass_matrix(context) @ state.vdot + tree.calc_bias_term(context)
    scale = QUANTITIES["inverse_dynamics"].scale(case.reference, state)
    assert_close(tau, tree.calc_inverse_dynamics(context, state.vdot), scale)
