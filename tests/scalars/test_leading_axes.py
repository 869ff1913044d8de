"""Methods of scalar trees and of elements on a batch of states agree with each state alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
import scalars.test_every_method as every
from scalars.scalar_trees import SECTIONS, count
from support.calls import METHODS, SCALARS
from support.force_element_types import make_everything
from support.joint_types import random_state

# Sizes that no other axis of these trees has, and more than one axis.
BATCH = (3, 2)


def stack(entries: Any) -> Any:
    """Results of single states, in C order, with the axes of the batch in front."""
    first = np.asarray(entries[0])
    return np.stack([np.ravel(entry) for entry in entries]).reshape(*BATCH, *first.shape)


@cache
def trees(user_written: bool) -> tuple[Any, Any]:
    single = every.tree_of("double") if user_written else make_everything(user_written=False)
    return single, single


@cache
def states(user_written: bool) -> tuple[Any, Any]:
    """Contexts of one state each, in C order, and one Context of all states. Parameters differ, too."""
    single, stacked = trees(user_written)
    rng = np.random.default_rng(5)
    contexts = [random_state(single, rng) for _ in range(int(np.prod(BATCH)))]
    for context in contexts:
        context.actuation = rng.normal(size=context.actuation.shape)
    together = stacked.create_default_context(BATCH)
    for name in ("q", "v", "actuation"):
        setattr(together, name, stack([getattr(context, name) for context in contexts]))
    for section in SECTIONS:
        for i in range(count(single, section)):
            if section == "frame_pose" and single.frames[i].is_body_frame:
                continue
            for k, context in enumerate(contexts):
                value = context._get_parameter(section, i)
                if section == "frame_pose":
                    value = vary("X_PF", value.reshape(4, 4), k).ravel()
                else:
                    # This keeps the inertia about the mass centre positive.
                    value = vary(section, value, -k if section == "com" else k)
                context._set_parameter(section, i, value)
            together._set_parameter(section, i, stack([c._get_parameter(section, i) for c in contexts]))
    return contexts, together


def check(got: Any, singles: list[Any], name: str) -> None:
    """Compare a result with those of single states."""
    if isinstance(singles[0], (bool, np.bool_)):
        assert {bool(got)} == {bool(x) for x in singles}
        return
    wanted = stack(singles)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    # Results that all states share have no axes in front.
    if np.ndim(got) < wanted.ndim:
        got = np.broadcast_to(got, wanted.shape)
    assert np.shape(got) == wanted.shape, name
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-10 * scale, err_msg=name)


@pytest.mark.parametrize("name", [*METHODS, *SCALARS])
def test_methods_of_the_tree(name: str) -> None:
    call = {**METHODS, **SCALARS}[name]
    # Users' elements are differentiated in dual numbers, which cannot be nested over these.
    user_written = not name.endswith("_derivatives")
    single, stacked = trees(user_written)
    contexts, together = states(user_written)
    # One argument for each state.
    values = [call.values(single, seed) for seed in range(len(contexts))]
    singles = [call.run(single, c, *x) for c, x in zip(contexts, values, strict=True)]
    got = call.run(stacked, together, *(stack(entries) for entries in zip(*values, strict=True)))
    for g, entries in zip(every.parts(got), zip(*map(every.parts, singles), strict=True), strict=True):
        assert np.shape(g)[: len(BATCH)] == BATCH
        check(g, list(entries), name)


# Arguments that are the same for all states.
OF_ALL_STATES = {"joint_dof", "model_instance", "is_enabled", "u", "u_actuator"}


def vary(argument: str, value: Any, k: int) -> Any:
    """Return the argument for state number k."""
    if argument in OF_ALL_STATES or not isinstance(value, (float, np.ndarray)):
        return value
    if argument == "velocity":
        # One for each state, where the constants are.
        value = 0.5
    if argument.startswith("X_"):
        return value @ mbt.math.make_pose([0.1 * k, 0, 0], rpy=[0.1 * k, 0, 0])
    if argument.startswith("R_"):
        return value @ mbt.math.rpy_to_matrix([0.1 * k, 0, 0])
    return np.multiply(value, 1.0 + 0.1 * k)


@pytest.mark.parametrize("case", every.METHODS, ids=every.names)
def test_methods_of_elements(case: tuple[int, str]) -> None:
    i, name = case
    single, stacked = trees(True)
    contexts, together = states(True)
    of_single, of_stacked = every.elements(single)[i], every.elements(stacked)[i]
    contexts, together = [context.clone() for context in contexts], together.clone()
    given = every.arguments(name, of_stacked, stacked, together)
    givens = []
    for k, context in enumerate(contexts):
        own = every.arguments(name, of_single, single, context)
        givens.append({argument: vary(argument, value, k) for argument, value in own.items()})
    for argument, value in givens[0].items():
        if argument not in OF_ALL_STATES and isinstance(value, (float, np.ndarray)):
            given[argument] = stack([one[argument] for one in givens])
    singles = [
        every.call_with(of_single, name, one, context) for one, context in zip(givens, contexts, strict=True)
    ]
    got = every.call_with(of_stacked, name, given, together)
    for g, entries in zip(got, zip(*singles, strict=True), strict=True):
        check(g, list(entries), name)


def random_forces(contexts: Any, together: Any) -> tuple[list[Any], Any]:
    """Return forces for each state, and for all of them."""
    rng = np.random.default_rng(6)
    singles = [mbt.MultibodyForces(context.tree) for context in contexts]
    for forces in singles:
        forces.body_forces = rng.normal(size=forces.body_forces.shape)
        forces.generalized_forces = rng.normal(size=forces.generalized_forces.shape)
    stacked: Any = mbt.MultibodyForces(together.tree, BATCH)
    stacked.body_forces = stack([forces.body_forces for forces in singles])
    stacked.generalized_forces = stack([forces.generalized_forces for forces in singles])
    return singles, stacked


def test_arithmetic_of_forces() -> None:
    contexts, together = states(True)
    singles, forces = random_forces(contexts, together)
    factors = np.linspace(0.5, 2.0, len(contexts))
    singles = [(f - (f * x) / 4.0) / x for f, x in zip(singles, factors, strict=True)]
    x = factors.reshape(BATCH)
    got = (forces - (forces * x) / 4.0) / x
    check(got.body_forces, [f.body_forces for f in singles], "body_forces")
    check(got.generalized_forces, [f.generalized_forces for f in singles], "generalized_forces")


METHODS_WITH_FORCES = (
    "calc_inverse_dynamics",
    "calc_forward_dynamics",
    "calc_inverse_dynamics_derivatives",
    "calc_forward_dynamics_derivatives",
)


@pytest.mark.parametrize("name", METHODS_WITH_FORCES)
def test_external_forces(name: str) -> None:
    single, stacked = trees(False)
    contexts, together = states(False)
    singles, forces = random_forces(contexts, together)
    x = np.linspace(-1.0, 1.0, single.num_velocities)
    wanted = [getattr(single, name)(c, x, f) for c, f in zip(contexts, singles, strict=True)]
    got = getattr(stacked, name)(together, x, forces)
    for g, entries in zip(every.parts(got), zip(*map(every.parts, wanted), strict=True), strict=True):
        check(g, list(entries), name)


def test_applied_forces() -> None:
    single, stacked = trees(True)
    contexts, together = states(True)
    contexts, together = [context.clone() for context in contexts], together.clone()
    singles, forces = random_forces(contexts, together)
    for context, own in zip(contexts, singles, strict=True):
        context.applied_forces = own
    together.applied_forces = forces
    for name in ("calc_forward_dynamics", "calc_reaction_forces"):
        check(getattr(stacked, name)(together), [getattr(single, name)(c) for c in contexts], name)


@pytest.mark.parametrize("is_body", [True, False])
@pytest.mark.parametrize("shape", [(3,), (3, 0), (3, 1), (3, 4)])
def test_points_are_the_same_for_all_states(shape: tuple[int, ...], is_body: bool) -> None:
    single, stacked = trees(True)
    contexts, together = states(True)
    p = np.random.default_rng(7).normal(size=shape)

    def calc(tree: Any, c: Any) -> list[Any]:
        B = (tree.bodies if is_body else tree.frames)[-1]
        A, E, W = tree.frames[3], tree.frames[5], tree.world_frame
        return [
            tree.calc_points_positions(c, B, p, A),
            tree.calc_points_positions(c, B, p, W),
            tree.calc_jacobian_translational_velocity(c, "v", B, p, A, E),
            tree.calc_jacobian_translational_velocity(c, "qdot", B, p, W, W),
            tree.calc_bias_translational_acceleration(c, "v", B, p, A, E),
            tree.calc_bias_translational_acceleration(c, "qdot", B, p, W, W),
        ]

    singles = [calc(single, c) for c in contexts]
    for k, (g, entries) in enumerate(zip(calc(stacked, together), zip(*singles, strict=True), strict=True)):
        check(g, list(entries), str(k))
        assert np.shape(g)[: len(BATCH)] == BATCH


def test_caches() -> None:
    single, stacked = trees(True)
    contexts, together = states(True)
    caches = {
        "eval_position_kinematics": ("X_WB", "X_PB", "X_FM", "X_BF", "H_FM", "H_PB_W", "com_W", "M_Bo_W"),
        "eval_velocity_kinematics": ("V_WB", "V_PB", "V_PB_W"),
        "eval_acceleration_kinematics": ("A_WB", "vdot"),
        "eval_frame_body_poses": ("X_BF", "X_FB"),
    }
    for method, names in caches.items():
        got = getattr(stacked, method)(together)
        singles = [getattr(single, method)(c) for c in contexts]
        for name in names:
            check(getattr(got, name), [getattr(one, name) for one in singles], name)
    row = single.bodies[4]
    for method in ("pose", "spatial_velocity", "spatial_acceleration"):
        name = f"eval_body_{method}_in_world"
        got = getattr(stacked, name)(together, stacked.bodies[4])
        check(got, [getattr(single, name)(c, row) for c in contexts], name)


def test_mass_of_some_bodies() -> None:
    single, stacked = trees(True)
    contexts, together = states(True)

    def calc(tree: Any, c: Any) -> list[Any]:
        indices = [tree.bodies[2].index, tree.bodies[5].index]
        M = tree.calc_spatial_inertia(c, tree.frames[4], indices)
        return [M.mass, M.com, M.unit_inertia.as_matrix(), tree.get_inertial_parameters(c)]

    singles = [calc(single, c) for c in contexts]
    for k, (g, entries) in enumerate(zip(calc(stacked, together), zip(*singles, strict=True), strict=True)):
        check(g, list(entries), str(k))


def test_locked_joints_are_at_rest() -> None:
    _, stacked = trees(True)
    together = states(True)[1].clone()
    joint = stacked.joints[1]
    joint.lock(together)
    np.testing.assert_array_equal(joint.get_velocities(together), np.zeros((*BATCH, joint.num_velocities)))
    with pytest.raises(mbt.ArgumentValueError, match="locked"):
        together.v = np.ones((*BATCH, stacked.num_velocities))


def test_configurations() -> None:
    single, stacked = trees(True)
    contexts, together = states(True)
    step = [single.integrate_positions(c.q, c.v, 0.1 * k) for k, c in enumerate(contexts)]
    times = np.array([0.1 * k for k in range(len(contexts))]).reshape(BATCH)
    moved = stacked.integrate_positions(together.q, together.v, times)
    check(moved, step, "integrate_positions")
    differences = [single.difference_positions(c.q, q) for c, q in zip(contexts, step, strict=True)]
    check(stacked.difference_positions(together.q, moved), differences, "difference_positions")
    scaled = [single.normalize_positions(1.5 * c.q) for c in contexts]
    check(stacked.normalize_positions(1.5 * together.q), scaled, "normalize_positions")


def test_state_of_a_model_instance() -> None:
    single, stacked = trees(True)
    contexts, together = states(True)
    contexts, together = [context.clone() for context in contexts], together.clone()
    instance = mbt.default_model_instance()
    for getter in ("get_positions", "get_velocities", "get_positions_and_velocities", "get_actuation"):
        values = [getattr(single, getter)(c, instance) for c in contexts]
        check(getattr(stacked, getter)(together, instance), values, getter)
        setter = "set" + getter[3:]
        for c, value in zip(contexts, values, strict=True):
            getattr(single, setter)(c, instance, 1.25 * value)
        getattr(stacked, setter)(together, instance, 1.25 * stack(values))
        for name in ("q", "v", "actuation"):
            check(getattr(together, name), [getattr(c, name) for c in contexts], f"{setter}: {name}")
