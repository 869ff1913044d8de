"""Inertial parameters of a body as a vector; the pseudo-inertia, which tells whether they are physical."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, InvalidInertiaError
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array, as_nonnegative, as_positive
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia, matrix_of_components

__all__ = [
    "calc_inertial_parameters",
    "calc_pseudo_inertia",
    "is_physically_consistent",
    "make_spatial_inertia",
    "nearest_physically_consistent_inertia",
]


def calc_inertial_parameters(M_SP_E: SpatialInertia) -> FloatArray:
    """Return mass properties as the vector in which the dynamics is linear.

    Parameters
    ----------
    M_SP_E : SpatialInertia
        Mass properties about a point P, expressed in a frame E.

    Returns
    -------
    ndarray, shape (10,), or (..., 10) for a batch
        ``[m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`` [kg, kg m, kg m^2] with the position c of the mass
        centre from P, and the rotational inertia about P; products of inertia as in the matrix.

    See Also
    --------
    make_spatial_inertia : The inverse.
    """
    _check_spatial_inertia(M_SP_E)
    I = M_SP_E.calc_rotational_inertia()  # noqa: E741 - the field's symbol
    moment = M_SP_E.calc_com_moment()
    parameters: FloatArray = np.concatenate(
        [M_SP_E._mass_as_array(), moment, I[..., _ROWS, _COLUMNS]], axis=-1
    )
    return parameters


def make_spatial_inertia(pi: object, *, skip_validity_check: bool = False) -> SpatialInertia:
    """Return the mass properties of a vector of inertial parameters.

    Parameters
    ----------
    pi : array_like, shape (10,)
        As `calc_inertial_parameters` returns it.
    skip_validity_check : bool, optional
        Accept mass properties that no physical body has. A negative or non-finite mass raises an error all
        the same, as does a mass moment without mass.

    Raises
    ------
    InvalidInertiaError
        When no physical body has these parameters. `nearest_physically_consistent_inertia` finds the
        nearest physical ones.

    Examples
    --------
    >>> import mbt
    >>> M = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)
    >>> mbt.math.make_spatial_inertia(mbt.math.calc_inertial_parameters(M)) == M
    True
    """
    x = as_finite_array(pi, "pi", (10,))
    mass, moment, inertia = float(x[0]), x[1:4], x[[4, 6, 9, 5, 7, 8]]
    if mass == 0.0:
        if moment.any():
            raise InvalidInertiaError(f"pi: a body without mass has no mass moment, got {x.tolist()}")
        return SpatialInertia.make_from_central_inertia(
            0.0, moment, matrix_of_components(inertia), skip_validity_check=skip_validity_check
        )
    if mass < 0.0:
        raise InvalidInertiaError(f"pi: mass: expected a number >= 0 kg, got {mass}")
    with np.errstate(over="ignore"):
        com, unit_inertia = moment / mass, inertia / mass
    if not (np.isfinite(com).all() and np.isfinite(unit_inertia).all()):
        raise InvalidInertiaError(
            f"pi: mass moment and inertia, divided by the mass, overflow float64, got {x.tolist()}"
        )
    return SpatialInertia(mass, com, UnitInertia(*unit_inertia), skip_validity_check=skip_validity_check)


def calc_pseudo_inertia(M_SP_E: SpatialInertia) -> FloatArray:
    """Return the pseudo-inertia of a body: the second moments of its mass, in homogeneous coordinates.

    ``J = integral of [x; 1] [x; 1]^T dm = [[S, m c], [m c^T, m]]``, x the position from P and
    ``S = tr(I)/2 1 - I``. J is positive definite for every body, and semidefinite for points, rods and
    plates; conversely, each such J with mass belongs to a body, for example to at most four particles.

    Parameters
    ----------
    M_SP_E : SpatialInertia
        Mass properties about a point P, expressed in a frame E.

    Returns
    -------
    ndarray, shape (4, 4)
        Symmetric [kg m^2, kg m, kg].

    Examples
    --------
    >>> import mbt
    >>> mbt.math.calc_pseudo_inertia(mbt.SpatialInertia.point_mass(2.0, [1, 0, 0.5]))
    array([[2. , 0. , 1. , 2. ],
           [0. , 0. , 0. , 0. ],
           [1. , 0. , 0.5, 1. ],
           [2. , 0. , 1. , 2. ]])
    """
    return _pseudo_inertia_of(calc_inertial_parameters(M_SP_E))


def is_physically_consistent(pi: object) -> Any:
    """Return whether inertial parameters belong to a body, or to a limit of bodies.

    They do if the pseudo-inertia is positive semidefinite, up to rounding: the mass is not negative, and
    the principal moments about the mass centre satisfy the triangle inequality. Limits that no body
    reaches have inertia without mass; `SpatialInertia` accepts those too, for rotors.

    Parameters
    ----------
    pi : array_like, shape (..., 10)
        As `calc_inertial_parameters` returns it; leading axes for several bodies.

    Returns
    -------
    bool, or ndarray of bool, shape (...)
        False if a number is not finite.

    Examples
    --------
    >>> import mbt
    >>> mbt.math.is_physically_consistent([1, 0, 0, 0, 1, 0, 1, 0, 0, 2])
    True
    >>> mbt.math.is_physically_consistent([1, 0, 0, 0, 1, 0, 1, 0, 0, 2.1])
    False
    """
    x = as_float_array(pi, "pi", (..., 10))
    finite = np.asarray(np.isfinite(x).all(axis=-1))
    J = _pseudo_inertia_of(np.where(finite[..., np.newaxis], x, 0.0))
    consistent = finite & (np.linalg.eigvalsh(J)[..., 0] >= -_slack(J))
    return bool(consistent) if x.ndim == 1 else consistent


def nearest_physically_consistent_inertia(
    pi: object, *, length: object = 1.0, min_eigenvalue: object = 0.0
) -> FloatArray:
    """Return the inertial parameters nearest to `pi` that belong to a body, or to a limit of bodies.

    It projects the pseudo-inertia onto the cone of positive semidefinite matrices: eigenvalues below the
    smallest one allowed are raised to it. Nearest means: in the Frobenius norm of J,
    ``|dS|^2 + 2 |d(m c)|^2 + dm^2`` with ``S = tr(I)/2 1 - I``. It does not depend on the axes of the frame
    E, but on the point P and on the unit of length: `length` says how many kg m^2 of second moments weigh
    as much as one kg of mass.

    Parameters
    ----------
    pi : array_like, shape (..., 10)
        As `calc_inertial_parameters` returns it; leading axes for several bodies.
    length : float, optional
        Size of the body [m]: the norm above is that of S / length^2, m c / length and m.
    min_eigenvalue : float, optional
        Smallest eigenvalue of the pseudo-inertia, in those units [kg]. If it is above zero, the mass and all
        central moments of the result are positive.

    Returns
    -------
    ndarray, shape (..., 10)
        A copy of `pi` if nothing needs to change.

    Raises
    ------
    ArgumentValueError
        When a number is not finite, `length` is not positive, or `min_eigenvalue` is negative.

    Examples
    --------
    A plate whose third moment was estimated too large:

    >>> import mbt
    >>> pi = mbt.math.nearest_physically_consistent_inertia([1, 0, 0, 0, 1, 0, 1, 0, 0, 2.1])
    >>> pi.round(3) + 0.0
    array([1.  , 0.  , 0.  , 0.  , 1.05, 0.  , 1.05, 0.  , 0.  , 2.1 ])
    >>> mbt.math.is_physically_consistent(pi)
    True
    """
    x = as_finite_array(pi, "pi", (..., 10))
    unit = as_positive(length, "length")
    least = as_nonnegative(min_eigenvalue, "min_eigenvalue")
    scale = np.array([unit, unit, unit, 1.0])
    scale = np.outer(scale, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        J = _pseudo_inertia_of(x) / scale
    if not np.isfinite(J).all():
        raise ArgumentValueError(f"pi: the second moments of mass overflow float64, got {x.tolist()}")
    values, vectors = np.linalg.eigh(J)
    raised = np.maximum(values, least)
    nearest = (vectors * raised[..., np.newaxis, :]) @ np.swapaxes(vectors, -1, -2)
    changed = values[..., 0] < least - _slack(J)
    x[changed] = _parameters_of(nearest * scale)[changed]
    return x


# Products of inertia in the order xx, xy, yy, xz, yz, zz: the rows of a lower triangle.
_ROWS = np.array([0, 1, 1, 2, 2, 2])
_COLUMNS = np.array([0, 0, 1, 0, 1, 2])
_LOWER_TRIANGLE = np.array([[0, 1, 3, 6], [1, 2, 4, 7], [3, 4, 5, 8], [6, 7, 8, 9]])


def _pseudo_inertia_of(x: FloatArray) -> FloatArray:
    """Return [[tr(I)/2 1 - I, m c], [m c^T, m]], (..., 4, 4)."""
    # Slices of one entry are arrays: a single object might come from a package with arrays of its own.
    xx, xy, yy, xz, yz, zz = (x[..., i : i + 1] for i in range(4, 10))
    half_trace = (xx + yy + zz) / 2
    # The lower triangle row by row; 0 - x is not -0.0.
    parts = [
        half_trace - xx,
        0 - xy,
        half_trace - yy,
        0 - xz,
        0 - yz,
        half_trace - zz,
        x[..., 1:4],
        x[..., :1],
    ]
    J: FloatArray = np.concatenate(parts, axis=-1)[..., _LOWER_TRIANGLE]
    return J


def _parameters_of(J: FloatArray) -> FloatArray:
    """Return the inertial parameters of a pseudo-inertia, (..., 10): I = tr(S) 1 - S."""
    x = np.empty((*J.shape[:-2], 10))
    x[..., 0] = J[..., 3, 3]
    x[..., 1:4] = J[..., :3, 3]
    trace = J[..., 0, 0] + J[..., 1, 1] + J[..., 2, 2]
    x[..., 4:] = -J[..., _ROWS, _COLUMNS]
    for k in (4, 6, 9):
        x[..., k] += trace
    return x


def _slack(J: FloatArray) -> FloatArray:
    """Return the error that rounding may cause in the smallest eigenvalue, (...)."""
    slack: FloatArray = 16 * np.finfo(float).eps * np.abs(J).max(axis=(-2, -1))
    return slack


def _check_spatial_inertia(M_SP_E: object) -> None:
    if not isinstance(M_SP_E, SpatialInertia):
        raise ArgumentTypeError(f"M_SP_E: expected an mbt.SpatialInertia, got {type(M_SP_E).__name__}")
