"""Robots that a controller keeps standing, in implicit steps with contact; random quadratic programs."""

import numpy as np
import pytest

import mbt
from control.standing_robots import make_quadruped
from mbt import functional
from mbt.control.quadratic_programs import QuadraticProgram

daqp = pytest.importorskip("daqp")


def test_a_quadruped_that_is_pushed_stays_where_it_is():
    tree, contacts, q = make_quadruped()
    ground = tree.edit()
    for contact in contacts:
        foot = ground.get_frame_by_name(contact.frame)
        ground.add_force_element(
            mbt.PointContact(foot, contact.p_FC, stiffness=5e4, dissipation=1.0, static_friction=0.9)
        )
    ground.finalize()
    controller = mbt.TaskSpaceController(tree, contacts, dt=4e-3)
    X_WB = functional.frame_pose(tree, q, "trunk")
    controller.add_orientation("trunk", stiffness=100, damping=20)
    controller.add_position("trunk", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-3)
    goals = [X_WB[:3, :3], X_WB[:3, 3], None]
    v, push, result = np.zeros(tree.num_velocities), np.zeros(tree.num_velocities), None
    start, moved = q, 0.0
    for tick in range(200):
        push[3:6] = [12.0, -9.0, 6.0] if tick < 50 else 0.0  # a tenth of the weight
        result = controller.solve(q, v, goals, out=result)
        assert result.status == "optimal"
        assert np.abs(result.tau).max() <= 40.0 + 1e-6
        q, v = functional.step(ground, q, v, result.tau + push, 4e-3, method="implicit")
        moved = max(moved, float(np.linalg.norm(q[4:7] - start[4:7])))
    assert 1e-3 < moved < 0.03
    # Back in place, apart from the compression of the feet under the weight.
    np.testing.assert_allclose(q[4:7], start[4:7], atol=2e-3)
    assert np.abs(v).max() < 0.02


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("seed", "count"),
    [(0, 60), *(pytest.param(seed, 2500, marks=pytest.mark.exhaustive) for seed in range(1, 5))],
)
def test_random_programs_are_solved_as_clarabel_solves_them(seed, count):
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, 16))
        num_equations, m = int(rng.integers(0, n // 2 + 1)), int(rng.integers(0, 2 * n))
        root = rng.normal(size=(n, n))
        H, g = root @ root.T + 0.1 * np.eye(n), 10.0 * rng.normal(size=n)
        A, inside = rng.normal(size=(num_equations + m, n)), rng.normal(size=n)
        values = np.concatenate([inside, A @ inside])
        upper, lower = values + rng.uniform(0, 2, values.size), values - rng.uniform(0, 2, values.size)
        upper[rng.random(values.size) < 0.3], lower[rng.random(values.size) < 0.3] = 1e30, -1e30
        equal = np.zeros(values.size, dtype=bool)
        equal[n : n + num_equations] = True
        upper[equal] = lower[equal] = values[equal]
        x, multipliers = QuadraticProgram(A, lower, upper, equal).solve(H, g)
        rows, above, below = np.vstack([np.eye(n), A]), ~equal & (upper < 1e20), ~equal & (lower > -1e20)
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(H)),
            g,
            sparse.csc_matrix(np.vstack([rows[equal], rows[above], -rows[below]])),
            np.concatenate([upper[equal], upper[above], -lower[below]]),
            [
                clarabel.ZeroConeT(int(equal.sum())),
                clarabel.NonnegativeConeT(int(above.sum() + below.sum())),
            ],
            settings,
        )
        solution = solver.solve()
        assert str(solution.status) == "Solved"
        np.testing.assert_allclose(x, solution.x, atol=1e-6 * max(1.0, np.abs(x).max()))
        # Optimality without the peer: the gradient vanishes, and the multipliers have the right signs.
        scale = np.abs(H).max() * max(1.0, np.abs(x).max())
        np.testing.assert_allclose(H @ x + g + rows.T @ multipliers, 0.0, atol=1e-10 * scale)
        at_upper, at_lower = upper - rows @ x, rows @ x - lower
        assert min(at_upper.min(), at_lower.min()) > -1e-8
        assert np.all(np.abs(at_upper[~equal & (multipliers > 1e-8)]) < 1e-8)
        assert np.all(np.abs(at_lower[~equal & (multipliers < -1e-8)]) < 1e-8)
