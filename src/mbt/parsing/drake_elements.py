"""Springs, bushings, balls, rods and filters of Drake in URDF and SDF: the same content in two notations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import product

from mbt.errors import ParseError, quote
from mbt.math.poses import IDENTITY, make_pose
from mbt.parsing.description import (
    BushingDescription,
    ConstraintDescription,
    FrameDescription,
    ModelDescription,
    SpringDamperDescription,
)
from mbt.parsing.mujoco_names import unused
from mbt.parsing.xml_tree import Element

__all__ = ["DRAKE_ELEMENTS", "FILTER_GROUP", "DrakeElementReader"]

_SPRING = "drake:linear_spring_damper"
_BUSHING = "drake:linear_bushing_rpy"
_BALL = "drake:ball_constraint"
_DISTANCE = "drake:distance_constraint"
# The prefixes of the tags inside each element.
_PREFIXES = {_SPRING: _SPRING, _BUSHING: "drake:bushing", _BALL: _BALL, _DISTANCE: _DISTANCE}

#: The tags of these elements.
DRAKE_ELEMENTS = tuple(_PREFIXES)
#: A group of links whose shapes do not touch those of the groups that it ignores.
FILTER_GROUP = "drake:collision_filter_group"
# The most pairs of links that a model may exclude: enough for a group of some hundreds that ignores itself.
_MOST_PAIRS = 100_000


class DrakeElementReader(ABC):
    """Reads these elements into a description; a subclass defines the notation and resolves names.

    Parameters
    ----------
    model : ModelDescription
        The description to fill.
    """

    def __init__(self, model: ModelDescription) -> None:
        self._model = model

    def read(self, element: Element) -> None:
        """Read one of `DRAKE_ELEMENTS`.

        Raises
        ------
        ParseError
            When something is missing, does not exist, or is an invalid number.
        """
        readers = {
            _SPRING: self._read_spring,
            _BUSHING: self._read_bushing,
            _BALL: self._read_ball,
            _DISTANCE: self._read_distance,
        }
        readers[element.tag](element)

    def read_filter_groups(self, elements: Iterable[Element]) -> None:
        """Read all elements `FILTER_GROUP` of a model: the links whose shapes do not touch each other.

        Raises
        ------
        ParseError
            When a group or a part of it has no name.
        """
        members: dict[str, set[str]] = {}
        inside: dict[str, list[str]] = {}
        ignored: list[tuple[str, str, Element]] = []
        for element in elements:
            if element.take("ignore") == "true":
                element.dismiss()
                continue
            name = element.require_name()
            links = members.setdefault(name, set())
            for child in element.take_children("drake:member"):
                try:
                    links.add(self._find_link(self._take_member(child), child))
                except ParseError as error:
                    element.repair(error.message, "left out of the group", at=child)
            groups = [self._take_name(child) for child in element.take_children("drake:member_group")]
            inside.setdefault(name, []).extend(groups)
            for child in element.take_children("drake:ignored_collision_filter_group"):
                ignored.append((name, self._take_name(child), element))
        pairs: set[tuple[str, str]] = set()
        left = _MOST_PAIRS
        for name, other, element in ignored:
            if other not in members:
                element.repair(f"it ignores the group {quote(other)}, which does not exist", "without effect")
                continue
            first: set[str] = set()
            second: set[str] = set()
            if left > 0:
                first, second = (_links_of(group, members, inside) for group in (name, other))
                left -= (1 + len(first)) * (1 + len(second))
            if left <= 0:
                element.repair(f"groups have more than {_MOST_PAIRS} pairs of links", "left out")
                continue
            pairs |= {(min(pair), max(pair)) for pair in product(first, second) if pair[0] != pair[1]}
        self._model.exclusions += sorted(pairs)

    def _take_member(self, child: Element) -> str:
        """Return the name of the link that a child of a group holds."""
        return self._take_name(child)

    @abstractmethod
    def _take_name(self, child: Element) -> str:
        """Return the name that a child holds."""

    @abstractmethod
    def _take_numbers(self, child: Element, count: int) -> list[float]:
        """Return the numbers that a child holds."""

    @abstractmethod
    def _find_link(self, name: str, at: Element) -> str:
        """Return the link of the description that a name refers to."""

    @abstractmethod
    def _find_frame(self, name: str, at: Element) -> FrameDescription:
        """Return the frame that a name refers to; the frame of a link has no name."""

    def _read_spring(self, element: Element) -> None:
        (A, p_AP), (B, p_BQ) = self._read_points(element)
        (free_length,) = self._require_numbers(element, "free_length", 1)
        if free_length <= 0.0:
            raise element.error(f"free_length = {free_length:g}: expected a number > 0")
        stiffness, damping = [self._require_constants(element, tag, 1)[0] for tag in ("stiffness", "damping")]
        self._model.spring_dampers.append(
            SpringDamperDescription(A, p_AP, B, p_BQ, free_length, stiffness, damping)
        )

    def _read_bushing(self, element: Element) -> None:
        A, C = [self._find_frame(self._require_name(element, f"frame{end}"), element) for end in "AC"]
        constants = [
            self._require_constants(element, f"{kind}_{constant}", 3)
            for kind in ("torque", "force")
            for constant in ("stiffness", "damping")
        ]
        _check_two_links(element, A.link, C.link)
        self._model.bushings.append(BushingDescription(A, C, tuple(constants)))

    def _read_ball(self, element: Element) -> None:
        taken = {constraint.name for constraint in self._model.constraints}
        name = unused("ball_constraint", taken)
        A, B = [
            FrameDescription(f"{name}_{end}", link, make_pose(p), element.line)
            for end, (link, p) in zip("AB", self._read_points(element), strict=True)
        ]
        self._model.constraints.append(ConstraintDescription(name, "ball", A, B))

    def _read_distance(self, element: Element) -> None:
        """Read a rod between two points; one that is not rigid is a spring and damper."""
        ends = self._read_points(element)
        (distance,) = self._require_numbers(element, "distance", 1)
        if distance <= 0.0:
            raise element.error(f"distance = {distance:g}: expected a number > 0")
        stiffness = self._take_constant(element, "stiffness", math.inf)
        damping = self._take_constant(element, "damping", 0.0)
        (A, p_AP), (B, p_BQ) = ends
        if stiffness < math.inf:
            if damping == math.inf:
                raise element.error("damping = inf: expected a finite number, as the stiffness is")
            self._model.spring_dampers.append(
                SpringDamperDescription(A, p_AP, B, p_BQ, distance, stiffness, damping)
            )
            return
        name = unused("distance_constraint", {constraint.name for constraint in self._model.constraints})
        F_A, F_B = (FrameDescription("", link, IDENTITY, element.line) for link in (A, B))
        self._model.constraints.append(ConstraintDescription(name, "rod", F_A, F_B, p_AP, p_BQ, distance))

    def _take_constant(self, element: Element, part: str, default: float) -> float:
        """Return a nonnegative number, which may be infinite; `default` where there is none."""
        child = element.take_first(f"{_PREFIXES[element.tag]}_{part}")
        if child is None:
            return default
        text = (child.peek("value") or child.text).strip().lower()
        if text.removeprefix("+") in ("inf", "infinity"):
            child.dismiss()
            return math.inf
        return self._require_constants(element, part, 1)[0]

    def _read_points(self, element: Element) -> list[tuple[str, list[float]]]:
        """Return two links, with a point on each."""
        links = [self._find_link(self._require_name(element, f"body_{end}"), element) for end in "AB"]
        _check_two_links(element, *links)
        return [
            (link, self._require_numbers(element, f"p_{end}", 3))
            for link, end in zip(links, ("AP", "BQ"), strict=True)
        ]

    def _require(self, element: Element, part: str) -> Element:
        return element.require_first(f"{_PREFIXES[element.tag]}_{part}")

    def _require_name(self, element: Element, part: str) -> str:
        return self._take_name(self._require(element, part))

    def _require_numbers(self, element: Element, part: str, count: int) -> list[float]:
        return self._take_numbers(self._require(element, part), count)

    def _require_constants(self, element: Element, part: str, count: int) -> list[float]:
        """Return nonnegative numbers."""
        numbers = self._require_numbers(element, part, count)
        if min(numbers) < 0.0:
            raise element.error(f"{part} = {min(numbers):g}: expected a number >= 0")
        return numbers


def _links_of(group: str, members: dict[str, set[str]], inside: dict[str, list[str]]) -> set[str]:
    """Return the links of a group and of the groups inside it; none if the group does not exist."""
    found, ahead = {group}, [group]
    while ahead:
        for other in inside.get(ahead.pop(), ()):
            if other not in found:
                found.add(other)
                ahead.append(other)
    return set().union(*(members.get(name, ()) for name in found))


def _check_two_links(element: Element, first: str, second: str) -> None:
    if first == second:
        raise element.error(f"both of its ends are on {quote(first)}: expected two links")
