"""`mbt.lock_joints` against the reduced models of Pinocchio, and against welds in Drake."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mbt
from support.build import build_tree, layout_of
from support.joint_types import random_state as random_state_of
from support.quantities import QUANTITIES, Source, assert_same_quantity, random_state
from support.random_trees import random_model
from support.reference import Reference
from support.subject import Subject
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

KINDS = ("revolute", "revolute", "prismatic", "weld")


@cache
def _model(seed: int, num_bodies: int) -> tuple[mbt.MultibodyTree, str]:
    urdf = to_urdf(urdf_model(seed, num_bodies, KINDS, base="fixed", actuated=0.0), frozenset())
    return mbt.load_model(urdf), urdf


def _choose(tree: mbt.MultibodyTree, seed: int, share: float) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    moving = [joint.name for joint in tree.joints if joint.num_positions]
    names = rng.choice(moving, round(share * len(moving)), replace=False)
    return {str(name): float(rng.uniform(-1.0, 1.0)) for name in names}


CASES = pytest.mark.parametrize(
    ("seed", "num_bodies", "share"), [(2, 5, 0.4), (3, 12, 0.5), (4, 30, 0.3), (4, 30, 0.8), (5, 20, 0.9)]
)


@CASES
def test_reduced_models_of_pinocchio(seed: int, num_bodies: int, share: float) -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    tree, urdf = _model(seed, num_bodies)
    locked = _choose(tree, seed, share)
    small = mbt.lock_joints(tree, locked)
    full = pin.buildModelFromXML(urdf)
    q_ref = pin.neutral(full)
    for name, q in locked.items():
        q_ref[full.idx_qs[full.getJointId(name)]] = q
    model = pin.buildReducedModel(full, [full.getJointId(name) for name in locked], q_ref)
    data = model.createData()
    names = [joint.name for joint in small.joints if joint.num_positions]
    # Pinocchio's index of each of our coordinates.
    place = [model.idx_vs[model.getJointId(name)] for name in names]
    assert model.nv == small.num_velocities == len(place)
    rng = np.random.default_rng(1)
    q, v, vdot = rng.uniform(-1.0, 1.0, (3, small.num_velocities))
    theirs = np.empty((3, model.nv))
    theirs[:, place] = q, v, vdot
    M = pin.crba(model, data, theirs[0])
    M = np.triu(M) + np.triu(M, 1).T
    near = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(mbt.functional.mass_matrix(small, q), M[np.ix_(place, place)], **near)
    tau = pin.rnea(model, data, *theirs)[place] + [
        joint.default_damping_vector[0] * x
        for joint, x in zip([j for j in small.joints if j.num_positions], v, strict=True)
    ]
    np.testing.assert_allclose(mbt.functional.inverse_dynamics(small, q, v, vdot), tau, **near)
    pin.framesForwardKinematics(model, data, theirs[0])
    for body in small.bodies[1:]:
        oMf = data.oMf[model.getFrameId(body.name, pin.BODY)].homogeneous
        np.testing.assert_allclose(mbt.functional.frame_pose(small, q, body), oMf, **near)


@cache
def _welded_in_drake(seed: int) -> tuple[Subject, Source, Reference]:
    """A random model with every other joint locked by mbt, and welded in the text for Drake."""
    from support.drake_peer import KINDS, DrakePeer

    model = random_model(seed, 14, kinds=KINDS, may_reverse=False, actuated=0.5)
    tree = build_tree(model)
    context = random_state_of(tree, np.random.default_rng(seed))
    locked = [tree.get_joint_by_name(joint.name) for joint in model.joints[::2] if joint.num_velocities]
    assert len({joint.type_name for joint in locked}) >= 4
    small = mbt.lock_joints(tree, {joint.name: joint.get_positions(context) for joint in locked})
    X_FM = {joint.name: joint.get_pose(context) for joint in locked}
    welded = replace(
        model,
        joints=tuple(
            replace(joint, kind="weld", X_FM=X_FM[joint.name], damping=()) if joint.name in X_FM else joint
            for joint in model.joints
        ),
        actuators=tuple(actuator for actuator in model.actuators if actuator.joint not in X_FM),
    )
    layout = layout_of(small)
    return Subject(small), DrakePeer(None, welded, layout), Reference(welded, layout)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("seed", [300, 302])
def test_welds_of_drake(seed: int, quantity: str) -> None:
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    subject, drake, reference = _welded_in_drake(seed)
    for k in range(2):
        state = random_state(reference, np.random.default_rng(k))
        assert_same_quantity(quantity, subject, drake, reference, state)
