"""Rollouts into arrays that are there already: the same numbers, in these arrays, whatever else they hold."""

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
    """Also beside each other, such that states are written where forces of later steps are read."""
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
    """An error leaves the arrays alone."""
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
    """Of such trees they are written into; plain arrays cannot hold derivatives."""
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
