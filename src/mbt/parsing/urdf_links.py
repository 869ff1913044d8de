"""URDF links: names, mass properties and shapes."""

from __future__ import annotations

from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import WORLD, LinkDescription, ModelDescription
from mbt.parsing.inertias import Moments, make_spatial_inertia
from mbt.parsing.numbers import take_each_number, take_number, take_pose
from mbt.parsing.urdf_shapes import Colors, read_shapes
from mbt.parsing.xml_tree import Element

__all__ = ["read_link"]

_LINK_PARTS = frozenset(("inertial",))
_INERTIAL_PARTS = frozenset(("mass", "inertia", "origin"))
_PRODUCTS = ("ixy", "ixz", "iyz")
_MOMENTS = ("ixx", "iyy", "izz", *_PRODUCTS)
_MASSLESS = SpatialInertia.zero()


def read_link(link: Element, model: ModelDescription, colors: Colors) -> None:
    """Read a link into ``model.links``; one named ``world`` is World and has no mass properties.

    `colors` are the colours of materials, to which the link adds its own.

    Raises
    ------
    ParseError
        When its mass is negative, or a part of its inertia is missing, not a number or too large.
    """
    name = link.require_name()
    inertial = link.take_parts(_LINK_PARTS).get("inertial")
    visuals, collisions = read_shapes(link, model, colors)
    if name == WORLD:
        if inertial is not None:
            inertial.dismiss()
            model.report.warn("link 'world' is World: its inertia has no effect", link.line)
        model.world_visuals, model.world_collisions = visuals, collisions
        return
    mass, M_BBo_B, moment = 0.0, _MASSLESS, 0.0
    if inertial is not None:
        mass, M_BBo_B, moment = _read_inertial(link, inertial, model)
    model.links.append(LinkDescription(name, M_BBo_B, link.line, mass, moment, visuals, collisions))


def _read_inertial(
    link: Element, inertial: Element, model: ModelDescription
) -> tuple[float, SpatialInertia, float]:
    """Return the mass, the mass properties and the moment of a `LinkDescription`."""
    parts = inertial.take_parts(_INERTIAL_PARTS)
    written, inertia = parts.get("mass"), parts.get("inertia")
    if written is None:
        if inertia is None or any(_read_moments(inertia)):
            raise inertial.error(
                "the element <mass> is missing", "leave <inertial> out where a link has no mass"
            )
        link.repair("its <inertial> has no <mass>, and all moments are zero", "it has no mass", at=inertial)
        inertial.dismiss()
        return 0.0, _MASSLESS, 0.0
    mass = take_number(written, "value")
    X_BI = take_pose(parts.get("origin"))
    if mass < 0.0:
        raise link.error(f"mass = {mass:g}: a mass cannot be negative")
    if inertia is None:
        if mass > 0.0:
            link.repair("it has a mass without <inertia>", "read as a point mass", at=inertial)
        I_SScm_I: Moments = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:
        I_SScm_I = _read_moments(inertia)
    return mass, *make_spatial_inertia(link, inertial.line, model, mass, X_BI, I_SScm_I)


def _read_moments(inertia: Element) -> Moments:
    numbers = take_each_number(inertia, _MOMENTS)
    if numbers is not None:
        xx, yy, zz, xy, xz, yz = numbers
        return xx, yy, zz, xy, xz, yz
    xx, yy, zz = take_number(inertia, "ixx"), take_number(inertia, "iyy"), take_number(inertia, "izz")
    missing = [product for product in _PRODUCTS if product not in inertia.attributes]
    if missing:
        inertia.repair(f"it has no {', '.join(missing)}", "zero is used")
    xy, xz, yz = [take_number(inertia, product, 0.0) for product in _PRODUCTS]
    return xx, yy, zz, xy, xz, yz
