"""Spatial inertia: mass, mass centre and rotational inertia of a body."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from struct import Struct

import numpy as np

from mbt.errors import ArgumentTypeError, InvalidInertiaError
from mbt.math.arrays import FloatArray, as_bool
from mbt.math.inertia_arguments import as_float, as_float_array
from mbt.math.poses import as_rotation, skew
from mbt.math.spatial_inertia_shapes import SpatialInertiaShapes
from mbt.math.unit_inertia import (
    UnitInertia,
    components_of_particle,
    matrix_of_components,
    matrix_of_particle,
)

__all__ = ["SpatialInertia"]


class SpatialInertia(SpatialInertiaShapes):
    """Mass properties of a body S about a point P, expressed in a frame E: M_SP_E.

    Immutable. A body is physically possible when its mass is finite and not negative, its mass centre is
    finite, and the principal moments about the mass centre are not negative and satisfy the triangle
    inequality: none exceeds the sum of the other two. A massless body is possible: `SpatialInertia.zero()`.

    Rotational inertia without mass is possible too: for rotors and simplified links whose mass belongs to
    another body. `make_from_central_inertia` creates it. It is the same about every point and independent of
    the mass, and its principal moments need only be nonnegative.

    Parameters
    ----------
    mass : float
        Mass [kg].
    p_PScm_E : array_like, shape (3,)
        Position of the mass centre from P [m].
    G_SP_E : array_like of shape (3, 3), or UnitInertia
        Unit inertia about P [m^2]: the rotational inertia about P divided by the mass.
    skip_validity_check : bool, optional
        Accept mass properties that no physical body has. A negative or non-finite mass raises an error all
        the same.

    Raises
    ------
    InvalidInertiaError
        When no physical body has these mass properties; the message says which rule fails.

    Examples
    --------
    A rod of 2 kg and 1 m that hangs from its end P:

    >>> import numpy as np
    >>> M = SpatialInertia(2.0, [0, 0, -0.5], np.diag([1 / 3, 1 / 3, 0.0]))
    >>> M.calc_rotational_inertia().diagonal().round(6)
    array([0.666667, 0.666667, 0.      ])
    """

    __slots__ = ("_com", "_mass", "_massless_inertia", "_unit_inertia")
    # I_SP_E = m G_SP_E + J_E
    _mass: float
    _com: FloatArray
    _unit_inertia: UnitInertia
    _massless_inertia: FloatArray  # J_E (6,): xx yy zz xy xz yz

    def __init__(
        self,
        mass: object,
        p_PScm_E: object,
        G_SP_E: object,
        *,
        skip_validity_check: bool = False,
    ) -> None:
        m = _checked_mass(mass)
        com = as_float_array(p_PScm_E, "p_PScm_E", (3,)).copy()
        unit_inertia = G_SP_E if isinstance(G_SP_E, UnitInertia) else UnitInertia.from_matrix(G_SP_E)
        self._set(m, com, unit_inertia, _NONE)
        if not as_bool(skip_validity_check, "skip_validity_check"):
            self._check_physically_valid()

    def _set(self, mass: float, com: FloatArray, G_SP_E: UnitInertia, J_E: FloatArray) -> None:
        _put_mass(self, mass)
        _put_com(self, _frozen(com))
        _put_unit_inertia(self, G_SP_E)
        _put_massless_inertia(self, _frozen(J_E))

    @classmethod
    def _of_parts(cls, mass: float, com: FloatArray, G_SP_E: UnitInertia, J_E: FloatArray) -> SpatialInertia:
        """Return mass properties with ``I_SP_E = m G_SP_E + J_E``, unchecked."""
        inertia = cls.__new__(cls)
        inertia._set(mass, com, G_SP_E, J_E)
        return inertia

    @classmethod
    def _of_own(cls, mass: float, com: FloatArray, G_SP_E: UnitInertia, J_E: FloatArray) -> SpatialInertia:
        """Return the same with read-only arrays, which it takes over."""
        inertia = cls.__new__(cls)
        _put_mass(inertia, mass)
        _put_com(inertia, com)
        _put_unit_inertia(inertia, G_SP_E)
        _put_massless_inertia(inertia, J_E)
        return inertia

    @classmethod
    def _of_rotational_inertia(
        cls,
        mass: float,
        p_PScm_E: Sequence[float],
        xx: float,
        yy: float,
        zz: float,
        xy: float,
        xz: float,
        yz: float,
    ) -> SpatialInertia:
        """Return unchecked mass properties from components of the rotational inertia."""
        unit = mass or 1.0
        # Arrays over bytes are read-only, and take half the time of ordinary ones to make.
        numbers = np.frombuffer(
            _pack_nine(*p_PScm_E, xx / unit, yy / unit, zz / unit, xy / unit, xz / unit, yz / unit)
        )
        return cls._of_arrays(mass, numbers[:3], numbers[3:])

    @classmethod
    def _of_arrays(cls, mass: float, com: FloatArray, components: FloatArray) -> SpatialInertia:
        """Return unchecked mass properties from a unit inertia; without mass, from the rotational inertia.

        The inertia takes over both arrays, which are read-only.
        """
        J_E = _NONE
        if mass == 0.0:
            G_SP_E = UnitInertia.point_mass(com) if com.any() else _NO_UNIT_INERTIA
            J_E = components if components.any() else _NONE
        else:
            G_SP_E = UnitInertia._of_read_only(components)
        return cls._of_own(mass, com, G_SP_E, J_E)

    @classmethod
    def make_from_central_inertia(
        cls,
        mass: object,
        p_PScm_E: object,
        I_SScm_E: object,
        *,
        skip_validity_check: bool = False,
    ) -> SpatialInertia:
        """Build from the rotational inertia about the mass centre, which is kept even without mass.

        Parameters
        ----------
        mass : float
            Mass [kg].
        p_PScm_E : array_like, shape (3,)
            Position of the mass centre from P [m].
        I_SScm_E : array_like, shape (3, 3)
            Rotational inertia about the mass centre [kg m^2].
        skip_validity_check : bool, optional
            As in the constructor.

        Raises
        ------
        InvalidInertiaError
            As in the constructor.

        Examples
        --------
        The rotor of a motor whose mass is included in the link that carries it:

        >>> import numpy as np
        >>> M = SpatialInertia.make_from_central_inertia(0.0, [0, 0, 0], np.diag([0, 0.35, 0]))
        >>> M.mass, M.calc_rotational_inertia().diagonal()
        (0.0, array([0.  , 0.35, 0.  ]))
        """
        m = _checked_mass(mass)
        p = as_float_array(p_PScm_E, "p_PScm_E", (3,))
        I = as_float_array(I_SScm_E, "I_SScm_E", (3, 3))  # noqa: E741 - the field's symbol
        if m == 0.0:
            J_E = UnitInertia.from_matrix(I, "I_SScm_E").components
            inertia = cls._of_parts(m, p, UnitInertia.point_mass(p), J_E)
            if not as_bool(skip_validity_check, "skip_validity_check"):
                inertia._check_physically_valid()
            return inertia
        with np.errstate(over="ignore", invalid="ignore"):
            G_SScm_E = UnitInertia.from_matrix(I / m, "I_SScm_E")
        return cls(m, p, G_SScm_E.shift_from_center_of_mass(p), skip_validity_check=skip_validity_check)

    @classmethod
    def zero(cls) -> SpatialInertia:
        """Mass properties of a massless body."""
        return cls._of_parts(0.0, np.zeros(3), UnitInertia.zero(), _NONE)

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return self._mass

    @property
    def com(self) -> FloatArray:
        """Position p_PScm_E of the mass centre from P [m], shape (3,), read-only."""
        return self._com

    @property
    def unit_inertia(self) -> UnitInertia:
        """Unit inertia G_SP_E about P [m^2] of the mass alone, without massless rotational inertia."""
        return self._unit_inertia

    def _mass_as_array(self) -> FloatArray:
        """Return the mass, shape (1,)."""
        return np.array([self._mass])

    def calc_com_moment(self) -> FloatArray:
        """Return ``m p_PScm_E`` [kg m], shape (3,)."""
        return self._mass * self._com

    def calc_rotational_inertia(self) -> FloatArray:
        """Return the rotational inertia I_SP_E about P [kg m^2], shape (3, 3)."""
        return self._mass * self._unit_inertia.as_matrix() + matrix_of_components(self._massless_inertia)

    def calc_central_inertia(self) -> FloatArray:
        """Return the rotational inertia I_SScm_E about the mass centre [kg m^2], shape (3, 3)."""
        return self.calc_rotational_inertia() - self._mass * matrix_of_particle(self._com)

    def as_matrix6(self) -> FloatArray:
        """Return the ``(6, 6)`` matrix ``[[I_SP, m [p]x], [-m [p]x, m 1]]``, rotational part first."""
        m_px = self._mass * skew(self._com)
        M = np.zeros((6, 6))
        M[:3, :3] = self.calc_rotational_inertia()
        M[:3, 3:] = m_px
        M[3:, :3] = -m_px
        M[3:, 3:] = self._mass * np.eye(3)
        return M

    def shift(self, p_PQ_E: object) -> SpatialInertia:
        """Return M_SQ_E, the same body's mass properties about the point Q at `p_PQ_E` from P [m]."""
        p_PQ = as_float_array(p_PQ_E, "p_PQ_E", (3,))
        p_QScm = self._com - p_PQ
        # G_SQ = G_SP + (|p_QScm|^2 1 - p_QScm p_QScm^T) - (the same with p_PScm)
        G_SScm = self._unit_inertia.shift_to_center_of_mass(self._com)
        G_SQ = G_SScm.shift_from_center_of_mass(p_QScm)
        return self._of_parts(self._mass, p_QScm, G_SQ, self._massless_inertia)

    def re_express(self, R_AE: object) -> SpatialInertia:
        """Return M_SP_A, the same mass properties expressed in a frame A."""
        R = as_rotation(R_AE, "R_AE")
        J_A = UnitInertia(*self._massless_inertia).re_express(R).components
        return self._of_parts(self._mass, R @ self._com, self._unit_inertia.re_express(R), J_A)

    def is_physically_valid(self) -> bool:
        """Return whether a physical body can have these mass properties."""
        return self.criticize_not_physically_valid() is None

    def criticize_not_physically_valid(self) -> str | None:
        """Return why no physical body has these mass properties, or None."""
        com, G_SP = self._com.tolist(), self._unit_inertia.components.tolist()
        reason = None if is_clearly_possible(self._mass, com, G_SP) else self._criticize_mass()
        return reason or self._criticize_massless_inertia()

    def _check_physically_valid(self) -> None:
        reason = self.criticize_not_physically_valid()
        if reason is not None:
            raise InvalidInertiaError(reason)

    def _criticize_massless_inertia(self) -> str | None:
        if self._massless_inertia is _NONE or not self._massless_inertia.any():
            return None
        J = self._massless_inertia.tolist()
        if not all(map(math.isfinite, J)):
            matrix = matrix_of_components(self._massless_inertia)
            return f"rotational inertia: expected finite numbers, got {matrix.tolist()}"
        moments = _principal_moments(J)
        if moments[0] >= -16 * sys.float_info.epsilon * max(1.0, abs(moments[-1])):
            return None
        shown = ", ".join(f"{moment:.9g}" for moment in moments)
        return (
            f"No physical body has this inertia: principal moments [{shown}] kg m^2 without mass, "
            f"the smallest is negative: {moments[0]:.9g}"
        )

    def _criticize_mass(self) -> str | None:
        if not (math.isfinite(self._mass) and self._mass >= 0.0):
            return f"mass: expected a finite number >= 0 kg, got {self._mass}"
        com, G_SP = self._com.tolist(), self._unit_inertia.components.tolist()
        if not all(map(math.isfinite, com)):
            return f"centre of mass: expected finite numbers, got {com} (mass = {self._mass} kg)"
        if not all(map(math.isfinite, G_SP)):
            return f"unit inertia: expected finite numbers, got {self._unit_inertia.as_matrix().tolist()}"
        I_SP = [self._mass * g for g in G_SP]
        I_SScm = [m - self._mass * g for m, g in zip(I_SP, components_of_particle(*com), strict=True)]
        if not all(map(math.isfinite, (*I_SP, *I_SScm))):
            return f"rotational inertia: overflows float64 (mass {self._mass} kg, com {com} m)"
        # Rounding in the shift from P to the mass centre is relative to the moments about P.
        slack = 16 * sys.float_info.epsilon * max(1.0, 0.5 * sum(I_SP[:3]))
        return _criticize_moments(self._mass, self._com, _principal_moments(I_SScm), slack)

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Return the mass properties of both bodies together, about the same P, expressed in the same E."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        mass = self._mass + other._mass
        share = self._mass / mass if mass > 0.0 else 0.5
        p = share * self._com + (1.0 - share) * other._com
        G = share * self._unit_inertia.components + (1.0 - share) * other._unit_inertia.components
        J = self._massless_inertia + other._massless_inertia
        return self._of_parts(mass, p, UnitInertia(*G), J)

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: a spatial inertia is immutable."""
        raise AttributeError(f"SpatialInertia is immutable: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        """Return whether mass, mass centre and inertia are equal, number by number."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        return (
            self._mass == other._mass
            and bool(np.array_equal(self._com, other._com))
            and self._unit_inertia == other._unit_inertia
            and bool(np.array_equal(self._massless_inertia, other._massless_inertia))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by mass, mass centre and inertia."""
        return _restore, (
            self._mass,
            self._com.tolist(),
            self._unit_inertia,
            self._massless_inertia.tolist(),
        )

    def __repr__(self) -> str:
        """Return the expression that builds it."""
        com = self._com.tolist()
        own = f"SpatialInertia(mass={self._mass!r}, p_PScm_E={com!r}, G_SP_E={self._unit_inertia!r})"
        if not self._massless_inertia.any():
            return own
        J = matrix_of_components(self._massless_inertia).tolist()
        without_mass = f"SpatialInertia.make_from_central_inertia(mass=0.0, p_PScm_E={com!r}, I_SScm_E={J!r})"
        return without_mass if self._mass == 0.0 else f"{own} + {without_mass}"


# Setting slots directly bypasses `__setattr__`, in half the time.
_put_mass = SpatialInertia.__dict__["_mass"].__set__
_put_com = SpatialInertia.__dict__["_com"].__set__
_put_unit_inertia = SpatialInertia.__dict__["_unit_inertia"].__set__
_put_massless_inertia = SpatialInertia.__dict__["_massless_inertia"].__set__

_pack_nine = Struct("9d").pack

# The massless rotational inertia of a body that has none.
_NONE = np.zeros(6)
_NONE.flags.writeable = False
_NO_UNIT_INERTIA = UnitInertia.zero()


def _restore(
    mass: float, com: list[float], unit_inertia: UnitInertia, massless_inertia: list[float] | None = None
) -> SpatialInertia:
    # Pickles of version 0.1 have three parts.
    J = _NONE if massless_inertia is None else as_float_array(massless_inertia, "massless_inertia", (6,))
    return SpatialInertia._of_parts(mass, as_float_array(com, "p_PScm_E", (3,)), unit_inertia, J)


def _frozen(array: FloatArray) -> FloatArray:
    """Return an array that nobody can write to: a copy, unless it is already such an array."""
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.flags.writeable = False
    return array


def _checked_mass(mass: object) -> float:
    if isinstance(mass, UnitInertia):
        raise ArgumentTypeError("mass: expected a number, got a UnitInertia")
    m = as_float(mass, "mass")
    if not (math.isfinite(m) and m >= 0.0):
        raise InvalidInertiaError(f"mass: expected a finite number >= 0 kg, got {m}")
    return m


def is_clearly_possible(mass: float, com: Sequence[float], unit_inertia: Sequence[float]) -> bool:
    """Return whether the triangle inequality certainly holds, without an eigenvalue problem.

    It does if the second moments ``tr(I) / 2 1 - I`` about the mass centre are positive definite, with
    positive leading minors: true of all bodies but points, rods and plates.
    """
    x, y, z = com
    xx, yy, zz, xy, xz, yz = unit_inertia
    if not (mass > 0.0 and math.isfinite(mass * (xx + yy + zz))):
        return False
    # Twice the second moments, per mass.
    jx, jy, jz = yy + zz - xx - 2.0 * x * x, xx + zz - yy - 2.0 * y * y, xx + yy - zz - 2.0 * z * z
    jxy, jxz, jyz = -2.0 * (xy + x * y), -2.0 * (xz + x * z), -2.0 * (yz + y * z)
    minor = jx * jy - jxy * jxy
    det = jz * minor - jx * jyz * jyz - jy * jxz * jxz + 2.0 * jxy * jxz * jyz
    return jx > 0.0 and minor > 0.0 and 0.0 < det < math.inf


def _principal_moments(I_SP_E: Sequence[float]) -> list[float]:
    """Return the principal moments of xx yy zz xy xz yz, smallest first."""
    if not any(I_SP_E[3:]):
        return sorted(I_SP_E[:3])
    moments: list[float] = np.linalg.eigvalsh(matrix_of_components(np.array(I_SP_E))).tolist()
    return moments


def _criticize_moments(mass: float, com: FloatArray, moments: list[float], slack: float) -> str | None:
    smallest, middle, largest = moments
    if smallest < -slack:
        rule = f"the smallest is negative: {smallest:.9g}"
    elif smallest + middle + slack < largest:
        rule = f"the triangle inequality fails: {smallest:.9g} + {middle:.9g} < {largest:.9g}"
    else:
        return None
    shown = ", ".join(f"{moment:.9g}" for moment in moments)
    position = ", ".join(f"{x:.9g}" for x in com.tolist())
    return (
        f"No physical body has this inertia: principal moments about the centre of mass [{shown}] kg m^2, "
        f"{rule} "
        f"(mass {mass:.9g} kg, centre of mass [{position}] m)"
    )
