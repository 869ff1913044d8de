"""Which element holds, moves, generates or dissipates how much energy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbt.errors import SingularityError
from mbt.tree.report_tables import Section, Table, as_html, plural

if TYPE_CHECKING:
    from mbt._core.context import ContextCore
    from mbt.tree import MultibodyTree

__all__ = ["EnergyEntry", "EnergyReport", "calc_energy_report"]


@dataclass(frozen=True)
class EnergyEntry:
    """The energy of one element.

    Attributes
    ----------
    element : str
        What it is: ``"body 'link'"``, ``"force element 'spring'"``, ``"damping of joint 'elbow'"``.
    kinetic_energy, potential_energy : float
        What it holds [J].
    conservative_power : float
        Minus the rate of its potential energy [W].
    non_conservative_power : float
        What it generates (positive) or dissipates (negative) otherwise [W].
    """

    element: str
    kinetic_energy: float = 0.0
    potential_energy: float = 0.0
    conservative_power: float = 0.0
    non_conservative_power: float = 0.0


class EnergyReport:
    """The energy of a Context, element by element, and whether it balances.

    What the bodies gain is what all forces give: the rate of the kinetic energy, by the accelerations of
    forward dynamics, is the sum of all powers. Hence ``d(KE + PE)/dt = non_conservative_power``.

    Attributes
    ----------
    entries : tuple of EnergyEntry
        Bodies, rotors, force elements, joint damping, actuators and applied forces, in this order.
    kinetic_energy_rate : float
        ``v' (M vdot + C v)`` with the accelerations of forward dynamics [W]; NaN where a massless joint
        leaves none.

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

    def __init__(self, entries: tuple[EnergyEntry, ...], kinetic_energy_rate: float) -> None:
        self.entries = entries
        self.kinetic_energy_rate = kinetic_energy_rate

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of all bodies and rotors [J]."""
        return _sum(entry.kinetic_energy for entry in self.entries)

    @property
    def potential_energy(self) -> float:
        """Potential energy of all force elements [J]."""
        return _sum(entry.potential_energy for entry in self.entries)

    @property
    def conservative_power(self) -> float:
        """Minus the rate of the potential energy [W]."""
        return _sum(entry.conservative_power for entry in self.entries)

    @property
    def non_conservative_power(self) -> float:
        """Power of all else: force elements, joint damping, actuators, applied forces [W]."""
        return _sum(entry.non_conservative_power for entry in self.entries)

    @property
    def balance(self) -> float:
        """``d(KE)/dt - conservative_power - non_conservative_power`` [W]: zero, to rounding."""
        return self.kinetic_energy_rate - (self.conservative_power + self.non_conservative_power)

    def __getitem__(self, element: str) -> EnergyEntry:
        """Return the entry of an element, by what it is called in the report."""
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
        """Tell the sums."""
        return (
            f"<EnergyReport: {plural(len(self.entries), 'entry', 'entries')}, "
            f"KE={_format(self.kinetic_energy, '.6g')} J, PE={_format(self.potential_energy, '.6g')} J, "
            f"balance={_format(self.balance, '.2g')} W>"
        )

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        return as_html(repr(self), self._sections())

    def _sections(self) -> list[Section]:
        table = Table(("element", "KE [J]", "PE [J]", "Pc [W]", "Pnc [W]"), left=(0,))
        total = EnergyEntry(
            "all",
            self.kinetic_energy,
            self.potential_energy,
            self.conservative_power,
            self.non_conservative_power,
        )
        for entry in (*self.entries, total):
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
    """Return a number, and nothing for zero."""
    return "" if isinstance(number, float) and not number else _format(number, ".6g")


def _format(number: Any, form: str) -> str:
    """Return a number of any scalar as text."""
    return format(number, form) if isinstance(number, float) else str(getattr(number, "value", number))


def _sum(numbers: Iterable[float]) -> float:
    """Return the sum, exact to rounding of doubles."""
    terms = list(numbers)
    return math.fsum(terms) if all(isinstance(term, float) for term in terms) else sum(terms)


def calc_energy_report(tree: MultibodyTree, context: ContextCore) -> EnergyReport:
    """Return the report of a Context; see ``MultibodyTree.calc_energy_report``."""
    entries = [
        *_body_entries(tree, context),
        *_rotor_entries(tree, context),
        *(
            EnergyEntry(
                element._label,
                0.0,
                element.calc_potential_energy(context),
                element.calc_conservative_power(context),
                element.calc_non_conservative_power(context),
            )
            for element in tree.force_elements
        ),
        *_damping_entries(tree, context),
        *_input_entries(tree, context),
    ]
    return EnergyReport(tuple(entries), _kinetic_energy_rate(tree, context))


def _body_entries(tree: MultibodyTree, context: ContextCore) -> list[EnergyEntry]:
    M_Bo_W = tree.eval_position_kinematics(context).M_Bo_W
    V_WB = tree.eval_velocity_kinematics(context).V_WB
    scalar = tree._numbers.scalar
    entries = []
    for body in tree.bodies[1:]:
        V, M = V_WB[body.node_index], M_Bo_W[body.node_index]
        entries.append(EnergyEntry(body._label, scalar(V @ (M @ V)) / 2))
    return entries


def _rotor_entries(tree: MultibodyTree, context: ContextCore) -> list[EnergyEntry]:
    scalar = tree._numbers.scalar
    entries = []
    for actuator in tree.joint_actuators:
        inertia = actuator.calc_reflected_inertia(context)
        if not tree._numbers.is_zero(inertia):
            rate = scalar(actuator.joint.get_velocities(context)[0])
            entries.append(EnergyEntry(f"rotor of {actuator._label}", inertia * rate * rate / 2))
    return entries


def _damping_entries(tree: MultibodyTree, context: ContextCore) -> list[EnergyEntry]:
    entries = []
    for joint in tree.joints:
        damping = joint.get_damping_vector(context)
        if not all(tree._numbers.is_zero(entry) for entry in damping):
            v = joint.get_velocities(context)
            power = -tree._numbers.scalar(damping @ (v * v))
            entries.append(EnergyEntry(f"damping of {joint._label}", non_conservative_power=power))
    return entries


def _input_entries(tree: MultibodyTree, context: ContextCore) -> list[EnergyEntry]:
    entries = [
        EnergyEntry(
            actuator._label,
            non_conservative_power=tree._numbers.scalar(
                context.actuation[actuator.input_start] * actuator.joint.get_velocities(context)[0]
            ),
        )
        for actuator in tree.joint_actuators
    ]
    if context._has_applied_forces:
        forces = context.applied_forces
        V_WB = tree.eval_velocity_kinematics(context).V_WB
        power = (forces.body_forces * V_WB).sum() + (forces.generalized_forces * context.v).sum()
        power = tree._numbers.scalar(power)
        entries.append(EnergyEntry("applied forces", non_conservative_power=power))
    return entries


def _kinetic_energy_rate(tree: MultibodyTree, context: ContextCore) -> float:
    try:
        vdot = tree.calc_forward_dynamics(context)
    except SingularityError:
        return math.nan
    power = (context.v * tree.calc_inverse_dynamics(context, vdot)).sum()
    return tree._numbers.scalar(power)
