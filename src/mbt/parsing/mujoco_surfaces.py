"""Converts the contact parameters of MuJoCo to friction, stiffness and dissipation of a shape.

A contact of MuJoCo gives the touching bodies an acceleration, ``a_ref = -b u - k x`` with
``k = d^2 / (d_max t z)^2`` and ``b = 2 / (d_max t)`` (``solref`` is t and z), softened by a regularization
``R = A (1 - d) / d``, where the impedance d depends on the depth x (``solimp``) and A is the sum of the
inverse weights of both bodies (https://mujoco.readthedocs.io/en/stable/modeling.html#solver-parameters).
At rest, that is a spring with the stiffness ``k / R`` at each point; two bodies are two springs in series.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.tree.surface import Surface

if TYPE_CHECKING:
    import mujoco

    from mbt.math.arrays import FloatArray

__all__ = ["read_pairs", "read_surfaces"]

# mjDSBL_REFSAFE: without it, t is at least two time steps.
_NO_REFSAFE = 1 << 12
# mjMINIMP and mjMAXIMP, and mjMINVAL.
_LEAST, _MOST, _TINY = 1e-4, 0.9999, 1e-15
# A plane and a height field.
_FLOORS = (0, 1)
_STANDARD = (0.02, 1.0)
# The dissipation is matched at an impact of this speed [m/s].
_SPEED = 1.0
# The assumed number of points on which a robot stands.
_NUM_FEET = 4


class _Solver(NamedTuple):
    """How stiff a contact of a geometry is."""

    priority: int
    share: float
    reference: tuple[float, ...]
    impedance: tuple[float, ...]

    def on(self, floor: _Solver | None) -> _Solver:
        """Return the parameters of a contact with a floor, mixed as in MuJoCo."""
        if floor is None or self.priority > floor.priority:
            return self
        if floor.priority > self.priority:
            return floor
        own, other = max(self.share, _TINY), max(floor.share, _TINY)
        pairs = list(zip(self.reference, floor.reference, strict=True))
        is_standard = self.reference[0] > 0.0 and floor.reference[0] > 0.0

        def mix(a: float, b: float) -> float:
            return (own * a + other * b) / (own + other)

        return _Solver(
            self.priority,
            1.0,
            tuple(mix(*pair) if is_standard else min(pair) for pair in pairs),
            tuple(map(mix, self.impedance, floor.impedance)),
        )


def read_surfaces(m: mujoco.MjModel) -> list[Surface]:
    """Return the surface of each geometry; a fixed one has no stiffness of its own.

    Stiffness and dissipation are those of a contact with the floors of the model, if these are alike.
    """
    weights = m.body_invweight0[m.geom_bodyid, 0].tolist()
    least_time, gravity = _find_least_time(m), _find_gravity(m)
    solvers = [
        _Solver(priority, share, tuple(reference), tuple(impedance))
        for priority, share, reference, impedance in zip(
            m.geom_priority.tolist(),
            m.geom_solmix.tolist(),
            m.geom_solref.tolist(),
            m.geom_solimp.tolist(),
            strict=True,
        )
    ]
    are_floors = (m.body_weldid[m.geom_bodyid] == 0) & np.isin(m.geom_type, _FLOORS)
    floors = {
        solvers[i] for i in np.flatnonzero(are_floors & (m.geom_contype | m.geom_conaffinity).astype(bool))
    }
    floor = floors.pop() if len(floors) == 1 else None
    known: dict[object, Surface] = {}
    surfaces = []
    loads = _find_loads(m).tolist()
    margins = np.maximum(m.geom_margin, 0.0).tolist()
    frictions, condims = m.geom_friction[:, 0].tolist(), m.geom_condim.tolist()
    for row in zip(frictions, condims, solvers, weights, loads, margins, strict=True):
        if row not in known:
            friction, condim, solver, weight, load, margin = row
            on_floor = solver.on(floor)
            per_mass, dissipation = _calc_spring(
                on_floor.reference, on_floor.impedance, least_time, gravity * load
            )
            stiffness = per_mass / weight if weight > 0.0 and per_mass > 0.0 else None
            own = friction if condim > 1 else 0.0
            known[row] = Surface(own, stiffness, dissipation, solver.priority, "largest", margin or None)
        surfaces.append(known[row])
    return surfaces


def read_pairs(m: mujoco.MjModel) -> list[tuple[int, int, Surface]]:
    """Return the geometries of each pair of ``<contact>`` that can move, and the surface of the pair."""
    weights, loads = m.body_invweight0[m.geom_bodyid, 0], _find_loads(m)
    least_time, gravity = _find_least_time(m), _find_gravity(m)
    pairs = []
    for k, (i, j) in enumerate(zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True)):
        # A is the sum of the inverse weights; the point carries the larger of both loads.
        both = [g for g in (i, j) if weights[g] > 0.0]
        weight = float(weights[both].sum())
        if not weight:
            continue
        load = float(max(loads[g] / weights[g] for g in both)) * weight
        reference, impedance = tuple(m.pair_solref[k].tolist()), tuple(m.pair_solimp[k].tolist())
        per_mass, dissipation = _calc_spring(reference, impedance, least_time, gravity * load)
        friction = float(m.pair_friction[k, 0]) if m.pair_dim[k] > 1 else 0.0
        stiffness = per_mass / weight if per_mass > 0.0 else None
        margin = max(float(m.pair_margin[k]), 0.0)
        pairs.append((i, j, Surface(friction, stiffness, dissipation, margin=margin)))
    return pairs


def _find_loads(m: mujoco.MjModel) -> FloatArray:
    """Return the mass that a point carries (its own, or a quarter of the model's) relative to its own."""
    masses = m.body_subtreemass[m.body_rootid[m.geom_bodyid]]
    loads: FloatArray = np.maximum(1.0, masses * m.body_invweight0[m.geom_bodyid, 0] / _NUM_FEET)
    return loads


def _find_least_time(m: mujoco.MjModel) -> float:
    """Return the least time constant that MuJoCo uses [s]."""
    return 0.0 if m.opt.disableflags & _NO_REFSAFE else 2.0 * float(m.opt.timestep)


def _find_gravity(m: mujoco.MjModel) -> float:
    """Return the acceleration at which depths are matched [m/s^2]."""
    return math.hypot(*m.opt.gravity.tolist()) or 9.81


def _calc_spring(
    reference: tuple[float, ...], impedance: tuple[float, ...], least_time: float, acceleration: float
) -> tuple[float, float | None]:
    """Return the stiffness of a unit mass [1/s^2] and the dissipation [s/m].

    The stiffness is that at the depth at which the spring balances `acceleration`. MuJoCo's damper ``c u``
    does not grow with the depth. That of Hunt and Crossley, ``k d x u``, is equally large at the depth that
    an impact of 1 m/s would reach on the spring alone.
    """
    first, second = reference
    if (first > 0.0) != (second > 0.0):
        first, second = _STANDARD  # As in MuJoCo, which warns.
    most = _clip(impedance[1])
    if first > 0.0:
        time = max(first, least_time)
        spring, damper = 1.0 / (most * time * second) ** 2, 2.0 / (most * time)
    else:
        spring, damper = -first / most**2, -second / most
    if spring == 0.0:
        return 0.0, None

    def stiffness_at(depth: float) -> float:
        d = _calc_impedance(impedance, depth)
        return spring * d * d / (1.0 - d)

    low, high = 0.0, acceleration / stiffness_at(0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stiffness_at(middle) * middle < acceleration else (low, middle)
    d, per_mass = _calc_impedance(impedance, high), stiffness_at(high)
    return per_mass, damper / (spring * d) * math.sqrt(per_mass) / _SPEED


def _calc_impedance(impedance: tuple[float, ...], depth: float) -> float:
    least, most, width, middle, power = impedance
    least, most, middle, power = _clip(least), _clip(most), _clip(middle), max(power, 1.0)
    if width <= _TINY:
        return 0.5 * (least + most)
    x = min(depth / width, 1.0)
    if power == 1.0:
        y = x
    elif x <= middle:
        y = x**power / middle ** (power - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
    return least + y * (most - least)


def _clip(impedance: float) -> float:
    return min(max(impedance, _LEAST), _MOST)
