from typing import Literal

import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

def inverse_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    vdot: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the derivatives of `inverse_dynamics`, analytically, in O(n depth).

    Gravity, the other force elements and joint damping vary with q and v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, vdot : array_like, shape (..., num_velocities)
        Generalized velocities and accelerations. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    out : tuple of three (ndarray or None), optional
        Arrays of shape (..., num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
        Left untouched when an argument is rejected.

    Returns
    -------
    dtau_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of tau along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of v
        and vdot held fixed.
    dtau_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    M : ndarray, shape (..., num_velocities, num_velocities)
        Mass matrix: the partial derivatives with respect to vdot.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion, or the force of an element is undefined; in a batch that sample is
        NaN.
    """

def forward_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the derivatives of `forward_dynamics`, analytically.

    Gravity, the other force elements and joint damping vary with q and v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    out : tuple of three (ndarray or None), optional
        Arrays of shape (..., num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
        Left untouched when an argument is rejected.

    Returns
    -------
    dvdot_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of
        v and tau held fixed.
    dvdot_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    M_inverse : ndarray, shape (..., num_velocities, num_velocities)
        Inverse of the mass matrix: the partial derivatives with respect to tau.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, the state has a zero quaternion, or the force of an
        element is undefined; in a batch that sample is NaN.
    """

def constrained_forward_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    stabilize: bool | Literal[-1] = False,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the derivatives of the accelerations and multipliers of `constrained_forward_dynamics`, analytically.

    See `MultibodyTree.calc_constrained_forward_dynamics_derivatives`, also for redundant constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    stabilize : bool or -1, optional
        Whether the accelerations let the errors of each constraint decay; -1 for integration backwards in time.

    Returns
    -------
    dvdot_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of
        v and tau held fixed.
    dvdot_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    dvdot_dtau : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to tau, symmetric.
    dmultipliers_dq, dmultipliers_dv, dmultipliers_dtau : ndarray, shape (..., num_constraint_equations, num_velocities)
        The same for the multipliers.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, the state has a zero quaternion, or the force of
        an element or a constraint is undefined; in a batch that sample is NaN.
    """
