"""The report of `mbt.selftest`: a row for each identity."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mbt.tree.report_tables import Section, Table, as_html, plural

__all__ = ["SelftestReport", "SelftestRow"]


@dataclass(frozen=True)
class SelftestRow:
    """One identity.

    Attributes
    ----------
    name : str
        The name of the identity.
    error : float or None
        The largest difference, relative to the size of the terms of the sums; None if it was not judged.
    tolerance : float
        A bound of the errors of rounding and of finite differences.
    note : str
        Where the error is largest, or why it was not judged.
    """

    name: str
    error: float | None
    tolerance: float
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance, or was not judged."""
        return self.error is None or self.error <= self.tolerance


@dataclass(frozen=True)
class SelftestReport:
    """The results of `selftest`.

    Attributes
    ----------
    model : str
        The name of the model.
    num_samples : int
        Number of random states.
    seed : int
        The seed of the random states.
    instruction_set : str
        The instruction set in use.
    seconds : float
        The duration [s].
    rows : tuple of SelftestRow
        The identities.
    notes : tuple of str
        Remarks on the model, such as a singular mass matrix.
    """

    model: str
    num_samples: int
    seed: int
    instruction_set: str
    seconds: float
    rows: tuple[SelftestRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every error is within its tolerance."""
        return not self.failures

    @property
    def failures(self) -> tuple[SelftestRow, ...]:
        """The rows whose error is not within the tolerance."""
        return tuple(row for row in self.rows if not row.ok)

    def __getitem__(self, name: str) -> SelftestRow:
        """Return the row of this name."""
        from mbt.errors import unknown_name_error

        for row in self.rows:
            if row.name == name:
                return row
        raise unknown_name_error("row", name, [row.name for row in self.rows])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text, as ``json.dumps`` takes them."""
        # JSON has no infinity and no NaN.
        rows = [{**asdict(row), "ok": row.ok} for row in self.rows]
        for row in rows:
            if row["error"] is not None and not np.isfinite(row["error"]):
                row["error"] = str(row["error"])
        return {**asdict(self), "ok": self.ok, "rows": rows, "notes": list(self.notes)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        """Return the report as an aligned table."""
        lines = [self._title()]
        for section in self._sections():
            lines += ["  " + line for line in section.text_lines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return a summary of the outcome."""
        outcome = "ok" if self.ok else f"FAILED: {', '.join(row.name for row in self.failures)}"
        return f"<SelftestReport of {self.model}: {plural(len(self.rows), 'row')}, {outcome}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(self._title(), self._sections())

    def _title(self) -> str:
        outcome = "ok" if self.ok else f"{plural(len(self.failures), 'row')} FAILED"
        return (
            f"selftest of {self.model}: {outcome} ({plural(self.num_samples, 'state')}, seed {self.seed}, "
            f"{self.instruction_set}, {self.seconds:.2f} s)"
        )

    def _sections(self) -> list[Section]:
        table = Table(("identity", "error", "tolerance", "", ""), left=(0, 3, 4))
        for row in self.rows:
            error = "-" if row.error is None else f"{row.error:.1e}"
            verdict = "not judged" if row.error is None else "ok" if row.ok else "FAILED"
            table.add(row.name, error, f"{row.tolerance:.1e}", verdict, row.note)
        return [Section("Identities", table=table, is_open=True), Section("Notes", list(self.notes))]
