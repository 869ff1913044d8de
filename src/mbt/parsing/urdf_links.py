"""URDF links: names and mass properties."""

from __future__ import annotations

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia
from mbt.parsing.description import WORLD, LinkDescription, ModelDescription
from mbt.parsing.numbers import take_number, take_pose
from mbt.parsing.xml_tree import Element

__all__ = ["read_link"]

_MOMENTS = ("ixx", "iyy", "izz")
_PRODUCTS = ("ixy", "ixz", "iyz")


def read_link(link: Element, model: ModelDescription) -> None:
    """Read a link into ``model.links``; one named ``world`` is World and has no mass properties.

    Raises
    ------
    ParseError
        When its mass is negative, or anything of its inertia is missing, no number or beyond bounds.
    """
    name = link.attributes["name"]
    inertial = link.take_single("inertial")
    M_BBo_B = SpatialInertia.zero() if inertial is None else _read_inertial(name, inertial, model)
    if name != WORLD:
        model.links.append(LinkDescription(name, M_BBo_B, link.line))
    elif inertial is not None:
        model.report.warn("link 'world' is World: its inertia has no effect", link.line)


def _read_inertial(name: str, inertial: Element, model: ModelDescription) -> SpatialInertia:
    mass = take_number(inertial.require_single("mass", "a link without mass has no <inertial>"), "value")
    X_BI = take_pose(inertial.take_single("origin"))
    I_SScm_I = _read_inertia_matrix(inertial.require_single("inertia"), model)
    if mass < 0.0:
        raise inertial.error(f"link {name!r}: mass = {mass:g}: a mass cannot be negative")
    if mass == 0.0:
        if I_SScm_I.any() and name != WORLD:
            model.repair(inertial, f"link {name!r} has inertia, but no mass: the inertia has no effect")
        return SpatialInertia.zero()
    M_BBo_B = _calc_spatial_inertia(mass, X_BI, I_SScm_I)
    if M_BBo_B is None:
        raise inertial.error(f"link {name!r}: the numbers of its inertia go beyond what a float can hold")
    reason = M_BBo_B.criticize_not_physically_valid()
    if reason is not None and name != WORLD:
        if model.is_strict:
            hint = "strict=False loads it as written, with a warning"
            raise inertial.error(f"link {name!r}: {reason}", hint)
        model.report.impossible_inertias.append(name)
        model.report.warn(f"link {name!r}: {reason[:1].lower()}{reason[1:]}", inertial.line)
    return M_BBo_B


def _calc_spatial_inertia(mass: float, X_BI: FloatArray, I_SScm_I: FloatArray) -> SpatialInertia | None:
    """Return M_BBo_B of an inertia about the origin of a frame I; None when it overflows."""
    R_BI, p_BoBcm_B = X_BI[:3, :3], X_BI[:3, 3]
    with np.errstate(over="ignore", invalid="ignore"):
        I_SScm_B = R_BI @ I_SScm_I @ R_BI.T
        G_BBcm_B = UnitInertia.from_matrix(0.5 * (I_SScm_B + I_SScm_B.T) / mass)
        G_BBo_B = G_BBcm_B.shift_from_center_of_mass(p_BoBcm_B)
        M_BBo_B = SpatialInertia(mass, p_BoBcm_B, G_BBo_B, skip_validity_check=True)
        I_BBo_B = M_BBo_B.calc_rotational_inertia()
    return M_BBo_B if np.isfinite(G_BBo_B.components).all() and np.isfinite(I_BBo_B).all() else None


def _read_inertia_matrix(inertia: Element, model: ModelDescription) -> FloatArray:
    xx, yy, zz = (take_number(inertia, moment) for moment in _MOMENTS)
    missing = [product for product in _PRODUCTS if product not in inertia.attributes]
    if missing:
        model.repair(inertia, f"<inertia> without {', '.join(missing)}: zero is taken")
    xy, xz, yz = (take_number(inertia, product, 0.0) for product in _PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
