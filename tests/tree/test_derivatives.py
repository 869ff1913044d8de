"""The calls for derivatives: batches, outputs, errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.build import build_tree
from support.case import CATALOGUE, get_case

NAMES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
every_name = pytest.mark.parametrize("name", NAMES)


def inputs(model: str) -> tuple[mbt.MultibodyTree, Any, Any]:
    case = get_case(model)
    return case.tree, [case.state(k) for k in range(3)], case


def condition(tree: mbt.MultibodyTree, q: Any) -> float:
    return float(np.linalg.cond(functional.mass_matrix(tree, q))) if tree.num_velocities else 1.0


def method(tree: mbt.MultibodyTree, name: str) -> Any:
    """The method that matches a function: with all force elements."""
    calc = getattr(tree, f"calc_{name}")
    return partial(calc, include_force_elements=True) if name == NAMES[0] else calc


@every_name
@pytest.mark.parametrize("model", CATALOGUE)
def test_function_vs_method(model: str, name: str) -> None:
    tree, (state, *_), case = inputs(model)
    by_function = getattr(functional, name)(tree, state.q, state.v, state.vdot)
    by_method = method(tree, name)(case.context(state), state.vdot)
    for a, b in zip(by_function, by_method, strict=True):
        np.testing.assert_array_equal(a, b)


@every_name
@pytest.mark.parametrize("model", ["world_only", "one_floating", "mixed8", "humanoid"])
def test_batch(model: str, name: str) -> None:
    """Leading axes broadcast, also those of external forces."""
    tree, states, _ = inputs(model)
    function = getattr(functional, name)
    q, x = np.array([s.q for s in states]), np.array([s.vdot for s in states])
    forces = mbt.MultibodyForces(tree, (3,))
    forces.body_forces[:] = [s.body_forces for s in states]
    forces.generalized_forces[:] = [s.tau for s in states]
    batch = function(tree, q[:, None], states[0].v, x, external_forces=forces)
    for matrices in batch:
        assert matrices.shape == (3, 3, tree.num_velocities, tree.num_velocities)
    for i in range(3):
        for j in range(3):
            one = mbt.MultibodyForces(tree)
            one.body_forces[:], one.generalized_forces[:] = states[j].body_forces, states[j].tau
            single = function(tree, q[i], states[0].v, x[j], external_forces=one)
            # To rounding: the sums are in another order.
            amplification = condition(tree, q[i]) if "forward" in name else 1.0
            for matrices, matrix in zip(batch, single, strict=True):
                tolerance = 1e-13 * amplification * np.abs(matrix).max(initial=0.0)
                np.testing.assert_allclose(matrices[i, j], matrix, rtol=0.0, atol=tolerance)


@every_name
def test_out(name: str) -> None:
    tree, (state, *_), case = inputs("humanoid")
    nv = tree.num_velocities
    context = case.context(state)
    for call in (
        lambda out: method(tree, name)(context, state.vdot, out=out),
        lambda out: getattr(functional, name)(tree, state.q, state.v, state.vdot, out=out),
        lambda out: getattr(functional, name)(tree, list(state.q), state.v, state.vdot, out=out),
    ):
        wanted = call(None)
        out = tuple(np.full((3, nv, nv), np.nan))
        result = call(out)
        for a, b, c in zip(result, out, wanted, strict=True):
            assert a is b
            np.testing.assert_array_equal(a, c)
        some = call((None, out[1], None))
        assert some[1] is out[1]
        for a, c in zip(some, wanted, strict=True):
            np.testing.assert_array_equal(a, c)


@every_name
@pytest.mark.parametrize("model", ["arm7", "humanoid", "free_forest", "star"])
def test_writes_every_entry_and_no_other(model: str, name: str) -> None:
    """The kernels write whole registers; the memory around and between the matrices is untouched."""
    tree, (state, *_), case = inputs(model)
    nv = tree.num_velocities
    memory = np.full(3 * nv * nv + 4 * 16, np.nan)
    starts = [16 + i * (nv * nv + 16) for i in range(3)]
    out = tuple(memory[start : start + nv * nv].reshape(nv, nv) for start in starts)
    wanted = method(tree, name)(case.context(state), state.vdot)
    method(tree, name)(case.context(state), state.vdot, out=out)
    for a, b in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    inside = np.concatenate([np.arange(start, start + nv * nv) for start in starts])
    assert np.isnan(np.delete(memory, inside)).all()


@every_name
def test_outputs_may_be_inputs(name: str) -> None:
    tree, (state, *_), _ = inputs("arm7")
    nv = tree.num_velocities
    function = getattr(functional, name)
    wanted = function(tree, state.q, state.v, state.vdot)
    out = tuple(np.zeros((3, nv, nv)))
    q, v, x = (array[1] for array in out)
    q[:], v[:], x[:] = state.q, state.v, state.vdot
    for a, b in zip(function(tree, q, v, x, out=out), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@every_name
def test_refused(name: str) -> None:
    """Nothing is written when an argument is refused."""
    tree, (state, *_), case = inputs("arm7")
    nv, context = tree.num_velocities, case.context(state)
    good = np.zeros((nv, nv))
    calls = (
        lambda x=state.vdot, **k: method(tree, name)(context, x, **k),
        lambda x=state.vdot, **k: getattr(functional, name)(tree, state.q, state.v, x, **k),
        lambda x=state.vdot, **k: getattr(functional, name)(tree, list(state.q), state.v, x, **k),
    )
    for call in calls:
        for out, error, text in (
            (good, mbt.ArgumentTypeError, "tuple of 3"),
            ([good, None, None], mbt.ArgumentTypeError, "tuple of 3"),
            ((good, None), mbt.ShapeError, "tuple of 3"),
            ((good, None, np.zeros((nv, nv + 1))), mbt.ShapeError, r"out\[2\]"),
            ((good, None, good.astype(np.float32)), mbt.ArgumentTypeError, r"out\[2\]"),
            ((good, good, None), mbt.ArgumentValueError, r"out\[0\] and out\[1\]"),
        ):
            with pytest.raises(error, match=text):
                call(out=out)
        with pytest.raises(mbt.ShapeError):
            call(np.zeros(nv + 1), out=(good, None, None))
        with pytest.raises(mbt.ArgumentTypeError):
            call(external_forces=3, out=(good, None, None))
    assert not good.any()


def test_singular() -> None:
    """The last joint has no inertia: an error that names it, NaN in a batch; inverse dynamics works."""
    tree = build_tree(get_case("arm7").model, finalize=False)
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "haunt", tree.bodies[-2], None, ghost, None, axis=[0, 0, 1])
    tree.finalize()
    context, nv = tree.create_default_context(), tree.num_velocities
    out = tuple(np.full((3, nv, nv), 7.0))
    with pytest.raises(mbt.SingularityError, match="haunt"):
        tree.calc_forward_dynamics_derivatives(context, out=out)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        functional.forward_dynamics_derivatives(tree, context.q, context.v, context.v, out=out)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        functional.forward_dynamics_derivatives(tree, list(context.q), context.v, context.v, out=out)
    assert all((array == 7.0).all() for array in out)
    assert np.isnan(functional.forward_dynamics_derivatives(tree, [context.q], context.v, context.v)).all()
    assert np.isfinite(
        tree.calc_inverse_dynamics_derivatives(context, context.v, include_force_elements=True)
    ).all()
    # Locked, it needs no mass.
    tree.get_joint_by_name("haunt").lock(context)
    assert np.isfinite(tree.calc_forward_dynamics_derivatives(context)).all()


@every_name
def test_positions_without_a_pose(name: str) -> None:
    """A zero quaternion is an error, and NaN within its own sample of a batch."""
    tree, (state, *_), _ = inputs("one_floating")
    function = getattr(functional, name)
    q = np.array([state.q, state.q])
    q[0, :4] = 0.0
    with pytest.raises(mbt.SingularityError):
        function(tree, q[0], state.v, state.vdot)
    for matrices in function(tree, q, state.v, state.vdot)[:2]:
        assert np.isnan(matrices[0]).any()
        assert np.isfinite(matrices[1]).all()


@every_name
def test_nan_propagates(name: str) -> None:
    tree, (state, *_), _ = inputs("arm7")
    v = state.v.copy()
    v[2] = np.nan
    by_q, _, _ = getattr(functional, name)(tree, state.q, v, state.vdot)
    assert np.isnan(by_q).any()
