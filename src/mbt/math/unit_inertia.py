"""Unit inertia: the rotational inertia of a body, divided by its mass."""

from __future__ import annotations

import math

import numpy as np

from mbt.errors import ArgumentValueError, InvalidInertiaError
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.inertia_arguments import as_float, as_float_array
from mbt.math.poses import as_rotation, as_unit_vector

__all__ = [
    "UnitInertia",
    "check_length",
    "components_of_particle",
    "matrix_of_components",
    "matrix_of_particle",
]

# Longest length: its cube, a volume, is still a float.
_LONGEST = 1e100


class UnitInertia:
    """Rotational inertia per unit mass, about a point P and expressed in a frame E: G_SP_E [m^2].

    Immutable. Only `SpatialInertia`, which has a mass and a mass centre, can check its physical validity.

    Parameters
    ----------
    Ixx, Iyy, Izz : float
        Moments [m^2].
    Ixy, Ixz, Iyz : float
        Products [m^2], the off-diagonal entries of the matrix as they are (``Ixy = -integral of x y``).

    Examples
    --------
    >>> UnitInertia.solid_sphere(1.0).as_matrix().diagonal()
    array([0.4, 0.4, 0.4])
    """

    __slots__ = ("_components",)
    _components: FloatArray

    def __init__(
        self,
        Ixx: object,
        Iyy: object,
        Izz: object,
        Ixy: object = 0.0,
        Ixz: object = 0.0,
        Iyz: object = 0.0,
    ) -> None:
        named = zip(("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz), strict=True)
        self._set(np.array([as_float(value, name) for name, value in named]))

    def _set(self, components: FloatArray) -> None:
        components.setflags(write=False)  # Faster than assigning to its flag.
        _put_components(self, components)

    @classmethod
    def _of_components(cls, components: FloatArray) -> UnitInertia:
        """Return a unit inertia with xx yy zz xy xz yz, unchecked. It takes over the array, shape (6,)."""
        components.setflags(write=False)
        return cls._of_read_only(components)

    @classmethod
    def _of_read_only(cls, components: FloatArray) -> UnitInertia:
        """Return the same with a read-only array."""
        inertia = cls.__new__(cls)
        _put_components(inertia, components)
        return inertia

    @classmethod
    def from_matrix(cls, G_SP_E: object, name: str = "G_SP_E") -> UnitInertia:
        """Return the unit inertia of a symmetric ``(3, 3)`` matrix; `name` names it in error messages."""
        G = as_float_array(G_SP_E, name, (3, 3))
        # Symmetric up to rounding in the caller's arithmetic. NaN and infinity are not checked here.
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rows = G.tolist()
        entries = (xx, xy, xz, yx, yy, yz, zx, zy, zz)
        asymmetry = max(abs(xy - yx), abs(xz - zx), abs(yz - zy))
        if all(map(math.isfinite, entries)) and asymmetry > 1e-9 * max(map(abs, entries)):
            raise InvalidInertiaError(f"{name}: expected a symmetric matrix, got {rows}")
        return cls(xx, yy, zz, 0.5 * (xy + yx), 0.5 * (xz + zx), 0.5 * (yz + zy))

    @classmethod
    def zero(cls) -> UnitInertia:
        """Return the unit inertia of a particle at P."""
        return cls(0.0, 0.0, 0.0)

    @classmethod
    def point_mass(cls, p_PQ: object) -> UnitInertia:
        """Return the unit inertia about P of a particle at Q."""
        p = as_finite_array(p_PQ, "p_PQ", (3,))
        return cls._of_components(np.array(components_of_particle(*p.tolist())))

    @classmethod
    def solid_box(cls, lx: object, ly: object, lz: object) -> UnitInertia:
        """Return the unit inertia of a solid box about its centre; edge lengths [m]."""
        x2, y2, z2 = (_length(value, name) ** 2 for name, value in (("lx", lx), ("ly", ly), ("lz", lz)))
        return cls((y2 + z2) / 12, (x2 + z2) / 12, (x2 + y2) / 12)

    @classmethod
    def solid_cube(cls, length: object) -> UnitInertia:
        """Return the unit inertia of a solid cube about its centre."""
        return cls.solid_box(length, length, length)

    @classmethod
    def solid_ellipsoid(cls, a: object, b: object, c: object) -> UnitInertia:
        """Return the unit inertia of a solid ellipsoid about its centre; semi-axes along x, y, z [m]."""
        a2, b2, c2 = (_length(value, name) ** 2 for name, value in (("a", a), ("b", b), ("c", c)))
        return cls((b2 + c2) / 5, (a2 + c2) / 5, (a2 + b2) / 5)

    @classmethod
    def solid_sphere(cls, radius: object) -> UnitInertia:
        """Return the unit inertia of a solid sphere about its centre."""
        r = _length(radius, "radius")
        return cls.solid_ellipsoid(r, r, r)

    @classmethod
    def hollow_sphere(cls, radius: object) -> UnitInertia:
        """Return the unit inertia of a thin spherical shell about its centre."""
        moment = 2 * _length(radius, "radius") ** 2 / 3
        return cls(moment, moment, moment)

    @classmethod
    def axially_symmetric(
        cls, moment_parallel: object, moment_perpendicular: object, unit_vector: object
    ) -> UnitInertia:
        """Return the unit inertia with one moment about `unit_vector`, another perpendicular to it [m^2]."""
        parallel = as_float(moment_parallel, "moment_parallel")
        across = as_float(moment_perpendicular, "moment_perpendicular")
        n = as_unit_vector(unit_vector, "unit_vector")
        # G = K 1 + (J - K) n n^T
        return cls.from_matrix(across * np.eye(3) + (parallel - across) * np.outer(n, n))

    @classmethod
    def solid_cylinder(cls, radius: object, length: object, unit_vector: object) -> UnitInertia:
        """Return the unit inertia of a solid cylinder about its centre, its axis along `unit_vector`."""
        r2, l2 = _length(radius, "radius") ** 2, _length(length, "length") ** 2
        return cls.axially_symmetric(r2 / 2, (3 * r2 + l2) / 12, unit_vector)

    @classmethod
    def thin_rod(cls, length: object, unit_vector: object) -> UnitInertia:
        """Return the unit inertia of a thin rod about its centre."""
        return cls.axially_symmetric(0.0, _length(length, "length") ** 2 / 12, unit_vector)

    @classmethod
    def solid_capsule(cls, radius: object, length: object, unit_vector: object) -> UnitInertia:
        """Return the unit inertia of a solid capsule about its centre.

        A cylinder of this `length` with a half ball on each end.
        """
        r, h = _length(radius, "radius"), _length(length, "length")
        if r == 0.0:
            return cls.thin_rod(h, unit_vector)
        # Volumes of the cylinder and of the two half balls together, and their shares of the mass.
        cylinder, ball = h, 4 * r / 3  # Divided by pi r^2, which may underflow.
        m_c, m_b = cylinder / (cylinder + ball), ball / (cylinder + ball)
        parallel = m_c * r * r / 2 + m_b * 2 * r * r / 5
        # A half ball's centre lies 3/8 r from its flat face, which lies h/2 from the centre:
        # 2/5 r^2 about its ball's centre, so 2/5 r^2 + h^2/4 + 3/8 r h about the capsule's.
        across = m_c * (3 * r * r + h * h) / 12 + m_b * (2 * r * r / 5 + h * h / 4 + 3 * r * h / 8)
        return cls.axially_symmetric(parallel, across, unit_vector)

    @property
    def components(self) -> FloatArray:
        """The six numbers ``[Ixx, Iyy, Izz, Ixy, Ixz, Iyz]``, read-only."""
        return self._components

    def as_matrix(self) -> FloatArray:
        """Return the symmetric ``(3, 3)`` matrix."""
        return matrix_of_components(self._components)

    def calc_principal_moments(self) -> FloatArray:
        """Return the three principal moments, smallest first."""
        return np.linalg.eigvalsh(self.as_matrix()).astype(np.float64)

    def re_express(self, R_AE: object) -> UnitInertia:
        """Return the same unit inertia expressed in A: ``G_SP_A = R_AE G_SP_E R_AE^T``."""
        R = as_rotation(R_AE, "R_AE")
        G_SP_A = R @ self.as_matrix() @ R.T
        return type(self).from_matrix(0.5 * (G_SP_A + G_SP_A.T))

    def shift_to_center_of_mass(self, p_PScm_E: object) -> UnitInertia:
        """Return G_SScm_E for this G_SP_E."""
        return type(self).from_matrix(
            self.as_matrix() - matrix_of_particle(as_finite_array(p_PScm_E, "p_PScm_E", (3,)))
        )

    def shift_from_center_of_mass(self, p_ScmP_E: object) -> UnitInertia:
        """Return G_SP_E for this G_SScm_E."""
        return type(self).from_matrix(
            self.as_matrix() + matrix_of_particle(as_finite_array(p_ScmP_E, "p_ScmP_E", (3,)))
        )

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: a unit inertia is immutable."""
        raise AttributeError(f"UnitInertia is immutable: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        """Return whether all six numbers are equal."""
        if not isinstance(other, UnitInertia):
            return NotImplemented
        return bool(np.array_equal(self._components, other._components))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[UnitInertia], tuple[float, ...]]:
        """Pickle by the six numbers."""
        return type(self), tuple(self._components.tolist())

    def __repr__(self) -> str:
        """Return the expression that builds it."""
        return f"UnitInertia({', '.join(repr(x) for x in self._components.tolist())})"


# Setting the slot directly bypasses `__setattr__`, in half the time.
_put_components = UnitInertia.__dict__["_components"].__set__


def matrix_of_components(components: FloatArray) -> FloatArray:
    """Return the symmetric ``(3, 3)`` matrix of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = components.tolist()
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def matrix_of_particle(p: FloatArray) -> FloatArray:
    """Return the unit inertia matrix of a particle at p: |p|^2 1 - p p^T."""
    xx, yy, zz, xy, xz, yz = components_of_particle(*p.tolist())
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def components_of_particle(x: float, y: float, z: float) -> tuple[float, float, float, float, float, float]:
    """Return xx, yy, zz, xy, xz, yz of `matrix_of_particle`."""
    return y * y + z * z, x * x + z * z, x * x + y * y, -(x * y), -(x * z), -(y * z)


def check_length(length: float, name: str) -> float:
    """Return a length whose powers are floats: if a square overflows, Python raises OverflowError."""
    if length > _LONGEST:
        raise ArgumentValueError(f"{name}: expected a length of at most {_LONGEST:g} m, got {length}")
    return length


def _length(value: object, name: str) -> float:
    number = as_float(value, name)
    if not (math.isfinite(number) and number >= 0.0):
        raise ArgumentValueError(f"{name}: expected a finite length >= 0, got {number}")
    return check_length(number, name)
