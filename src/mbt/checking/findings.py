"""The findings of checks, and their report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

__all__ = ["EFFECTS", "SEVERITIES", "CheckReport", "Effect", "Finding", "Severity", "effect_of_rule"]

Severity = Literal["error", "warning", "note"]
#: Severities, the worst first.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

Effect = Literal["motion", "mass", "looks"]
#: The effects that findings may have, in the order of reports.
EFFECTS: tuple[Effect, ...] = get_args(Effect)

# The rules whose findings have another effect than on the motion.
_EFFECTS: dict[str, Effect] = {
    "impossible-inertia": "mass",
    "length-unit": "mass",
    "mass-unit": "mass",
    "inertia-unit": "mass",
    "density": "mass",
    "inertia-and-size": "mass",
    "mass-centre": "mass",
    "extreme-numbers": "mass",
    "axis-length": "looks",
    "similar-name": "looks",
    "missing-mesh": "looks",
}


def effect_of_rule(rule: str) -> Effect:
    """Return the effect of the findings of a rule."""
    return _EFFECTS.get(rule, "motion")


@dataclass(frozen=True)
class Finding:
    """A fault in a robot description, or a fact that is worth checking.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        ``"error"``: the model cannot be right; ``"warning"``: it is unlikely to be as intended; ``"note"``:
        worth a look.
    rule : str
        The rule that was checked, such as ``"impossible-inertia"``.
    file : str
        Where the description came from.
    line : int or None
        Line number, counted from 1; None if it is not known.
    element : str
        The element concerned, such as ``"link 'forearm'"``; empty for the whole model.
    message : str
        A description of the fault.
    cure : str
        How to fix it; may be empty.
    effect : {"motion", "mass", "looks"}
        Whether it concerns the motion, the mass properties and sizes, or has no effect on either.
    """

    severity: Severity
    rule: str
    file: str
    line: int | None
    element: str
    message: str
    cure: str = ""
    effect: Effect = "motion"

    def __str__(self) -> str:
        """Return the finding in the style of compiler messages, with the cure on its own line."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        about = f"{self.element}: " if self.element else ""
        text = f"{place}: {self.severity}: {about}{self.message} [{self.rule}]"
        return f"{text}\n    {self.cure}" if self.cure else text


@dataclass(frozen=True)
class CheckReport:
    """The findings of `check_model` in a robot description, the worst first.

    Attributes
    ----------
    file : str
        Where the description came from.
    model_name : str
        Name of the model; empty if it cannot be read.
    findings : tuple of Finding
        By severity, then by effect, motion first, then by line.
    is_readable : bool
        Whether the file can be loaded. If not, a finding says why, and the model itself was not checked.
    """

    file: str
    model_name: str
    findings: tuple[Finding, ...]
    is_readable: bool = True

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; None if there are no findings."""
        return self.findings[0].severity if self.findings else None

    @property
    def counts(self) -> dict[Severity, int]:
        """The number of findings by severity."""
        return {s: sum(finding.severity == s for finding in self.findings) for s in SEVERITIES}

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of a severity or worse."""
        bad = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in bad)

    def of_rule(self, rule: str) -> tuple[Finding, ...]:
        """Return the findings of a rule."""
        return tuple(finding for finding in self.findings if finding.rule == rule)

    def summarize(self) -> str:
        """Return the counts in words."""
        parts = [f"{n} {s}{'' if n == 1 else 's'}" for s, n in self.counts.items() if n]
        return ", ".join(parts) or "nothing found"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text, as ``json.dumps`` takes them."""
        return {
            "file": self.file,
            "model": self.model_name,
            "is_readable": self.is_readable,
            "counts": dict(self.counts),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def __str__(self) -> str:
        """Return all findings, and the counts."""
        return "\n".join([*map(str, self.findings), f"{self.file}: {self.summarize()}"])

    def _repr_html_(self) -> str:
        """Return the findings for a notebook."""
        from mbt.tree.report_tables import Section, as_html

        sections = [
            Section(
                f"{severity}: {count}",
                [f"{one}".removeprefix(f"{self.file}:") for one in self.findings if one.severity == severity],
                is_open=severity != "note",
            )
            for severity, count in self.counts.items()
            if count
        ]
        return as_html(f"{self.file}: {self.summarize()}", sections)
