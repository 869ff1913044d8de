"""Rotations and poses: `mbt.math` for arrays of doubles, with any leading axes.

An exact array of doubles is checked and computed in C++ at once. Everything else, wrong arguments and other scalars
included, goes to `mbt.math.cold_poses`.

Vectors of poses have the rotation first: ``xi = [phi; rho]``, (6,), with ``phi`` [rad], (3,), along the axis of the
rotation, as long as the angle. All functions take leading axes, and any scalar; see `make_pose`.
"""

from mbt._core.door.exact_arrays cimport adopt

cimport numpy as cnp

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef extern from "door/pose_calls.hpp" namespace "MBT_NS":
    cdef enum:
        AS_POSE, AS_ROTATION, INVERSE_POSE, MATRIX_TO_QUATERNION, MATRIX_TO_RPY, QUATERNION_TO_MATRIX, RPY_TO_MATRIX
        SKEW, EXP_SO3, LOG_SO3, LEFT_SO3, LEFT_INVERSE_SO3, RIGHT_SO3, RIGHT_INVERSE_SO3
        EXP_SE3, LOG_SE3, LEFT_SE3, LEFT_INVERSE_SE3, RIGHT_SE3, RIGHT_INVERSE_SE3
    object call_pose_function(int function, object value)
    object call_on_one_state(int function, object value)
    object call_on_good_states(const char* name, object value)
    object call_make_pose(object p, object rotation, int kind)
    object call_rotation_about_axis(object axis, object angle)
    object call_force_on_frame(object F_Bo_W, object X_WB, object X_WF)
    object call_shift_and_turn(object force, object p, object rotation)
    object call_motion_of_point(object X_WB, object p_BoBp_B, object V_WB, object A_WB)
    bint is_pose(const double* X) nogil


cdef extern from "algebra/pose_error.hpp" namespace "MBT_NS" nogil:
    void calc_pose_on_mobod(const double* X_WN, const double* X_NB, const double* X_BF, double* X_WF)
    void calc_pose_error(const double* X_WF, const double* X_WG, double* e)
    void calc_pose_error_jacobian(const double* X_WF, const double* e, int nv, double* J)


cdef bint are_poses(const double* X, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if not is_pose(X + 16*i):
            return False
    return True


cdef void pose_on_mobod(const double* X_WN, const double* X_NB, const double* X_BF, double* X_WF) noexcept nogil:
    calc_pose_on_mobod(X_WN, X_NB, X_BF, X_WF)


cdef void pose_errors(
    Py_ssize_t count, const double* X_WF, const double* X_WG, Py_ssize_t stride, double* e, Py_ssize_t nv, double* J
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        calc_pose_error(X_WF + 16*i, X_WG + stride*i, e + 6*i)
        if J != NULL:
            calc_pose_error_jacobian(X_WF + 16*i, e + 6*i, nv, J + 6*nv*i)


cdef object cold(str name, tuple arguments):
    """Compute the same from anything but an exact array of doubles with valid states."""
    from mbt.math.cold_poses import compute
    return compute(name, arguments)


def of_good_states(str name, value):
    """Return one of these functions of an array of doubles whose states are known to be valid."""
    return call_on_good_states(name.encode(), value)


def force_on_frame(F_Bo_W, X_WB, X_WF):
    """Return F_Fo_F of a force on a body of one state, in doubles; None for anything else."""
    return call_force_on_frame(F_Bo_W, X_WB, X_WF)


def shift_and_turn(F_Bp_E, p_BoBp_E, R_WE):
    """Return F_Bo_W of a force at a point of one state, in doubles; None for anything else."""
    return call_shift_and_turn(F_Bp_E, p_BoBp_E, R_WE)


def motion_of_point(X_WB, p_BoBp_B, V_WB, A_WB=None):
    """Return v_WBp, or a_WBp with A_WB, of one state, in doubles; None for anything else."""
    return call_motion_of_point(X_WB, p_BoBp_B, V_WB, A_WB)


def make_pose(p=None, *, rpy=None, quaternion=None, R=None):
    """Build the pose X_AB from a position and a rotation, or one for each of several states.

    Leading axes broadcast. A vector may also be a list of its coordinates, some of them arrays with the
    leading axes, as in ``make_pose([lengths, 0, 0])`` with lengths (...).

    Parameters
    ----------
    p : array_like, shape (..., 3), optional
        Position p_AoBo_A [m]; zero when left out.
    rpy : array_like, shape (..., 3), optional
        Roll, pitch, yaw [rad]: ``R_AB = Rz(yaw) Ry(pitch) Rx(roll)``.
    quaternion : array_like, shape (..., 4), optional
        ``(w, x, y, z)``; normalised.
    R : array_like, shape (..., 3, 3), optional
        The rotation matrix R_AB.

    Returns
    -------
    ndarray, shape (..., 4, 4)
        For numbers with derivatives an AutoDiffArray, for other scalars an array of objects, as in
        user-written frames of a tree of another scalar. Neither is checked.

    Notes
    -----
    In code that a tree of another scalar runs, functions such as the sine come from its `ScalarType`.
    Elsewhere the package of the objects determines them: SymPy, CasADi, mpmath, fractions, JAX; objects of
    other classes need methods, as for NumPy: ``x.sin()``.

    Raises
    ------
    ArgumentTypeError
        When more than one rotation is given, or an argument does not consist of real numbers.
    ArgumentValueError
        When a number is not finite, or `R` is not a rotation.
    ShapeError
        When an argument has another shape, or leading axes do not broadcast.
    SingularityError
        When a quaternion is zero.

    Examples
    --------
    >>> make_pose([1, 2, 3])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    cdef object turn = None
    cdef int kind = AS_ROTATION
    cdef int given = 0
    if rpy is not None:
        turn = rpy
        kind = RPY_TO_MATRIX
        given = 1
    if quaternion is not None:
        turn = quaternion
        kind = QUATERNION_TO_MATRIX
        given += 1
    if R is not None:
        turn = R
        kind = AS_ROTATION
        given += 1
    cdef object pose = None
    if given <= 1:
        pose = call_make_pose(p, turn, kind)
    return cold("make_pose", (p, rpy, quaternion, R)) if pose is None else pose


def as_pose(value, name):
    """Return a checked copy of a pose.

    Parameters
    ----------
    value : array_like, shape (4, 4)
        The pose, or an object with ``as_matrix()`` of that shape, or of shape (3, 3), a rotation about the
        origin: `RigidTransform` and `Rotation` of SciPy. The rotation must be orthonormal within 1e-6.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    ArgumentTypeError, ShapeError
        When it is not a real matrix of that shape.
    ArgumentValueError
        When the matrix is not a pose.
    """
    result = call_on_one_state(AS_POSE, value)
    return cold("as_pose", (value, name)) if result is None else result


def as_rotation(value, name):
    """Return a checked copy of a rotation matrix: orthonormal within 1e-6."""
    result = call_on_one_state(AS_ROTATION, value)
    return cold("as_rotation", (value, name)) if result is None else result


def inverse_pose(X_AB):
    """Return X_BA, the inverse of one pose or of several, (..., 4, 4)."""
    result = call_pose_function(INVERSE_POSE, X_AB)
    return cold("inverse_pose", (X_AB,)) if result is None else result


def rpy_to_matrix(rpy):
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)`` of the angles ``(roll, pitch, yaw)`` [rad], shape (..., 3).

    Examples
    --------
    >>> import numpy as np
    >>> rpy_to_matrix([0, 0, np.pi / 2]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    result = call_pose_function(RPY_TO_MATRIX, rpy)
    return cold("rpy_to_matrix", (rpy,)) if result is None else result


def quaternion_to_matrix(quaternion):
    """Return the rotation matrix of ``(w, x, y, z)``, shape (..., 4), which is normalised first.

    Raises
    ------
    SingularityError
        When the quaternion is zero.
    """
    result = call_pose_function(QUATERNION_TO_MATRIX, quaternion)
    return cold("quaternion_to_matrix", (quaternion,)) if result is None else result


def matrix_to_quaternion(R):
    """Return the unit quaternion ``(w, x, y, z)`` of a rotation matrix, (..., 3, 3), with ``w >= 0``."""
    result = call_pose_function(MATRIX_TO_QUATERNION, R)
    return cold("matrix_to_quaternion", (R,)) if result is None else result


def matrix_to_rpy(R):
    """Return roll, pitch and yaw [rad] of a rotation matrix ``Rz(yaw) Ry(pitch) Rx(roll)``, (..., 3, 3).

    Roll and yaw are between -pi and pi, pitch between -pi/2 and pi/2; at gimbal lock, ``cos(pitch) = 0``, yaw
    is zero.

    Examples
    --------
    >>> matrix_to_rpy(rpy_to_matrix([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    result = call_pose_function(MATRIX_TO_RPY, R)
    return cold("matrix_to_rpy", (R,)) if result is None else result


def rotation_about_axis(axis, angle):
    """Return the rotation by `angle` [rad], shape (...), about `axis`, any nonzero vector, (..., 3)."""
    result = call_rotation_about_axis(axis, angle)
    return cold("rotation_about_axis", (axis, angle)) if result is None else result


def skew(p):
    """Return the matrix ``[p]x`` with ``[p]x a = p x a``, of vectors (..., 3)."""
    result = call_pose_function(SKEW, p)
    return cold("skew", (p,)) if result is None else result


def exp_so3(phi):
    """Return the rotation by ``|phi|`` about the axis along `phi`: the exponential of ``[phi]x``.

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        The rotation vector [rad], of any length.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        The rotation R. For numbers with derivatives all of these functions return an AutoDiffArray, for other
        scalars an array of objects.

    Raises
    ------
    ArgumentTypeError
        When `phi` does not consist of numbers.
    ArgumentValueError
        When a number is not finite, or an angle is beyond 1e150.
    ShapeError
        When the last axis has another size.

    Examples
    --------
    >>> import numpy as np
    >>> exp_so3([0, 0, np.pi / 2]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    result = call_pose_function(EXP_SO3, phi)
    return cold("exp_so3", (phi,)) if result is None else result


def log_so3(R):
    """Return the rotation vector of a rotation, with an angle from 0 to pi: ``exp_so3(log_so3(R))`` is R.

    At an angle of exactly pi, ``R - R'`` is zero, and both directions of the axis give the same rotation:
    the result is the one whose largest coordinate, the first of equal ones, is positive. Near pi ``R - R'``
    decides, however small it is.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        The rotation, orthonormal within 1e-6, or an object with ``as_matrix()``, as SciPy has. If it is
        not orthonormal to rounding, the result has an error of the same size.

    Returns
    -------
    ndarray, shape (..., 3)
        The rotation vector phi [rad].

    Raises
    ------
    ArgumentTypeError, ShapeError
        When it is not a real matrix of that shape.
    ArgumentValueError
        When a matrix is not a rotation; of several, the message has its index.

    Examples
    --------
    >>> log_so3(exp_so3([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    result = call_pose_function(LOG_SO3, R)
    return cold("log_so3", (R,)) if result is None else result


def left_jacobian_so3(phi):
    """Return J of ``exp_so3(phi + dphi) = exp_so3(J dphi) exp_so3(phi)``, for infinitesimal dphi.

    ``J = 1 + (1 - cos r)/r² [phi]x + (r - sin r)/r³ [phi]x²``, where r is the angle. When ``exp_so3(phi)`` is
    R_AB, the angular velocity w_AB, expressed in A, is ``J d(phi)/dt``.

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        The rotation vector [rad].

    Returns
    -------
    ndarray, shape (..., 3, 3)
        J. It is singular at angles of 2 pi, 4 pi and so on.

    Examples
    --------
    >>> left_jacobian_so3([0, 0, 0])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    result = call_pose_function(LEFT_SO3, phi)
    return cold("left_jacobian_so3", (phi,)) if result is None else result


def left_jacobian_inverse_so3(phi):
    """Return the inverse of `left_jacobian_so3`: the derivative of the logarithm, ``d(phi)/dt = J⁻¹ w_AB_A``.

    ``J⁻¹ = 1 - [phi]x/2 + (1 - r/2 cot(r/2))/r² [phi]x²``. At angles of 2 pi, 4 pi and so on it does not
    exist; near them it is large, with the relative error of the distance to them.
    """
    result = call_pose_function(LEFT_INVERSE_SO3, phi)
    return cold("left_jacobian_inverse_so3", (phi,)) if result is None else result


def right_jacobian_so3(phi):
    """Return J of ``exp_so3(phi + dphi) = exp_so3(phi) exp_so3(J dphi)``, for infinitesimal dphi.

    When ``exp_so3(phi)`` is R_AB, the angular velocity w_AB, expressed in B, is ``J d(phi)/dt``. J is the
    left Jacobian of ``-phi``, which is the transpose of that of phi.
    """
    result = call_pose_function(RIGHT_SO3, phi)
    return cold("right_jacobian_so3", (phi,)) if result is None else result


def right_jacobian_inverse_so3(phi):
    """Return the inverse of `right_jacobian_so3`: ``d(phi)/dt = J⁻¹ w_AB_B``."""
    result = call_pose_function(RIGHT_INVERSE_SO3, phi)
    return cold("right_jacobian_inverse_so3", (phi,)) if result is None else result


def exp_se3(xi):
    """Return the pose after unit time with the constant spatial velocity `xi`: the exponential of its matrix.

    ``X = [exp_so3(phi), left_jacobian_so3(phi) rho; 0, 1]``, the exponential of ``[[phi]x, rho; 0, 0]``.

    Parameters
    ----------
    xi : array_like, shape (..., 6)
        ``[phi; rho]`` [rad, m].

    Returns
    -------
    ndarray, shape (..., 4, 4)
        The pose X.

    Raises
    ------
    ArgumentTypeError
        When `xi` does not consist of numbers.
    ArgumentValueError
        When a number is not finite, or an angle is beyond 1e150.
    ShapeError
        When the last axis has another size.

    Examples
    --------
    A quarter of a turn about an axis at x = 1:

    >>> import numpy as np
    >>> exp_se3([0, 0, np.pi / 2, 0, -np.pi / 2, 0]).round(12) @ [0, 0, 0, 1]
    array([ 1., -1.,  0.,  1.])
    """
    result = call_pose_function(EXP_SE3, xi)
    return cold("exp_se3", (xi,)) if result is None else result


def log_se3(X):
    """Return ``[phi; rho]`` of a pose, with ``phi`` of `log_so3`: ``exp_se3(log_se3(X))`` is X.

    Parameters
    ----------
    X : array_like, shape (..., 4, 4)
        The pose; its rotation is as in `log_so3`.

    Returns
    -------
    ndarray, shape (..., 6)
        ``xi = [phi; rho]`` [rad, m].

    Raises
    ------
    ArgumentTypeError, ShapeError
        When it is not a real matrix of that shape.
    ArgumentValueError
        When a matrix is not a pose; of several, the message has its index.

    Examples
    --------
    >>> log_se3(exp_se3([0.1, -0.2, 0.3, 1, 2, 3])).round(12)
    array([ 0.1, -0.2,  0.3,  1. ,  2. ,  3. ])
    """
    result = call_pose_function(LOG_SE3, X)
    return cold("log_se3", (X,)) if result is None else result


def left_jacobian_se3(xi):
    """Return J of ``exp_se3(xi + dxi) = exp_se3(J dxi) exp_se3(xi)``, for infinitesimal dxi.

    ``J = [J_phi, 0; Q, J_phi]`` with J_phi of `left_jacobian_so3`, whose derivative along rho is Q.

    Parameters
    ----------
    xi : array_like, shape (..., 6)
        ``[phi; rho]`` [rad, m].

    Returns
    -------
    ndarray, shape (..., 6, 6)
        J. When ``exp_se3(xi)`` is X_AB, ``J d(xi)/dt`` is the spatial velocity of B in A, expressed in A, of
        the point of B that is at Ao.
    """
    result = call_pose_function(LEFT_SE3, xi)
    return cold("left_jacobian_se3", (xi,)) if result is None else result


def left_jacobian_inverse_se3(xi):
    """Return the inverse of `left_jacobian_se3`, where `left_jacobian_inverse_so3` exists."""
    result = call_pose_function(LEFT_INVERSE_SE3, xi)
    return cold("left_jacobian_inverse_se3", (xi,)) if result is None else result


def right_jacobian_se3(xi):
    """Return J of ``exp_se3(xi + dxi) = exp_se3(xi) exp_se3(J dxi)``, for infinitesimal dxi.

    When ``exp_se3(xi)`` is X_AB, the spatial velocity V_AB, expressed in B, is ``J d(xi)/dt``. J is the left
    Jacobian of ``-xi``.
    """
    result = call_pose_function(RIGHT_SE3, xi)
    return cold("right_jacobian_se3", (xi,)) if result is None else result


def right_jacobian_inverse_se3(xi):
    """Return the inverse of `right_jacobian_se3`: ``d(xi)/dt = J⁻¹ V_AB_B``."""
    result = call_pose_function(RIGHT_INVERSE_SE3, xi)
    return cold("right_jacobian_inverse_se3", (xi,)) if result is None else result
