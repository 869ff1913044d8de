"""Entries of the Jacobian of constraints, with their sizes, and least-squares steps made of them."""

import tracemalloc

import numpy as np
import pytest

import mbt
from mbt.tree.constraints.equations import Equations
from mbt.tree.constraints.least_squares import LeastSquares
from support.constraints import equations_of, four_bar, tree_with_every_constraint, tree_with_loops
from support.linkages import delta, stewart

TREES = {
    "delta": delta,
    "every constraint": tree_with_every_constraint,
    "four-bar": four_bar,
    "stewart": stewart,
    **{f"random {seed}": lambda seed=seed: tree_with_loops(seed) for seed in range(6)},
}


def dense(equations, entries):
    values, sizes = np.zeros((2, equations.num_equations, equations.tree.num_velocities))
    for level in equations.levels:
        values[np.ix_(level.rows, level.dofs)] = level.matrix(entries.values)
        sizes[np.ix_(level.rows, level.dofs)] = level.matrix(entries.sizes)
    return values, sizes


@pytest.mark.parametrize("name", TREES)
def test_entries_are_those_of_the_jacobian_and_no_larger_than_their_sizes(name):
    tree, rng = TREES[name](), np.random.default_rng(1)
    context = tree.create_default_context()
    equations = Equations(tree, context)
    for _ in range(3):
        context.q = tree.random_positions(rng)
        J, sizes = dense(equations, equations.entries_at(context))
        np.testing.assert_allclose(J, equations_of(tree, context).J, atol=1e-13)
        assert (np.abs(J) <= sizes * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", TREES)
def test_steps_are_those_of_dense_matrices(name):
    tree, rng = TREES[name](), np.random.default_rng(2)
    context = tree.create_default_context(batch_shape=(2,))
    context.q = np.stack([tree.random_positions(rng) for _ in range(2)])
    is_free = rng.random(tree.num_velocities) < 0.8
    equations = Equations(tree, context, is_free)
    steps = LeastSquares(equations, equations.entries_at(context), is_free)
    right, v = rng.normal(size=(2, equations.num_equations)), rng.normal(size=(2, tree.num_velocities))
    mu = np.array([0.1, 0.01])
    x, rates = steps.solve(right, mu), steps.rates(v)
    single = tree.create_default_context()
    for i in range(2):
        single.q = context.q[i]
        own = Equations(tree, single, is_free)
        J, sizes = dense(own, own.entries_at(single))
        np.testing.assert_allclose(rates[i], J @ v[i], atol=1e-13)
        rows = np.linalg.norm(sizes * is_free, axis=1)
        rows = np.where(rows > 0.0, rows, 1.0)
        A = J * is_free / rows[:, None]
        desired = A.T @ np.linalg.solve(A @ A.T + mu[i] * np.eye(len(A)), right[i] / rows)
        np.testing.assert_allclose(x[i], desired, atol=1e-12 * (1.0 + np.abs(desired).max()))


def chain_of_balls(num_bodies):
    """Free bodies that hang on each other, and on World."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.04).shift([0, 0, 0.05])
    inboard = tree.world_body
    for i in range(num_bodies):
        body = tree.add_body(mbt.RigidBody(f"link_{i}", M))
        end = tree.add_frame(mbt.FixedOffsetFrame(f"end_{i}", inboard, mbt.math.make_pose([0, 0, 0.1])))
        tree.add_constraint(mbt.BallConstraint(f"ball_{i}", end, body))
        inboard = body
    tree.finalize()
    return tree


def nearly_closed(tree, rng):
    context = tree.create_default_context()
    places = np.zeros((tree.num_velocities // 6, 6))
    places[:, 5] = 0.1 * np.arange(1, len(places) + 1)
    places += rng.normal(scale=0.02, size=places.shape)
    context.q = tree.integrate_positions(tree.default_positions, places.ravel(), 1.0)
    context.v = rng.normal(size=tree.num_velocities)
    return context


def test_levels_of_a_chain_are_some_of_its_balls():
    tree = chain_of_balls(20)
    context = tree.create_default_context()
    levels = Equations(tree, context).levels
    # Eight balls each, with the bodies on either side of them.
    assert [len(level.rows) for level in levels] == [24, 24, 12]
    assert max(len(level.dofs) for level in levels) == 9 * 6
    tree.get_constraint_by_name("ball_7").set_enabled_in(context, False)
    assert sorted(row for level in Equations(tree, context).levels for row in level.rows) == [
        row for row in range(60) if row not in (21, 22, 23)
    ]


def test_a_chain_is_assembled_as_by_dense_matrices():
    tree, rng = chain_of_balls(12), np.random.default_rng(3)
    context = nearly_closed(tree, rng)
    v = context.v.copy()
    tree.assemble(context)
    np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=1e-14)
    J = equations_of(tree, context).J
    np.testing.assert_allclose(context.v, v - np.linalg.pinv(J) @ J @ v, atol=1e-12)


def test_a_chain_takes_memory_in_proportion_to_its_length():
    """A dense Jacobian would take four times as much for twice as many bodies."""
    peaks = []
    for num_bodies in (40, 80):
        tree = chain_of_balls(num_bodies)
        context = nearly_closed(tree, np.random.default_rng(4))
        tracemalloc.start()
        try:
            tree.assemble(context)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert np.abs(tree.calc_constraint_errors(context)).max() < 1e-13
    assert peaks[1] < 2.3 * peaks[0]
