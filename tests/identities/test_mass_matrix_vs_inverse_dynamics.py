"""M agrees with inverse dynamics: its columns are the forces for unit accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
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
    """So these tests cover both algorithms, and all joint types in each."""
    has = {model: get_case(model).tree._compiled.has_long_branches for model in CATALOGUE}
    assert has["long_branches"]
    short = {model for model in has if not has[model]}
    assert {"world_only", "every_joint", "arm7", "humanoid", "deep_chain"} <= short


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


@pytest.mark.parametrize("num_bodies", [1, 5, 60])
def test_offsets_along_an_axis_do_not_round_the_moment_about_it(num_bodies: int) -> None:
    """Joints about z, kilometres above each other: entries are sums of small moments about z."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    bar = mbt.SpatialInertia.solid_box_with_mass(1e3, 1e-3, 2e-3, 1.0)
    for i in range(num_bodies):
        body = tree.add_body(mbt.RigidBody(f"body{i}", bar))
        X_PF = mbt.math.make_pose([0.0, 0.0, 1e3])
        tree.add_joint(mbt.RevoluteJoint, f"joint{i}", parent, X_PF, body, None, axis=[0, 0, 1])
        parent = body
    tree.finalize()
    M = mbt.functional.mass_matrix(tree, np.linspace(-3.0, 3.0, num_bodies))
    moment = 1e3 / 12.0 * (1e-6 + 4e-6)
    bodies_outboard = num_bodies - np.arange(num_bodies)
    np.testing.assert_allclose(M, moment * np.minimum.outer(bodies_outboard, bodies_outboard), rtol=1e-14)
