"""URDF mimics: couplings between joints."""

from __future__ import annotations

from mbt.errors import quote, shorten
from mbt.parsing.description import CouplerDescription, ModelDescription
from mbt.parsing.numbers import take_number
from mbt.parsing.report import MimicJoint
from mbt.parsing.xml_tree import Element

__all__ = ["read_mimics"]


def read_mimics(joints: list[Element], model: ModelDescription) -> None:
    """Check and report couplings: a joint that mimics another keeps a coordinate of its own.

    A coupling that cannot be is left out with a warning: to a joint that does not exist, to itself, round a
    loop, or of a joint without exactly one coordinate.
    """
    by_name = {joint.name: joint for joint in model.joints}
    masters: dict[str, str] = {}
    for joint in joints:
        mimic = joint.take_first("mimic")
        if mimic is None:
            continue
        name, master = joint.attributes["name"], mimic.require_name("joint")
        coupling = MimicJoint(
            name, master, take_number(mimic, "multiplier", 1.0), take_number(mimic, "offset", 0.0)
        )
        fault = None
        if master not in by_name:
            fault = "which does not exist"
        elif not (by_name[name].is_actuatable and by_name[master].is_actuatable):
            fault = "and one of them has no single coordinate"
        elif _closes_loop(name, master, masters):
            fault = "which mimics it in turn"
        if fault is not None:
            joint.repair(f"it mimics {quote(master)}, {fault}", "the coupling is left out", at=mimic)
            continue
        masters[name] = master
        model.report.mimic_joints.append(coupling)
        rule_of_tree = CouplerDescription(
            name, name, master, coupling.multiplier, coupling.offset, mimic.line
        )
        model.couplers.append(rule_of_tree)
        rule = f"q = {coupling.multiplier:g} q_{shorten(master)} {coupling.offset:+g}"
        what = f"joint {quote(name)} mimics {quote(master)} ({rule})"
        model.report.warn(f"{what}: it keeps a coordinate of its own", mimic.line)


def _closes_loop(name: str, master: str, masters: dict[str, str]) -> bool:
    while master != name and master in masters:
        master = masters[master]
    return master == name
