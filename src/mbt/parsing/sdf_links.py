"""SDF links: mass properties, given or computed from the shapes, and shapes."""

from __future__ import annotations

import numpy as np

from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import LinkDescription, ModelDescription
from mbt.parsing.inertias import Moments, make_spatial_inertia
from mbt.parsing.sdf_densities import add_up_shapes
from mbt.parsing.sdf_frames import SdfFrame
from mbt.parsing.sdf_shapes import read_shapes
from mbt.parsing.sdf_values import read_flag, take_number, take_pose
from mbt.parsing.xml_tree import Element

__all__ = ["read_link"]

# The mass properties of a link without <inertial>.
_UNIT = SpatialInertia(1.0, [0.0, 0.0, 0.0], np.eye(3))
# Elements that change the motion in a simulator, but that a rigid body cannot have.
_MISSED = ("velocity_decay", "kinematic")


def read_link(element: Element, frame: SdfFrame, model: ModelDescription) -> None:
    """Read a link into ``model.links``.

    Without ``<inertial>`` it has a mass of 1 kg, and moments of inertia of 1 kg m^2.

    Raises
    ------
    ParseError
        When its mass is negative, or an entry of its inertia is not a number, or too large.
    """
    visuals = read_shapes(element, "visual", frame, model.report)
    collisions = read_shapes(element, "collision", frame, model.report)
    inertial = element.take_first("inertial")
    if inertial is not None and _is_automatic(inertial):
        M_BBo_B = add_up_shapes(element, inertial, collisions)
        moment = float(np.abs(M_BBo_B.calc_rotational_inertia()).sum())
    else:
        M_BBo_B, moment = _read_inertial(element, inertial, model)
    link = LinkDescription(
        frame.name,
        M_BBo_B,
        element.line,
        M_BBo_B.mass,
        moment,
        tuple(shape for _, shape in visuals),
        tuple(shape for _, shape in collisions),
    )
    model.links.append(link)
    for tag in _MISSED:
        missed = element.take_first(tag)
        if missed is not None and (missed.children or missed.text.lower() not in ("", "0", "false")):
            missed.dismiss()
            missed.repair(f"{element} has a <{tag}>, which cannot be modelled", "ignored")
    deformable = element.take_first("drake:deformable_properties")
    if deformable is not None:
        deformable.dismiss()
        deformable.repair(f"{element} is deformable in Drake", "it is a rigid body")


def _read_inertial(
    link: Element, inertial: Element | None, model: ModelDescription
) -> tuple[SpatialInertia, float]:
    if inertial is None:
        return _UNIT, 3.0
    mass = take_number(inertial, "mass", 1.0)
    X_BI = take_pose(inertial)
    if X_BI.relative_to is not None:
        raise inertial.error("the pose of an inertia is always that on its link", "remove relative_to")
    if mass < 0.0:
        raise link.error(f"mass = {mass:g}: a mass cannot be negative")
    if inertial.take_first("fluid_added_mass") is not None:
        inertial.repair("it has a <fluid_added_mass>, which cannot be modelled", "ignored")
    moments = _read_moments(inertial.take_first("inertia"))
    return make_spatial_inertia(link, inertial.line, model, mass, X_BI.X, moments)


def _read_moments(inertia: Element | None) -> Moments:
    if inertia is None:
        return 1.0, 1.0, 1.0, 0.0, 0.0, 0.0
    xx, yy, zz = [take_number(inertia, tag, 1.0) for tag in ("ixx", "iyy", "izz")]
    xy, xz, yz = [take_number(inertia, tag, 0.0) for tag in ("ixy", "ixz", "iyz")]
    return xx, yy, zz, xy, xz, yz


def _is_automatic(inertial: Element) -> bool:
    text = inertial.take("auto")
    return text is not None and bool(read_flag(text))
