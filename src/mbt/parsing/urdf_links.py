"""URDF links: names and mass properties."""

from __future__ import annotations

from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import WORLD, LinkDescription, ModelDescription
from mbt.parsing.inertias import Moments, make_spatial_inertia
from mbt.parsing.numbers import take_number, take_pose_rows
from mbt.parsing.xml_tree import Element

__all__ = ["read_link"]

_PRODUCTS = ("ixy", "ixz", "iyz")
_MASSLESS = SpatialInertia.zero()


def read_link(link: Element, model: ModelDescription) -> None:
    """Read a link into ``model.links``; one named ``world`` is World and has no mass properties.

    Raises
    ------
    ParseError
        When its mass is negative, or anything of its inertia is missing, no number or beyond bounds.
    """
    name = link.attributes["name"]
    inertial = link.take_first("inertial")
    if name == WORLD:
        if inertial is not None:
            inertial.dismiss()
            model.report.warn("link 'world' is World: its inertia has no effect", link.line)
        return
    if inertial is None:
        model.links.append(LinkDescription(name, _MASSLESS, link.line))
    else:
        model.links.append(_read_inertial(link, inertial, model))


def _read_inertial(link: Element, inertial: Element, model: ModelDescription) -> LinkDescription:
    written = inertial.require_first("mass", "leave <inertial> out where a link has no mass")
    mass = take_number(written, "value")
    X_BI = take_pose_rows(inertial.take_first("origin"))
    inertia = inertial.take_first("inertia")
    if mass < 0.0:
        raise link.error(f"mass = {mass:g}: a mass cannot be negative")
    if inertia is None:
        if mass > 0.0:
            link.repair("it has a mass without <inertia>", "a point mass is taken", at=inertial)
        I_SScm_I: Moments = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:
        I_SScm_I = _read_moments(inertia)
    M_BBo_B, moment = make_spatial_inertia(link, inertial.line, model, mass, X_BI, I_SScm_I)
    return LinkDescription(link.attributes["name"], M_BBo_B, link.line, mass, moment)


def _read_moments(inertia: Element) -> Moments:
    xx, yy, zz = take_number(inertia, "ixx"), take_number(inertia, "iyy"), take_number(inertia, "izz")
    missing = [product for product in _PRODUCTS if product not in inertia.attributes]
    if missing:
        inertia.repair(f"it is without {', '.join(missing)}", "zero is taken")
    xy, xz, yz = [take_number(inertia, product, 0.0) for product in _PRODUCTS]
    return xx, yy, zz, xy, xz, yz
