"""URDF transmissions: motors on joints."""

from __future__ import annotations

import math

from mbt.errors import quote
from mbt.parsing.description import ActuatorDescription, JointDescription, ModelDescription
from mbt.parsing.numbers import take_number
from mbt.parsing.xml_tree import Element

__all__ = ["add_missing_actuators", "read_transmissions"]

_SIMPLE = "SimpleTransmission"


def read_transmissions(root: Element, model: ModelDescription) -> None:
    """Read one actuator from each simple transmission into ``model.actuators``.

    The effort limit is that of the joint. ``<drake:rotor_inertia value=>`` and ``<drake:gear_ratio value=>``
    in the ``<actuator>`` give the inertia of the rotor [kg m^2] and its turns per turn of the joint. A
    transmission that drives no joint is left out with a warning; a name that is taken gets a number.

    Raises
    ------
    ParseError
        When a number is invalid.
    """
    joints = {joint.name: joint for joint in model.joints}
    names: set[str] = set()
    for transmission in root.take_children("transmission"):
        ends = _find_ends(transmission, joints)
        if isinstance(ends, str):
            transmission.repair(ends, "left out")
            transmission.dismiss()
        else:
            joint, motor = ends
            model.actuators.append(_read_actuator(motor, joint, names))


def add_missing_actuators(model: ModelDescription) -> None:
    """Add an actuator, with name and effort limit of the joint, to one-dof joints that have none.

    A joint whose effort limit is zero gets none: nothing drives it.
    """
    driven = {actuator.joint for actuator in model.actuators}
    names = {actuator.name for actuator in model.actuators}
    for joint in model.joints:
        if joint.name not in driven and _find_undrivable(joint) is None:
            name = _take_free_name(joint.name, names)
            model.actuators.append(ActuatorDescription(name, joint.name, joint.limits.effort))


def _find_unknown_type(transmission: Element) -> str | None:
    """Return why a transmission is not of the known type, or None."""
    attribute = transmission.take("type") or ""
    types = transmission.take_children("type")
    written = types[0].text if types else attribute.strip()
    if not written:
        return f"it has no <type>, such as transmission_interface/{_SIMPLE}"
    return None if written.rpartition("/")[2] == _SIMPLE else f"its type {quote(written)} is not {_SIMPLE}"


def _find_ends(
    transmission: Element, joints: dict[str, JointDescription]
) -> tuple[JointDescription, Element] | str:
    """Return the joint and the motor that a simple transmission connects, or why it cannot be modelled."""
    fault = _find_unknown_type(transmission)
    if fault is not None:
        return fault
    end, motor = transmission.take_first("joint"), transmission.take_first("actuator")
    if end is None or motor is None:
        return f"it has no <{'joint' if end is None else 'actuator'}>"
    name = end.require_name()
    if name not in joints:
        return f"its joint {quote(name)} does not exist"
    return _find_undrivable(joints[name]) or (joints[name], motor)


def _find_undrivable(joint: JointDescription) -> str | None:
    """Return why a joint cannot be driven, or None."""
    if not joint.is_actuatable:
        return f"joint {quote(joint.name)} does not have exactly one degree of freedom"
    return f"joint {quote(joint.name)} has an effort limit of zero" if joint.limits.effort == 0.0 else None


def _read_actuator(motor: Element, joint: JointDescription, names: set[str]) -> ActuatorDescription:
    rotor_inertia = _read_constant(motor, "rotor_inertia", 0.0)
    gear_ratio = _read_constant(motor, "gear_ratio", 1.0)
    if rotor_inertia < 0.0:
        raise motor.error(f"rotor_inertia = {rotor_inertia:g}: expected a number >= 0")
    if not math.isfinite(gear_ratio * gear_ratio * rotor_inertia):
        culprits = "rotor_inertia and gear_ratio go" if rotor_inertia else f"gear_ratio = {gear_ratio:g} goes"
        raise motor.error(f"{culprits} beyond the range of a float")
    written = motor.require_name()
    name = _take_free_name(written, names)
    if name != written:
        motor.repair("there is an actuator of this name already", f"this one is {quote(name)}")
    return ActuatorDescription(name, joint.name, joint.limits.effort, rotor_inertia, gear_ratio, motor.line)


def _take_free_name(name: str, names: set[str]) -> str:
    """Return a name, with a number if it is taken, and add it to the names."""
    free, number = name, 1
    while free in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free)
    return free


def _read_constant(motor: Element, name: str, default: float) -> float:
    """Return the value of ``<drake:name value=>``, or of the attribute ``drake:name``."""
    tag = f"drake:{name}"
    element = motor.take_first(tag)
    return take_number(motor, tag, default) if element is None else take_number(element, "value")
