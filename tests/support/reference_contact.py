"""Independent NumPy formulas of contact with a half-space, in the frame of the half-space.

The friction curve is constructed from its specification: values and derivatives at the ends of its pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import BPoly

from support.description import Array
from support.reference_forces import Motion

__all__ = ["ContactNumbers", "contact_forces", "friction_coefficient", "restitution"]


class ContactNumbers(NamedTuple):
    """The constants of a PointContact."""

    stiffness: float
    dissipation: float
    static_friction: float
    dynamic_friction: float
    stiction_speed: float


def friction_coefficient(c: ContactNumbers, speed: float) -> float:
    """Odd up to the stiction speed, where it is largest; constant from three times that on."""
    r = speed / c.stiction_speed
    if r < 1:
        # a r + b r^3 + c r^5 with the value 1, the slope 0 and the curvature 0 at r = 1.
        a = np.linalg.solve([[1, 1, 1], [1, 3, 5], [0, 6, 20]], [1, 0, 0])
        return float(c.static_friction * (a @ [r, r**3, r**5]))
    fall = BPoly.from_derivatives([1, 3], [[c.static_friction, 0, 0], [c.dynamic_friction, 0, 0]])
    return float(fall(min(r, 3.0)))


def contact_forces(
    A: Motion, F: Motion, points: Array, c: ContactNumbers
) -> tuple[Array, Array, float, Array, Array]:
    """Forces on A at Ao and on F at Fo, the energy, the force on each point in World, and all depths."""
    X_AW = np.linalg.inv(A.X)
    energy, forces, depths = 0.0, [], []
    F_A, F_F = np.zeros(6), np.zeros(6)
    for p_FC in points:
        p_W, v_W = F.point(p_FC)
        p_A = (X_AW @ [*p_W, 1])[:3]
        v_A = A.X[:3, :3].T @ (v_W - A.point(p_A)[1])
        depth, f_A = -p_A[2], np.zeros(3)
        if depth > 0:
            f_A[2] = max(0.0, c.stiffness * depth * (1 - c.dissipation * v_A[2]))
            speed = np.linalg.norm(v_A[:2])
            if speed > 0:
                f_A[:2] = -friction_coefficient(c, speed) * f_A[2] * v_A[:2] / speed
            energy += c.stiffness * depth**2 / 2
        f_W = A.X[:3, :3] @ f_A
        forces.append(f_W)
        depths.append(depth)
        F_A -= [*np.cross(p_W - A.X[:3, 3], f_W), *f_W]
        F_F += [*np.cross(p_W - F.X[:3, 3], f_W), *f_W]
    return F_A, F_F, energy, np.array(forces), np.array(depths)


def restitution(dissipation: float, speed: float) -> float:
    """The fraction of its speed at which a free body rebounds: d v (1 + e) = log((1 + d v)/(1 - d e v)).

    From m v dv/dx = -k x (1 + d v): the integral of v/(1 + d v) from -e v to v is zero for any m and k.
    """
    dv = dissipation * speed
    low, high = 0.0, min(1.0, 1 / dv)
    for _ in range(100):
        e = (low + high) / 2
        if dv * (1 + e) > np.log1p(dv) - np.log1p(-dv * e):
            low = e
        else:
            high = e
    return low
