"""Report of the constraints at a state: which hold, which are redundant, which cannot be closed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.math.arrays import FloatArray, as_positive
from mbt.tree.constraints.assembly import check_is_of_doubles
from mbt.tree.constraints.equations import Equations
from mbt.tree.report_tables import Section, Table, as_html, plural

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.tree.constraints.constraint import Constraint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["DOUBTFUL", "ConstraintEntry", "ConstraintReport", "calc_constraint_report", "take_rows"]

# Rows that a notebook shows.
_MAX_ROWS_OF_REPR = 60
#: Equations weaker than this relative size may only exist because angles have four digits.
DOUBTFUL = 1e-3


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
        The equation as text.
    is_enabled : bool
        Whether it acts in the Context.
    num_equations : int
        The number of its equations.
    num_redundant : int
        The number of these that follow from others of this constraint or of those before it.
    error : float
        The largest of its errors [m, rad].
    rate : float
        The largest of their rates, ``J v`` [m/s, rad/s].
    stuck_error : float
        The largest part of its errors that no small change of the positions reduces [m, rad].
    is_open, is_stuck : bool
        Whether the error, and that part of it, exceed the tolerance relative to the constraint's reach.
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
    is_open: bool
    is_stuck: bool


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
        The number of independent enabled equations: the rank of their Jacobian.
    tolerance : float
        Relative size below which a row of the Jacobian, or an error, counts as zero.
    weakest : float
        The relative size of the weakest independent equation; infinite without any. Small numbers come from
        descriptions with few digits: see `is_doubtful`.
    """

    entries: tuple[ConstraintEntry, ...]
    num_velocities: int
    rank: int
    tolerance: float
    weakest: float

    @property
    def num_equations(self) -> int:
        """The number of enabled equations."""
        return sum(entry.num_equations for entry in self.entries if entry.is_enabled)

    @property
    def mobility(self) -> int:
        """The number of independent velocities that the constraints leave."""
        return self.num_velocities - self.rank

    @property
    def is_doubtful(self) -> bool:
        """Whether some independent equations are as weak (below 1e-3) as rounding in a file makes them."""
        return self.weakest < DOUBTFUL

    @property
    def redundant(self) -> dict[str, int]:
        """The number of equations that follow from others, by the name of the constraint, where not zero."""
        return {entry.name: entry.num_redundant for entry in self.entries if entry.num_redundant}

    @property
    def open(self) -> dict[str, float]:
        """The errors of the constraints that do not hold [m, rad], by name."""
        return {entry.name: entry.error for entry in self.entries if entry.is_open}

    @property
    def stuck(self) -> dict[str, float]:
        """The parts of these errors that no small change of the positions reduces [m, rad], by name."""
        return {entry.name: entry.stuck_error for entry in self.entries if entry.is_stuck}

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
            "weakest": None if np.isinf(self.weakest) else self.weakest,
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
        """Return the totals."""
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
        if self.is_doubtful:
            sums.append(
                f"the weakest has relative size {self.weakest:.1g}, as rounding in a file makes it: "
                f"tolerance={2.0 * self.weakest:.0e} leaves it out"
            )
        return [Section("Constraints", table=table, is_open=True), Section("Mobility", sums)]


def calc_constraint_report(
    tree: MultibodyTree, context: Context, tolerance: object, equations: Equations | None = None
) -> ConstraintReport:
    """Return the report of a Context; see ``MultibodyTree.calc_constraint_report``.

    For several reports, pass `equations`: they serve all Contexts with the same parameters and the same
    constraints enabled.
    """
    limit = as_positive(tolerance, "calc_constraint_report: tolerance")
    check_is_of_doubles("calc_constraint_report", tree, context)
    if context.batch_shape:
        raise ArgumentTypeError(
            f"calc_constraint_report: context: expected one of a single state, got a batch of shape "
            f"{context.batch_shape}"
        )
    errors = tree.calc_constraint_errors(context)
    equations = Equations(tree, context) if equations is None else equations
    units, rounding = equations.calc_units(context)
    blocks, scales, _, rates = take_rows(equations, context, equations.calc_lengths(units))
    # The part of the errors outside the range of J.
    stuck = errors / scales
    is_independent, weakest = np.zeros(len(errors), dtype=bool), np.inf
    for block in blocks:
        U, s, _ = np.linalg.svd(block.J, full_matrices=False)
        U = U[:, s > limit]
        stuck[block.rows] -= U @ (U.T @ stuck[block.rows])
        weakest = min(weakest, _find_independent_rows(equations, block, limit, is_independent))
    stuck *= scales
    allowed = limit * units + rounding
    entries = []
    end = 0
    for constraint in tree.constraints:
        rows = slice(end, end := end + constraint.num_equations)
        count = int(np.count_nonzero(is_independent[rows]))
        is_enabled = constraint.is_enabled_in(context)
        parts = [np.abs(part[rows]) for part in (errors, rates, stuck)]
        entries.append(
            ConstraintEntry(
                constraint.scoped_name,
                type(constraint).__name__,
                constraint.equation,
                is_enabled,
                constraint.num_equations,
                constraint.num_equations - count if is_enabled else 0,
                float(parts[0].max()),
                float(parts[1].max()),
                float(parts[2].max()),
                is_open=not bool(np.all(parts[0] <= allowed[rows])),
                is_stuck=not bool(np.all(parts[2] <= np.maximum(allowed[rows], 1e-6 * parts[0].max()))),
            )
        )
    rank = int(np.count_nonzero(is_independent))
    return ConstraintReport(tuple(entries), tree.num_velocities, rank, limit, weakest)


@dataclass(frozen=True)
class Block:
    """Entries ``J[rows][:, dofs]`` of constraints that are connected; these rows have no others."""

    constraints: list[Constraint]
    rows: npt.NDArray[np.intp]
    dofs: npt.NDArray[np.intp]
    J: FloatArray


def take_rows(
    equations: Equations, context: Context, lengths: FloatArray
) -> tuple[list[Block], FloatArray, FloatArray, FloatArray]:
    """Return rows of J relative to their possible sizes, the scales of rows and columns, and J v.

    Columns refer to a motion by one radian, or by a length. The blocks take time linear in the number of
    loops that share no dofs.
    """
    entries = equations.entries_at(context, lengths)
    if not np.isfinite(entries.values).all():
        # This raises an error that says why.
        equations.tree.calc_constraint_jacobian(context)
        raise ArgumentValueError(
            f"context: expected positions at which constraints are finite numbers, got q = {quote(context.q)}"
        )
    columns = np.where(equations.find_turning(context), 1.0, lengths)
    scales, rates = np.ones(equations.num_equations), np.zeros(equations.num_equations)
    blocks = []
    for constraints in equations.components:
        whole = equations.make_level(constraints)
        part = whole.matrix(entries.values)
        rates[whole.rows] = part @ context.v[whole.dofs]
        size = np.linalg.norm(whole.matrix(entries.sizes), axis=1)
        scales[whole.rows] = size = np.where(size > 0.0, size, 1.0)
        blocks.append(Block(constraints, whole.rows, whole.dofs, part * columns[whole.dofs] / size[:, None]))
    return blocks, scales, columns, rates


def _find_independent_rows(
    equations: Equations, block: Block, tolerance: float, is_independent: npt.NDArray[np.bool_]
) -> float:
    """Mark the independent rows of each constraint, by number; return the size of the weakest.

    Constraints are taken in order, rather than the largest first: of two, the later one is redundant.
    """
    weakest = np.inf
    basis = np.zeros_like(block.J)
    rank = end = 0
    for x in block.constraints:
        rows = block.J[end : (end := end + x.num_equations)]
        for _ in range(2):  # Twice, to remove what rounding left.
            rows = rows - (rows @ basis[:rank].T) @ basis[:rank]
        _, s, V = np.linalg.svd(rows, full_matrices=False)
        count = int(np.count_nonzero(s > tolerance))
        basis[rank : rank + count] = V[:count]
        rank += count
        is_independent[equations.rows_of(x)[:count]] = True
        weakest = min(weakest, *s[:count].tolist()) if count else weakest
    return weakest
