"""Joints that follow others: checked, reported, and added to a description."""

from __future__ import annotations

from mbt.errors import quote, shorten
from mbt.parsing.description import CouplerDescription, ModelDescription
from mbt.parsing.report import MimicJoint
from mbt.parsing.xml_tree import Element

__all__ = ["Couplings"]


class Couplings:
    """The couplings of a model whose joints are all known."""

    def __init__(self, model: ModelDescription) -> None:
        self._model = model
        self._joints = {joint.name: joint for joint in model.joints}
        self._masters: dict[str, str] = {}

    def add(
        self, element: Element, at: Element, joint: str, master: str, multiplier: float, offset: float
    ) -> None:
        """Couple two joints: ``q = multiplier * q_master + offset``. Each keeps its own coordinate.

        An impossible coupling is left out with a warning: one to a joint that does not exist or to itself,
        one in a loop, or one of a joint that does not have exactly one coordinate.

        Parameters
        ----------
        element, at : Element
            The following joint, and its element that defines the coupling.
        joint, master : str
            Names of the joints.
        multiplier, offset : float
            The rule.
        """
        fault = self._criticize(joint, master)
        if fault is not None:
            what = "it mimics itself" if joint == master else f"it mimics {quote(master)}, {fault}"
            element.repair(what, "the coupling is left out", at=at)
            return
        self._masters[joint] = master
        model = self._model
        model.report.mimic_joints.append(MimicJoint(joint, master, multiplier, offset))
        model.couplers.append(CouplerDescription(joint, joint, master, multiplier, offset, at.line))
        rule = f"q = {multiplier:g} q_{shorten(master)}" + (f" {offset:+g}" if offset else "")
        what = f"joint {quote(joint)} mimics {quote(master)} ({rule})"
        model.report.warn(f"{what}: it keeps its own coordinate", at.line, "mimic")

    def _criticize(self, joint: str, master: str) -> str | None:
        """Return why the coupling is impossible, or None."""
        if master not in self._joints:
            return "which does not exist"
        if not (self._joints[joint].is_actuatable and self._joints[master].is_actuatable):
            return "and one of them does not have exactly one coordinate"
        if joint in self._masters:
            return f"and {quote(self._masters[joint])} already"
        following = master
        while following != joint and following in self._masters:
            following = self._masters[following]
        return "which mimics it in turn" if following == joint else None
