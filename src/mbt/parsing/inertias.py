"""The mass properties of a link, as a file gives them: moved to the body, and checked."""

from __future__ import annotations

import math
from functools import lru_cache

from mbt._core.door.body_numbers import move_inertia_to_body, move_plain_inertia_to_body
from mbt.math.arrays import FloatArray
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import ModelDescription
from mbt.parsing.xml_tree import Element

__all__ = ["Moments", "make_plain_spatial_inertia", "make_spatial_inertia"]

# Ixx, Iyy, Izz, Ixy, Ixz, Iyz
Moments = tuple[float, float, float, float, float, float]


def make_spatial_inertia(
    link: Element, line: int, model: ModelDescription, mass: float, X_BI: FloatArray, I_SScm_I: Moments
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
    X_BI : ndarray, shape (4, 4)
        Pose of a frame I on the link, whose origin is the centre of mass.
    I_SScm_I : tuple of float
        The moments and products of inertia about the centre of mass, expressed in I [kg m^2].

    Raises
    ------
    ParseError
        When the numbers are too large; when strict, if no physical body has them.
    """
    moved = move_inertia_to_body(mass, X_BI, I_SScm_I)
    return _judge(link, line, model, _JudgedInertia(mass, *moved))


def make_plain_spatial_inertia(
    link: Element, line: int, model: ModelDescription, numbers: bytes
) -> tuple[float, SpatialInertia, float]:
    """Return the mass, and what `make_spatial_inertia` does, of the numbers of a plain text."""
    judged = _make_judged_inertia(numbers)
    return judged.mass, *_judge(link, line, model, judged)


class _JudgedInertia:
    """Mass properties of a body, and what is wrong with them, if anything."""

    def __init__(
        self, mass: float, p_BoBcm_B: FloatArray, G_BBo_B: FloatArray, moment: float, is_possible: bool
    ) -> None:
        self.mass = mass
        self.moment = moment
        # Divided by a small mass the inertia may become too large.
        self.is_finite = math.isfinite(moment) and (mass == 0.0 or math.isfinite(moment / mass))
        self.M_BBo_B = SpatialInertia._of_arrays(mass, p_BoBcm_B, G_BBo_B)
        is_judged = is_possible or not self.is_finite
        self.reason = None if is_judged else self.M_BBo_B.criticize_not_physically_valid()


# Wheels and fingers are alike, and the same robot is read more than once.
@lru_cache(maxsize=1024)
def _make_judged_inertia(numbers: bytes) -> _JudgedInertia:
    return _JudgedInertia(*move_plain_inertia_to_body(numbers))


def _judge(
    link: Element, line: int, model: ModelDescription, judged: _JudgedInertia
) -> tuple[SpatialInertia, float]:
    if not judged.is_finite:
        raise link.error("the numbers of its inertia go beyond what a float can hold")
    reason = judged.reason
    if reason is not None:
        if link.document.is_strict:
            raise link.error(reason, "strict=False loads it as written, with a warning")
        model.report.impossible_inertias.append(link.require_name())
        model.report.warn(f"{link}: {reason[:1].lower()}{reason[1:]}", line, "inertia")
    return judged.M_BBo_B, judged.moment
