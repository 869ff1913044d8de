"""Velocities after an impact, against dense linear algebra, and against laws of energy and momentum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import equations_of, four_bar, tree_with_loops
from support.joint_types import random_state
from support.kinds import values_of

SEEDS = range(12)
SHARES = (0.0, 0.3, 1.0)


def case(seed: int) -> tuple[mbt.MultibodyTree, Any]:
    """Return a tree with loops of all joint types, at velocities that violate the constraints."""
    tree = tree_with_loops(seed, num_bodies=3 + seed % 9, num_constraints=1 + seed % 4)
    return tree, random_state(tree, np.random.default_rng(seed))


def by_least_squares(tree: mbt.MultibodyTree, context: Any, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return v1 and J' impulses for the dofs that are not locked, in units in which M is the identity."""
    free = ~context._locked_dofs()
    L = np.linalg.cholesky(tree.calc_mass_matrix(context)[np.ix_(free, free)])
    J = equations_of(tree, context).J
    W = np.linalg.solve(L, J[:, free].T).T
    size = np.linalg.norm(W, axis=1)
    size = np.where(size > 1e-9 * max(size.max(initial=0.0), 1e-300), size, 1.0)
    x = np.linalg.lstsq(W / size[:, None], -(1.0 + share) * (J @ context.v) / size, rcond=1e-9)[0]
    v1, forces = context.v.copy(), np.zeros(tree.num_velocities)
    v1[free] += np.linalg.solve(L.T, x)
    forces[free] = L @ x
    return v1, forces


def assert_near(actual: Any, desired: Any, tolerance: float = 1e-9) -> None:
    scale = max(1.0, np.abs(desired).max(initial=0.0))
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance * scale)


def energy_of(tree: mbt.MultibodyTree, context: Any, v: np.ndarray) -> float:
    return float(v @ tree.calc_mass_matrix(context) @ v / 2)


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees(seed: int, is_locked: bool) -> None:
    tree, context = case(seed)
    v = context.v
    if is_locked:
        tree.joints[-1].lock(context)
        v = context.v
        # Locked dofs keep their velocity, which is zero here.
        assert not v[context._locked_dofs()].any()
    J, M = tree.calc_constraint_jacobian(context), tree.calc_mass_matrix(context)
    # Rows that rounding or the lock leave nearly dependent make a poor test.
    free = ~context._locked_dofs()
    sizes = np.linalg.svd(J[:, free], compute_uv=False)
    if ((sizes > 1e-9) & (sizes < 1e-2)).any():
        pytest.skip("nearly dependent")
    before = energy_of(tree, context, v)
    for share in SHARES:
        v1, impulses = tree.calc_impulse_dynamics(context, share)
        desired, forces = by_least_squares(tree, context, share)
        assert_near(v1, desired)
        assert_near((J.T @ impulses)[free], forces[free])
        assert_near((M @ (v1 - v))[free], (J.T @ impulses)[free])
        assert energy_of(tree, context, v1) <= before * (1 + 1e-12)
        if share == 1.0:
            np.testing.assert_allclose(energy_of(tree, context, v1), before, rtol=1e-9)
        if not is_locked and np.linalg.matrix_rank(J) == len(J):
            assert_near(J @ v1, -share * (J @ v))
        np.testing.assert_array_equal(context.v, v)


@pytest.mark.parametrize("kind", ["autodiff", "mpmath"])
def test_other_scalars(kind: str) -> None:
    tree, context = case(2)
    desired = tree.calc_impulse_dynamics(context, 0.3)
    twin = tree.clone_to_scalar(kind)
    other = twin.create_default_context()
    other.q, other.v = context.q, context.v
    for found in (
        twin.calc_impulse_dynamics(other, 0.3),
        functional.impulse_dynamics(twin, context.q, context.v, 0.3),
    ):
        for part, own in zip(found, desired, strict=True):
            assert_near(values_of(part), own)


def test_batches_and_parameters_of_samples() -> None:
    tree, context = case(5)
    rng = np.random.default_rng(1)
    v = rng.normal(size=(9, tree.num_velocities))
    shares = np.linspace(0.0, 1.0, 9)
    many = functional.impulse_dynamics(tree, context.q, v, shares)
    samples = tree.create_default_context(9)
    samples.q, samples.v = np.broadcast_to(context.q, (9, tree.num_positions)), v
    masses = np.linspace(0.5, 2.0, 9)
    tree.bodies[2].set_mass(samples, masses)
    with_masses = tree.calc_impulse_dynamics(samples, shares)
    for i in range(9):
        context.v = v[i]
        alone = functional.impulse_dynamics(tree, context.q[None], v[[i]], shares[i])
        single = functional.impulse_dynamics(tree, context.q, v[i], shares[i])
        own = tree.create_default_context()
        own.q, own.v = context.q, v[i]
        tree.bodies[2].set_mass(own, masses[i])
        of_mass = tree.calc_impulse_dynamics(own, shares[i])
        for k in range(2):
            np.testing.assert_array_equal(many[k][i], alone[k][0])
            assert_near(many[k][i], single[k])
            assert_near(with_masses[k][i], of_mass[k])
    assert functional.impulse_dynamics(tree, context.q, v[0], [0.0, 0.5])[0].shape == (2, tree.num_velocities)


def test_a_linkage_is_struck() -> None:
    """One of three equations follows from the others; velocities that satisfy them already do not change."""
    tree = four_bar()
    context = tree.create_default_context()
    context.q, context.v = [-0.9, 0.7, 1.1], [2.0, 0.0, 0.0]
    tree.assemble(context, fixed=[tree.joints[0]])
    v1, impulses = tree.calc_impulse_dynamics(context)
    assert_near(v1, context.v, 1e-13)
    assert_near(impulses, np.zeros(3), 1e-13)
    context.v = [1.0, -2.0, 0.5]
    v1, impulses = tree.calc_impulse_dynamics(context)
    J = tree.calc_constraint_jacobian(context)
    assert np.linalg.matrix_rank(J, tol=1e-9) == 2
    assert_near(J @ v1, np.zeros(3), 1e-13)
    # No component normal to the plane.
    assert abs(impulses[1]) < 1e-13
    tree.constraints[0].set_enabled_in(context, False)
    v1, impulses = tree.calc_impulse_dynamics(context, 1.0)
    np.testing.assert_array_equal(v1, context.v)
    assert not impulses.any()


def test_two_balls_collide() -> None:
    """By momentum and restitution, on a line."""
    tree = mbt.MultibodyTree()
    balls = [
        tree.add_body(mbt.RigidBody(f"ball{i}", mbt.SpatialInertia.solid_sphere_with_mass(m, 0.1)))
        for i, m in enumerate((1.0, 3.0))
    ]
    for ball in balls:
        tree.add_joint(mbt.PrismaticJoint, f"rail_{ball.name}", tree.world_body, None, ball, None, [1, 0, 0])
    tree.add_constraint(mbt.DistanceConstraint("contact", balls[0], [0, 0, 0], balls[1], [0, 0, 0], 0.2))
    tree.finalize()
    v1, impulses = functional.impulse_dynamics(tree, [0.0, 0.2], [2.0, -1.0], 0.5)
    np.testing.assert_allclose(
        v1, [(2.0 - 3.0 - 3 * 0.5 * 3.0) / 4, (2.0 - 3.0 + 1 * 0.5 * 3.0) / 4], rtol=1e-14
    )
    np.testing.assert_allclose(impulses, [0.75 * 1.5 * 3.0], rtol=1e-14)


def test_trees_without_constraints_keep_their_velocities() -> None:
    tree = tree_with_loops(3, num_constraints=0)
    context = random_state(tree, np.random.default_rng(0))
    v1, impulses = tree.calc_impulse_dynamics(context, 0.5)
    np.testing.assert_array_equal(v1, context.v)
    assert impulses.shape == (0,)


def test_into_arrays_that_are_there() -> None:
    tree, context = case(5)
    desired = tree.calc_impulse_dynamics(context, 0.25)
    out = np.empty(tree.num_velocities), np.empty(tree.num_constraint_equations)
    found = tree.calc_impulse_dynamics(context, 0.25, out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    np.testing.assert_array_equal(out[0], desired[0])
    many = tuple(np.empty((3, n)) for n in (tree.num_velocities, tree.num_constraint_equations))
    functional.impulse_dynamics(tree, context.q, np.tile(context.v, (3, 1)), 0.25, out=many)
    assert_near(many[1][2], desired[1])


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan, np.inf])
def test_bad_restitution_is_refused(share: float) -> None:
    tree, context = case(5)
    out = np.full(tree.num_velocities, 7.0), np.full(tree.num_constraint_equations, 7.0)
    for call in (
        lambda: tree.calc_impulse_dynamics(context, share, out=out),
        lambda: functional.impulse_dynamics(tree, context.q, context.v, share, out=out),
        lambda: functional.impulse_dynamics(tree, context.q, context.v, [0.5, share]),
    ):
        with pytest.raises(mbt.ArgumentValueError, match="restitution: expected"):
            call()
    for part in out:
        assert (part == 7.0).all()
    with pytest.raises(mbt.ArgumentTypeError, match="restitution"):
        tree.calc_impulse_dynamics(context, "much")
    with pytest.raises(mbt.ShapeError, match=r"restitution: expected one number, or shape \(\), got \(2,\)"):
        tree.calc_impulse_dynamics(context, [0.1, 0.2])
    several = tree.create_default_context(batch_shape=4)
    for shape in ((3,), (1,), (4, 1), (2, 2)):
        with pytest.raises(
            mbt.ShapeError, match=r"restitution: expected one number, or shape \(4,\), got \("
        ):
            tree.calc_impulse_dynamics(several, np.full(shape, 0.5))


@pytest.mark.parametrize("kind", ["context", "function", "autodiff"])
def test_what_no_mass_resists_is_told_of_impulse_dynamics(kind: str) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, body, None, [0.0, 0.0, 1.0])
    tree.finalize()
    user = tree.to_autodiff() if kind == "autodiff" else tree
    context = user.create_default_context()

    def strike() -> Any:
        if kind == "function":
            return functional.impulse_dynamics(tree, [0.0], [0.0])
        return user.calc_impulse_dynamics(context)

    with pytest.raises(mbt.SingularityError, match=r"^impulse dynamics: velocity .*'hinge', has no inertia"):
        strike()
