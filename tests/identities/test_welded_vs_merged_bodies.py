"""Welded bodies behave exactly like one body, and still report their own results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.build import layout_of, tree_and_reference
from support.case import get_case
from support.description import WORLD, Array, Body, Joint, Model
from support.quantities import QUANTITIES, State, assert_close
from support.random_trees import ALL_KINDS, random_body, random_model, random_pose
from support.reference import inverse
from support.subject import Subject


def _merged_body(name: str, body: Body, other: Body, X_BO: Array) -> Body:
    """Merge `body` and `other`, whose frame is at X_BO in it, by Steiner about the common mass centre."""
    mass = body.mass + other.mass
    com_O = X_BO[:3, :3] @ other.com + X_BO[:3, 3]
    com = (body.mass * body.com + other.mass * com_O) / mass
    inertia = np.zeros((3, 3))
    for m, c, I_cm in (
        (body.mass, body.com, body.I_BBcm_B),
        (other.mass, com_O, X_BO[:3, :3] @ other.I_BBcm_B @ X_BO[:3, :3].T),
    ):
        arm = c - com
        inertia += I_cm + m * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return Body(name, mass, com, inertia)


def _with_passengers(model: Model, rng: np.random.Generator) -> tuple[Model, Model]:
    """Each body with one or two more welded on (in both directions), and the same with merged inertias."""
    bodies, joints, merged = list(model.bodies), list(model.joints), []
    for body in model.bodies:
        whole, X_BO, holder = body, np.eye(4), body.name
        for k in range(int(rng.integers(0, 3))):
            passenger = random_body(rng, f"{body.name}_passenger{k}")
            X_PF, X_BM, X_FM = (random_pose(rng) for _ in range(3))
            X_BO = X_BO @ X_PF @ X_FM @ inverse(X_BM)
            weld = Joint(f"{passenger.name}_weld", "weld", holder, passenger.name, X_PF, X_BM, X_FM=X_FM)
            if rng.random() < 0.5:
                weld = replace(
                    weld, parent=weld.child, child=weld.parent, X_PF=X_BM, X_BM=X_PF, X_FM=inverse(X_FM)
                )
            bodies.append(passenger)
            joints.append(weld)
            whole, holder = _merged_body(body.name, whole, passenger, X_BO), passenger.name
        merged.append(whole)
    return replace(model, bodies=tuple(bodies), joints=tuple(joints)), replace(model, bodies=tuple(merged))


@pytest.mark.parametrize("seed", range(6))
def test_same_dynamics(seed: int) -> None:
    plain = random_model(100 + seed, 5, kinds=[kind for kind in ALL_KINDS if kind != "weld"])
    welded, merged = _with_passengers(plain, np.random.default_rng(seed))
    assert len(welded.bodies) > len(merged.bodies)
    welded_tree, reference = tree_and_reference(welded)
    merged_tree, merged_reference = tree_and_reference(merged)
    assert layout_of(welded_tree).velocity_start.items() >= layout_of(merged_tree).velocity_start.items()

    # Forces act on the bodies that both models have.
    rng = np.random.default_rng(seed)
    q, v, vdot = reference.random_state(rng)
    tau = rng.uniform(-5.0, 5.0, reference.nv)
    F_welded, F_merged = np.zeros((reference.nb, 6)), np.zeros((merged_reference.nb, 6))
    for body in merged.bodies:
        F = rng.uniform(-5.0, 5.0, 6)
        F_welded[reference.row(body.name)] = F_merged[merged_reference.row(body.name)] = F
    state = State(q, v, vdot, tau, F_welded)
    ours, theirs = Subject(welded_tree), Subject(merged_tree)

    def compare(actual: object, desired: object, name: str) -> None:
        assert_close(actual, desired, QUANTITIES[name].scale(reference, state), name)

    compare(ours.mass_matrix(q), theirs.mass_matrix(q), "mass_matrix")
    compare(ours.bias_term(q, v), theirs.bias_term(q, v), "bias_term")
    compare(ours.gravity_forces(q), theirs.gravity_forces(q), "gravity_forces")
    compare(
        ours.inverse_dynamics(q, v, vdot, F_welded),
        theirs.inverse_dynamics(q, v, vdot, F_merged),
        "inverse_dynamics_with_forces",
    )
    compare(
        ours.forward_dynamics(q, v, tau, F_welded),
        theirs.forward_dynamics(q, v, tau, F_merged),
        "forward_dynamics",
    )
    compare(ours.kinetic_energy(q, v), theirs.kinetic_energy(q, v), "kinetic_energy")
    compare(ours.potential_energy(q), theirs.potential_energy(q), "potential_energy")
    compare(ours.center_of_mass(q), theirs.center_of_mass(q), "center_of_mass")


def test_every_body_keeps_its_row() -> None:
    """Welded bodies have poses, velocities and reactions of their own."""
    case, state = get_case("welded_chain"), get_case("welded_chain").state()
    tree = case.tree
    assert tree.num_bodies == len(case.model.bodies) + 1
    assert sorted(body.node_index for body in tree.bodies) == list(range(tree.num_bodies))
    F_BMo_W = np.full((tree.num_bodies, 6), np.nan)
    tree.calc_inverse_dynamics(case.context(state), state.vdot, F_BMo_W_array=F_BMo_W)
    F = case.reference.inboard_reactions(state.q, state.v, state.vdot)
    scale = QUANTITIES["inverse_dynamics"].scale(case.reference, state)
    assert_close(F_BMo_W, F, scale)


def test_forces_on_bodies_welded_to_world_do_nothing() -> None:
    case = get_case("all_weld")
    subject = case.subject()
    F = np.ones((case.tree.num_bodies, 6))
    none = np.zeros(0)
    assert subject.inverse_dynamics(none, none, none, F).shape == (0,)
    assert subject.forward_dynamics(none, none, none, F).shape == (0,)
    assert subject.mass_matrix(none).shape == (0, 0)
    assert subject.kinetic_energy(none, none) == 0.0


def test_mass_of_bodies_welded_to_world_counts() -> None:
    case = get_case("all_weld")
    state = case.state()
    total = case.reference.total_mass()
    context = case.context(state)
    assert_close(case.tree.calc_total_mass(context), total, total)
    com = case.tree.calc_center_of_mass_position_in_world(context)
    assert_close(com, case.reference.center_of_mass(state.q), case.reference.length_scale(state.q))
    assert any(joint.parent == WORLD or joint.child == WORLD for joint in case.model.joints)
