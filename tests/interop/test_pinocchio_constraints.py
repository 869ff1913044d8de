"""Constraints given along with a Pinocchio model become constraints of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.constraints import equations_of

pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")

pytestmark = pytest.mark.oracle


def closed_model() -> tuple[Any, Any, Any, Any]:
    """A humanoid, positions, and placements on the ends of both arms that coincide at these positions."""
    pin.seed(3)
    model = pin.buildSampleModelHumanoid()
    data, q = model.createData(), pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    pin.forwardKinematics(model, data, q)
    joints = [model.getJointId(f"{side}arm_wrist2_joint") for side in "lr"]
    X_1 = pin.SE3.Random()
    return model, q, joints, (X_1, data.oMi[joints[1]].inverse() * data.oMi[joints[0]] * X_1)


def constraint_of(kind: str, model: Any, joints: list[int], placements: tuple[Any, Any]) -> Any:
    ends = joints[0], placements[0], joints[1], placements[1]
    if kind in ("CONTACT_3D", "CONTACT_6D"):
        return pin.RigidConstraintModel(
            getattr(pin.ContactType, kind), model, *ends, pin.ReferenceFrame.LOCAL
        )
    return getattr(pin, f"{kind}ConstraintModel")(model, *ends)


@pytest.mark.parametrize("kind", ["CONTACT_3D", "CONTACT_6D", "PointAnchor", "FrameAnchor"])
def test_they_hold_at_the_same_positions_and_resist_the_same_motions(kind: str) -> None:
    model, q, joints, placements = closed_model()
    constraint = constraint_of(kind, model, joints, placements)
    tree = mbt.interop.from_pinocchio(model, constraints=[constraint])
    coordinates = mbt.interop.PinocchioCoordinates(tree, model)
    context = tree.create_default_context()
    context.q = coordinates.q_from_pinocchio(q)
    (own,) = tree.constraints
    assert own.num_equations == constraint.residualSize()
    np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=1e-12)
    # Velocity of the second frame in the first, by Pinocchio: linear part first.
    steps = 1e-6 * np.eye(model.nv)
    theirs = [relative_pose(model, pin.integrate(model, q, step), joints, placements) for step in steps]
    units = coordinates.v_from_pinocchio(np.tile(q, (model.nv, 1)), np.eye(model.nv)).T
    ours = equations_of(tree, context).J @ units
    expected = np.roll(np.array(theirs).T / 1e-6, 3, axis=0)[-len(ours) :]
    np.testing.assert_allclose(ours, expected, atol=1e-5)


def relative_pose(model: Any, q: Any, joints: list[int], placements: tuple[Any, Any]) -> Any:
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    first, second = (data.oMi[joint] * X for joint, X in zip(joints, placements, strict=True))
    return pin.log6(first.inverse() * second).vector


def test_names_and_refusals() -> None:
    model, _, joints, placements = closed_model()
    ball = constraint_of("CONTACT_3D", model, joints, placements)
    tree = mbt.interop.from_pinocchio(model, constraints=(ball, ball))
    assert [each.name for each in tree.constraints] == ["constraint_0", "constraint_1"]
    bad = constraint_of("CONTACT_6D", model, joints, placements)
    bad.desired_contact_placement = pin.SE3.Random()
    other = pin.buildSampleModelManipulator()
    for constraints, error, match in (
        ([bad], mbt.ArgumentValueError, r"constraints\[0\]: its frames must not coincide"),
        ([ball, "pin"], mbt.ArgumentTypeError, r"constraints\[1\]: expected one of RigidConstraintModel"),
        (ball, mbt.ArgumentTypeError, "constraints: expected a list, got RigidConstraintModel"),
    ):
        with pytest.raises(error, match=match):
            mbt.interop.from_pinocchio(model, constraints=constraints)
    with pytest.raises(mbt.ArgumentValueError, match=r"constraints\[0\]: expected one of this model"):
        mbt.interop.from_pinocchio(other, constraints=[ball])
    same = constraint_of("CONTACT_3D", model, [joints[0]] * 2, placements)
    with pytest.raises(mbt.ArgumentValueError, match=r"constraints\[0\]: expected two joints"):
        mbt.interop.from_pinocchio(model, constraints=[same])


@pytest.mark.parametrize("name", ["armature", "damping", "friction", "lowerPositionLimit", "effortLimit"])
def test_arrays_of_a_wrong_size_are_refused(name: str) -> None:
    model = pin.buildSampleModelManipulator()
    setattr(model, name, np.zeros(2))
    with pytest.raises(mbt.ShapeError, match=rf"model: {name}: expected shape \(6,\), got \(2,\)"):
        mbt.interop.from_pinocchio(model)


def test_arguments_of_a_wrong_size_are_refused() -> None:
    model = pin.buildSampleModelManipulator()
    model.referenceConfigurations["home"] = np.zeros(2)
    with pytest.raises(mbt.ShapeError, match="home"):
        mbt.interop.from_pinocchio(model)
    model = pin.buildSampleModelManipulator()
    coordinates = mbt.interop.PinocchioCoordinates(mbt.interop.from_pinocchio(model), model)
    with pytest.raises(mbt.ShapeError, match=r"v: expected shape \(..., 6\), got \(5,\)"):
        coordinates.v_from_pinocchio(np.zeros(6), np.zeros(5))
    with pytest.raises(
        mbt.ShapeError, match=r"q, tau: their leading axes do not fit together: \(2,\), \(3,\)"
    ):
        coordinates.tau_to_pinocchio(np.zeros((2, 6)), np.zeros((3, 6)))
