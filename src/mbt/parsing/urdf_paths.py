"""Paths of curvilinear joints in the URDF of Drake."""

from __future__ import annotations

import math

from mbt.errors import ArgumentValueError, quote
from mbt.math import PiecewiseConstantCurvatureTrajectory
from mbt.parsing.numbers import take_number, take_numbers
from mbt.parsing.xml_tree import Element

__all__ = ["read_path"]


def read_path(joint: Element) -> PiecewiseConstantCurvatureTrajectory:
    """Return the path that a ``<drake:joint type="curvilinear">`` describes.

    ``<drake:curves>`` holds its pieces: ``<drake:line_segment length=>`` and ``<drake:circular_arc radius=
    angle=>``, where a positive angle turns left about ``<drake:plane_normal xyz=>``. The path begins at the
    origin along ``<drake:initial_tangent xyz=>``; ``<drake:is_periodic value="true"/>`` closes it.

    Raises
    ------
    ParseError
        When there is no piece, a length is not positive, the tangent does not lie in the plane, or a periodic
        path does not end as it begins.
    """
    curves = joint.require_first("drake:curves", "write <drake:curves> with the pieces of the path inside")
    breaks, turning_rates = [0.0], []
    for piece in curves.children:
        piece.is_read = True
        length, turning_rate = _read_piece(piece)
        breaks.append(breaks[-1] + length)
        turning_rates.append(turning_rate)
    if not turning_rates:
        raise curves.error("the path has no pieces", "add a <drake:line_segment> or a <drake:circular_arc>")
    tangent = _read_direction(joint, "drake:initial_tangent", [1.0, 0.0, 0.0])
    normal = _read_direction(joint, "drake:plane_normal", [0.0, 0.0, 1.0])
    is_periodic = _read_flag(joint, "drake:is_periodic")
    try:
        return PiecewiseConstantCurvatureTrajectory(
            breaks, turning_rates, tangent, normal, is_periodic=is_periodic
        )
    except ArgumentValueError as error:
        raise curves.error(f"these curves make no path: {error}") from None


def _read_piece(piece: Element) -> tuple[float, float]:
    """Return the length [m] and the turning rate [rad/m] of a piece."""
    if piece.tag == "drake:line_segment":
        return _take_positive(piece, "length"), 0.0
    if piece.tag == "drake:circular_arc":
        radius, angle = _take_positive(piece, "radius"), take_number(piece, "angle")
        return radius * abs(angle), math.copysign(1.0 / radius, angle)
    raise piece.error("expected <drake:line_segment> or <drake:circular_arc>")


def _take_positive(piece: Element, name: str) -> float:
    value = take_number(piece, name)
    if value <= 0.0:
        raise piece.error(f"{name} = {value:g}: expected a number > 0")
    if not math.isfinite(1.0 / value):  # A curvature.
        raise piece.error(f"{name} = {value:g} is too small: its inverse is more than a float can hold")
    return value


def _read_direction(joint: Element, tag: str, default: list[float]) -> list[float]:
    element = joint.take_first(tag)
    return default if element is None else take_numbers(element, "xyz", 3)


def _read_flag(joint: Element, tag: str) -> bool:
    element = joint.take_first(tag)
    value = "false" if element is None else element.require("value")
    if element is not None and value not in ("true", "false"):
        element.repair(f"its value {quote(value)} is neither true nor false", "false is taken")
    return value == "true"
