"""What constraints say of a state: what holds, what is redundant, what cannot close."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, unknown_name_error
from mbt.math.arrays import FloatArray, as_positive
from mbt.tree.constraints.assembly import check_is_of_doubles
from mbt.tree.report_tables import Section, Table, as_html, plural

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["ConstraintEntry", "ConstraintReport", "calc_constraint_report"]

# Rows that a notebook shows.
_MAX_ROWS_OF_REPR = 60


@dataclass(frozen=True)
class ConstraintEntry:
    """One constraint at a state.

    Attributes
    ----------
    name : str
        Its scoped name.
    type_name : str
        Its class.
    equation : str
        What it says.
    is_enabled : bool
        Whether it acts in the Context.
    num_equations : int
        How many equations it has.
    num_redundant : int
        How many of them follow from others of this constraint and of those before it.
    error : float
        The largest of its errors [m, rad].
    rate : float
        The largest of their rates, ``J v`` [m/s, rad/s].
    stuck_error : float
        The largest part of its errors that no small change of the positions reduces [m, rad].
    """

    name: str
    type_name: str
    equation: str
    is_enabled: bool
    num_equations: int
    num_redundant: int
    error: float
    rate: float
    stuck_error: float


@dataclass(frozen=True)
class ConstraintReport:
    """The constraints of a tree at a state of a Context.

    Attributes
    ----------
    entries : tuple of ConstraintEntry
        The constraints, by index.
    num_velocities : int
        The number of velocities of the tree.
    rank : int
        How many of the equations that are enabled are independent: the rank of their Jacobian.
    tolerance : float
        Below which errors, and parts of the largest singular value, count as zero.
    """

    entries: tuple[ConstraintEntry, ...]
    num_velocities: int
    rank: int
    tolerance: float

    @property
    def num_equations(self) -> int:
        """How many equations are enabled."""
        return sum(entry.num_equations for entry in self.entries if entry.is_enabled)

    @property
    def mobility(self) -> int:
        """How many independent velocities the constraints leave."""
        return self.num_velocities - self.rank

    @property
    def redundant(self) -> dict[str, int]:
        """How many equations follow from others, by the name of the constraint; of those that have any."""
        return {entry.name: entry.num_redundant for entry in self.entries if entry.num_redundant}

    @property
    def open(self) -> dict[str, float]:
        """The errors of the constraints that do not hold [m, rad], by name."""
        return {entry.name: entry.error for entry in self.entries if not entry.error <= self.tolerance}

    @property
    def stuck(self) -> dict[str, float]:
        """What of these errors no small change of the positions reduces [m, rad], by name."""
        return {
            entry.name: entry.stuck_error
            for entry in self.entries
            if not entry.stuck_error <= max(self.tolerance, 1e-6 * entry.error)
        }

    def __getitem__(self, name: str) -> ConstraintEntry:
        """Return the entry of a constraint."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise unknown_name_error("constraint", name, [entry.name for entry in self.entries])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text, as ``json.dumps`` takes them."""
        return {
            "num_velocities": self.num_velocities,
            "num_equations": self.num_equations,
            "rank": self.rank,
            "mobility": self.mobility,
            "tolerance": self.tolerance,
            "constraints": [asdict(entry) for entry in self.entries],
        }

    def to_text(self) -> str:
        """Return the report as text."""
        lines = []
        for section in self._sections():
            lines += [section.title, *("  " + line for line in section.text_lines())]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the report as text."""
        return self.to_text()

    def __repr__(self) -> str:
        """Tell the sums."""
        return (
            f"<ConstraintReport: {plural(len(self.entries), 'constraint', 'constraints')}, "
            f"{self.num_equations} equations of rank {self.rank}, mobility {self.mobility}, "
            f"{len(self.open)} open>"
        )

    def _repr_html_(self) -> str:
        """Return the report for a notebook, with the first constraints of many."""
        return as_html(repr(self), self._sections(_MAX_ROWS_OF_REPR))

    def _sections(self, max_rows: int | None = None) -> list[Section]:
        headers = ("constraint", "equation", "equations", "redundant", "error", "rate", "")
        table = Table(headers, left=(0, 1, 6))
        table.num_rows = len(self.entries)
        for entry in self.entries[:max_rows]:
            remark = "" if entry.is_enabled else "disabled"
            if entry.name in self.stuck:
                remark = f"{entry.stuck_error:.3g} cannot close"
            table.add(
                entry.name,
                entry.equation,
                str(entry.num_equations),
                str(entry.num_redundant or ""),
                f"{entry.error:.3g}",
                f"{entry.rate:.3g}",
                remark,
            )
        sums = [
            f"{self.num_equations} equations, of which {self.rank} are independent; "
            f"{self.num_velocities} velocities, of which {self.mobility} are left"
        ]
        return [Section("Constraints", table=table, is_open=True), Section("Mobility", sums)]


def calc_constraint_report(tree: MultibodyTree, context: Context, tolerance: object) -> ConstraintReport:
    """Return the report of a Context; see ``MultibodyTree.calc_constraint_report``."""
    limit = as_positive(tolerance, "calc_constraint_report: tolerance")
    check_is_of_doubles("calc_constraint_report", tree, context)
    if context.batch_shape:
        raise ArgumentTypeError(
            f"calc_constraint_report: context: expected one of a single state, got a batch of shape "
            f"{context.batch_shape}"
        )
    errors = tree.calc_constraint_errors(context)
    J = tree.calc_constraint_jacobian(context)
    rates = J @ context.v
    is_independent = _find_independent_rows(J, limit)
    # What of the errors lies outside the range of J.
    U, s, _ = np.linalg.svd(J, full_matrices=False)
    U = U[:, s > limit * s.max(initial=0.0)]
    stuck = errors - U @ (U.T @ errors)
    entries = []
    for constraint in tree.constraints:
        rows = slice(constraint.first_equation, constraint.first_equation + constraint.num_equations)
        is_enabled = constraint.is_enabled_in(context)
        entries.append(
            ConstraintEntry(
                constraint.scoped_name,
                type(constraint).__name__,
                constraint.equation,
                is_enabled,
                constraint.num_equations,
                int(np.count_nonzero(~is_independent[rows])) if is_enabled else 0,
                *(float(np.abs(part[rows]).max()) for part in (errors, rates, stuck)),
            )
        )
    rank = int(np.count_nonzero(is_independent))
    return ConstraintReport(tuple(entries), tree.num_velocities, rank, limit)


def _find_independent_rows(J: FloatArray, tolerance: float) -> npt.NDArray[np.bool_]:
    """Return which rows do not follow from those before them, by an orthonormal basis of the latter.

    A QR decomposition that takes rows as they come, rather than the largest first: so it is the later one of
    two constraints that is redundant.
    """
    is_independent = np.zeros(len(J), dtype=bool)
    basis = np.zeros((0, J.shape[1]))
    for i, row in enumerate(J):
        rest = row
        for _ in range(2):  # Once more, for what rounding has left.
            rest = rest - (basis @ rest) @ basis
        length = np.linalg.norm(rest)
        if length > tolerance * np.linalg.norm(row):
            is_independent[i] = True
            basis = np.vstack([basis, rest / length])
    return is_independent
