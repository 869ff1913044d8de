"""Paths of curvilinear joints, which Drake adds to URDF and SDF: the same content in two notations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from mbt.errors import ArgumentValueError, quote
from mbt.math import PiecewiseConstantCurvatureTrajectory
from mbt.parsing.xml_tree import Element

__all__ = ["PathReader"]

_SEGMENT, _ARC = "drake:line_segment", "drake:circular_arc"


class PathReader(ABC):
    """Reads the path of a ``<drake:joint type="curvilinear">``; a subclass defines the notation.

    ``<drake:curves>`` holds its pieces: line segments with a length, and circular arcs with a radius and an
    angle, where a positive angle turns left about the normal of the plane. The path begins at the origin
    along the initial tangent. ``<drake:is_periodic>`` closes it.
    """

    @abstractmethod
    def take_number(self, piece: Element, name: str) -> float:
        """Return a number that a piece must have."""

    @abstractmethod
    def take_direction(self, element: Element) -> list[float]:
        """Return the three numbers of a direction."""

    @abstractmethod
    def take_flag(self, element: Element) -> str:
        """Return the text that says true or false."""

    def read(self, joint: Element) -> PiecewiseConstantCurvatureTrajectory:
        """Return the path.

        Raises
        ------
        ParseError
            When there is no piece, a length is not positive, or the tangent does not lie in the plane.
        """
        hint = "write <drake:curves> with the pieces of the path inside"
        curves = joint.require_first("drake:curves", hint)
        breaks, turning_rates = [0.0], []
        for piece in curves.children:
            piece.is_read = True
            length, turning_rate = self._read_piece(piece)
            breaks.append(breaks[-1] + length)
            turning_rates.append(turning_rate)
        if not turning_rates:
            raise curves.error("the path has no pieces", f"add a <{_SEGMENT}> or a <{_ARC}>")
        tangent = self._read_direction(joint, "drake:initial_tangent", [1.0, 0.0, 0.0])
        normal = self._read_direction(joint, "drake:plane_normal", [0.0, 0.0, 1.0])
        try:
            path = PiecewiseConstantCurvatureTrajectory(breaks, turning_rates, tangent, normal)
            if self._read_flag(joint, "drake:is_periodic"):
                return _close(path, curves, tangent, normal)
        except ArgumentValueError as error:
            raise curves.error(f"these curves do not make a path: {error}") from None
        return path

    def _read_piece(self, piece: Element) -> tuple[float, float]:
        """Return the length [m] and the turning rate [rad/m] of a piece."""
        if piece.tag == _SEGMENT:
            return self._take_positive(piece, "length"), 0.0
        if piece.tag == _ARC:
            radius, angle = self._take_positive(piece, "radius"), self.take_number(piece, "angle")
            return radius * abs(angle), math.copysign(1.0 / radius, angle)
        raise piece.error(f"expected <{_SEGMENT}> or <{_ARC}>")

    def _take_positive(self, piece: Element, name: str) -> float:
        value = self.take_number(piece, name)
        if value <= 0.0:
            raise piece.error(f"{name} = {value:g}: expected a number > 0")
        if not math.isfinite(1.0 / value):  # A curvature.
            raise piece.error(f"{name} = {value:g} is too small: its inverse is more than a float can hold")
        return value

    def _read_direction(self, joint: Element, tag: str, default: list[float]) -> list[float]:
        element = joint.take_first(tag)
        return default if element is None else self.take_direction(element)

    def _read_flag(self, joint: Element, tag: str) -> bool:
        element = joint.take_first(tag)
        value = "false" if element is None else self.take_flag(element)
        if element is not None and value not in ("true", "false"):
            element.repair(f"its value {quote(value)} is neither true nor false", "false is taken")
        return value == "true"


def _close(
    path: PiecewiseConstantCurvatureTrajectory, curves: Element, tangent: list[float], normal: list[float]
) -> PiecewiseConstantCurvatureTrajectory:
    """Return the path closed; if its ends do not meet, return it unchanged, with a warning."""
    try:
        return PiecewiseConstantCurvatureTrajectory(
            path.breaks, path.turning_rates, tangent, normal, is_periodic=True
        )
    except ArgumentValueError:
        begin, end = path.calc_pose([0.0, path.length])
        gap = float(np.linalg.norm(end[:3, 3] - begin[:3, 3]))
        turn = math.degrees(math.acos(max(-1.0, min(1.0, float(begin[:3, 0] @ end[:3, 0])))))
        fault = f"the path is periodic, but ends {gap:.3g} m and {turn:.3g} degrees from where it begins"
        curves.repair(fault, "it is not closed; beyond its ends it continues as its end pieces do")
        return path
