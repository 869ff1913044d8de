"""Many small random trees against the reference: every mixture of joint types, directions and frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.build import tree_and_reference
from support.description import JOINT_SIZES, Array
from support.quantities import QUANTITIES, assert_same_quantity, random_state
from support.random_trees import random_model
from support.subject import Subject

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
KINDS = st.lists(st.sampled_from(sorted(JOINT_SIZES)), min_size=1, max_size=4)


@settings(max_examples=60)
@given(seed=SEEDS, num_bodies=st.integers(1, 12), kinds=KINDS, free_bases=st.booleans())
def test_everything(seed: int, num_bodies: int, kinds: list[str], free_bases: bool) -> None:
    model = random_model(seed, num_bodies, kinds=kinds, free_bases=free_bases)
    tree, reference = tree_and_reference(model)
    state = random_state(reference, np.random.default_rng(seed))
    for name in QUANTITIES:
        assert_same_quantity(name, Subject(tree), reference, reference, state)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units(scale: float) -> None:
    """Models of millimetres or kilometres are as accurate: no comparison uses an absolute number."""
    model = random_model(77, 8)
    bodies = tuple(replace(b, com=scale * b.com, I_BBcm_B=scale**2 * b.I_BBcm_B) for b in model.bodies)

    def scaled(X: Array | None) -> Array:
        X = np.eye(4) if X is None else X.copy()
        X[:3, 3] *= scale
        return X

    joints = tuple(
        replace(j, X_PF=scaled(j.X_PF), X_BM=scaled(j.X_BM), X_FM=scaled(j.X_FM), damping=())
        for j in model.joints
    )
    frames = tuple(replace(f, X_PF=scaled(f.X_PF)) for f in model.frames)
    assert model.gravity is not None
    tree, _ = tree_and_reference(
        replace(
            model, bodies=bodies, joints=joints, frames=frames, actuators=(), gravity=scale * model.gravity
        )
    )
    plain, reference = tree_and_reference(
        replace(model, joints=tuple(replace(j, damping=()) for j in model.joints), actuators=())
    )
    # Units of q and v: lengths scale, angles do not.
    unit_v, unit_q = np.ones(reference.nv), np.ones(reference.nq)
    for joint in reference.model.joints:
        if joint.kind == "prismatic":
            unit_v[reference.v_slice(joint)] = unit_q[reference.q_slice(joint)] = scale
        elif joint.kind == "floating":
            unit_v[reference.v_slice(joint).start + 3 : reference.v_slice(joint).stop] = scale
            unit_q[reference.q_slice(joint).start + 4 : reference.q_slice(joint).stop] = scale
    state = random_state(reference, np.random.default_rng(0))
    tau = Subject(plain).inverse_dynamics(state.q, state.v, state.vdot)
    scaled_tau = Subject(tree).inverse_dynamics(unit_q * state.q, unit_v * state.v, unit_v * state.vdot)
    # Forces along lengths scale like scale, moments like scale^2.
    desired = tau * scale**2 / unit_v
    size = QUANTITIES["inverse_dynamics"].scale(reference, state)
    error = np.abs(scaled_tau - desired) * unit_v / scale**2
    assert error.max() <= 100 * np.finfo(float).eps * size
    vdot = Subject(plain).forward_dynamics(state.q, state.v, state.tau)
    scaled_vdot = Subject(tree).forward_dynamics(
        unit_q * state.q, unit_v * state.v, state.tau * scale**2 / unit_v
    )
    size = QUANTITIES["forward_dynamics"].scale(reference, state)
    assert np.abs(scaled_vdot / unit_v - vdot).max() <= 100 * np.finfo(float).eps * size
