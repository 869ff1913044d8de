"""Locked joints and model instances without gravity, in numbers with derivatives."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import richardson
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

METHODS = (
    "calc_forward_dynamics",
    "calc_forward_dynamics_derivatives",
    "calc_reaction_forces",
    "calc_center_of_mass_translational_acceleration_in_world",
    "calc_gravity_generalized_forces",
    "calc_potential_energy",
    "calc_conservative_power",
)

TREE = make_everything(user_written=False)
AD = TREE.to_autodiff()
LOCKED = [joint.index for joint in TREE.joints if joint.num_velocities][2::5]


def is_free() -> Array:
    free = np.ones(TREE.num_velocities)
    for index in LOCKED:
        TREE.joints[index].get_mutable_velocities_from_array(free)[:] = 0.0
    return free


def switched(tree: mbt.MultibodyTree, q: Any, v: Any, has_gravity: bool) -> Any:
    context: Any = tree.create_default_context()
    context.q = q
    for index in LOCKED:
        tree.joints[index].lock(context)
    context.v = v
    assert tree.gravity_field is not None
    tree.gravity_field.set_enabled_in(context, mbt.default_model_instance(), has_gravity)
    return context


@cache
def directions() -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(3)
    state = random_state(TREE, np.random.default_rng(1))
    q_dot, v_dot = rng.normal(size=TREE.num_positions), rng.normal(size=TREE.num_velocities)
    return state.q, state.v * is_free(), q_dot, v_dot * is_free()


def evaluate(method: str, context: Any) -> Any:
    result = getattr(context.tree, method)(context)
    return np.stack(result if isinstance(result, tuple) else [result])


@pytest.mark.parametrize("has_gravity", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_derivatives(method: str, has_gravity: bool) -> None:
    q, v, q_dot, v_dot = directions()
    context = switched(AD, AutoDiffArray(q, q_dot[:, None]), AutoDiffArray(v, v_dot[:, None]), has_gravity)

    def along(step: float) -> Array:
        moved = switched(TREE, q + step * q_dot, v + step * v_dot, has_gravity)
        return np.asarray(evaluate(method, moved))

    value, wanted = along(0.0), richardson(along)
    for twin in (context, context.clone(), pickle.loads(pickle.dumps(context))):
        got = evaluate(method, twin)
        for a, b, digits in ((got.value, value, 1e-11), (got.derivatives[..., 0], wanted, 1e-7)):
            np.testing.assert_allclose(a, b, rtol=0, atol=digits * (1.0 + np.max(np.abs(b))))


def test_locks_hold() -> None:
    q, v, _, _ = directions()
    context = switched(AD, q, v, True)
    vdot = AD.calc_forward_dynamics(context)
    assert not vdot.value[is_free() == 0.0].any()
    moving = initialize(v + 1.0 - is_free())
    with pytest.raises(mbt.ArgumentValueError, match="locked"):
        context.v = moving
    np.testing.assert_array_equal(context.v.value, v)
    for index in LOCKED:
        AD.joints[index].unlock(context)
    context.v = moving
    assert context.v.num_derivatives == v.size
