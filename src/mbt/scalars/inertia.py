"""Mass properties of one body in a scalar type other than double, or of many samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray
from mbt.errors import shape_error
from mbt.math.arrays import as_float_array
from mbt.math.foreign import numbers_among
from mbt.math.leading_axes import join, rotate, transpose
from mbt.math.poses import as_rotation, find_suspects
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia

__all__ = ["ScalarSpatialInertia", "ScalarUnitInertia"]

# Order of components: xx yy zz xy xz yz.
_MATRIX = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]
_ROWS, _COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]


class ScalarUnitInertia(UnitInertia):
    """A unit inertia whose components are an array of a scalar type, (..., 6): xx yy zz xy xz yz."""

    __slots__ = ()

    def __init__(self, components: Any) -> None:
        object.__setattr__(self, "_components", components)

    def as_matrix(self) -> Any:
        """Return the symmetric ``(3, 3)`` matrix."""
        return self._components[..., _MATRIX]

    def re_express(self, R_AE: object) -> ScalarUnitInertia:
        """Return the same unit inertia expressed in A: ``G_SP_A = R_AE G_SP_E R_AE^T``."""
        R = _as_array(R_AE, "R_AE", (3, 3), self._components)
        return type(self)((R @ self.as_matrix() @ transpose(R))[..., _ROWS, _COLUMNS])

    def shift_to_center_of_mass(self, p_PScm_E: object) -> ScalarUnitInertia:
        """Return G_SScm_E for this G_SP_E."""
        return type(self)(
            self._components - _particle(_as_array(p_PScm_E, "p_PScm_E", (3,), self._components))
        )

    def shift_from_center_of_mass(self, p_ScmP_E: object) -> ScalarUnitInertia:
        """Return G_SP_E for this G_SScm_E."""
        return type(self)(
            self._components + _particle(_as_array(p_ScmP_E, "p_ScmP_E", (3,), self._components))
        )

    def __reduce__(self) -> Any:
        """Pickle by the components."""
        return type(self), (self._components,)

    def __repr__(self) -> str:
        """Show the components."""
        return f"<UnitInertia: components={self._components}>"


class ScalarSpatialInertia(SpatialInertia):
    """Mass, centre of mass and inertia in a scalar type, perhaps with leading axes. Nothing is checked.

    The methods are those of `SpatialInertia`, with arrays of the scalar type.
    """

    __slots__ = ()
    _mass: Any
    _com: Any
    _unit_inertia: ScalarUnitInertia
    _massless_inertia: Any

    def __init__(self, mass: Any, com: Any, components: Any, massless: Any) -> None:
        object.__setattr__(self, "_mass", mass)
        object.__setattr__(self, "_com", com)
        object.__setattr__(self, "_unit_inertia", ScalarUnitInertia(components))
        object.__setattr__(self, "_massless_inertia", massless)

    def _mass_as_array(self) -> Any:
        if isinstance(self._mass, float):
            return super()._mass_as_array()
        mass = _over(self._mass, 1)
        return mass if mass.ndim else mass.reshape(1)

    def calc_com_moment(self) -> Any:
        """Return ``m p_PScm_E``."""
        return _over(self._mass, 1) * self._com

    def calc_rotational_inertia(self) -> Any:
        """Return the rotational inertia I_SP_E about P."""
        return _over(self._mass, 2) * self._unit_inertia.as_matrix() + self._massless_inertia[..., _MATRIX]

    def calc_central_inertia(self) -> Any:
        """Return the rotational inertia I_SScm_E about the mass centre."""
        G_SScm = self._unit_inertia.shift_to_center_of_mass(self._com)
        return _over(self._mass, 2) * G_SScm.as_matrix() + self._massless_inertia[..., _MATRIX]

    def as_matrix6(self) -> Any:
        """Return the ``(6, 6)`` matrix ``[[I_SP, m [p]x], [-m [p]x, m 1]]``, rotational part first."""
        moment = self.calc_com_moment()
        zero = moment[..., :1] - moment[..., :1]
        # [p]x has the rows 0 -z y, z 0 -x, -y x 0.
        signed = join([zero, moment, -moment])
        m_px = signed[..., [[0, 6, 2], [3, 0, 4], [5, 1, 0]]]
        upper = join([self.calc_rotational_inertia(), m_px])
        return join([upper, join([-m_px, _over(self._mass, 2) * np.eye(3, dtype=int)])], -2)

    def shift(self, p_PQ_E: object) -> ScalarSpatialInertia:
        """Return M_SQ_E, the same body's mass properties about the point Q at `p_PQ_E` from P."""
        p_QScm = self._com - _as_array(p_PQ_E, "p_PQ_E", (3,), self._com)
        central = self._unit_inertia.shift_to_center_of_mass(self._com)
        G_SQ = central.shift_from_center_of_mass(p_QScm)
        return type(self)(self._mass, p_QScm, G_SQ.components, self._massless_inertia)

    def re_express(self, R_AE: object) -> ScalarSpatialInertia:
        """Return M_SP_A, the same mass properties expressed in a frame A."""
        R = _as_array(R_AE, "R_AE", (3, 3), self._com)
        return type(self)(
            self._mass,
            rotate(R, self._com),
            self._unit_inertia.re_express(R).components,
            ScalarUnitInertia(self._massless_inertia).re_express(R).components,
        )

    def criticize_not_physically_valid(self) -> str | None:
        """Return why no physical body has these values; None also if they are unknown."""
        components = self._unit_inertia.components
        if not isinstance(components, AutoDiffArray):
            return None
        mass, com = (getattr(x, "value", x) for x in (self._mass, self._com))
        G = UnitInertia(*components.value)
        return SpatialInertia(float(mass), com, G, skip_validity_check=True).criticize_not_physically_valid()

    def __add__(self, other: SpatialInertia) -> ScalarSpatialInertia:
        """Return the mass properties of both bodies together, about the same P, expressed in the same E."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        numbers = numbers_among(self._com)
        other_mass, com, components, massless = (
            part if numbers is None else numbers.as_float_array(part, "other")[()]
            for part in (other.mass, other.com, other.unit_inertia.components, other._massless_inertia)
        )
        mass = self._mass + other_mass
        p = self._share(mass, 1, self._com, other_mass, com)
        G = self._share(mass, 1, self._unit_inertia.components, other_mass, components)
        return type(self)(mass, p, G, self._massless_inertia + massless)

    __radd__ = __add__

    def _share(self, total: Any, axes: int, a: Any, other_mass: Any, b: Any) -> Any:
        """Return the mean of two arrays, by mass."""
        return (_over(self._mass, axes) * a + _over(other_mass, axes) * b) / _over(total, axes)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by mass, mass centre and components."""
        return type(self), (self._mass, self._com, self._unit_inertia.components, self._massless_inertia)

    def __repr__(self) -> str:
        """Show mass and centre of mass."""
        return f"<SpatialInertia: mass={self._mass}, com={self._com}>"


def _over(number: Any, axes: int) -> Any:
    """Reshape one number, or one for each state, to broadcast over this many axes of a state."""
    if isinstance(number, (np.ndarray, AutoDiffArray)):
        return number[(..., *(None,) * axes)]
    if isinstance(number, float):
        return number
    # Objects of some packages treat an array as one of their own.
    array = np.empty((), dtype=object)
    array[()] = number
    return array


def _particle(p: Any) -> Any:
    """Return the components of the unit inertia of a particle at p, (..., 6): |p|^2 1 - p p^T."""
    squares = p * p
    moments = squares[..., [1, 0, 0]] + squares[..., [2, 2, 1]]
    return join([moments, -(p[..., [0, 0, 1]] * p[..., [1, 2, 2]])])


def _as_array(value: Any, name: str, shape: tuple[int, ...], like: Any) -> Any:
    """Return an array (..., *shape) of the scalar type of another; a rotation of doubles is checked."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        if value.shape[-len(shape) :] != shape:
            raise shape_error(name, (..., *shape), value.shape)
        return value
    if numbers_among(value) is None:
        value = as_float_array(value, name, (..., *shape))
        for i in find_suspects(value) if shape == (3, 3) else ():
            as_rotation(value[i], f"{name}{list(i)}" if i else name)
    numbers = numbers_among(value, like)
    return value if numbers is None else numbers.as_float_array(value, name, (..., *shape))
