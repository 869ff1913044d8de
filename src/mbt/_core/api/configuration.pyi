import numpy.typing as npt

from mbt._core.api.tree_energy import TreeCore
from mbt.math.arrays import FloatArray

def integrate_positions(
    tree: TreeCore, q: npt.ArrayLike, v: npt.ArrayLike, dt: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the positions that motion from `q` at the constant velocities `v` reaches within `dt`.

    Rotations follow ``R1 = exp([w_FM_F dt]x) R0``. A quaternion keeps its length; roll, pitch and yaw are those nearest
    to the old ones. All other positions are ``q + v dt``. A rotation by more than 1e154 radians, whose square
    is not a double, gives NaN.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    dt : array_like, shape (...)
        Time [s], of either sign, finite.
    out : ndarray, shape (..., num_positions), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_positions)
        Generalized positions.

    Raises
    ------
    ArgumentValueError
        When `dt` is NaN or infinite.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> mbt.functional.integrate_positions(tree, [1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 0, 0], 0.5).round(3)
    array([0.969, 0.   , 0.   , 0.247, 1.   , 0.   , 0.   ])
    """

def difference_positions(
    tree: TreeCore, q0: npt.ArrayLike, q1: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the velocities that lead from `q0` to `q1` within one second.

    It inverts `integrate_positions`: ``integrate_positions(tree, q0, difference_positions(tree, q0, q1), 1)`` is the
    configuration `q1`. Rotations take the shortest way, pi at most.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q0, q1 : array_like, shape (..., num_positions)
        Generalized positions. Leading axes broadcast.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        The step ``v dt`` with dt = 1 s [rad, m].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> step = mbt.functional.difference_positions(tree, [1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0])
    >>> step.round(3)
    array([0.   , 0.   , 3.142, 1.   , 0.   , 0.   ])
    """

def normalize_positions(tree: TreeCore, q: npt.ArrayLike, out: FloatArray | None) -> FloatArray:
    """Positions with quaternions of unit length, (..., nq)."""
