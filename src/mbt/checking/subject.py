"""The subject of checks: the lines of a file, its findings, and what they depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.checking.findings import Effect, Finding, Severity, effect_of_rule
from mbt.errors import MbtError, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbt.parsing.xml_tree import Element
    from mbt.tree.body import RigidBody
    from mbt.tree.joint import Joint

__all__ = ["Subject", "find_lines"]

# Tags of bodies, and tags of joints.
_BODIES = ("link", "body")
_JOINTS = ("joint", "drake:joint", "freejoint")

Lines = dict[tuple[str, str], int]


@dataclass
class Subject:
    """A description under examination.

    Attributes
    ----------
    file : str
        The name of the file in messages.
    lines : dict
        Line numbers by ``("link" or "joint", name)``.
    findings : list of Finding
        The findings so far.
    may_mean_radians : bool
        Whether its angles are in degrees only by default.
    has_rules : bool
        Whether it is an MJCF, which defines which shapes may overlap.
    touches_nothing : bool
        Whether it is an MJCF that disables contact.
    """

    file: str
    lines: Lines = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    may_mean_radians: bool = False
    has_rules: bool = False
    touches_nothing: bool = False

    def report(
        self,
        severity: Severity,
        rule: str,
        element: RigidBody | Joint | str,
        message: str,
        cure: str = "",
        *,
        line: int | None = None,
        effect: Effect | None = None,
    ) -> None:
        """Add a finding; by default, the line is that of the element, and the effect that of the rule."""
        label = element
        if not isinstance(element, str):
            kind = "link" if hasattr(element, "inboard_joint") else "joint"
            line = self.line_of(kind, element.scoped_name) if line is None else line
            label = f"{kind} {quote(element.name)}"
        effect = effect or effect_of_rule(rule)
        self.findings.append(Finding(severity, rule, self.file, line, str(label), message, cure, effect))

    def attempt(self, element: RigidBody | Joint | str, check: Callable[..., None], *arguments: Any) -> None:
        """Run a check of an element; if numbers overflow in it, report that."""
        try:
            with np.errstate(all="ignore"):
                check(*arguments)
        except (ArithmeticError, ValueError, MbtError):
            message = "its numbers are so large, or so small, that they cannot be checked"
            cure = "lengths are in m, masses in kg, inertias in kg m^2"
            self.report("warning", "extreme-numbers", element, message, cure)

    def line_of(self, kind: str, scoped_name: str) -> int | None:
        """Return the line of a link or joint, by its name within its own model."""
        return self.lines.get((kind, scoped_name.rpartition("::")[2]))


def find_lines(root: Element) -> Lines:
    """Return the lines where links and joints begin, without repeated names, as in nested models."""
    lines: Lines = {}
    doubtful: set[tuple[str, str]] = set()
    stack = [root]
    while stack:
        element = stack.pop()
        stack.extend(element.children)
        name = element.attributes.get("name")
        kind = "link" if element.tag in _BODIES else "joint" if element.tag in _JOINTS else None
        if name is None or kind is None or not _has_content(element):
            continue
        if (kind, name) in lines:
            doubtful.add((kind, name))
        lines[kind, name] = element.line
    return {key: line for key, line in lines.items() if key not in doubtful}


def _has_content(element: Element) -> bool:
    """Return whether an element defines something: transmissions only refer to joints."""
    return element.tag not in _JOINTS or "type" in element.attributes or not _is_reference(element)


def _is_reference(element: Element) -> bool:
    tags = {child.tag for child in element.children}
    if not tags:
        return set(element.attributes) == {"name"}
    return tags <= {"hardwareInterface"}
