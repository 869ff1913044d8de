"""How much energy each element stores, transfers, generates or dissipates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.errors import SingularityError
from mbt.math.leading_axes import entry_of, rotate
from mbt.tree.report_tables import Section, Table, as_html, plural

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree import MultibodyTree

__all__ = ["EnergyEntry", "EnergyReport", "calc_energy_report"]

# Number of rows shown in a notebook.
_MAX_ROWS_OF_REPR = 60


@dataclass(frozen=True)
class EnergyEntry:
    """The energy of one element.

    Attributes
    ----------
    element : str
        Its description: ``"body 'link'"``, ``"force element 'spring'"``, ``"damping of joint 'elbow'"``.
    kinetic_energy, potential_energy : float, or ndarray of the batch shape
        The energy that it stores [J].
    conservative_power : float, or ndarray of the batch shape
        Minus the rate of its potential energy [W].
    non_conservative_power : float, or ndarray of the batch shape
        Other power that it generates (positive) or dissipates (negative) [W].
    """

    element: str
    kinetic_energy: Any = 0.0
    potential_energy: Any = 0.0
    conservative_power: Any = 0.0
    non_conservative_power: Any = 0.0


class EnergyReport:
    """The energy of a Context, element by element, and its balance.

    The rate of the kinetic energy, from the accelerations of forward dynamics, equals the power of all
    forces. Hence ``d(KE + PE)/dt = non_conservative_power``.

    For a batch, all values are arrays of its shape; the text shows the smallest and the largest.

    Attributes
    ----------
    entries : tuple of EnergyEntry
        Bodies, rotors, force elements, joint damping, actuators, applied forces and constraints, in this
        order. Constraint forces have no power if the velocities satisfy the constraints.
    kinetic_energy_rate : float, or ndarray of the batch shape
        ``v' (M vdot + C v)`` with the accelerations of forward dynamics [W]; NaN if they do not exist because
        of a massless joint.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> x = [1, 0, 0]
    >>> slide = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, ball, None, x, damping=3)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.v = [2.0]
    >>> report = tree.calc_energy_report(context)
    >>> report.kinetic_energy, report.non_conservative_power, report.balance
    (4.0, -12.0, 0.0)
    """

    def __init__(self, entries: tuple[EnergyEntry, ...], kinetic_energy_rate: Any, zero: Any = 0.0) -> None:
        self.entries = entries
        self.kinetic_energy_rate = kinetic_energy_rate
        # The initial value of sums.
        self._zero = zero

    @property
    def kinetic_energy(self) -> Any:
        """Kinetic energy of all bodies and rotors [J]."""
        return self._sum(entry.kinetic_energy for entry in self.entries)

    @property
    def potential_energy(self) -> Any:
        """Potential energy of all force elements [J]."""
        return self._sum(entry.potential_energy for entry in self.entries)

    @property
    def conservative_power(self) -> Any:
        """Minus the rate of the potential energy [W]."""
        return self._sum(entry.conservative_power for entry in self.entries)

    @property
    def non_conservative_power(self) -> Any:
        """All other power: force elements, joint damping, actuators, applied forces, constraints [W]."""
        return self._sum(entry.non_conservative_power for entry in self.entries)

    def _sum(self, numbers: Iterable[Any]) -> Any:
        """Return the sum; for a single state, it is rounded only once."""
        terms = list(numbers)
        if isinstance(self._zero, float) and all(isinstance(term, float) for term in terms):
            try:
                return math.fsum(terms)
            except (ValueError, OverflowError):
                # A term or the sum is infinite.
                return float(sum(terms))
        with np.errstate(over="ignore", invalid="ignore"):
            return sum(terms, self._zero)

    @property
    def balance(self) -> Any:
        """``d(KE)/dt - conservative_power - non_conservative_power`` [W]: zero, to rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.kinetic_energy_rate - (self.conservative_power + self.non_conservative_power)

    def __getitem__(self, element: str) -> EnergyEntry:
        """Return the entry of an element, by its description in the report."""
        from mbt.errors import unknown_name_error

        for entry in self.entries:
            if entry.element == element:
                return entry
        raise unknown_name_error("element", element, [entry.element for entry in self.entries])

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
        """Show the sums."""
        return (
            f"<EnergyReport: {plural(len(self.entries), 'entry', 'entries')}, "
            f"KE={_format(self.kinetic_energy, '.6g')} J, PE={_format(self.potential_energy, '.6g')} J, "
            f"balance={_format(self.balance, '.2g')} W>"
        )

    def _repr_html_(self) -> str:
        """Return the report for a notebook; a long one is cut after the first entries."""
        return as_html(repr(self), self._sections(_MAX_ROWS_OF_REPR))

    def _sections(self, max_rows: int | None = None) -> list[Section]:
        table = Table(("element", "KE [J]", "PE [J]", "Pc [W]", "Pnc [W]"), left=(0,))
        table.num_rows = len(self.entries) + 1
        total = EnergyEntry(
            "all",
            self.kinetic_energy,
            self.potential_energy,
            self.conservative_power,
            self.non_conservative_power,
        )
        for entry in (*self.entries[:max_rows], total):
            numbers = (
                entry.kinetic_energy,
                entry.potential_energy,
                entry.conservative_power,
                entry.non_conservative_power,
            )
            table.add(entry.element, *(_text(x) for x in numbers))
        power = self.conservative_power + self.non_conservative_power
        balance = (
            f"d(KE)/dt = {_format(self.kinetic_energy_rate, '.6g')} W, Pc + Pnc = "
            f"{_format(power, '.6g')} W, difference {_format(self.balance, '.2g')} W"
        )
        return [Section("Energy and power", table=table, is_open=True), Section("Balance", [balance])]


def _text(number: Any) -> str:
    """Return a number as text; zero becomes an empty string."""
    is_known = isinstance(number, (float, np.ndarray)) and np.size(number)
    return "" if is_known and not np.any(number) else _format(number, ".6g")


def _format(number: Any, form: str) -> str:
    """Return a number of any scalar type as text."""
    if isinstance(number, np.ndarray) and number.dtype == np.float64 and number.ndim:
        # A batch: the smallest and the largest.
        least, most = (
            (format(bound, form) for bound in (np.min(number), np.max(number))) if number.size else "--"
        )
        return least if least == most else f"{least} .. {most}"
    return format(number, form) if isinstance(number, float) else str(getattr(number, "value", number))


def calc_energy_report(tree: MultibodyTree, context: Context) -> EnergyReport:
    """Return the report of a Context; see ``MultibodyTree.calc_energy_report``."""
    # Values that are not finite are shown as such.
    with np.errstate(over="ignore", invalid="ignore"):
        return _calc_energy_report(tree, context)


def _calc_energy_report(tree: MultibodyTree, context: Context) -> EnergyReport:
    zero: Any = context._zero if context.batch_shape else 0.0

    def entry(element: str, **numbers: Any) -> EnergyEntry:
        names = ("kinetic_energy", "potential_energy", "conservative_power", "non_conservative_power")
        return EnergyEntry(element, *(numbers.get(name, zero) for name in names))

    entries = [
        *_body_entries(tree, context, entry),
        *_rotor_entries(tree, context, entry),
        *(
            EnergyEntry(
                element._label,
                zero,
                element.calc_potential_energy(context),
                element.calc_conservative_power(context),
                element.calc_non_conservative_power(context),
            )
            for element in tree.force_elements
        ),
        *_damping_entries(tree, context, entry),
        *_input_entries(tree, context, entry),
    ]
    try:
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context)
    except SingularityError:
        vdot, multipliers = (
            np.full(tree.num_velocities, np.nan),
            np.full(tree.num_constraint_equations, np.nan),
        )
    entries += _constraint_entries(tree, context, entry, multipliers)
    rate = _scalar(context, (context.v * tree.calc_inverse_dynamics(context, vdot)).sum(-1))
    return EnergyReport(tuple(entries), rate, zero)


def _scalar(context: Context, number: Any) -> Any:
    """Return one number of a Context's scalar type, or one for each sample."""
    return number if context.batch_shape else context._numbers.scalar(number)


def _body_entries(tree: MultibodyTree, context: Context, entry: Any) -> list[EnergyEntry]:
    M_Bo_W = tree.eval_position_kinematics(context).M_Bo_W
    V_WB = tree.eval_velocity_kinematics(context).V_WB
    entries = []
    for body in tree.bodies[1:]:
        V, M = V_WB[..., body.node_index, :], M_Bo_W[..., body.node_index, :, :]
        twice = _scalar(context, (V * rotate(M, V)).sum(-1))
        entries.append(entry(body._label, kinetic_energy=twice / 2))
    return entries


def _rotor_entries(tree: MultibodyTree, context: Context, entry: Any) -> list[EnergyEntry]:
    entries = []
    for actuator in tree.joint_actuators:
        inertia = actuator.calc_reflected_inertia(context)
        if not context._numbers.is_zero(inertia):
            rate = _rate(context, actuator)
            entries.append(entry(f"rotor of {actuator._label}", kinetic_energy=inertia * rate * rate / 2))
    return entries


def _rate(context: Context, actuator: Any) -> Any:
    """Return the velocity along which an actuator acts."""
    return _scalar(context, entry_of(actuator.joint.get_velocities(context), actuator.dof))


def _damping_entries(tree: MultibodyTree, context: Context, entry: Any) -> list[EnergyEntry]:
    entries = []
    for joint in tree.joints:
        damping = joint.get_damping_vector(context)
        if not all(context._numbers.is_zero(entry_of(damping, i)) for i in range(joint.num_velocities)):
            v = joint.get_velocities(context)
            power = -_scalar(context, (damping * v * v).sum(-1))
            entries.append(entry(f"damping of {joint._label}", non_conservative_power=power))
    return entries


def _input_entries(tree: MultibodyTree, context: Context, entry: Any) -> list[EnergyEntry]:
    entries = [
        entry(
            actuator._label,
            non_conservative_power=_scalar(context, entry_of(context.actuation, actuator.input_start))
            * _rate(context, actuator),
        )
        for actuator in tree.joint_actuators
    ]
    if context._has_applied_forces:
        forces = context.applied_forces
        V_WB = tree.eval_velocity_kinematics(context).V_WB
        power = (forces.body_forces * V_WB).sum((-2, -1)) + (forces.generalized_forces * context.v).sum(-1)
        entries.append(entry("applied forces", non_conservative_power=_scalar(context, power)))
    return entries


def _constraint_entries(
    tree: MultibodyTree, context: Context, entry: Any, multipliers: Any
) -> list[EnergyEntry]:
    if not tree.num_constraints:
        return []
    rates = rotate(context._evaluate(Quantity.CONSTRAINT_JACOBIAN), context.v)
    entries = []
    for constraint in tree.constraints:
        first = constraint.first_equation
        rows = slice(first, first + constraint.num_equations)
        power = (multipliers[..., rows] * rates[..., rows]).sum(-1)
        entries.append(entry(constraint._label, non_conservative_power=_scalar(context, power)))
    return entries
