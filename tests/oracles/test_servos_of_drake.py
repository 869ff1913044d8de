"""Implicit servos with effort limits against Drake's ``PdControllerGains``: one convex problem, from rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt

pytestmark = pytest.mark.oracle
pytest.importorskip("pydrake", reason="needs the `oracle` extra")

from pydrake.math import RigidTransform  # noqa: E402  # needs pydrake
from pydrake.multibody.plant import MultibodyPlant  # noqa: E402
from pydrake.multibody.tree import (  # noqa: E402
    FixedOffsetFrame,
    PdControllerGains,
    RevoluteJoint,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import Simulator  # noqa: E402

STEP = 5e-3
LENGTH, DAMPING = 0.4, 0.4
AXES = ([0, 1, 0], [1, 0, 0], [0, 1, 0])
GAINS, LIMITS = ((300.0, 3.0), (500.0, 5.0), (200.0, 2.0)), (4.0, 1e4, 2.0)


def make_both() -> tuple[mbt.MultibodyTree, Any]:
    """Return an arm of three links with servos, in mbt and in Drake."""
    tree, plant = mbt.MultibodyTree(), MultibodyPlant(time_step=STEP)
    parent, frame = tree.world_body, plant.world_frame()
    for i, gains in enumerate(GAINS):
        com, G = [0, 0, LENGTH / 2], UnitInertia.SolidBox(0.1, 0.2, LENGTH)
        G = G.ShiftFromCenterOfMass([0, 0, -LENGTH / 2])
        body = plant.AddRigidBody(f"link{i}", SpatialInertia(1.0 + i, com, G))
        joint = plant.AddJoint(RevoluteJoint(f"hinge{i}", frame, body.body_frame(), AXES[i], DAMPING))
        servo = plant.AddJointActuator(f"servo{i}", joint, LIMITS[i])
        servo.set_controller_gains(PdControllerGains(p=gains[0], d=gains[1]))
        tip = FixedOffsetFrame(f"tip{i}", body.body_frame(), RigidTransform([0, 0, LENGTH]))
        frame = plant.AddFrame(tip)

        link = tree.add_body(
            mbt.RigidBody(f"link{i}", mbt.SpatialInertia(1.0 + i, com, G.CopyToFullMatrix3()))
        )
        place = mbt.math.make_pose([0, 0, LENGTH if i else 0])
        hinge = tree.add_joint(
            mbt.RevoluteJoint, f"hinge{i}", parent, place, link, None, axis=AXES[i], damping=DAMPING
        )
        tree.add_joint_actuator(
            f"servo{i}", hinge, effort_limit=LIMITS[i], stiffness=gains[0], damping=gains[1]
        )
        parent = link
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    plant.Finalize()
    return tree, plant


def test_a_step_from_rest_is_that_of_drake() -> None:
    tree, plant = make_both()
    rng = np.random.default_rng(4)
    num_saturated = 0
    for _ in range(50):
        q = rng.normal(scale=0.8, size=3)
        targets = q + rng.normal(scale=0.03, size=3)
        theirs = plant.CreateDefaultContext()
        plant.SetPositions(theirs, q)
        [instance] = {plant.get_joint_actuator(i).model_instance() for i in plant.GetJointActuatorIndices()}
        plant.get_desired_state_input_port(instance).FixValue(theirs, [*targets, 0, 0, 0])
        simulator = Simulator(plant, theirs)
        simulator.AdvanceTo(STEP)

        ours = tree.create_default_context()
        ours.q, ours.servo_positions = q, targets
        motion = mbt.simulate(tree, ours, STEP, STEP)
        assert motion.method == "implicit"
        np.testing.assert_allclose(motion.v[-1], plant.GetVelocities(simulator.get_context()), atol=1e-12)
        np.testing.assert_allclose(motion.q[-1], plant.GetPositions(simulator.get_context()), atol=1e-12)
        num_saturated += np.count_nonzero(motion.solver.saturated)
    assert 30 < num_saturated < 100
