"""Loops whose masses differ by fifteen decades and more: right, or refused, never silently wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math import exp_so3, make_pose

Array = np.ndarray


def rod_of(mass: float, length: float) -> mbt.SpatialInertia:
    return mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.03).shift([-length / 2, 0, 0])


def make_loop(masses: tuple[float, ...], R: Any = None) -> tuple[mbt.MultibodyTree, Any]:
    """Return three rods in motion, in a plane that R turns; a ball holds the last one's end in place."""
    R = np.eye(3) if R is None else R
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    inboard, X = tree.world_body, make_pose(R=R)
    for i, (mass, length) in enumerate(zip(masses, (0.3, 0.8, 0.5), strict=True)):
        body = tree.add_body(mbt.RigidBody(f"rod{i}", rod_of(mass, length)))
        tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X, body, None, [0, 1, 0])
        inboard, X = body, make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, make_pose(R @ [0.7, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [-0.9, 0.7, 1.1], [1.0, 2.0, 3.0]
    tree.assemble(context)
    return tree, context


def remainder_of(tree: mbt.MultibodyTree, context: Any, vdot: Array) -> float:
    """Return J vdot + Jdot v, relative to the size of its terms."""
    J, bias = tree.calc_constraint_jacobian(context), tree.calc_constraint_bias(context)
    size = np.abs(J) @ np.abs(vdot) + np.abs(bias)
    return float(np.abs(J @ vdot + bias).max() / size.max())


def hang_rods(masses: Array, rng: np.random.Generator) -> tuple[mbt.MultibodyTree, Any]:
    """Return rods on hinges, from World and from a floating base, with both ends held in place."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    base = tree.add_body(mbt.RigidBody("base", rod_of(masses[0], 0.5)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "float", tree.world_body, None, base, None)
    ends = []
    for start, count in ((1, 4), (5, 5)):
        inboard, X = (tree.world_body if start == 1 else base), make_pose([0.2, 0.1, 0.0])
        for i in range(start, start + count):
            length = rng.uniform(0.2, 1.0)
            body = tree.add_body(mbt.RigidBody(f"rod{i}", rod_of(masses[i], length)))
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", inboard, X, body, None, axis)
            inboard, X = body, make_pose([length, 0, 0])
        ends.append((inboard, X))
    tree.finalize()
    at = tree.create_default_context()
    dq = rng.uniform(-1.0, 1.0, tree.num_velocities)
    at.q = tree.integrate_positions(tree.default_positions, dq, 1.0)
    held = tree.edit()
    # Twice, so that rows are redundant.
    for i, (body, X) in enumerate([*ends, ends[0]]):
        X_WP = tree.eval_body_pose_in_world(at, body) @ X
        twin = held.get_body_by_name(body.name)
        place = held.add_frame(mbt.FixedOffsetFrame(f"place{i}", held.world_body, X_WP))
        tip = held.add_frame(mbt.FixedOffsetFrame(f"tip{i}", twin, X))
        kind = mbt.WeldConstraint if i == 1 else mbt.BallConstraint
        held.add_constraint(kind(f"held{i}", place, tip))
    held.finalize()
    context = held.create_default_context()
    context.q = at.q
    J = held.calc_constraint_jacobian(context)
    v = rng.normal(size=held.num_velocities)
    context.v = v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)
    return held, context


@pytest.mark.parametrize(
    "masses",
    [(1, 1, 1), (1, 1, 1e-9), (1e6, 1e-3, 1), (1, 2.9e3, 5e-13), (1e6, 1e7, 1e-12), (1e-9, 1e6, 1e-9)],
)
def test_a_loop_of_three_rods(masses: tuple[float, float, float]) -> None:
    tree, context = make_loop(masses)
    vdot = tree.calc_forward_dynamics(context)
    assert remainder_of(tree, context, vdot) < 1e-12


def solve_in_free_directions(tree: mbt.MultibodyTree, context: Any) -> Array:
    """Return vdot = a - N (N' M N)^-1 N' (M a + h): J a = -Jdot v, and J N = 0."""
    J = tree.calc_constraint_jacobian(context)
    N = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :].T
    a = -np.linalg.pinv(J, rcond=1e-9) @ tree.calc_constraint_bias(context)
    forces = tree.calc_inverse_dynamics(context, a, include_force_elements=True)
    return a - N @ np.linalg.solve(N.T @ tree.calc_mass_matrix(context) @ N, N.T @ forces)


@pytest.mark.parametrize("decades", [6.0, 10.0, 12.0, 15.0])
def test_masses_of_a_context_in_every_attitude(decades: float) -> None:
    """Masses many decades apart within one loop, unlike the default masses; for one state and a batch."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        tree, context = make_loop((1.0, 1.0, 1.0), exp_so3(1.5 * rng.normal(size=3)))
        batch = tree.create_default_context(batch_shape=(5,))
        batch.q, batch.v = np.tile(context.q, (5, 1)), np.tile(context.v, (5, 1))
        for light, heavy in ((0, 1), (1, 2), (2, 0)):
            exponents = rng.uniform(-decades / 2, decades / 2, 3)
            exponents[[light, heavy]] = -decades / 2, decades / 2
            for body, exponent in zip(tree.bodies[1:], exponents, strict=True):
                body.set_mass(context, 10.0**exponent)
                # In a single sample of the batch.
                body.set_mass(batch, np.where(np.arange(5) == 3, 10.0**exponent, 1.0))
            desired = solve_in_free_directions(tree, context)
            for vdot in (tree.calc_forward_dynamics(context), tree.calc_forward_dynamics(batch)[3]):
                assert remainder_of(tree, context, vdot) < 1e-12
                np.testing.assert_allclose(vdot, desired, atol=1e-11 * np.abs(desired).max())


def test_velocities_after_an_impact() -> None:
    """v1 = v - M^-1 J' (J M^-1 J')^+ J v by free directions: N (N' M N)^-1 N' M v."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        tree, context = make_loop((1.0, 1.0, 1.0), exp_so3(1.5 * rng.normal(size=3)))
        for body, exponent in zip(tree.bodies[1:], rng.permutation([-6.0, 0.0, 6.0]), strict=True):
            body.set_mass(context, 10.0**exponent)
        context.v = v = rng.normal(size=3)
        J, M = tree.calc_constraint_jacobian(context), tree.calc_mass_matrix(context)
        v1, _ = tree.calc_impulse_dynamics(context)
        np.testing.assert_allclose(J @ v1, 0.0, atol=1e-12 * np.abs(v1).max())
        N = np.linalg.svd(J)[2][2:].T
        desired = N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ v)
        np.testing.assert_allclose(v1, desired, atol=1e-9 * np.abs(v1).max())


@pytest.mark.parametrize("decades", [10.0, 15.0])
def test_branches_with_masses_of_a_context(decades: float) -> None:
    """Constraints hold, or the state is refused; 1e10 is never refused."""
    num_refused = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        tree, context = hang_rods(np.ones(10), rng)
        for body in tree.bodies[1:]:
            body.set_mass(context, 10.0 ** rng.uniform(-decades / 2, decades / 2))
        try:
            vdot = tree.calc_forward_dynamics(context, 10.0 * rng.normal(size=tree.num_velocities))
        except mbt.SingularityError:
            num_refused += 1
        else:
            assert remainder_of(tree, context, vdot) < 1e-9, seed
    assert num_refused < (1 if decades == 10.0 else 8)


def test_nothing_is_wrong_without_a_word() -> None:
    """Of masses from 1e-9 to 1e6 kg: constraints hold, or the state is refused; the same in a batch."""
    num_refused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        masses = 10.0 ** rng.uniform(-9.0, 6.0, 10)
        tree, context = hang_rods(masses, rng)
        tau = 10.0 * rng.normal(size=tree.num_velocities)
        q, v = np.tile(context.q, (2, 1)), np.tile(context.v, (2, 1))
        batch = functional.forward_dynamics(tree, q, v, tau)
        if not np.isnan(batch).any():
            assert remainder_of(tree, context, batch[0]) < 1e-9, seed
        try:
            vdot = tree.calc_forward_dynamics(context, tau)
        except mbt.SingularityError:
            num_refused += 1
        else:
            assert remainder_of(tree, context, vdot) < 1e-9, seed
    assert num_refused < 15


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_refused_that_doubles_tell_apart(seed: int) -> None:
    """Against dense least squares, M vdot - J' lambda = tau - C v and J vdot = -Jdot v."""
    rng = np.random.default_rng(seed)
    tree, context = hang_rods(10.0 ** rng.uniform(-1.0, 1.0, 10), rng)
    tau = rng.normal(size=tree.num_velocities)
    vdot = tree.calc_forward_dynamics(context, tau)
    M, J = tree.calc_mass_matrix(context), tree.calc_constraint_jacobian(context)
    zeros = np.zeros(tree.num_velocities)
    bias = tree.calc_inverse_dynamics(context, zeros, include_force_elements=True)
    m = len(J)
    system = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    right = np.concatenate([tau - bias, -tree.calc_constraint_bias(context)])
    desired = np.linalg.lstsq(system, right, rcond=1e-11)[0][: tree.num_velocities]
    np.testing.assert_allclose(vdot, desired, atol=1e-7 * np.abs(desired).max())


def result_or_error(call: Any, names: str, context: Any) -> Any:
    """Return the result of a call, or None if it raises an error whose message matches."""
    try:
        return call(context)
    except mbt.SingularityError as error:
        message = str(error)
    assert re.search(names, message)
    return None


@pytest.mark.parametrize("decades", [10.0, 12.0, 15.0, 18.0, 20.0, 22.0, 25.0, 30.0])
def test_masses_that_leave_no_digits_are_refused_by_name(decades: float) -> None:
    """Results satisfy the constraints, or an error names the lightest body and the heaviest."""
    rng = np.random.default_rng(2)
    num_refused = np.zeros(2, dtype=int)
    for _ in range(12):
        tree, context = make_loop((1.0, 1.0, 1.0), exp_so3(1.5 * rng.normal(size=3)))
        batch = tree.create_default_context(batch_shape=(3,))
        batch.q, batch.v = np.tile(context.q, (3, 1)), np.tile(context.v, (3, 1))
        ordinary = tree.calc_forward_dynamics(context)
        light, middle, heavy = rng.permutation(3)
        exponents = np.zeros(3)
        exponents[[light, middle, heavy]] = -decades / 2, rng.uniform(-decades / 2, decades / 2), decades / 2
        for body, exponent in zip(tree.bodies[1:], exponents, strict=True):
            body.set_mass(context, 10.0**exponent)
            body.set_mass(batch, np.where(np.arange(3) == 1, 10.0**exponent, 1.0))
        names = rf"body 'rod{light}', \S+ kg, and body 'rod{heavy}', \S+ kg, are so far apart"
        vdot = tree.calc_forward_dynamics(batch)
        np.testing.assert_allclose(vdot[[0, 2]], [ordinary, ordinary], rtol=1e-9)
        one = result_or_error(tree.calc_forward_dynamics, names, context)
        if one is None:
            num_refused[0] += 1
            assert np.isnan(vdot[1]).all()
            with pytest.raises(mbt.SingularityError, match=names):
                tree.calc_constrained_forward_dynamics(context)
        else:
            assert remainder_of(tree, context, one) < 1e-9
            np.testing.assert_allclose(vdot[1], one, rtol=1e-6, atol=1e-9 * np.abs(one).max())
        found = result_or_error(tree.calc_constrained_forward_dynamics_derivatives, names, context)
        if found is None:
            num_refused[1] += 1
        else:
            N = np.linalg.svd(tree.calc_constraint_jacobian(context))[2][2:].T
            desired = N @ np.linalg.solve(N.T @ tree.calc_mass_matrix(context) @ N, N.T)
            assert np.abs(found[2] - desired).max() < 1e-2 * np.abs(desired).max()
    # Results that are not refused are right, and ordinary masses are not refused.
    assert (num_refused > 0).all() if decades > 18.0 else num_refused[0] <= max(0, decades - 17)
    assert num_refused[1] == 0 or decades > 10.0


@pytest.mark.parametrize("decades", [10.0, 12.0, 14.0, 18.0, 25.0])
def test_autodiff_contexts_refuse_what_leaves_their_values_no_digits(decades: float) -> None:
    """Like derivatives, with the same message, in every calculation that divides."""
    rng = np.random.default_rng(6)
    tree, context = make_loop((1.0, 1.0, 1.0), exp_so3(1.5 * rng.normal(size=3)))
    twin = tree.to_autodiff()
    num_refused = 0
    for _ in range(12):
        light, middle, heavy = rng.permutation(3)
        exponents = np.zeros(3)
        exponents[[light, middle, heavy]] = -decades / 2, rng.uniform(-decades / 2, decades / 2), decades / 2
        other = twin.create_default_context()
        other.q, other.v = mbt.autodiff.initialize(context.q, context.v)
        for body, same, exponent in zip(tree.bodies[1:], twin.bodies[1:], exponents, strict=True):
            body.set_mass(context, 10.0**exponent)
            same.set_mass(other, 10.0**exponent)
        names = rf"body 'rod{light}', \S+ kg, and body 'rod{heavy}', \S+ kg, are so far apart"
        found = result_or_error(twin.calc_forward_dynamics, names, other)
        if found is None:
            num_refused += 1
            for call in (twin.calc_constrained_forward_dynamics, twin.calc_impulse_dynamics):
                with pytest.raises(mbt.SingularityError, match=names):
                    call(other)
        else:
            desired = tree.calc_forward_dynamics(context)
            np.testing.assert_allclose(found.value, desired, atol=1e-3 * np.abs(desired).max())
    assert num_refused < 12
    assert (num_refused > 0) == (decades > 10.0)


def test_numbers_of_other_packages_are_refused_where_autodiff_contexts_are() -> None:
    """Their kernels cannot compare numbers, and the size of symbols is unknown."""
    pytest.importorskip("mpmath")
    tree, context = make_loop((1.0, 1.0, 1.0), exp_so3([0.3, -0.4, 0.5]))
    twin = tree.clone_to_scalar("mpmath")
    num_refused = 0
    for exponents in ((-3.0, 0.0, 3.0), (8.0, 0.0, -8.0), (0.0, -8.0, 8.0)):
        other = twin.create_default_context()
        other.q, other.v = context.q, context.v
        for body, same, exponent in zip(tree.bodies[1:], twin.bodies[1:], exponents, strict=True):
            body.set_mass(context, 10.0**exponent)
            same.set_mass(other, 10.0**exponent)
        found = result_or_error(twin.calc_forward_dynamics, r"the masses of .* are so far apart", other)
        if found is None:
            num_refused += 1
            continue
        desired = tree.calc_forward_dynamics(context)
        np.testing.assert_allclose(found.astype(float), desired, atol=1e-3 * np.abs(desired).max())
    assert 0 < num_refused < 3
