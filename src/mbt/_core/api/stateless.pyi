from typing import Literal

import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

def inverse_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    vdot: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    multipliers: npt.ArrayLike | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the generalized forces that give the accelerations `vdot`: ``tau = M vdot + C v - tau_forces``.

    Gravity, the other force elements and joint damping act; actuation does not.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, vdot : array_like, shape (..., num_velocities)
        Generalized velocities and accelerations. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    multipliers : array_like, shape (..., num_constraint_equations), optional
        Forces of the constraints, ``tau -= J' multipliers``: see `constrained_forward_dynamics`.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.inverse_dynamics(tree, [[0.0], [1.0]], [0.0], [1.0])
    array([[0.6],
           [0.6]])
    """

def forward_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the generalized accelerations that `tau` gives: the exact inverse of `inverse_dynamics`.

    Gravity, the other force elements and joint damping act; actuation does not. The accelerations satisfy the
    constraints, with the forces of `constrained_forward_dynamics`.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized accelerations [rad/s^2, m/s^2].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """

def constrained_forward_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    stabilize: bool | Literal[-1] = False,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the generalized accelerations that `tau` gives, and the multipliers of the constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    stabilize : bool or -1, optional
        Let the errors of each constraint decay, with its own frequency and damping ratio; -1 for integration
        backwards in time.
    out : tuple of two (ndarray or None), optional
        Arrays of shapes (..., num_velocities) and (..., num_constraint_equations), float64, C-contiguous, written in
        place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    vdot : ndarray, shape (..., num_velocities)
        Generalized accelerations, those of `forward_dynamics` [rad/s^2, m/s^2].
    multipliers : ndarray, shape (..., num_constraint_equations)
        Forces and torques of the constraints: see `MultibodyTree.calc_constrained_forward_dynamics`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """

def impulse_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    restitution: npt.ArrayLike = 0.0,
    *,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the velocities after an impact, and the impulses of the constraints.

    Solves ``M (v1 - v) = J' impulses`` and ``J v1 = -restitution J v``; kinetic energy never grows.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities before the impact. Leading axes broadcast.
    restitution : array_like, shape (...), optional
        Coefficient of restitution, 0 to 1 [1]. Its axes broadcast too.
    out : tuple of two (ndarray or None), optional
        Arrays of shapes (..., num_velocities) and (..., num_constraint_equations), float64, C-contiguous, written in
        place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    v1 : ndarray, shape (..., num_velocities)
        Generalized velocities after the impact [rad/s, m/s].
    impulses : ndarray, shape (..., num_constraint_equations)
        Impulses of the constraints [N s, N m s]: see `MultibodyTree.calc_impulse_dynamics`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    ArgumentValueError
        When `restitution` is not from 0 to 1.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """

def mass_matrix(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return the mass matrix M(q), symmetric, reflected inertia of the rotors included.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_velocities, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities, num_velocities)
        Mass matrix [kg m^2, kg m, kg].
    """

def bias_term(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the bias term ``C(q, v) v``, without gravity or any other force.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].
    """

def gravity_generalized_forces(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the generalized forces of gravity, on the right-hand side: ``tau_g = -dPE/dq`` along v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].
    """
