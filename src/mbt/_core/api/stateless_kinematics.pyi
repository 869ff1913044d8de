from typing import overload

import numpy.typing as npt
from typing_extensions import deprecated

from mbt.math.arrays import FloatArray
from mbt.tree import Frame, MultibodyTree, RigidBody

def body_poses(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return the pose X_WB of every body in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_bodies, 4, 4), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_bodies, 4, 4)
        Homogeneous matrices, rows in BodyNodeIndex order; row 0 is World.
    """

def frame_pose(
    tree: MultibodyTree, q: npt.ArrayLike, frame: Frame | RigidBody | str, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the pose X_WF of a frame in World.

    Computes only bodies inboard of the frame, so for one frame it is faster than `body_poses`.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    out : ndarray, shape (..., 4, 4), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 4, 4)
        Homogeneous matrices.

    Raises
    ------
    ForeignElementError
        When the frame is of another tree.
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
    >>> tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, mbt.math.make_pose([0, 0, -1])))
    >>> tree.finalize()
    >>> mbt.functional.frame_pose(tree, [[0.0], [np.pi / 2]], tip)[:, :3, 3].round(3) + 0.0
    array([[ 0.,  0., -1.],
           [-1.,  0.,  0.]])
    """

@overload
def frame_jacobian(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the Jacobian of a frame's spatial velocity in World, at the frame origin: ``V_WF = J v``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes the velocity is expressed in; by default World.
    out : ndarray, shape (..., 6, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, num_velocities)
        Angular rows first.

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
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
    >>> tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, mbt.math.make_pose([0, 0, -1])))
    >>> tree.finalize()
    >>> mbt.functional.frame_jacobian(tree, [np.pi / 2], tip).round(3).ravel() + 0.0
    array([0., 1., 0., 0., 0., 1.])
    >>> mbt.functional.frame_jacobian(tree, [np.pi / 2], tip, expressed_in=tip).round(3).ravel() + 0.0
    array([ 0.,  1.,  0., -1.,  0.,  0.])
    """

@overload
@deprecated("the order is frame_jacobian(tree, q, frame) now")
def frame_jacobian(
    tree: MultibodyTree,
    q: Frame | RigidBody | str,
    frame: npt.ArrayLike,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def frame_jacobian_rate(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the time derivative of `frame_jacobian` in World: ``A_WF = J vdot + Jdot v``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes it is expressed in; by default World. The derivative is taken in World.
    out : ndarray, shape (..., 6, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, num_velocities)
        Angular rows first [1/s, m/s].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """

def operational_space_inertia(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return ``(J M^-1 J')^-1`` of a frame, with J of `frame_jacobian` (Khatib 1987).

    M is the mass matrix of the tree alone, without constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes accelerations and forces are expressed in; by default World.
    out : ndarray, shape (..., 6, 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 6)
        ``[torque; force]`` at the frame origin per ``[alpha; a]`` [kg m^2, kg m, kg].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When the frame of a single state cannot move with six independent velocities, a degree of
        freedom has no inertia, or the state has a zero quaternion; in a batch that sample is NaN.
    """

def operational_space_inverse_inertia(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return ``J M^-1 J'`` of a frame, with J of `frame_jacobian`: the inverse of `operational_space_inertia`.

    It is defined even where the frame cannot move with six independent velocities.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes accelerations and forces are expressed in; by default World.
    out : ndarray, shape (..., 6, 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 6)
        ``[alpha; a]`` per ``[torque; force]`` at the frame origin [1/(kg m^2), 1/(kg m), 1/kg].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, or the state has a zero quaternion; in a batch that
        sample is NaN.
    """

def momentum_regressor(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    p_WoP_W: npt.ArrayLike | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return Y(q, v) with ``Y pi`` the momentum of all bodies about a point P, pi their inertial parameters.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    p_WoP_W : array_like, shape (..., 3), optional
        The point, in World [m]; by default World's origin.
    out : ndarray, shape (..., 6, 10 (num_bodies - 1)), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 10 (num_bodies - 1))
        Angular rows first. Columns in the order of `MultibodyTree.get_inertial_parameters`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """

def center_of_mass(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return the position of the centre of mass of all bodies from World's origin, in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., 3), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 3)
        p_WCcm [m].

    Raises
    ------
    SingularityError
        When the tree has no mass, or a single state a zero quaternion; in a batch that sample is NaN.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.center_of_mass(tree, [[0.0], [np.pi / 2]]).round(3) + 0.0
    array([[ 0. ,  0. , -0.5],
           [-0.5,  0. ,  0. ]])
    """

def constraint_errors(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return the errors of the constraints, which are zero where the positions satisfy them.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_constraint_equations), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations)
        See each type of constraints [rad, m].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """

def constraint_jacobian(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return J(q), with ``J v`` the rates of the constraint errors.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_constraint_equations, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations, num_velocities)
        See each type of constraints.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """

def constraint_bias(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray:
    """Return ``Jdot v``: the rates of ``J v`` at vdot = 0.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., num_constraint_equations), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations)
        [rad/s^2, m/s^2].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
