"""Converts the mass properties of a link in a file to those of a body, and checks them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import matrix_of_components, matrix_of_particle
from mbt.parsing.description import ModelDescription
from mbt.parsing.xml_tree import Element

__all__ = ["Moments", "make_spatial_inertia"]

# Ixx, Iyy, Izz, Ixy, Ixz, Iyz
Moments = tuple[float, float, float, float, float, float]


def make_spatial_inertia(
    link: Element, line: int, model: ModelDescription, mass: float, X_BI: FloatArray, I_SScm_I: Moments
) -> tuple[SpatialInertia, float]:
    """Return M_BBo_B of a link, and a bound of the entries of its rotational inertia.

    Impossible inertias are loaded as written, and reported.

    Parameters
    ----------
    link : Element
        The link, with its name.
    line : int
        Line of its inertia.
    model : ModelDescription
        The model whose report gets the warning.
    mass : float
        Its mass [kg], not negative.
    X_BI : ndarray, shape (4, 4)
        Pose of a frame I on the link, whose origin is the centre of mass.
    I_SScm_I : tuple of float
        The moments and products of inertia about the centre of mass, expressed in I [kg m^2].

    Raises
    ------
    ParseError
        When the numbers are too large; when strict, if they are physically impossible.
    """
    moved = _move_to_body(mass, X_BI.tobytes(), I_SScm_I)
    if not moved.is_finite:
        raise link.error("the numbers of its inertia overflow a float")
    if moved.reason is not None:
        if link.document.is_strict:
            raise link.error(moved.reason, "strict=False loads it as written, with a warning")
        model.report.impossible_inertias.append(link.require_name())
        model.report.warn(f"{link}: {moved.reason[:1].lower()}{moved.reason[1:]}", line, "inertia")
    return moved.M_BBo_B, moved.moment


class _MovedInertia(NamedTuple):
    """Mass properties about the origin of a body."""

    M_BBo_B: SpatialInertia
    # A bound of the entries of the rotational inertia.
    moment: float
    is_finite: bool
    # Why they are physically impossible, or None.
    reason: str | None


# Wheels and fingers often have equal inertias, and the same robot may be read again.
@lru_cache(maxsize=1024)
def _move_to_body(mass: float, X_BI: bytes, I_SScm_I: Moments) -> _MovedInertia:
    """Return the mass properties about Bo, from those about the mass centre in a frame I at X_BI."""
    X = np.frombuffer(X_BI).reshape(4, 4)
    R_BI, p_BoBcm_B = X[:3, :3], X[:3, 3]
    # Overflow is detected below.
    with np.errstate(over="ignore", invalid="ignore"):
        # I_SBo = R I_SScm R^T + m (|p|^2 1 - p p^T)
        I_SScm_B = R_BI @ matrix_of_components(np.array(I_SScm_I)) @ R_BI.T
        I_SBo_B = (I_SScm_B + mass * matrix_of_particle(p_BoBcm_B))[_COMPONENTS].tolist()
        M_BBo_B = SpatialInertia._of_rotational_inertia(mass, p_BoBcm_B.tolist(), *I_SBo_B)
    moment = sum(map(abs, I_SBo_B))
    # Divided by a small mass, the inertia may overflow.
    is_finite = math.isfinite(moment) and (mass == 0.0 or math.isfinite(moment / mass))
    reason = M_BBo_B.criticize_not_physically_valid() if is_finite else None
    return _MovedInertia(M_BBo_B, moment, is_finite, reason)


# xx, yy, zz, xy, xz, yz
_COMPONENTS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
