"""Every joint type of Drake, against the tree and the reference."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mbt
from support.build import build_tree, layout_of
from support.quantities import QUANTITIES, assert_same_quantity, random_state
from support.random_trees import random_model
from support.reference import Reference
from support.subject import Subject

pytestmark = pytest.mark.oracle
pytest.importorskip("pydrake", reason="needs the `oracle` extra")

from support.drake_peer import KINDS, DrakePeer  # noqa: E402  # needs pydrake


@cache
def _sources(name: str) -> tuple[Subject, DrakePeer, Reference]:
    if name == "mixed":
        model = random_model(300, 12, kinds=KINDS, may_reverse=False, actuated=0.5)
    else:
        model = random_model(301, 2, kinds=(name,), may_reverse=False, actuated=1.0)
    tree = build_tree(model)
    layout = layout_of(tree)
    return Subject(tree), DrakePeer(None, model, layout), Reference(model, layout)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", [*KINDS, "mixed"])
def test_same(name: str, quantity: str) -> None:
    subject, drake, reference = _sources(name)
    for k in range(2):
        state = random_state(reference, np.random.default_rng(k))
        assert_same_quantity(quantity, subject, drake, reference, state)
        assert_same_quantity(quantity, reference, drake, reference, state)


@pytest.mark.parametrize("name", [*KINDS, "mixed"])
def test_maps(name: str) -> None:
    subject, drake, reference = _sources(name)
    state = random_state(reference, np.random.default_rng(3))
    context: mbt.Context = subject.tree.create_default_context()
    context.q, context.v = state.q, state.v
    theirs = drake._at(state.q, state.v)
    qdot = drake.plant.MapVelocityToQDot(theirs, state.v[drake.v_order])
    np.testing.assert_allclose(
        subject.tree.map_velocity_to_qdot(context, state.v)[drake.q_order], qdot, rtol=0, atol=1e-13
    )
    back = drake.plant.MapQDotToVelocity(theirs, qdot)
    np.testing.assert_allclose(back, state.v[drake.v_order], rtol=0, atol=1e-13)


def test_locked_joints() -> None:
    """Against Drake's forward dynamics with every other joint locked."""
    subject, drake, reference = _sources("mixed")
    state = random_state(reference, np.random.default_rng(4))
    context = subject.tree.create_default_context()
    context.q, context.v = state.q, state.v
    theirs = drake._at(state.q, state.v)
    for joint in subject.tree.joints[::2]:
        joint.lock(context)
        drake.plant.GetJointByName(joint.name).Lock(theirs)
    vdot = subject.tree.calc_forward_dynamics(context, state.tau)
    drake.plant.get_applied_generalized_force_input_port().FixValue(theirs, state.tau[drake.v_order])
    desired = drake.plant.get_generalized_acceleration_output_port().Eval(theirs)
    np.testing.assert_allclose(vdot[drake.v_order], desired, rtol=0, atol=1e-9 * np.abs(desired).max())
