"""Mass properties computed from shapes: ``<inertial auto="true">`` of SDF."""

from __future__ import annotations

import math

import numpy as np

from mbt.errors import MbtError, ParseError
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.sdf_values import take_number
from mbt.parsing.xml_tree import Element
from mbt.tree.shape import Shape

__all__ = ["add_up_shapes"]

# The default density, that of water [kg/m^3].
_DENSITY = 1000.0
_Z = [0.0, 0.0, 1.0]


def add_up_shapes(
    link: Element, inertial: Element, collisions: list[tuple[Element, Shape]]
) -> SpatialInertia:
    """Return M_BBo_B of a link that fills its collision shapes.

    The density is that of the shape, of the ``<inertial>``, or of water. A given mass scales the result.
    Meshes and planes add nothing, with a warning.

    Raises
    ------
    ParseError
        When no shape has a mass, or a number is too large.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            M_BBo_B = _add_up(link, inertial, collisions)
            is_finite = np.isfinite(M_BBo_B.calc_rotational_inertia()).all()
    except ParseError:
        raise
    except (MbtError, ArithmeticError) as error:
        raise link.error(f"the inertia of its shapes cannot be computed: {error.args[-1]}") from None
    if not is_finite:
        raise link.error("the inertia of its shapes overflows a float")
    return M_BBo_B


def _add_up(link: Element, inertial: Element, collisions: list[tuple[Element, Shape]]) -> SpatialInertia:
    density = take_number(inertial, "density", _DENSITY)
    M_BBo_B = SpatialInertia.zero()
    for element, shape in collisions:
        M_GGo_G = _fill(shape, _check(element, "density", take_number(element, "density", density)))
        if M_GGo_G is None:
            element.repair(f"a {shape.kind} gives {link} no mass", "its inertia is that of its other shapes")
            continue
        R_BG, p_GoBo_B = shape.X_BG[:3, :3], -shape.X_BG[:3, 3]
        M_BBo_B += M_GGo_G.re_express(R_BG).shift(p_GoBo_B)
    if not M_BBo_B.mass > 0.0:
        raise link.error("its inertia is that of its collision shapes, and they have no mass")
    mass = _check(inertial, "mass", take_number(inertial, "mass", M_BBo_B.mass))
    return SpatialInertia(mass, M_BBo_B.com, M_BBo_B.unit_inertia)


def _check(element: Element, what: str, value: float) -> float:
    if not 0.0 < value < math.inf:
        raise element.error(f"{what} = {value:g}: expected a number > 0")
    return value


def _fill(shape: Shape, density: float) -> SpatialInertia | None:
    """Return M_GGo_G of a solid shape; None where its volume is unknown."""
    size = shape.size
    if shape.kind == "box":
        return SpatialInertia.solid_box_with_density(density, *size)
    if shape.kind == "sphere":
        return SpatialInertia.solid_sphere_with_density(density, *size)
    if shape.kind == "ellipsoid":
        return SpatialInertia.solid_ellipsoid_with_density(density, *size)
    if shape.kind == "cylinder":
        return SpatialInertia.solid_cylinder_with_density(density, size[0], size[1], _Z)
    if shape.kind == "capsule":
        return SpatialInertia.solid_capsule_with_density(density, size[0], size[1], _Z)
    return None
