"""Spatial vectors in World about its origin O: [angular; linear] of a motion, [moment; force] of a force.

[Featherstone 2008] is R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008.
"""

from __future__ import annotations

import numpy as np

from support.description import Array
from support.reference_kinematics import cross_matrix


def shift(p: Array) -> Array:
    """Phi = [1, 0; -[p]x, 1]: V_P = Phi V_O of the point P at p from O, and F_O = Phi' F_P.

    [Featherstone 2008, section 2.8], without rotation.
    """
    Phi = np.eye(6)
    Phi[3:, :3] = -cross_matrix(p)
    return Phi


def rotation6(X: Array) -> Array:
    """[R, 0; 0, R]"""
    return np.kron(np.eye(2), X[:3, :3])


def cross_motion(V: Array) -> Array:
    """V × () for motions, [w×, 0; v×, w×] [Featherstone 2008, section 2.9]."""
    return np.kron(np.eye(2), cross_matrix(V[:3])) + np.kron([[0, 0], [1, 0]], cross_matrix(V[3:]))


def cross_force(V: Array) -> Array:
    """V ×* () for forces, -(V ×)' [Featherstone 2008, section 2.9]."""
    return -cross_motion(V).T


def acceleration_of_point(V: Array, A: Array, p: Array) -> Array:
    """Classical from spatial acceleration, for the point at p: a_P = a_O + alpha × p + w × v_P.

    [Featherstone 2008, section 2.11]
    """
    v_P = V[3:] + np.cross(V[:3], p)
    return np.array([*A[:3], *(A[3:] + np.cross(A[:3], p) + np.cross(V[:3], v_P))])


def inertia_in_world(X_WB: Array, M_B: Array) -> Array:
    """M_O = Phi' R M_Bo R' Phi [Featherstone 2008, section 2.13]."""
    R_Phi = rotation6(X_WB).T @ shift(X_WB[:3, 3])
    return R_Phi.T @ M_B @ R_Phi
