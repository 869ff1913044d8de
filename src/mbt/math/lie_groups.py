"""The exponential and the logarithm of rotations, SO(3), and poses, SE(3), with their Jacobians.

Vectors have the rotation first: ``xi = [phi; rho]``, (6,), with ``phi`` [rad], (3,), along the axis of the
rotation, as long as the angle. All functions take leading axes, and numbers of any scalar; see `make_pose`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.math import rotation_formulas as formulas
from mbt.math.angle_functions import FLOATS
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.foreign import numbers_for
from mbt.math.leading_axes import flatten
from mbt.math.poses import as_pose, as_rotation, matrix_of
from mbt.math.rotation_formulas import Formula

__all__ = [
    "exp_se3",
    "exp_so3",
    "left_jacobian_inverse_se3",
    "left_jacobian_inverse_so3",
    "left_jacobian_se3",
    "left_jacobian_so3",
    "log_se3",
    "log_so3",
    "right_jacobian_inverse_se3",
    "right_jacobian_inverse_so3",
    "right_jacobian_se3",
    "right_jacobian_so3",
]

# Of larger ones the square overflows.
_LARGEST_ANGLE = 1e150


def exp_so3(phi: object) -> FloatArray:
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
    return _calc_of_vector(formulas.exp_so3, phi, "phi", 3, (3, 3))


def log_so3(R: object) -> FloatArray:
    """Return the rotation vector of a rotation, of an angle between 0 and pi: ``exp_so3(log_so3(R))`` is R.

    At an angle of exactly pi, ``R - R'`` is zero, and both directions of the axis give the same rotation:
    the result is the one whose largest coordinate is positive, the first of equal ones. Near pi ``R - R'``
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
    return _calc_of_matrix(formulas.log_so3, R, "R", as_rotation, (3, 3), 3)


def left_jacobian_so3(phi: object) -> FloatArray:
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
    return _calc_of_vector(formulas.left_jacobian_so3, phi, "phi", 3, (3, 3))


def left_jacobian_inverse_so3(phi: object) -> FloatArray:
    """Return the inverse of `left_jacobian_so3`: the derivative of the logarithm, ``d(phi)/dt = J⁻¹ w_AB_A``.

    ``J⁻¹ = 1 - [phi]x/2 + (1 - r/2 cot(r/2))/r² [phi]x²``. At angles of 2 pi, 4 pi and so on it does not
    exist; near them it is large, with the relative error of the distance to them.
    """
    return _calc_of_vector(formulas.left_jacobian_inverse_so3, phi, "phi", 3, (3, 3))


def right_jacobian_so3(phi: object) -> FloatArray:
    """Return J of ``exp_so3(phi + dphi) = exp_so3(phi) exp_so3(J dphi)``, for infinitesimal dphi.

    When ``exp_so3(phi)`` is R_AB, the angular velocity w_AB, expressed in B, is ``J d(phi)/dt``. J is the
    left Jacobian of ``-phi``, which is the transpose of that of phi.
    """
    return _calc_of_vector(_RIGHT_SO3, phi, "phi", 3, (3, 3))


def right_jacobian_inverse_so3(phi: object) -> FloatArray:
    """Return the inverse of `right_jacobian_so3`: ``d(phi)/dt = J⁻¹ w_AB_B``."""
    return _calc_of_vector(_RIGHT_INVERSE_SO3, phi, "phi", 3, (3, 3))


def exp_se3(xi: object) -> FloatArray:
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
    return _calc_of_vector(formulas.exp_se3, xi, "xi", 6, (4, 4))


def log_se3(X: object) -> FloatArray:
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
    return _calc_of_matrix(formulas.log_se3, X, "X", as_pose, (4, 4), 6)


def left_jacobian_se3(xi: object) -> FloatArray:
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
    return _calc_of_vector(formulas.left_jacobian_se3, xi, "xi", 6, (6, 6))


def left_jacobian_inverse_se3(xi: object) -> FloatArray:
    """Return the inverse of `left_jacobian_se3`, where `left_jacobian_inverse_so3` exists."""
    return _calc_of_vector(formulas.left_jacobian_inverse_se3, xi, "xi", 6, (6, 6))


def right_jacobian_se3(xi: object) -> FloatArray:
    """Return J of ``exp_se3(xi + dxi) = exp_se3(xi) exp_se3(J dxi)``, for infinitesimal dxi.

    When ``exp_se3(xi)`` is X_AB, the spatial velocity V_AB, expressed in B, is ``J d(xi)/dt``. J is the left
    Jacobian of ``-xi``.
    """
    return _calc_of_vector(_RIGHT_SE3, xi, "xi", 6, (6, 6))


def right_jacobian_inverse_se3(xi: object) -> FloatArray:
    """Return the inverse of `right_jacobian_se3`: ``d(xi)/dt = J⁻¹ V_AB_B``."""
    return _calc_of_vector(_RIGHT_INVERSE_SE3, xi, "xi", 6, (6, 6))


_RIGHT_SO3 = formulas.mirrored(formulas.left_jacobian_so3)
_RIGHT_INVERSE_SO3 = formulas.mirrored(formulas.left_jacobian_inverse_so3)
_RIGHT_SE3 = formulas.mirrored(formulas.left_jacobian_se3)
_RIGHT_INVERSE_SE3 = formulas.mirrored(formulas.left_jacobian_inverse_se3)


def _calc_of_vector(
    formula: Formula, value: object, name: str, size: int, shape: tuple[int, int]
) -> FloatArray:
    """Return a formula of vectors (..., size), whose results have this shape."""
    numbers = numbers_for((value, 1))
    if numbers is None:
        entries = as_finite_array(value, name, (size,)).tolist()
        _check_angle(max(map(abs, entries[:3])), name)
        return np.array(formula(FLOATS, *entries)).reshape(shape)
    vectors = numbers.as_coordinates(value, name, (size,))
    _check_angle(np.abs(numbers.known_values(vectors[..., :3])).max(initial=0.0), name)
    return numbers.map_entries(formula, vectors, shape)  # type: ignore[no-any-return]


def _check_angle(largest: float, name: str) -> None:
    if largest > _LARGEST_ANGLE:
        raise ArgumentValueError(
            f"{name}: expected an angle of at most {_LARGEST_ANGLE:g} rad, got {largest:.3g}"
        )


def _calc_of_matrix(
    formula: Formula,
    value: object,
    name: str,
    check: Callable[[object, str], FloatArray],
    shape: tuple[int, int],
    size: int,
) -> FloatArray:
    """Return a formula of rotations or poses (..., *shape), whose results are vectors."""
    value = matrix_of(value, shape[-1])
    numbers = numbers_for((value, 2))
    if numbers is None:
        return np.array(formula(FLOATS, *check(value, name).ravel().tolist()))
    matrices = numbers.as_matrices(value, name, shape, check)
    return numbers.map_entries(formula, flatten(matrices, 2), (size,))  # type: ignore[no-any-return]
