"""The linear model of a fit: the columns of a regressor, their names, and the known forces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.identification.loops import Loops
from mbt.math.arrays import FloatArray, as_bool, as_finite_array, as_own_array, as_positive
from mbt.motion.units import effort_unit, velocity_units
from mbt.tree.base_parameters import BaseParameters, find_base_parameters

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "FRICTION_TERMS",
    "ROWS",
    "Columns",
    "as_names",
    "as_noise",
    "as_tree",
    "frictions_of",
    "velocities_with_motors",
]

FRICTION_TERMS = ("viscous", "coulomb", "stribeck", "offset")
# Samples per call of kernels: their columns fit into the cache.
ROWS = 512
_TOLERANCE = 1e-9
# Mass, its moments, and moments of inertia.
_INERTIAL_UNITS = ("kg", *("kg m",) * 3, *("kg m^2",) * 6)


class Columns:
    """The columns of a fit: inertial parameters of some bodies, then friction and rotors of each velocity."""

    def __init__(
        self,
        tree: MultibodyTree,
        friction: str | None,
        rotors: bool,
        bodies: Iterable[str] | None,
        transition_velocity: float = 0.01,
        stribeck_velocity: float = 0.1,
    ) -> None:
        as_tree(tree, "identification")
        if not tree.num_velocities:
            raise ArgumentValueError("tree: expected one that can move, got one without velocities")
        self.tree = tree
        self.loops = Loops(tree) if tree.constraints else None
        self.transition_velocity = as_positive(transition_velocity, "transition_velocity")
        self.stribeck_velocity = as_positive(stribeck_velocity, "stribeck_velocity")
        self.terms = _as_terms(friction, rotors)
        self.velocities = {term: _velocities_with(tree, term) for term in self.terms}
        self.rows = _rows_of_bodies(tree, bodies)
        self.bare = _without_fitted(tree, self.terms)
        self.pi0 = tree.get_inertial_parameters()
        free = np.zeros((tree.num_bodies - 1, 10), dtype=bool)
        free[self.rows] = True
        self.free = free.ravel()
        own = tree.inertial_parameter_names
        self.names = tuple(name for name, is_free in zip(own, self.free, strict=True) if is_free) + tuple(
            f"{tree.velocity_names[i]}_{term}" for term in self.terms for i in self.velocities[term]
        )
        self._contexts: dict[int, Any] = {}
        self.base = self._find_base()

    @property
    def force_units(self) -> tuple[str, ...]:
        """Unit of the force along each velocity."""
        return tuple(map(effort_unit, velocity_units(self.tree)))

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each column's parameter, and hence of the base parameter that it represents."""
        of_velocities = velocity_units(self.tree)
        units = [unit for _ in self.rows for unit in _INERTIAL_UNITS]
        for term, places, _ in self.parts():
            units += [_unit_of(term, of_velocities[place]) for place in places]
        return tuple(units)

    @property
    def num_inertial(self) -> int:
        """Number of inertial parameters that the fit may change."""
        return 10 * len(self.rows)

    @property
    def measured(self) -> npt.NDArray[np.intp]:
        """Velocities whose forces have an equation: all, or the independent ones of a tree with loops."""
        return np.arange(self.tree.num_velocities) if self.loops is None else self.loops.independent

    def parts(self) -> Iterator[tuple[str, npt.NDArray[np.intp], slice]]:
        """Yield each friction or rotor term, its velocities, and its columns."""
        first = self.num_inertial
        for term in self.terms:
            places = self.velocities[term]
            yield term, places, slice(first, first + len(places))
            first += len(places)

    def description(self) -> FloatArray:
        """Return the described values of the parameters, (num_columns,)."""
        values = {term: np.zeros(self.tree.num_velocities) for term in (*FRICTION_TERMS, "rotor")}
        for joint in self.tree.joints:
            part = slice(joint.velocity_start, joint.velocity_start + joint.num_velocities)
            values["viscous"][part] = joint.default_damping_vector
        for actuator in self.tree.joint_actuators:
            values["rotor"][actuator.velocity_start] += actuator.default_reflected_inertia
        for element in frictions_of(self.tree):
            place, force = element.joint.velocity_start, element.coulomb_friction
            values["coulomb"][place] += force
            values["stribeck"][place] += element.breakaway_friction - force
        own = [values[term][places] for term, places, _ in self.parts()]
        return np.concatenate([self.pi0[self.free], *own])

    def evaluate(self, q: FloatArray, v: FloatArray, vdot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns (B, nv, num_columns) and the known part of the forces (B, nv)."""
        context = self._context(len(q))
        context.q, context.v = q, v
        Y = self.bare.calc_inverse_dynamics_regressor(context, vdot)
        known = self.bare.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        pi_free = np.where(self.free, self.pi0, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            known = known - Y @ pi_free
        if not self.terms:
            return self._reduced(context, Y[..., self.free]), self._reduced(context, known)
        nv = self.tree.num_velocities
        X = np.zeros((len(q), nv, len(self.names)))
        X[..., : self.num_inertial] = Y if self.free.all() else Y[..., self.free]
        for term, places, part in self.parts():
            X[:, places, np.arange(part.start, part.stop)] = self._values_of(term, v, vdot)[:, places]
        return self._reduced(context, X), self._reduced(context, known)

    def _reduced(self, context: Any, forces: FloatArray) -> FloatArray:
        if self.loops is None:
            return forces
        return self.loops.reduce(self.bare.calc_constraint_jacobian(context), forces)

    def opening(self, q: FloatArray) -> float:
        """Return the largest error of constraints [rad, m]."""
        largest = 0.0
        for first in range(0, len(q) if self.loops else 0, ROWS):
            part = q[first : first + ROWS]
            context = self._context(len(part))
            context.q = part
            errors = self.bare.calc_constraint_errors(context)
            largest = max(largest, float(np.abs(errors).max(initial=0.0)))
        return largest

    def reduced(self, q: FloatArray, forces: FloatArray) -> FloatArray:
        """Return forces (n, nv) as `evaluate` does: with loops, projected onto motions that they allow."""
        if self.loops is None:
            return forces
        found = np.empty_like(forces)
        for first in range(0, len(q), ROWS):
            part = slice(first, first + ROWS)
            context = self._context(len(q[part]))
            context.q = q[part]
            found[part] = self._reduced(context, forces[part])
        return found

    def _values_of(self, term: str, v: FloatArray, vdot: FloatArray) -> FloatArray:
        values: FloatArray
        if term == "viscous":
            return v
        if term == "coulomb":
            values = np.tanh(v / self.transition_velocity)
            return values
        if term == "stribeck":
            x = v / self.stribeck_velocity
            values = np.tanh(v / self.transition_velocity) / (1.0 + x * x)
            return values
        return np.ones_like(v) if term == "offset" else vdot

    def _context(self, count: int) -> Any:
        if count not in self._contexts:
            self._contexts = {count: self.bare.create_default_context(batch_shape=count)}
        return self._contexts[count]

    def _find_base(self) -> BaseParameters:
        """Return the combinations of all columns that motion can determine, from random states."""
        rng = np.random.default_rng(0)
        nv, count = self.tree.num_velocities, 40
        if self.loops is None:
            q = np.array([self.tree.random_positions(rng) for _ in range(count)])
            v, vdot = rng.standard_normal((2, count, nv))
        else:
            q, v, vdot = self.loops.random_motions(max(count, -(-2 * len(self.names) // len(self.measured))))
        X, _ = self.evaluate(q, v, vdot)
        R = np.asarray(np.linalg.qr(X.reshape(-1, X.shape[-1]), mode="r"))
        n = self.num_inertial
        inertial = find_base_parameters(R[:, :n], self.names[:n], _TOLERANCE)
        kept = [int(i) for i in inertial.independent]
        own: list[int] = []
        # A rotor, for example, may act like a body: dependent columns are expressed by earlier ones.
        axes = np.linalg.qr(R[:, kept])[0]
        for i in range(n, len(self.names)):
            column = R[:, i]
            for _ in range(2):
                column = column - axes @ (axes.T @ column)
            size = np.linalg.norm(column)
            if size > 1e3 * _TOLERANCE * np.linalg.norm(R[:, i]):
                axes = np.column_stack([axes, column / size])
                kept.append(i)
                own.append(i)
        G = np.zeros((len(kept), len(self.names)))
        G[: inertial.rank, :n] = inertial.regrouping
        for i in range(n, len(self.names)):
            if i in own:
                G[kept.index(i), i] = 1.0
            elif kept:
                share = np.linalg.lstsq(R[:, kept], R[:, i], rcond=None)[0]
                G[:, i] = np.where(np.abs(share) > 1e-6, share, 0.0)
        return BaseParameters(
            np.array(kept, dtype=np.intp), G, self.names, inertial.smallest_pivot, inertial.largest_remainder
        )

    def as_log(
        self, q: object, v: object, vdot: object, tau: object
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the arrays of a log, checked."""
        nq, nv = self.tree.num_positions, self.tree.num_velocities
        log = as_finite_array(q, "q", (..., nq))
        if log.ndim != 2:
            raise ArgumentValueError(f"q: expected one row a sample, shape (n, {nq}), got {log.shape}")
        v, vdot, tau = (
            as_finite_array(x, name, (len(log), nv)) for x, name in ((v, "v"), (vdot, "vdot"), (tau, "tau"))
        )
        return log, v, vdot, self.reduced(log, tau)

    def as_applied(self, applied: object, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return known forces, in the shape of the measured ones; zeros by default."""
        if applied is None:
            return np.zeros_like(tau)
        return self.reduced(q, as_finite_array(applied, "applied", tau.shape))


def as_tree(tree: object, what: str) -> MultibodyTree:
    """Return a tree after checking that it is finalized and computes with doubles."""
    from mbt.tree.multibody_tree import MultibodyTree

    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {quote(tree)}")
    tree._finalized(what)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(f"tree: expected a tree of doubles, got one of {tree.scalar_type.name}")
    return tree


def as_noise(noise: object, size: int) -> FloatArray:
    """Return standard deviations of forces; infinite for those to leave out, but not for all."""
    sigma = as_own_array(noise, "noise", (size,))
    is_seen = (sigma >= 1e-100) & (sigma <= 1e100)  # squares, times those of a regressor, must not overflow
    if not (is_seen | (sigma == np.inf)).all() or not is_seen.any():
        raise ArgumentValueError(
            "noise: expected numbers from 1e-100 to 1e100, inf for velocities to leave out"
        )
    return sigma


def as_names(names: object, argument: str) -> list[Any]:
    """Return names as a list; a single string is an error."""
    if isinstance(names, str):
        raise ArgumentTypeError(f"{argument}: expected a list of names, got the str {names!r}")
    if not isinstance(names, Iterable):
        raise ArgumentTypeError(f"{argument}: expected a list of names, got {quote(names)}")
    return list(names)


def _unit_of(term: str, velocity_unit: str) -> str:
    turns = velocity_unit == "rad/s"
    if term == "rotor":
        return "kg m^2" if turns else "kg"
    if term == "viscous":
        return "N m s/rad" if turns else "N s/m"
    return effort_unit(velocity_unit)


def _as_terms(friction: object, rotors: object) -> tuple[str, ...]:
    has_rotors = as_bool(rotors, "rotors")
    if friction is not None and not isinstance(friction, str):
        raise ArgumentTypeError(f"friction: expected a str or None, got {quote(friction)}")
    wanted = [word.strip() for word in friction.split("+")] if friction else []
    for word in wanted:
        if word not in FRICTION_TERMS:
            raise ArgumentValueError(
                f"friction: expected None or terms of {', '.join(FRICTION_TERMS)} "
                f"joined by '+', got {friction!r}"
            )
    if "stribeck" in wanted and "coulomb" not in wanted:
        raise ArgumentValueError(
            f"friction: expected 'coulomb' with 'stribeck', which adds to it near rest, got {friction!r}"
        )
    return tuple(term for term in FRICTION_TERMS if term in wanted) + (("rotor",) if has_rotors else ())


def _rows_of_bodies(tree: MultibodyTree, bodies: Iterable[str] | None) -> list[int]:
    if bodies is None:
        return list(range(tree.num_bodies - 1))
    names = as_names(bodies, "bodies")
    rows = sorted({int(tree.get_body_by_name(name).node_index) - 1 for name in names})
    if not rows or rows[0] < 0:
        raise ArgumentValueError("bodies: expected the names of bodies other than World, at least one")
    return rows


def _velocities_with(tree: MultibodyTree, term: str) -> npt.NDArray[np.intp]:
    """Return the velocities that may have this term, and for which a tree can store it."""
    if term == "rotor":
        return velocities_with_motors(tree, "rotors")
    joints = [joint for joint in tree.joints if not joint.is_ephemeral]
    if term in ("coulomb", "stribeck"):
        joints = [joint for joint in joints if joint.num_velocities == 1]
    places = [joint.velocity_start + i for joint in joints for i in range(joint.num_velocities)]
    return np.array(sorted(places), dtype=np.intp)


def velocities_with_motors(tree: MultibodyTree, argument: str) -> npt.NDArray[np.intp]:
    """Return the velocities that actuators drive."""
    places = sorted({actuator.velocity_start for actuator in tree.joint_actuators})
    if not places:
        raise ArgumentValueError(
            f"{argument}: the tree has no actuators; load_model(..., actuators='all') gives each joint one, "
            "add_joint_actuator() a single one"
        )
    return np.array(places, dtype=np.intp)


def frictions_of(tree: MultibodyTree) -> list[Any]:
    """Return the dry friction of a tree's joints."""
    from mbt.tree.force_elements.joint_friction import JointFriction

    return [element for element in tree.force_elements if isinstance(element, JointFriction)]


def _without_fitted(tree: MultibodyTree, terms: tuple[str, ...]) -> MultibodyTree:
    """Return the tree without the friction and rotors that will be fitted."""
    if not terms:
        return tree
    work = tree.edit()
    if "viscous" in terms:
        for joint in work.joints:
            if not joint.is_ephemeral:
                joint.set_default_damping_vector([0.0] * joint.num_velocities)
    if "coulomb" in terms:
        for element in frictions_of(work):
            work.remove(element)
    if "rotor" in terms:
        for actuator in work.joint_actuators:
            actuator.set_default_rotor_inertia(0.0)
    work.finalize()
    return work
