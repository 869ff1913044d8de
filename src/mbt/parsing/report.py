"""The report of reading a robot description: what was ignored, changed, or does not act."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbt.errors import quote, shorten, show_path

__all__ = ["USUAL_GRAVITY", "MimicJoint", "ParseReport", "ParseRemark"]

#: Gravity in World [m/s^2] where a description does not specify it.
USUAL_GRAVITY = (0.0, 0.0, -9.81)

_SHOWN = 10
# Subjects of remarks, in the order of reports; any others concern the motion, and come first.
_ORDER = {"massless": 1, "mimic": 2, "inertia": 3, "looks": 4, "text": 5}

# How to describe one, or several, of each kind that does not act; those that matter most come first.
_INACTIVE = {
    "servos": ("1 servo (a plain motor here)", "{} servos (plain motors here)"),
    "actuators": ("1 actuator on no hinge or slide", "{} actuators on no hinge or slide"),
    "tendons": ("1 tendon", "{} tendons"),
    "equalities": ("1 equality", "{} equalities"),
    "contacts": ("contacts of 1 shape", "contacts of {} shapes"),
    "limits": (
        "limits of 1 joint (only implicit steps enforce them)",
        "limits of {} joints (only implicit steps enforce them)",
    ),
    "frictions": (
        "friction of 1 joint (only implicit steps apply it)",
        "friction of {} joints (only implicit steps apply it)",
    ),
}


@dataclass(frozen=True)
class ParseRemark:
    """A remark on a part of a description.

    Attributes
    ----------
    text : str
        The remark, and how the reader handled it.
    line : int or None
        Line number, counted from 1.
    about : str
        ``"inertia"``: a physically impossible inertia; ``"massless"``: a joint that moves no mass;
        ``"mimic"``: a joint that follows another one; ``"inactive"``: elements that do not act;
        ``"looks"``: a shape or a colour; ``"text"``: the XML. Empty: anything else that concerns the
        motion.
    """

    text: str
    line: int | None = None
    about: str = ""

    def __str__(self) -> str:
        """Return the text with its line."""
        return self.text if self.line is None else f"line {self.line}: {self.text}"


@dataclass(frozen=True)
class MimicJoint:
    """A joint that the description couples to another one: ``q = multiplier * q_master + offset``.

    It keeps its own coordinate. The tree has a `CouplerConstraint` with the name of the joint.

    Attributes
    ----------
    joint, master : str
        Names of the two joints.
    multiplier, offset : float
        The coupling.
    """

    joint: str
    master: str
    multiplier: float
    offset: float


@dataclass
class ParseReport:
    """A report on a description: ignored and changed content.

    Attributes
    ----------
    file : str
        Where the description came from.
    model_name : str
        Name of the model instance.
    warnings : list of ParseRemark
        Where the model differs from its description, or is unlikely to be what its author meant.
    ignored : dict of str to int
        Content without effect, as ``link/visual`` or ``joint/axis@rpy``, with the number of times it occurs.
    inactive : dict of str to int
        Parts of the description that would move or hold its bodies but do not act in a tree, with the number
        of times they occur: ``"servos"`` (with a law that `JointActuator` does not support), ``"actuators"``
        (those not on a hinge or slide), ``"tendons"``, ``"equalities"``,
        ``"contacts"`` (of shapes), ``"limits"`` and ``"frictions"`` (of joints).
    floors : list of str
        Names of the planes and height fields on which the model would stand, but whose contact does not act;
        empty for one without a name.
    mimic_joints : list of MimicJoint
        Joints that the description couples to others.
    impossible_inertias : list of str
        Links with physically impossible mass properties, loaded as written.
    named_positions : dict of str to dict
        Positions that the description names, such as ``"home"``: each is a dictionary for
        `MultibodyTree.q_from_dict`.
    weightless_instances : list of str
        Names of the model instances that are exempt from gravity. `load_model` exempts them; after
        `add_model`, the caller must do so in the gravity element.
    gravity : tuple of float
        Gravity in World [m/s^2] according to the description; ``(0, 0, -9.81)`` if it specifies none, and
        for a model in JSON, which has an element for it. `load_model` adds it to the tree unless its caller
        passes another; `add_model` never does.
    num_links, num_joints, num_actuators : int
        Numbers of elements added to the tree, not counting World and the joints added for a base.
    format : str
        ``"URDF"``, ``"SDF"``, ``"MJCF"`` or ``"JSON"``; empty for a model in memory.
    """

    file: str
    model_name: str = ""
    warnings: list[ParseRemark] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    inactive: dict[str, int] = field(default_factory=dict)
    floors: list[str] = field(default_factory=list)
    mimic_joints: list[MimicJoint] = field(default_factory=list)
    impossible_inertias: list[str] = field(default_factory=list)
    named_positions: dict[str, dict[str, float | list[float]]] = field(default_factory=dict)
    weightless_instances: list[str] = field(default_factory=list)
    gravity: tuple[float, float, float] = USUAL_GRAVITY
    num_links: int = 0
    num_joints: int = 0
    num_actuators: int = 0
    format: str = ""

    def warn(self, text: str, line: int | None = None, about: str = "") -> None:
        """Add a warning."""
        self.warnings.append(ParseRemark(text, line, about))

    def leave_inactive(self, kind: str, count: int = 1) -> None:
        """Count something that moves or holds bodies, but does not act."""
        if count:
            self.inactive[kind] = self.inactive.get(kind, 0) + count

    def ignore(self, path: str) -> None:
        """Count something that has no effect."""
        self.ignored[path] = self.ignored.get(path, 0) + 1

    def summarize_inactive(self) -> str:
        """Return a line that lists the elements that do not act, or "".

        Examples
        --------
        >>> import mbt
        >>> mbt.load_model(mbt.models.model_path("mbt_arm")).parse_reports[0].summarize_inactive()
        'Read but not applied: limits of 5 joints (only implicit steps enforce them)'
        """
        parts = []
        for kind, (one, several) in _INACTIVE.items():
            count = self.inactive.get(kind, 0)
            if count:
                part = one if count == 1 else several.format(count)
                parts.append(f"{part}{self._describe_floors()}" if kind == "contacts" else part)
        return f"Read but not applied: {', '.join(parts)}" if parts else ""

    def warn_of_inactive(self) -> None:
        """Put elements that do not act first among the warnings."""
        self.warnings.insert(0, ParseRemark(self.summarize_inactive(), about="inactive"))

    def _describe_floors(self) -> str:
        if not self.floors:
            return ""
        if len(self.floors) > 1:
            return f" ({len(self.floors)} floors among them)"
        name = f" {quote(self.floors[0], limit=30)}" if self.floors[0] else ""
        return f" (the floor{name} among them)"

    def _list_inactive(self) -> list[str]:
        """Return the line about what does not act, in a list; none where a warning has it."""
        is_told = any(warning.about == "inactive" for warning in self.warnings)
        return [self.summarize_inactive()] if self.inactive and not is_told else []

    def summarize_warnings(self) -> str:
        """Return all warnings as one text of a few lines."""
        shown = [f"  {line}" for line in self._list_inactive()]
        shown += [f"  {warning}" for warning in self._sorted()[:_SHOWN]]
        if len(self.warnings) > _SHOWN:
            shown.append(f"  and {len(self.warnings) - _SHOWN} more: see tree.parse_reports")
        file = show_path(self.file)
        return "\n".join([f"{file}: model {quote(self.model_name)} was loaded with warnings:", *shown])

    def _sorted(self) -> list[ParseRemark]:
        """Return the warnings in file order, those that concern the motion first."""
        return sorted(self.warnings, key=lambda remark: _ORDER.get(remark.about, 0))

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        from mbt.tree.report_tables import Section, as_html

        title, *rest = str(self).splitlines()
        return as_html(title, [Section("What was read", rest, is_open=True)])

    def __str__(self) -> str:
        """Return the whole report as readable text."""
        counts = (
            f"{_count(self.num_links, 'link')}, {_count(self.num_joints, 'joint')}, "
            f"{_count(self.num_actuators, 'actuator')}"
        )
        lines = [f"{quote(self.model_name)} from {show_path(self.file)}: {counts}", *self._list_inactive()]
        if self.warnings:
            lines.append("Warnings:")
            lines.extend(f"  {warning}" for warning in self._sorted())
        if self.ignored:
            lines.append("Ignored:")
            lines.extend(
                f"  {shorten(path, 100)} ({count} x)" for path, count in sorted(self.ignored.items())
            )
        if not (self.warnings or self.ignored or self.inactive):
            lines.append("Nothing was ignored or changed.")
        return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
