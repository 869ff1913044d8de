"""The mass properties of a link, as a file gives them: moved to the body, and checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import ModelDescription
from mbt.parsing.xml_tree import Element

__all__ = ["Moments", "make_spatial_inertia"]

# Ixx, Iyy, Izz, Ixy, Ixz, Iyz
Moments = tuple[float, float, float, float, float, float]


def make_spatial_inertia(
    link: Element,
    line: int,
    model: ModelDescription,
    mass: float,
    X_BI: Sequence[list[float]],
    I_SScm_I: Moments,
) -> tuple[SpatialInertia, float]:
    """Return M_BBo_B of a link, and a moment that none of its rotational inertia exceeds.

    What no physical body has is loaded as written, and reported.

    Parameters
    ----------
    link : Element
        The link, with its name.
    line : int
        Line of its inertia.
    model : ModelDescription
        Where to report.
    mass : float
        Its mass [kg], not negative.
    X_BI : sequence of list of float
        Upper three rows of the pose of a frame I on the link, whose origin is the centre of mass.
    I_SScm_I : tuple of float
        The moments and products of inertia about the centre of mass, expressed in I [kg m^2].

    Raises
    ------
    ParseError
        When the numbers are too large; when strict, if no physical body has them.
    """
    p, I_SBo_B = _calc_inertia_in_body(mass, X_BI, I_SScm_I)
    moment = sum(map(abs, I_SBo_B))
    # Divided by a small mass the inertia may become too large.
    if not math.isfinite(moment) or (mass > 0.0 and not math.isfinite(moment / mass)):
        raise link.error("the numbers of its inertia go beyond what a float can hold")
    M_BBo_B = SpatialInertia._of_rotational_inertia(mass, p, I_SBo_B)
    reason = M_BBo_B.criticize_not_physically_valid()
    if reason is not None:
        if link.document.is_strict:
            raise link.error(reason, "strict=False loads it as written, with a warning")
        model.report.impossible_inertias.append(link.attributes["name"])
        model.report.warn(f"{link}: {reason[:1].lower()}{reason[1:]}", line, "inertia")
    return M_BBo_B, moment


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
