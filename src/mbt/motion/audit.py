"""Which element gives or takes the energy of a trajectory, and where it changes though no force does work."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, unknown_name_error
from mbt.math.arrays import as_positive
from mbt.motion.impulses import works_of_steps
from mbt.motion.operands import METHODS
from mbt.motion.over_time import integrals_over_steps
from mbt.motion.powers import APPLIED, CONTROL, calc_given, place, potentials_of
from mbt.tree.report_tables import Section, Table, as_html

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory

__all__ = ["AuditEntry", "AuditReport", "audit"]

INTEGRATION = "integration"
# Number of states computed at once.
_STATES_A_CALL = 1 << 12
_MOST_ROWS = 12
# Larger powers and energies [W, J] count as infinite: sums of them overflow.
_MOST = 1e290


@dataclass(frozen=True)
class AuditEntry:
    """The energy that one element gave to, or took from, a trajectory.

    Attributes
    ----------
    element : str
        ``"force element 'spring'"``, ``"damping of joint 'elbow'"``, ``"control and actuators"``,
        ``"applied forces"``, a constraint; or ``"integration"``: the energy change that no force explains.
    given : float
        Total energy given: the work of its forces plus the change of its potential energy [J]. Negative if
        the element took energy.
    largest : float
        The largest amount between two samples, by magnitude [J].
    step : int
        The step of the largest amount: from this sample to the next.
    time : float
        When that step began [s].
    peak : float
        The cumulative energy given where its magnitude is largest [J].
    quadrature : float
        Possible error because samples are too far apart [J].
    may_give : bool
        Whether its purpose is to give energy: control, actuators, applied forces.
    """

    element: str
    given: float
    largest: float
    step: int
    time: float
    peak: float
    quadrature: float
    may_give: bool = False


@dataclass(frozen=True)
class AuditReport:
    """Where the energy of a trajectory came from and went; see `Trajectory.audit`.

    Attributes
    ----------
    entries : tuple of AuditEntry
        The largest first.
    suspects : tuple of AuditEntry
        Elements that gave energy although they have no source of it, and the integration if it gave or took
        any, beyond `tolerance`.
    change : float
        Change of the kinetic and potential energy [J]: the sum of the energies given.
    scale : float
        The largest kinetic energy, or change of potential energy [J].
    tolerance : float
        Energies below this fraction of `scale` are ignored.
    num_samples : int
        Number of samples examined: those before the first whose state or energy is not finite.
    message : str
        Why the simulation failed, with the element and the remedy if known. Empty if it did not fail.
    """

    entries: tuple[AuditEntry, ...]
    suspects: tuple[AuditEntry, ...]
    change: float
    scale: float
    tolerance: float
    num_samples: int
    message: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether there are no suspects."""
        return not self.suspects

    def __getitem__(self, element: str) -> AuditEntry:
        """Return the entry of an element, by its name in the report."""
        for entry in self.entries:
            if entry.element == element:
                return entry
        raise unknown_name_error("element", element, [entry.element for entry in self.entries])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text, which ``json.dumps`` accepts."""
        return {**asdict(self), "entries": [*map(asdict, self.entries)], "is_clean": self.is_clean,
                "suspects": [entry.element for entry in self.suspects]}  # fmt: skip

    def __str__(self) -> str:
        """Return the verdict, and the table."""
        section = self._section(_MOST_ROWS)
        return "\n".join([section.title, *("  " + line for line in section.text_lines())])

    def __repr__(self) -> str:
        """Return the verdict."""
        return f"<AuditReport: {self._verdict()}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(repr(self), [self._section(_MOST_ROWS)])

    def _verdict(self) -> str:
        if self.is_clean:
            return f"clean to {self.tolerance:.1g} of {self.scale:.4g} J"
        worst = self.suspects[0]
        verb = "gave" if worst.given >= 0 else "took"
        return (
            f"{worst.element} {verb} {abs(worst.given):.4g} J, most of it, {worst.largest:.2g} J, in step "
            f"{worst.step} at {worst.time:.6g} s"
        )

    def _section(self, max_rows: int) -> Section:
        table = Table(("element", "given [J]", "largest [J]", "step", "time [s]", ""), left=(0, 5))
        table.num_rows = len(self.entries)
        for entry in self.entries[:max_rows]:
            numbers = f"{entry.given:.4g}", f"{entry.largest:.2g}", str(entry.step), f"{entry.time:.6g}"
            table.add(entry.element, *numbers, "SUSPECT" if entry in self.suspects else "")
        notes = [f"kinetic and potential energy gained {self.change:.4g} J over {self.num_samples} samples"]
        if self.message:
            notes.append(f"the simulation failed {self.message}")
        return Section(f"energy audit: {self._verdict()}", notes, table, is_open=True)


def audit(trajectory: Trajectory, tolerance: float) -> AuditReport:
    """Return the report of a trajectory; see `Trajectory.audit`."""
    tolerance = as_positive(tolerance, "tolerance")
    trajectory._check_one_state("audit")
    context = trajectory._need_context("audit")
    is_known = np.isfinite(trajectory.q).all(-1) & np.isfinite(trajectory.v).all(-1)
    count = int(np.argmin(is_known)) if not is_known.all() else len(trajectory)
    if count < 2:
        raise ArgumentValueError(f"audit: expected two or more samples that are finite, got {count}")
    part = trajectory[:count]
    with np.errstate(all="ignore"):
        powers, potentials, kinetic = _calc_powers(part, context)
        # Energies of a diverging motion overflow before its states do. Their squares are computed below.
        is_known = np.all(
            [np.abs(x) < _MOST for x in (kinetic, *powers.values(), *potentials.values())], axis=0
        )
    if not is_known.all():
        count = int(np.argmin(is_known))
        if count < 2:
            raise ArgumentValueError(f"audit: expected two or more samples of finite energy, got {count}")
        part, kinetic = trajectory[:count], kinetic[:count]
        powers, potentials = (
            {name: array[:count] for name, array in x.items()} for x in (powers, potentials)
        )
    steps = {name: _steps(part, name, power) for name, power in powers.items()}
    change = np.diff(sum(potentials.values(), kinetic))
    explained = sum((given for given, _ in steps.values()), np.zeros(count - 1))
    doubt = sum((error for _, error in steps.values()), np.zeros(count - 1))
    steps[INTEGRATION] = change - explained, doubt
    entries = [_make_entry(name, part.time, *pair) for name, pair in steps.items()]
    entries.sort(key=lambda entry: -abs(entry.given))
    swings = [float(np.ptp(potential)) for potential in potentials.values()]
    scale = max([float(np.max(kinetic)), *swings])
    limit = tolerance * (scale or 1.0)
    suspects = [entry for entry in entries if _is_suspect(entry, limit)]
    suspects.sort(key=lambda entry: -max(abs(entry.given), abs(entry.peak)))
    message = trajectory.message if trajectory.status == "failed" else ""
    return AuditReport(tuple(entries), tuple(suspects), float(change.sum()), scale, tolerance, count, message)


def _is_suspect(entry: AuditEntry, limit: float) -> bool:
    if entry.element == INTEGRATION:
        return abs(entry.peak) > limit + entry.quadrature
    return not entry.may_give and max(entry.given, entry.peak) > limit + entry.quadrature


def _make_entry(name: str, time: FloatArray, given: FloatArray, error: FloatArray) -> AuditEntry:
    step = int(np.argmax(np.abs(given)))
    total = np.cumsum(given)
    return AuditEntry(
        element=name,
        given=math.fsum(given),
        largest=float(given[step]),
        step=step,
        time=float(time[step]),
        peak=float(total[np.argmax(np.abs(total))]),
        quadrature=float(error.sum()),
        may_give=name in (CONTROL, APPLIED),
    )


def _steps(part: Trajectory, name: str, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the work between samples, and its error: a part of the difference to the trapezoidal rule."""
    if part._moved is not None:
        return works_of_steps(part, power)
    if name == CONTROL and part.method in METHODS:
        # The forces are held over each step.
        moved = integrals_over_steps(part.time, np.moveaxis(part.v, -1, 0))
        return (part.tau[:-1].T * moved).sum(axis=0), np.zeros(len(part) - 1)
    work = integrals_over_steps(part.time, power)
    line = 0.5 * np.diff(part.time) * (power[1:] + power[:-1])
    return work, 0.1 * np.abs(work - line)


def _calc_powers(
    part: Trajectory, context: Context
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], FloatArray]:
    """Return powers [W] and potential energies of elements, by name, and the kinetic energy, over time."""
    powers: list[dict[str, Any]] = []
    potentials: list[dict[str, Any]] = []
    kinetic = []
    for first in range(0, len(part), _STATES_A_CALL):
        now = slice(first, first + _STATES_A_CALL)
        moving = place(part, context, now)
        powers.append(calc_given(part, moving, now))
        potentials.append(potentials_of(moving))
        kinetic.append(context.tree.calc_kinetic_energy(moving))

    def joined(parts: list[dict[str, Any]]) -> dict[str, FloatArray]:
        return {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}

    return joined(powers), joined(potentials), np.concatenate(kinetic)
