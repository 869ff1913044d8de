"""Rollouts, steps and their derivatives written into existing arrays.

The results are the same, whatever the arrays held before.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from motion.moving_models import state_of, tumbling_bodies

Array = np.ndarray[Any, np.dtype[np.float64]]
LEADS = [(), (3,), (2, 2), (0,)]


def calls_of(tree: mbt.MultibodyTree, lead: tuple[int, ...], steps: int) -> list[Callable[..., Any]]:
    """`F.rollout` and `tree.rollout` from different states, with different forces."""
    start, rng = state_of(tree), np.random.default_rng(5)
    q = np.broadcast_to(start.q, (*lead, tree.num_positions))
    v = start.v + rng.normal(size=(*lead, tree.num_velocities))
    tau = rng.normal(size=(*lead, steps, tree.num_velocities))
    context = tree.create_default_context(lead)
    context.q, context.v = q, v
    return [
        lambda tau=tau, **options: functional.rollout(tree, q, v, tau, 0.01, **options),
        lambda tau=tau, **options: tree.rollout(context, tau, 0.01, **options),
    ]


@pytest.mark.parametrize("user_written", [False, True], ids=["compiled", "in Python"])
@pytest.mark.parametrize("lead", LEADS, ids=str)
def test_same_numbers(lead: tuple[int, ...], user_written: bool) -> None:
    tree = tumbling_bodies(0.1, user_written=user_written)
    for call in calls_of(tree, lead, 7):
        for options in ({}, {"method": "rk4", "every": 3}, {"every": 8}):
            wanted = call(**options)
            out = tuple(np.full(part.shape, np.nan) for part in wanted)
            assert all(got is part for got, part in zip(call(**options, out=out), out, strict=True))
            _, v = call(**options, out=(None, only := np.full(wanted[1].shape, np.nan)))
            assert v is only
            for got in (out, call(**options, out=(None, None)), (wanted[0], only)):
                np.testing.assert_array_equal(got[0], wanted[0])
                np.testing.assert_array_equal(got[1], wanted[1])


@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
def test_forces_may_be_in_the_same_memory(lead: tuple[int, ...]) -> None:
    """Also with an offset, so that states are written where forces of later steps are read."""
    tree, steps = tumbling_bodies(), 6
    for call in calls_of(tree, lead, steps):
        tau = np.random.default_rng(6).normal(size=(*lead, steps, tree.num_velocities))
        wanted = call(tau)
        for shift in (0, 1, tree.num_velocities):
            memory = np.empty(tau.size + wanted[1].size + shift)
            forces = memory[shift : shift + tau.size].reshape(tau.shape)
            forces[...] = tau
            out = np.empty_like(wanted[0]), memory[: wanted[1].size].reshape(wanted[1].shape)
            call(forces, out=out)
            np.testing.assert_array_equal(out[0], wanted[0])
            np.testing.assert_array_equal(out[1], wanted[1])


def test_no_memory_for_states() -> None:
    tree = tumbling_bodies()
    for call in calls_of(tree, (50,), 100):
        out = tuple(map(np.empty_like, call()))
        tracemalloc.start()
        try:
            call(out=out)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < out[1].nbytes / 4


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit"])
def test_no_copies_of_forces_that_all_samples_share(method: str) -> None:
    tree, start = tumbling_bodies(), state_of(tumbling_bodies())
    q = np.broadcast_to(start.q, (200, tree.num_positions))
    tau = np.random.default_rng(7).normal(size=(100, tree.num_velocities))
    options = {"method": method, "every": 100}
    alone = functional.rollout(tree, start.q, start.v, tau, 1e-3, **options)
    functional.rollout(tree, q, start.v, tau[:1], 1e-3, method=method)
    tracemalloc.start()
    try:
        together = functional.rollout(tree, q, start.v, tau, 1e-3, **options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 * tau.nbytes / 4
    for one, many in zip(alone, together, strict=True):
        np.testing.assert_array_equal(many, np.broadcast_to(many[0], many.shape))
        np.testing.assert_allclose(many[0], one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
def test_not_a_pair(lead: tuple[int, ...]) -> None:
    tree = tumbling_bodies()
    for call in calls_of(tree, lead, 2):
        q, v = call()
        for out, error in (
            (q, mbt.ArgumentTypeError),
            ([q, v], mbt.ArgumentTypeError),
            ((q,), mbt.ShapeError),
            ((q, v, None), mbt.ShapeError),
        ):
            with pytest.raises(error, match=r"^out: expected a tuple of 2 arrays or None, got"):
                call(out=out)


def test_singular_state() -> None:
    """An error leaves the arrays unchanged."""
    tree = mbt.MultibodyTree()
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "haunt", tree.world_body, None, ghost, None, axis=[0, 0, 1])
    tree.finalize()
    out = np.full((4, 1), 7.0), np.full((4, 1), 7.0)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        functional.rollout(tree, [0.0], [0.0], np.ones((3, 1)), 0.1, out=out)
    assert (np.stack(out) == 7.0).all()


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
def test_arrays_with_derivatives(lead: tuple[int, ...]) -> None:
    """With autodiff trees, arrays with derivatives are written into; plain arrays cannot hold them."""
    tree = tumbling_bodies().to_autodiff()
    q, v = tree.default_positions, np.zeros(tree.num_velocities)
    tau = mbt.autodiff.initialize(np.ones(tree.num_velocities))
    tau = tau + np.zeros((*lead, 3, tree.num_velocities))
    wanted = functional.rollout(tree, q, v, tau, 0.1)
    out = tuple(part * np.nan for part in wanted)
    got = functional.rollout(tree, q, v, tau, 0.1, out=out)
    for i in range(2):
        assert got[i] is out[i]
        np.testing.assert_array_equal(out[i].value, wanted[i].value)
        np.testing.assert_array_equal(out[i].derivatives, wanted[i].derivatives)
        plain = [None, None]
        plain[i] = np.empty(wanted[i].shape)
        with pytest.raises(mbt.ArgumentTypeError, match=rf"^out\[{i}\]: expected an AutoDiffArray"):
            functional.rollout(tree, q, v, tau, 0.1, out=tuple(plain))


FUNCTIONS = [functional.step, functional.step_derivatives]


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("user_written", [False, True], ids=["compiled", "in Python"])
@pytest.mark.parametrize("lead", LEADS, ids=str)
def test_steps(lead: tuple[int, ...], user_written: bool, method: str) -> None:
    tree = tumbling_bodies(0.1, user_written=user_written)
    start, rng = state_of(tree), np.random.default_rng(8)
    q = np.broadcast_to(start.q, (*lead, tree.num_positions)).copy()
    v, tau = start.v + rng.normal(size=(*lead, start.v.size)), rng.normal(size=(*lead, start.v.size))
    for function in FUNCTIONS:
        wanted = function(tree, q, v, tau, 0.01, method=method)
        out = tuple(np.full(part.shape, np.nan) for part in wanted)
        got = function(tree, q, v, tau, 0.01, method=method, out=out)
        only = np.full(wanted[1].shape, np.nan)
        half = function(tree, q, v, tau, 0.01, method=method, out=(None, only))
        assert (got[0] is out[0], got[1] is out[1], half[1] is only) == (True, True, True)
        for result in (got, half):
            np.testing.assert_array_equal(result[0], wanted[0])
            np.testing.assert_array_equal(result[1], wanted[1])
    # A loop may advance the state in place.
    wanted = functional.step(tree, q, v, tau, 0.01, method=method)
    functional.step(tree, q, v, tau, 0.01, method=method, out=(q, v))
    np.testing.assert_array_equal(q, wanted[0])
    np.testing.assert_array_equal(v, wanted[1])


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
def test_steps_into_what_cannot_hold_them(lead: tuple[int, ...]) -> None:
    tree = tumbling_bodies()
    start = state_of(tree)
    q, v, tau = (np.broadcast_to(x, (*lead, x.size)).copy() for x in (start.q, start.v, start.v))
    for function in FUNCTIONS:
        parts = function(tree, q, v, tau, 0.01)
        first, second = (np.full(part.shape, 7.0) for part in parts)
        long = np.full((*second.shape[:-1], second.shape[-1] + 1), 7.0)
        for out, error in (
            (first, mbt.ArgumentTypeError),
            ((first,), mbt.ShapeError),
            ((first, long), mbt.ShapeError),
            ((first, second.astype(np.float32)), mbt.ArgumentTypeError),
        ):
            with pytest.raises(error, match=r"^out"):
                function(tree, q, v, tau, 0.01, out=out)
        assert (first == 7.0).all()
        assert (long == 7.0).all()


def test_a_step_from_a_singular_state() -> None:
    tree = mbt.MultibodyTree()
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "haunt", tree.world_body, None, ghost, None, axis=[0, 0, 1])
    tree.finalize()
    state, tau = (np.full(1, 7.0), np.full(1, 7.0)), np.ones(1)
    with pytest.raises(mbt.SingularityError, match="haunt"):
        functional.step(tree, *state, tau, 0.1, out=state)
    assert (np.stack(state) == 7.0).all()
    # NaN that was there before is not an error.
    falling = tumbling_bodies()
    q, tau = state_of(falling).q.copy(), np.zeros(falling.num_velocities)
    v = np.full_like(tau, np.nan)
    wanted = functional.step(falling, q, v, tau, 0.1)
    functional.step(falling, q, v, tau, 0.1, out=(q, v))
    np.testing.assert_array_equal(q, wanted[0])
    np.testing.assert_array_equal(v, wanted[1])
