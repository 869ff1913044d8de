"""Spatial inertias of simple shapes, by mass or by density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, InvalidInertiaError
from mbt.math.arrays import as_finite_array
from mbt.math.inertia_arguments import as_float
from mbt.math.poses import as_unit_vector
from mbt.math.unit_inertia import UnitInertia, check_length

if TYPE_CHECKING:
    from mbt.math.spatial_inertia import SpatialInertia

__all__ = ["SpatialInertiaShapes"]


class SpatialInertiaShapes:
    """Constructors of `SpatialInertia` for simple shapes.

    Lengths in m, masses in kg, densities in kg/m^3. P is the centre of the shape unless the name says
    otherwise; the axis of a rod, cylinder or capsule lies along `unit_vector`. All must be greater than zero;
    a body without mass is `SpatialInertia.zero()`.
    """

    __slots__ = ()

    @classmethod
    def point_mass(cls, mass: object, position: object) -> SpatialInertia:
        """Particle at `position` from P."""
        p = as_finite_array(position, "position", (3,))
        return cls._make(mass, p, UnitInertia.point_mass(p))

    @classmethod
    def solid_box_with_mass(cls, mass: object, lx: object, ly: object, lz: object) -> SpatialInertia:
        """Solid box with edges `lx`, `ly`, `lz` along x, y, z."""
        return cls._make_centred(
            mass, UnitInertia.solid_box(_size(lx, "lx"), _size(ly, "ly"), _size(lz, "lz"))
        )

    @classmethod
    def solid_box_with_density(cls, density: object, lx: object, ly: object, lz: object) -> SpatialInertia:
        """Solid box with edges `lx`, `ly`, `lz` along x, y, z."""
        volume = _size(lx, "lx") * _size(ly, "ly") * _size(lz, "lz")
        return cls.solid_box_with_mass(_density(density) * volume, lx, ly, lz)

    @classmethod
    def solid_cube_with_mass(cls, mass: object, length: object) -> SpatialInertia:
        """Solid cube with edges of this `length`."""
        return cls._make_centred(mass, UnitInertia.solid_cube(_size(length, "length")))

    @classmethod
    def solid_cube_with_density(cls, density: object, length: object) -> SpatialInertia:
        """Solid cube with edges of this `length`."""
        return cls.solid_cube_with_mass(_density(density) * _size(length, "length") ** 3, length)

    @classmethod
    def solid_sphere_with_mass(cls, mass: object, radius: object) -> SpatialInertia:
        """Solid ball."""
        return cls._make_centred(mass, UnitInertia.solid_sphere(_size(radius, "radius")))

    @classmethod
    def solid_sphere_with_density(cls, density: object, radius: object) -> SpatialInertia:
        """Solid ball."""
        volume = 4 / 3 * math.pi * _size(radius, "radius") ** 3
        return cls.solid_sphere_with_mass(_density(density) * volume, radius)

    @classmethod
    def hollow_sphere_with_mass(cls, mass: object, radius: object) -> SpatialInertia:
        """Thin spherical shell."""
        return cls._make_centred(mass, UnitInertia.hollow_sphere(_size(radius, "radius")))

    @classmethod
    def hollow_sphere_with_density(cls, area_density: object, radius: object) -> SpatialInertia:
        """Thin spherical shell with mass per area `area_density` [kg/m^2]."""
        area = 4 * math.pi * _size(radius, "radius") ** 2
        return cls.hollow_sphere_with_mass(_density(area_density, "area_density") * area, radius)

    @classmethod
    def solid_ellipsoid_with_mass(cls, mass: object, a: object, b: object, c: object) -> SpatialInertia:
        """Solid ellipsoid with semi-axes `a`, `b`, `c` along x, y, z."""
        return cls._make_centred(
            mass, UnitInertia.solid_ellipsoid(_size(a, "a"), _size(b, "b"), _size(c, "c"))
        )

    @classmethod
    def solid_ellipsoid_with_density(cls, density: object, a: object, b: object, c: object) -> SpatialInertia:
        """Solid ellipsoid with semi-axes `a`, `b`, `c` along x, y, z."""
        volume = 4 / 3 * math.pi * _size(a, "a") * _size(b, "b") * _size(c, "c")
        return cls.solid_ellipsoid_with_mass(_density(density) * volume, a, b, c)

    @classmethod
    def solid_cylinder_with_mass(
        cls, mass: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid cylinder."""
        r, h = _size(radius, "radius"), _size(length, "length")
        return cls._make_centred(mass, UnitInertia.solid_cylinder(r, h, unit_vector))

    @classmethod
    def solid_cylinder_with_density(
        cls, density: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid cylinder."""
        mass = _density(density) * _cylinder_volume(radius, length)
        return cls.solid_cylinder_with_mass(mass, radius, length, unit_vector)

    @classmethod
    def solid_cylinder_with_mass_about_end(
        cls, mass: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid cylinder; P is the centre of an end, from which it extends along `unit_vector`."""
        central = cls.solid_cylinder_with_mass(mass, radius, length, unit_vector)
        return _about_end(central, length, unit_vector)

    @classmethod
    def solid_cylinder_with_density_about_end(
        cls, density: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid cylinder; P is the centre of an end, from which it extends along `unit_vector`."""
        mass = _density(density) * _cylinder_volume(radius, length)
        return cls.solid_cylinder_with_mass_about_end(mass, radius, length, unit_vector)

    @classmethod
    def solid_capsule_with_mass(
        cls, mass: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid capsule: a cylinder of this `length` with a half ball on each end."""
        r, h = _size(radius, "radius"), _size(length, "length")
        return cls._make_centred(mass, UnitInertia.solid_capsule(r, h, unit_vector))

    @classmethod
    def solid_capsule_with_density(
        cls, density: object, radius: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Solid capsule: a cylinder of this `length` with a half ball on each end."""
        volume = _cylinder_volume(radius, length) + 4 / 3 * math.pi * _size(radius, "radius") ** 3
        return cls.solid_capsule_with_mass(_density(density) * volume, radius, length, unit_vector)

    @classmethod
    def thin_rod_with_mass(cls, mass: object, length: object, unit_vector: object) -> SpatialInertia:
        """Thin rod."""
        return cls._make_centred(mass, UnitInertia.thin_rod(_size(length, "length"), unit_vector))

    @classmethod
    def thin_rod_with_mass_about_end(
        cls, mass: object, length: object, unit_vector: object
    ) -> SpatialInertia:
        """Thin rod; P is an end, from which it extends along `unit_vector`."""
        return _about_end(cls.thin_rod_with_mass(mass, length, unit_vector), length, unit_vector)

    @classmethod
    def solid_tetrahedron_about_point_with_density(
        cls, density: object, p0: object, p1: object, p2: object, p3: object
    ) -> SpatialInertia:
        """Solid tetrahedron with these four vertices, as positions from P."""
        named = (("p0", p0), ("p1", p1), ("p2", p2), ("p3", p3))
        vertices = np.array([as_finite_array(value, name, (3,)) for name, value in named])
        volume = abs(float(np.linalg.det(vertices[1:] - vertices[0]))) / 6
        if volume == 0.0:
            raise ArgumentValueError(
                f"p0, p1, p2, p3: expected points that are not in one plane, got {vertices.tolist()}"
            )
        total = vertices.sum(axis=0)
        # Second moment of the uniform tetrahedron per unit mass: (sum of p p^T + total total^T) / 20.
        second_moment = (vertices.T @ vertices + np.outer(total, total)) / 20
        G_SP_E = np.trace(second_moment) * np.eye(3) - second_moment
        return cls._make(_density(density) * volume, total / 4, UnitInertia.from_matrix(G_SP_E))

    @classmethod
    def _make_centred(cls, mass: object, G_SScm_E: UnitInertia) -> SpatialInertia:
        return cls._make(mass, np.zeros(3), G_SScm_E)

    @classmethod
    def _make(cls, mass: object, p_PScm_E: object, G_SP_E: UnitInertia) -> SpatialInertia:
        constructor: Any = cls
        inertia: SpatialInertia = constructor(_checked_mass(mass), p_PScm_E, G_SP_E)
        return inertia


def _about_end(central: SpatialInertia, length: object, unit_vector: object) -> SpatialInertia:
    p_ScmP_E = -0.5 * _size(length, "length") * as_unit_vector(unit_vector, "unit_vector")
    return central.shift(p_ScmP_E)


def _cylinder_volume(radius: object, length: object) -> float:
    return math.pi * _size(radius, "radius") ** 2 * _size(length, "length")


def _size(value: object, name: str) -> float:
    number = as_float(value, name)
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentValueError(f"{name}: expected a finite length > 0, got {number}")
    return check_length(number, name)


def _checked_mass(value: object) -> float:
    number = as_float(value, "mass")
    if not (math.isfinite(number) and number > 0.0):
        raise InvalidInertiaError(
            f"mass: expected a finite number > 0 kg (SpatialInertia.zero() has none), got {number}"
        )
    return number


def _density(value: object, name: str = "density") -> float:
    number = as_float(value, name)
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentValueError(f"{name}: expected a finite number > 0, got {number}")
    return number
