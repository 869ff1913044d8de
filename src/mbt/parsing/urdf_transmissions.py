"""URDF transmissions: motors on joints."""

from __future__ import annotations

import math

from mbt.parsing.description import ActuatorDescription, JointDescription, ModelDescription
from mbt.parsing.numbers import take_number
from mbt.parsing.xml_tree import Element

__all__ = ["read_transmissions"]

_SIMPLE = "SimpleTransmission"


def read_transmissions(root: Element, model: ModelDescription) -> None:
    """Read one actuator from each simple transmission into ``model.actuators``.

    The effort limit is that of the joint. ``<drake:rotor_inertia value=>`` and ``<drake:gear_ratio value=>``
    in the ``<actuator>`` give the inertia of the rotor [kg m^2] and its turns per turn of the joint. Other
    kinds of transmission, and those on joints that cannot be driven, are left out with a warning.

    Raises
    ------
    ParseError
        When a joint or actuator is missing or unknown, a name occurs twice, or a number makes no sense.
    """
    joints = {joint.name: joint for joint in model.joints}
    actuators: dict[str, ActuatorDescription] = {}
    for transmission in root.take_children("transmission"):
        transmission.take("name")
        reason = _find_unknown_type(transmission)
        if reason is None:
            joint, motor = _read_ends(transmission, joints)
            reason = _find_undrivable(joint)
        if reason is not None:
            model.report.warn(f"{transmission} left out: {reason}", transmission.line)
            transmission.dismiss()
            continue
        actuator = _read_actuator(motor, joint)
        other = actuators.setdefault(actuator.name, actuator)
        if other is not actuator:
            raise transmission.error(f"there is an actuator {actuator.name!r} already, in line {other.line}")
    model.actuators.extend(actuators.values())


def _find_unknown_type(transmission: Element) -> str | None:
    """Return why a transmission is none of the known type, or None."""
    attribute = transmission.take("type") or ""
    texts = [child.text for child in transmission.take_children("type")]
    written = texts[0] if texts else attribute.strip()
    if not written:
        return f"it has no type: <type>transmission_interface/{_SIMPLE}</type>"
    return None if written.rpartition("/")[2] == _SIMPLE else f"its type {written[:60]!r} is no {_SIMPLE}"


def _find_undrivable(joint: JointDescription) -> str | None:
    """Return why a joint cannot be driven, or None."""
    if not joint.is_actuatable:
        return f"joint {joint.name!r} has no single degree of freedom to drive"
    return f"joint {joint.name!r} has an effort limit of zero" if joint.limits.effort == 0.0 else None


def _read_ends(
    transmission: Element, joints: dict[str, JointDescription]
) -> tuple[JointDescription, Element]:
    """Return the joint and the motor that a simple transmission connects."""
    ends, motors = transmission.take_children("joint"), transmission.take_children("actuator")
    if len(ends) != 1 or len(motors) != 1:
        raise transmission.error(
            f"expected one <joint> and one <actuator>, got {len(ends)} and {len(motors)}"
        )
    name = ends[0].require_name()
    if name not in joints:
        raise transmission.error(f"its joint {name!r} does not exist")
    return joints[name], motors[0]


def _read_actuator(motor: Element, joint: JointDescription) -> ActuatorDescription:
    rotor_inertia = _read_constant(motor, "rotor_inertia", 0.0)
    gear_ratio = _read_constant(motor, "gear_ratio", 1.0)
    if rotor_inertia < 0.0:
        raise motor.error(f"rotor_inertia = {rotor_inertia:g}: expected a number >= 0")
    if not math.isfinite(gear_ratio * gear_ratio * rotor_inertia):
        raise motor.error("rotor_inertia and gear_ratio go beyond what a float can hold")
    name = motor.require_name()
    return ActuatorDescription(name, joint.name, joint.limits.effort, rotor_inertia, gear_ratio, motor.line)


def _read_constant(motor: Element, name: str, default: float) -> float:
    """Return the value of ``<drake:name value=>``, or of the attribute ``drake:name``."""
    tag = f"drake:{name}"
    elements = motor.take_children(tag)
    return take_number(elements[0], "value") if elements else take_number(motor, tag, default)
