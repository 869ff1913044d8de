"""URDF links: names and mass properties."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import WORLD, LinkDescription, ModelDescription
from mbt.parsing.numbers import take_number, take_pose_rows
from mbt.parsing.xml_tree import Element

__all__ = ["read_link"]

_PRODUCTS = ("ixy", "ixz", "iyz")
_MASSLESS = SpatialInertia.zero()

# Ixx, Iyy, Izz, Ixy, Ixz, Iyz
Moments = tuple[float, float, float, float, float, float]


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
    p, I_SBo_B = _calc_inertia_in_body(mass, X_BI, I_SScm_I)
    moment = sum(map(abs, I_SBo_B))
    # Divided by a small mass the inertia may become too large.
    if not math.isfinite(moment) or (mass > 0.0 and not math.isfinite(moment / mass)):
        raise link.error("the numbers of its inertia go beyond what a float can hold")
    M_BBo_B = SpatialInertia._of_rotational_inertia(mass, p, I_SBo_B)
    reason = M_BBo_B.criticize_not_physically_valid()
    if reason is not None:
        if inertial.document.is_strict:
            raise link.error(reason, "strict=False loads it as written, with a warning")
        model.report.impossible_inertias.append(link.attributes["name"])
        model.report.warn(f"{link}: {reason[:1].lower()}{reason[1:]}", inertial.line)
    return LinkDescription(link.attributes["name"], M_BBo_B, link.line, mass, moment)


def _read_moments(inertia: Element) -> Moments:
    xx, yy, zz = take_number(inertia, "ixx"), take_number(inertia, "iyy"), take_number(inertia, "izz")
    missing = [product for product in _PRODUCTS if product not in inertia.attributes]
    if missing:
        inertia.repair(f"it is without {', '.join(missing)}", "zero is taken")
    xy, xz, yz = [take_number(inertia, product, 0.0) for product in _PRODUCTS]
    return xx, yy, zz, xy, xz, yz


def _calc_inertia_in_body(
    mass: float, X_BI: Sequence[list[float]], I_SScm_I: Moments
) -> tuple[list[float], Moments]:
    """Return p_BoBcm_B and I_SBo_B of an inertia about the origin of a frame I, by the rows of its pose."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z) = X_BI
    xx, yy, zz, xy, xz, yz = I_SScm_I
    if not a == e == i == 1.0:
        # I_SScm_B = R_BI I_SScm_I R_BI^T, by its rows R_BI I_SScm_I.
        ax, ay, az = a * xx + b * xy + c * xz, a * xy + b * yy + c * yz, a * xz + b * yz + c * zz
        dx, dy, dz = d * xx + e * xy + f * xz, d * xy + e * yy + f * yz, d * xz + e * yz + f * zz
        gx, gy, gz = g * xx + h * xy + i * xz, g * xy + h * yy + i * yz, g * xz + h * yz + i * zz
        xx, yy, zz = ax * a + ay * b + az * c, dx * d + dy * e + dz * f, gx * g + gy * h + gz * i
        xy, xz, yz = ax * d + ay * e + az * f, ax * g + ay * h + az * i, dx * g + dy * h + dz * i
    # I_SBo = I_SScm + m (|p|^2 1 - p p^T)
    mx, my, mz = mass * x, mass * y, mass * z
    xx, yy, zz = xx + (my * y + mz * z), yy + (mx * x + mz * z), zz + (mx * x + my * y)
    return [x, y, z], (xx, yy, zz, xy - mx * y, xz - mx * z, yz - my * z)
