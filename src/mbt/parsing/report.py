"""What the reader of a robot description has to say about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbt.errors import quote, shorten

__all__ = ["MimicJoint", "ParseReport", "ParseRemark"]

_SHOWN = 10
# What a remark is about, in the order of reports; what is not here concerns the motion, and comes first.
_ORDER = {"massless": 1, "mimic": 2, "inertia": 3, "looks": 4, "text": 5}


@dataclass(frozen=True)
class ParseRemark:
    """Something in a description that its author will want to know.

    Attributes
    ----------
    text : str
        What it is, and what was made of it.
    line : int or None
        Line number, counted from 1.
    about : str
        ``"inertia"`` where no physical body has it, ``"massless"`` of a joint that moves nothing with mass,
        ``"mimic"`` of a joint that follows another one, ``"looks"`` of a shape or a colour, ``"text"`` of the
        XML. Empty where it concerns the motion otherwise.
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

    It keeps a coordinate of its own, and the tree a `CouplerConstraint` of the name of the joint, which says
    what holds.

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
    """What was read, and what was ignored or changed.

    Attributes
    ----------
    file : str
        Where the description came from.
    model_name : str
        Name of the model instance.
    warnings : list of ParseRemark
        Where the model is not what its description says, or can hardly be what its author wanted.
    ignored : dict of str to int
        What has no effect, as ``link/visual`` or ``joint/axis@rpy``, with the number of times it occurs.
    mimic_joints : list of MimicJoint
        Joints that the description couples to others.
    impossible_inertias : list of str
        Links whose mass properties no physical body has. They were loaded as written.
    named_positions : dict of str to dict
        Positions that the description names, as ``"home"``: each is what `MultibodyTree.q_from_dict` takes.
    weightless_instances : list of str
        Names of the model instances on which gravity is not to act. `load_model` sees to it; after
        `add_model` they are those to disable in the element of gravity.
    num_links, num_joints, num_actuators : int
        What was added to the tree; links without World, joints without those added for a base.
    """

    file: str
    model_name: str = ""
    warnings: list[ParseRemark] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    mimic_joints: list[MimicJoint] = field(default_factory=list)
    impossible_inertias: list[str] = field(default_factory=list)
    named_positions: dict[str, dict[str, float | list[float]]] = field(default_factory=dict)
    weightless_instances: list[str] = field(default_factory=list)
    num_links: int = 0
    num_joints: int = 0
    num_actuators: int = 0

    def warn(self, text: str, line: int | None = None, about: str = "") -> None:
        """Add a warning."""
        self.warnings.append(ParseRemark(text, line, about))

    def ignore(self, path: str) -> None:
        """Count something that has no effect."""
        self.ignored[path] = self.ignored.get(path, 0) + 1

    def summarize_warnings(self) -> str:
        """Return all warnings as one text of a few lines."""
        shown = [f"  {warning}" for warning in self._sorted()[:_SHOWN]]
        if len(self.warnings) > _SHOWN:
            shown.append(f"  and {len(self.warnings) - _SHOWN} more: see tree.parse_reports")
        file = shorten(self.file, 200)
        return "\n".join([f"{file}: model {quote(self.model_name)} was loaded with warnings:", *shown])

    def _sorted(self) -> list[ParseRemark]:
        """Return the warnings, those that concern the motion first, as they are in the file."""
        return sorted(self.warnings, key=lambda remark: _ORDER.get(remark.about, 0))

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        from mbt.tree.report_tables import Section, as_html

        title, *rest = str(self).splitlines()
        return as_html(title, [Section("What was read", rest, is_open=True)])

    def __str__(self) -> str:
        """Return the whole report as a person reads it."""
        counts = (
            f"{_count(self.num_links, 'link')}, {_count(self.num_joints, 'joint')}, "
            f"{_count(self.num_actuators, 'actuator')}"
        )
        lines = [f"{quote(self.model_name)} from {shorten(self.file, 200)}: {counts}"]
        if self.warnings:
            lines.append("Warnings:")
            lines.extend(f"  {warning}" for warning in self._sorted())
        if self.ignored:
            lines.append("Ignored:")
            lines.extend(
                f"  {shorten(path, 100)} ({count} x)" for path, count in sorted(self.ignored.items())
            )
        if not (self.warnings or self.ignored):
            lines.append("Nothing was ignored or changed.")
        return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
