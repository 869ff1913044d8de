"""Programs that begin with the bounds that were active in the one before."""

import numpy as np
import pytest

from mbt._core.solvers.differential_kinematics import solve_by_active_set
from mbt.control.quadratic_programs import QuadraticProgram

pytest.importorskip("daqp")


class OwnOnly(QuadraticProgram):
    """A program that daqp may not solve."""

    def _solve_by_daqp(self, H, g, *, is_cold):
        raise AssertionError("expected a solution without daqp")


def make_program(rng, n, num_equations, m):
    """Return H of two blocks, g, A, bounds around a point, and what is an equation."""
    H = np.zeros((n, n))
    for own in (slice(0, n // 2), slice(n // 2, n)):
        root = rng.normal(size=(H[own, own].shape))
        H[own, own] = root @ root.T + 0.1 * np.eye(len(root))
    A, inside = rng.normal(size=(num_equations + m, n)), rng.normal(size=n)
    values = np.concatenate([inside, A @ inside])
    upper, lower = values + rng.uniform(0, 2, values.size), values - rng.uniform(0, 2, values.size)
    upper[rng.random(values.size) < 0.3], lower[rng.random(values.size) < 0.3] = 1e30, -1e30
    equal = np.zeros(values.size, dtype=bool)
    equal[n : n + num_equations] = True
    upper[equal] = lower[equal] = values[equal]
    return H, 10.0 * rng.normal(size=n), A, lower, upper, equal


def assert_optimal(H, g, A, lower, upper, x, multipliers):
    """Check the conditions that one point alone satisfies."""
    rows = np.vstack([np.eye(len(g)), A])
    scale = np.abs(H).max() * max(1.0, np.abs(x).max())
    np.testing.assert_allclose(H @ x + g + rows.T @ multipliers, 0.0, atol=1e-10 * scale)
    values = rows @ x
    assert (values <= upper + 1e-8).all()
    assert (values >= lower - 1e-8).all()
    free = (values < upper - 1e-8) & (values > lower + 1e-8)
    np.testing.assert_allclose(multipliers[free], 0.0, atol=1e-8)
    inequality = upper - lower > 1e-8
    assert (multipliers[inequality & (values < upper - 1e-8)] <= 1e-8).all()
    assert (multipliers[inequality & (values > lower + 1e-8)] >= -1e-8).all()


def test_random_programs_are_solved_without_daqp():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 25))
        H, g, A, lower, upper, equal = make_program(rng, n, int(rng.integers(0, n // 2 + 1)), 2 * n)
        x, multipliers = OwnOnly(A, lower, upper, equal).solve(H, g)
        assert_optimal(H, g, A, lower, upper, x, multipliers)


def test_a_program_near_the_one_before_takes_few_rounds():
    rng = np.random.default_rng(1)
    rounds = []
    for _ in range(20):
        H, g, A, lower, upper, equal = make_program(rng, 20, 4, 30)
        program = OwnOnly(A, lower, upper, equal)
        program.solve(H, g)
        slope = rng.normal(size=20)
        for _ in range(50):
            g = g + 0.02 * slope
            A += 1e-5 * rng.normal(size=A.shape)
            x, multipliers = program.solve(H, g)
            assert_optimal(H, g, A, lower, upper, x, multipliers)
            rounds.append(program.num_iterations)
    assert np.mean(rounds) < 1.5
    assert max(rounds) > 1  # bounds did change


def test_a_cold_start_does_not_depend_on_the_program_before():
    rng = np.random.default_rng(2)
    for _ in range(50):
        H, g, A, lower, upper, equal = make_program(rng, 12, 3, 12)
        fresh = QuadraticProgram(A, lower, upper, equal).solve(H, g, True)[0]
        used = QuadraticProgram(A, lower, upper, equal)
        used.solve(H, -3.0 * g)
        np.testing.assert_array_equal(used.solve(H, g, True)[0], fresh)


def test_equations_that_say_the_same_twice_are_left_to_daqp():
    rng = np.random.default_rng(3)
    for _ in range(20):
        H, g, A, lower, upper, equal = make_program(rng, 10, 3, 8)
        A[1] = A[0]
        lower[11], upper[11] = lower[10], upper[10]
        program = QuadraticProgram(A, lower, upper, equal)
        for _ in range(2):
            found = program.solve(H, g)
            assert found is not None
            assert_optimal(H, g, A, lower, upper, *found)


def test_bounds_that_become_free_let_go():
    H, g, A = np.eye(2), np.array([-1.0, -1.0]), np.zeros((0, 2))
    lower, upper = np.full(2, -1e30), np.zeros(2)
    program = OwnOnly(A, lower, upper, np.zeros(2, dtype=bool))
    np.testing.assert_array_equal(program.solve(H, g)[0], 0.0)
    upper[0] = 1e30
    np.testing.assert_allclose(program.solve(H, g)[0], [1.0, 0.0], atol=1e-15)
    lower[1] = 0.0  # an equation, for a while
    np.testing.assert_allclose(program.solve(H, -g)[0], [-1.0, 0.0], atol=1e-15)
    lower[1], upper[1] = -1e30, 1e30
    np.testing.assert_allclose(program.solve(H, -g)[0], [-1.0, -1.0], atol=1e-15)


def test_there_is_no_solution_where_bounds_contradict():
    H, g, A = np.eye(2), np.ones(2), np.array([[1.0, 1.0]])
    lower, upper = np.array([1.0, 1.0, -1e30]), np.array([2.0, 2.0, 1.0])
    program = QuadraticProgram(A, lower, upper, np.zeros(3, dtype=bool))
    assert program.solve(H, g) is None
    upper[2] = 2.5
    np.testing.assert_allclose(program.solve(H, g)[0], 1.0, atol=1e-12)


def test_arrays_of_another_size_or_type_are_refused():
    H, g, A = np.eye(2), np.ones(2), np.array([[1.0, 1.0]])
    bound, memory = np.ones(3), np.empty(5 * 4 + 7 * 2 + 1)
    side, multipliers = np.zeros(3, dtype=np.intc), np.empty(3)
    good = [H, g, A, -bound, bound, side, multipliers, memory]
    assert solve_by_active_set(*good) is not None
    bad = [np.eye(3), g, np.ones((1, 3)), bound[:2], bound[:2], np.zeros(3), np.empty(2), np.empty(3)]
    for k, value in enumerate(bad):
        if value is not g:
            with pytest.raises(ValueError, match="another type or size"):
                solve_by_active_set(*good[:k], value, *good[k + 1 :])
