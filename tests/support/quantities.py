"""A table of quantities to compare between any two sources: the reference, `mbt`, another library.

A source is an object with the methods of `Reference` named here. Two sources agree on a quantity if they
differ by no more than rounding of the terms in its sum; the `scale` of a
quantity is the size of those terms, which may cancel in the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from support.description import Array
from support.reference import Reference

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class State:
    """Inputs of all quantities: body forces at Bo in World, one row per body."""

    q: Array
    v: Array
    vdot: Array
    tau: Array
    body_forces: Array


def random_state(reference: Reference, rng: np.random.Generator) -> State:
    q, v, vdot = reference.random_state(rng)
    body_forces = rng.uniform(-10.0, 10.0, (reference.nb, 6))
    # World's row must not matter: World does not move.
    return State(q, v, vdot, rng.uniform(-10.0, 10.0, reference.nv), body_forces)


class Source(Protocol):
    def poses(self, q: Array) -> Array: ...
    def velocities(self, q: Array, v: Array) -> Array: ...
    def accelerations(self, q: Array, v: Array, vdot: Array) -> Array: ...
    def jacobians(self, q: Array) -> Array: ...
    def mass_matrix(self, q: Array) -> Array: ...
    def bias_term(self, q: Array, v: Array) -> Array: ...
    def gravity_forces(self, q: Array) -> Array: ...
    def inverse_dynamics(
        self, q: Array, v: Array, vdot: Array, body_forces: Array | None = None
    ) -> Array: ...
    def forward_dynamics(self, q: Array, v: Array, tau: Array, body_forces: Array | None = None) -> Array: ...
    def center_of_mass(self, q: Array) -> Array: ...
    def center_of_mass_velocity(self, q: Array, v: Array) -> Array: ...
    def potential_energy(self, q: Array) -> Any: ...
    def kinetic_energy(self, q: Array, v: Array) -> float: ...


@dataclass(frozen=True)
class Quantity:
    compute: Callable[[Source, State], Any]
    scale: Callable[[Reference, State], float]


def _speed(s: State) -> float:
    return float(np.abs(s.v).sum())


def _length(r: Reference, s: State) -> float:
    return r.length_scale(s.q)


def _acceleration(r: Reference, s: State, vdot: Array) -> float:
    return _length(r, s) * (float(np.abs(vdot).sum()) + _speed(s) ** 2)


def _force(r: Reference, s: State) -> float:
    reach = _length(r, s)
    return r.force_scale(s.q, s.v, s.vdot) + reach * float(np.abs(s.body_forces).sum())


def _forward(r: Reference, s: State) -> float:
    """Errors of the forces and of M vdot, both amplified by the inverse of M."""
    if not r.nv:
        return 1.0
    M = r.mass_matrix(s.q)
    vdot = r.forward_dynamics(s.q, s.v, s.tau, s.body_forces)
    forces = r.force_scale(s.q, s.v, vdot) + _length(r, s) * float(np.abs(s.body_forces).sum())
    forces += float(np.abs(s.tau).sum() + np.abs(r.damping * s.v).sum())
    return float(np.linalg.norm(np.linalg.inv(M), 2)) * forces


def _mass(r: Reference, s: State) -> float:
    reach = _length(r, s)
    inertia = r.total_mass() * reach**2
    return inertia + float(np.max(r.reflected_inertia, initial=0.0))


QUANTITIES: dict[str, Quantity] = {
    "poses": Quantity(lambda x, s: x.poses(s.q), _length),
    "velocities": Quantity(lambda x, s: x.velocities(s.q, s.v), lambda r, s: _length(r, s) * _speed(s)),
    "accelerations": Quantity(
        lambda x, s: x.accelerations(s.q, s.v, s.vdot), lambda r, s: _acceleration(r, s, s.vdot)
    ),
    "jacobians": Quantity(lambda x, s: x.jacobians(s.q), _length),
    "mass_matrix": Quantity(lambda x, s: x.mass_matrix(s.q), _mass),
    "bias_term": Quantity(lambda x, s: x.bias_term(s.q, s.v), _force),
    "gravity_forces": Quantity(lambda x, s: x.gravity_forces(s.q), _force),
    "inverse_dynamics": Quantity(lambda x, s: x.inverse_dynamics(s.q, s.v, s.vdot), _force),
    "inverse_dynamics_with_forces": Quantity(
        lambda x, s: x.inverse_dynamics(s.q, s.v, s.vdot, s.body_forces), _force
    ),
    "forward_dynamics": Quantity(lambda x, s: x.forward_dynamics(s.q, s.v, s.tau, s.body_forces), _forward),
    "center_of_mass": Quantity(lambda x, s: x.center_of_mass(s.q), _length),
    "center_of_mass_velocity": Quantity(
        lambda x, s: x.center_of_mass_velocity(s.q, s.v), lambda r, s: _length(r, s) * _speed(s)
    ),
    "potential_energy": Quantity(lambda x, s: x.potential_energy(s.q), _force),
    "kinetic_energy": Quantity(
        lambda x, s: x.kinetic_energy(s.q, s.v), lambda r, s: _mass(r, s) * _speed(s) ** 2
    ),
}


def assert_close(actual: Any, desired: Any, scale: float, what: str = "", factor: float = 32.0) -> None:
    """Equal up to ``factor`` units of rounding of terms of size ``scale``; same shape; all finite."""
    a, b = np.asarray(actual), np.asarray(desired)
    assert a.shape == b.shape, f"{what}: shape {a.shape}, wanted {b.shape}"
    assert np.isfinite(a).all(), f"{what}: not finite: {a}"
    error = float(np.max(np.abs(a - b), initial=0.0))
    tolerance = factor * EPS * scale
    assert error <= tolerance, f"{what}: off by {error:.3g}, tolerance {tolerance:.3g}\n{a}\nwanted\n{b}"


def assert_same_quantity(name: str, actual: Source, desired: Source, reference: Reference, s: State) -> None:
    quantity = QUANTITIES[name]
    assert_close(
        quantity.compute(actual, s), quantity.compute(desired, s), quantity.scale(reference, s), name
    )
