"""Forward dynamics with constraints against dense least squares, and against general properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.constraints import conditioning, constrained_accelerations, equations_of, tree_with_loops
from support.joint_types import random_state
from support.kinds import values_of

SEEDS = range(24)
EXHAUSTIVE = range(24, 400)
ROUNDING = 1e-12


def case(seed: int) -> tuple[mbt.MultibodyTree, Any, np.ndarray]:
    """Return a tree with loops, a state of it, and generalized forces."""
    tree = tree_with_loops(seed, num_bodies=3 + seed % 9, num_constraints=1 + seed % 4)
    rng = np.random.default_rng(seed)
    return tree, random_state(tree, rng), rng.normal(size=tree.num_velocities)


def assert_near(actual: Any, desired: Any, tolerance: float = ROUNDING) -> None:
    scale = max(1.0, np.abs(desired).max(initial=0.0))
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance * scale)


def check(seed: int) -> bool:
    """Compare one tree; return whether its constraints are independent."""
    tree, context, tau = case(seed)
    equations = equations_of(tree, context)
    assert_near(tree.calc_constraint_errors(context), equations.errors)
    assert_near(tree.calc_constraint_jacobian(context), equations.J)
    assert_near(tree.calc_constraint_bias(context), equations.bias)
    if conditioning(tree, context) < 1e-2:
        return False
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
    desired, forces = constrained_accelerations(tree, context, tau)
    assert_near(vdot, desired)
    assert_near(equations.J.T @ multipliers, forces, 1e-10)
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context, tau), vdot)
    back = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True, multipliers=multipliers)
    assert_near(back, tau, 1e-9)
    return True


def test_random_trees() -> None:
    assert sum(check(seed) for seed in SEEDS) >= len(SEEDS) // 2


def test_what_remains_is_solved_for_within_a_tree() -> None:
    """Light bodies in loops that close far from World."""
    assert check(259)


@pytest.mark.exhaustive
def test_more_random_trees() -> None:
    assert sum(check(seed) for seed in EXHAUSTIVE) >= len(EXHAUSTIVE) // 2


def independent_seeds(count: int) -> list[int]:
    found = []
    for seed in range(100):
        tree, context, _ = case(seed)
        if conditioning(tree, context) > 1e-2 and tree.num_constraint_equations > 2:
            found.append(seed)
        if len(found) == count:
            break
    return found


@pytest.fixture(scope="module")
def independent() -> list[int]:
    return independent_seeds(5)


def test_stabilization(independent: list[int]) -> None:
    for seed in independent:
        tree, context, tau = case(seed)
        for i, constraint in enumerate(tree.constraints):
            constraint.set_stabilization(context, [3.0 + i, 0.5 + 0.1 * i])
        equations = equations_of(tree, context)
        per_row = np.concatenate(
            [np.tile(c.get_stabilization(context), (c.num_equations, 1)) for c in tree.constraints]
        )
        omega, zeta = per_row.T
        wanted = -2.0 * zeta * omega * (equations.J @ context.v) - omega**2 * equations.errors
        vdot, _ = tree.calc_constrained_forward_dynamics(context, tau, stabilize=True)
        assert_near(vdot, constrained_accelerations(tree, context, tau, wanted)[0])
        assert_near(equations.J @ vdot + equations.bias, wanted, 1e-10)


def test_disabled_and_locked(independent: list[int]) -> None:
    for seed in independent:
        tree, context, tau = case(seed)
        off = tree.constraints[seed % tree.num_constraints]
        assert off.set_enabled_in(context, False) is off
        assert not off.is_enabled_in(context)
        tree.joints[-1].lock(context)
        equations = equations_of(tree, context)
        assert_near(tree.calc_constraint_jacobian(context), equations.J)
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
        rows = slice(off.first_equation, off.first_equation + off.num_equations)
        assert not multipliers[rows].any()
        joint = tree.joints[-1]
        assert not vdot[joint.velocity_start : joint.velocity_start + joint.num_velocities].any()
        if (
            np.linalg.matrix_rank(equations.J[:, ~context._locked_dofs()], tol=1e-3)
            == len(equations.J) - off.num_equations
        ):
            assert_near(vdot, constrained_accelerations(tree, context, tau)[0], 1e-11)
        # With all constraints disabled, results equal those of the tree without them.
        for constraint in tree.constraints:
            constraint.set_enabled_in(context, False)
        bare = tree.edit()
        for constraint in list(bare.constraints):
            bare.remove(constraint)
        bare.finalize()
        free = bare.create_default_context()
        free.q, free.v = context.q, context.v
        bare.joints[-1].lock(free)
        np.testing.assert_array_equal(
            tree.calc_forward_dynamics(context, tau), bare.calc_forward_dynamics(free, tau)
        )


def test_what_is_said_twice_changes_nothing(independent: list[int]) -> None:
    for seed in independent:
        tree, context, tau = case(seed)
        desired = tree.calc_forward_dynamics(context, tau)
        work = tree.edit()
        for constraint in tree.constraints:
            if isinstance(constraint, mbt.CouplerConstraint):
                joints = (work.joints[joint.index] for joint in (constraint.joint0, constraint.joint1))
                numbers = constraint.default_gear_ratio, constraint.default_offset
                work.add_constraint(mbt.CouplerConstraint(f"{constraint.name} again", *joints, *numbers))
            else:
                # The other way round, and a weld repeated as a ball.
                A, B = (work.frames[f.index] for f in (constraint.frame_B, constraint.frame_A))
                if isinstance(constraint, mbt.DistanceConstraint):
                    points = constraint.default_p_BQ, constraint.default_p_AP
                    again = mbt.DistanceConstraint(
                        f"{constraint.name} again", A, points[0], B, points[1], 0.7
                    )
                    work.add_constraint(again)
                elif isinstance(constraint, mbt.WeldConstraint):
                    work.add_constraint(mbt.WeldConstraint(f"{constraint.name} again", B, A))
                else:
                    work.add_constraint(mbt.BallConstraint(f"{constraint.name} again", B, A))
        work.finalize()
        twice = work.create_default_context()
        twice.q, twice.v = context.q, context.v
        vdot, multipliers = work.calc_constrained_forward_dynamics(twice, tau)
        assert_near(vdot, desired, 1e-9)
        # The multipliers of least norm share the load.
        assert np.isfinite(multipliers).all()
        J = work.calc_constraint_jacobian(twice)
        _, forces = constrained_accelerations(tree, context, tau)
        assert_near(J.T @ multipliers, forces, 1e-8)


def test_batches_and_parameters_of_samples(independent: list[int]) -> None:
    for seed in independent[:3]:
        tree, context, tau = case(seed)
        rng = np.random.default_rng(seed)
        q = np.array([random_state(tree, np.random.default_rng(i)).q for i in range(9)])
        v = rng.normal(size=(9, tree.num_velocities))
        samples = tree.create_default_context((9,))
        samples.q, samples.v = q, v
        omega = rng.uniform(1.0, 9.0, size=(9, 1))
        for constraint in tree.constraints:
            constraint.set_stabilization(samples, np.concatenate([omega, np.ones((9, 1))], 1))
        vdot, multipliers = tree.calc_constrained_forward_dynamics(samples, tau, stabilize=True)
        J, bias = tree.calc_constraint_jacobian(samples), tree.calc_constraint_bias(samples)
        errors = tree.calc_constraint_errors(samples)
        for i in range(9):
            context.q, context.v = q[i], v[i]
            for constraint in tree.constraints:
                constraint.set_stabilization(context, [omega[i, 0], 1.0])
            if conditioning(tree, context) < 1e-2:
                continue
            single, single_multipliers = tree.calc_constrained_forward_dynamics(context, tau, stabilize=True)
            assert_near(vdot[i], single, 1e-11)
            assert_near(multipliers[i], single_multipliers, 1e-10)
            assert_near(J[i], tree.calc_constraint_jacobian(context))
            assert_near(bias[i], tree.calc_constraint_bias(context))
            assert_near(errors[i], tree.calc_constraint_errors(context))
        # A sample's result depends on nothing else in its batch.
        np.testing.assert_array_equal(
            functional.forward_dynamics(tree, q, v, tau)[3:5],
            functional.forward_dynamics(tree, q[3:5], v[3:5], tau),
        )
        alone, forces = functional.constrained_forward_dynamics(tree, q[:1], v[:1], tau)
        both, all_forces = functional.constrained_forward_dynamics(tree, q, v, tau)
        np.testing.assert_array_equal(both[:1], alone)
        np.testing.assert_array_equal(all_forces[:1], forces)
        np.testing.assert_array_equal(functional.forward_dynamics(tree, q, v, tau), both)
        np.testing.assert_array_equal(functional.constraint_jacobian(tree, q), J)
        np.testing.assert_array_equal(functional.constraint_bias(tree, q, v), bias)
        np.testing.assert_array_equal(functional.constraint_errors(tree, q), errors)
        for function, arguments in (
            (functional.constraint_errors, (q[0],)), (functional.constraint_jacobian, (q[0],)),
            (functional.constraint_bias, (q[0], v[0])), (functional.forward_dynamics, (q[0], v[0], tau)),
            (functional.constrained_forward_dynamics, (q[0], v[0], tau)),
        ):  # fmt: skip
            whole = function(tree, *([x] if x is not tau else x for x in arguments))
            one = function(tree, *arguments)
            for a, b in zip(*((x,) if not isinstance(x, tuple) else x for x in (one, whole)), strict=True):
                assert_near(a, b[0], 1e-10)


@pytest.mark.parametrize("kind", ["autodiff", "python"])
def test_other_scalars(independent: list[int], kind: str) -> None:
    tree, context, tau = case(independent[0])
    vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau, stabilize=True)
    twin = tree.clone_to_scalar("autodiff" if kind == "autodiff" else "mpmath")
    other = twin.create_default_context()
    other.q, other.v = context.q, context.v
    found, forces = twin.calc_constrained_forward_dynamics(other, tau, stabilize=True)
    assert_near(values_of(found), vdot, 1e-11)
    assert_near(values_of(forces), multipliers, 1e-10)
    for name in ("errors", "jacobian", "bias"):
        calc = f"calc_constraint_{name}"
        assert_near(values_of(getattr(twin, calc)(other)), getattr(tree, calc)(context))


def test_functions_of_multipliers(independent: list[int]) -> None:
    """`inverse_dynamics` accepts the output of `constrained_forward_dynamics`, with all other forces."""
    tree, context, tau = case(independent[0])
    rng = np.random.default_rng(0)
    q = np.array([random_state(tree, np.random.default_rng(i)).q for i in range(3)])
    v = rng.normal(size=(3, tree.num_velocities))
    forces = mbt.MultibodyForces(tree, (2, 1))
    forces.body_forces[..., 1:, :] = rng.normal(size=(2, 1, tree.num_bodies - 1, 6))
    forces.generalized_forces[:] = rng.normal(size=(2, 1, tree.num_velocities))
    for options in ({}, {"external_forces": forces}):
        vdot, multipliers = functional.constrained_forward_dynamics(tree, q, v, tau, **options)
        back = functional.inverse_dynamics(tree, q, v, vdot, multipliers=multipliers, **options)
        assert_near(back, np.broadcast_to(tau, back.shape), 1e-8)
        out = np.empty_like(back)
        assert (
            functional.inverse_dynamics(tree, q, v, vdot, multipliers=multipliers, out=out, **options) is out
        )
        np.testing.assert_array_equal(out, back)
    vdot, multipliers = functional.constrained_forward_dynamics(tree, context.q, context.v, tau)
    back = functional.inverse_dynamics(tree, context.q, context.v, vdot, multipliers=multipliers)
    assert_near(back, tau, 1e-8)
    twin = tree.clone_to_scalar("autodiff")
    back = functional.inverse_dynamics(twin, [context.q], context.v, vdot, multipliers=multipliers)
    assert_near(values_of(back), tau[None], 1e-8)
    with pytest.raises(mbt.ShapeError, match="multipliers"):
        functional.inverse_dynamics(tree, context.q, context.v, vdot, multipliers=multipliers[:-1])
    with pytest.raises(mbt.ShapeError, match="broadcast"):
        functional.inverse_dynamics(
            tree, q, v, vdot, multipliers=np.zeros((3, len(multipliers))),
            external_forces=mbt.MultibodyForces(tree, (2,)),
        )  # fmt: skip


def test_into_arrays_that_are_there(independent: list[int]) -> None:
    tree, context, tau = case(independent[0])
    nv, num_equations = tree.num_velocities, tree.num_constraint_equations
    samples, twin = tree.create_default_context(3), tree.clone_to_scalar("autodiff").create_default_context()
    for some in (samples, twin):
        some.q, some.v = context.q, context.v
    q, v = context.q.copy(), context.v.copy()
    calls = [
        ((), lambda **keys: tree.calc_constrained_forward_dynamics(context, tau, **keys)),
        ((3,), lambda **keys: tree.calc_constrained_forward_dynamics(samples, tau, **keys)),
        ((), lambda **keys: functional.constrained_forward_dynamics(tree, q, v, tau, **keys)),
        ((), lambda **keys: functional.constrained_forward_dynamics(tree, list(q), v, tau, **keys)),
        ((2,), lambda **keys: functional.constrained_forward_dynamics(tree, [q, q], v, tau, **keys)),
    ]
    for batch, call in calls:
        wanted = call()
        out = np.full((*batch, nv), 7.0), np.full((*batch, num_equations), 7.0)
        found = call(out=out)
        assert all(a is b for a, b in zip(found, out, strict=True))
        half = call(out=(None, out[1]))
        assert half[1] is out[1]
        for a, b in zip((*found, *half), (*wanted, *wanted), strict=True):
            np.testing.assert_array_equal(a, b)
        for wrong, error in (
            ((out[0], out[0]), mbt.ShapeError),
            ((out[0],), mbt.ShapeError),
            (out[0], mbt.ArgumentTypeError),
        ):
            before = out[0].copy()
            with pytest.raises(error, match="out"):
                call(out=wrong)
            np.testing.assert_array_equal(out[0], before)
    # Input arrays may be outputs.
    wanted = functional.constrained_forward_dynamics(tree, q, v, tau)[0].copy()
    own = tau.copy()
    assert functional.constrained_forward_dynamics(tree, q, v, own, out=(own, None))[0] is own
    np.testing.assert_array_equal(own, wanted)
    tree = twin.tree
    out = tuple(x.copy() for x in tree.calc_constrained_forward_dynamics(twin, tau))
    for found in (
        tree.calc_constrained_forward_dynamics(twin, tau, out=out),
        functional.constrained_forward_dynamics(tree, twin.q, twin.v, tau, out=out),
    ):
        assert all(a is b for a, b in zip(found, out, strict=True))
