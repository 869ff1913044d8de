"""The inverse of the mass matrix, against the mass matrix and against forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.case import MOVING, get_case
from support.quantities import EPS
from support.random_trees import CATALOGUE


@pytest.mark.parametrize("model", CATALOGUE)
def test_inverse(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    c = case.context(state)
    M, M_inverse = case.tree.calc_mass_matrix(c), case.tree.calc_mass_matrix_inverse(c)
    assert M_inverse.shape == M.shape
    np.testing.assert_array_equal(M_inverse, M_inverse.T)
    if M.size:
        error = np.linalg.norm(M_inverse - np.linalg.inv(M), 2)
        assert error <= 64 * EPS * np.linalg.cond(M) * np.linalg.norm(M_inverse, 2)


@pytest.mark.parametrize("model", MOVING)
def test_column_by_forward_dynamics(model: str) -> None:
    """One unit of force changes the acceleration by one column."""
    case, state = get_case(model), get_case(model).state()
    c, tree = case.context(state), case.tree
    M_inverse = tree.calc_mass_matrix_inverse(c)
    cond = np.linalg.cond(tree.calc_mass_matrix(c))
    base = tree.calc_forward_dynamics(c)
    for k in {0, tree.num_velocities // 2, tree.num_velocities - 1}:
        tau = np.zeros(tree.num_velocities)
        # Large beside the other forces, so that these do not hide it.
        tau[k] = 1e6
        column = (tree.calc_forward_dynamics(c, tau) - base) / 1e6
        scale = np.linalg.norm(M_inverse, 2) + float(np.abs(base).max()) / 1e6
        assert np.max(np.abs(column - M_inverse[:, k])) <= 64 * EPS * cond * scale


def test_locks_have_no_part_in_it() -> None:
    case = get_case("arm7")
    c = case.context(case.state())
    free = case.tree.calc_mass_matrix_inverse(c)
    c._set_locked(2, 1, True)
    np.testing.assert_array_equal(case.tree.calc_mass_matrix_inverse(c), free)


def test_singular() -> None:
    """The last joint has no inertia: an error that names it, and `out` is unchanged."""
    tree = build_tree(get_case("arm7").model, finalize=False)
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "haunt", tree.bodies[-2], None, ghost, None, axis=[0, 0, 1])
    tree.finalize()
    n = tree.num_velocities
    out = np.full((n, n), 7.0)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        tree.calc_mass_matrix_inverse(tree.create_default_context(), out=out)
    assert (out == 7.0).all()
