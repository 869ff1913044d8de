"""URDF mimics: couplings between joints."""

from __future__ import annotations

from mbt.parsing.couplings import Couplings
from mbt.parsing.description import ModelDescription
from mbt.parsing.numbers import take_number
from mbt.parsing.xml_tree import Element

__all__ = ["read_mimics"]


def read_mimics(joints: list[Element], model: ModelDescription) -> None:
    """Read the couplings ``<mimic joint= multiplier= offset=>`` of all joints."""
    couplings = Couplings(model)
    for joint in joints:
        mimic = joint.take_first("mimic")
        if mimic is not None:
            read_mimic(joint, mimic, joint.require_name(), couplings)


def read_mimic(joint: Element, mimic: Element, name: str, couplings: Couplings) -> None:
    """Couple the joint with this `name` as the attributes of `mimic` define."""
    master = mimic.require_name("joint")
    multiplier, offset = take_number(mimic, "multiplier", 1.0), take_number(mimic, "offset", 0.0)
    couplings.add(joint, mimic, name, master, multiplier, offset)
