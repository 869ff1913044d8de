"""A file with an element of each type, written by an earlier version, is read to the last bit."""

from __future__ import annotations

from pathlib import Path

import mbt
from support.model_state import model_state

RECORDED = (Path(__file__).parents[1] / "data" / "every_element.json").read_text()


def test_a_recorded_file_is_read_and_written_as_it_was() -> None:
    tree = mbt.load_model(RECORDED)
    text = mbt.save_model(tree, format="json")
    assert text == RECORDED
    assert model_state(mbt.load_model(text)) == model_state(tree)


def test_the_numbers_of_a_recorded_file_are_those_that_were_given() -> None:
    tree = mbt.load_model(RECORDED)
    found = {type(element): element for element in (*tree.force_elements, *tree.constraints)}
    spring = found[mbt.LinearSpringDamper]
    assert spring.p_AP.tolist() == [0.1, 0.2, 1 / 3]
    assert (spring.free_length, spring.stiffness, spring.damping) == (0.7, 11.0, 0.3)
    contact = found[mbt.PointContact]
    assert contact.p_FC.tolist() == [[0.1, 0.2, 0.3], [1 / 3, 0.0, 0.0]]
    assert (contact.static_friction, contact.dynamic_friction, contact.stiction_speed) == (0.7, 0.6, 0.04)
    assert found[mbt.LinearBushingRollPitchYaw].force_damping_constants.tolist() == [1.0, 2.0, 3.5]
    assert found[mbt.JointFriction].transition_velocity == 0.012
    assert found[mbt.DoorHinge].config == mbt.DoorHingeConfig(spring_constant=1.7)
    assert found[mbt.CouplerConstraint].default_stabilization.tolist() == [30.0, 1.0]
    assert found[mbt.DistanceConstraint].default_p_AP.tolist() == [0.1, 0.0, 1 / 3]
