"""Rules that decide which shapes form a pair."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mbt._core.geometry.distances import is_known
from mbt._core.geometry.scene import find_groups
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.geometry.placed_shapes import KINDS
from mbt.math.arrays import as_nonnegative
from mbt.tree import RigidBody

if TYPE_CHECKING:
    from mbt.geometry.placed_shapes import PlacedShape

__all__ = ["Names", "check_known", "find_pairs", "read_disabled"]

_RULES = ("not adjacent", "all", "mjcf")


class Names:
    """The bodies and obstacles that arguments name."""

    def __init__(self, bodies: Mapping[str, RigidBody], obstacles: Iterable[str]) -> None:
        self.bodies = bodies
        self._names = {id(body): name for name, body in bodies.items()}
        self._known = {*bodies, *obstacles}

    def of(self, body: RigidBody) -> str:
        """Return the name of a body of the tree."""
        return self._names[id(body)]

    def read(self, value: object, argument: str) -> str:
        """Return the name of a body or an obstacle."""
        if isinstance(value, RigidBody):
            if id(value) not in self._names:
                raise ArgumentValueError(f"{argument}: {quote(value)} is a body of another tree")
            return self._names[id(value)]
        if not isinstance(value, str):
            raise ArgumentTypeError(
                f"{argument}: expected a body, its name, or that of an obstacle, got {quote(value)}"
            )
        if value not in self._known:
            raise unknown_name_error("body or obstacle", value, self._known, f"for {argument}")
        return value

    def read_pairs(self, value: object, argument: str) -> set[frozenset[str]]:
        """Return pairs of names."""
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ArgumentTypeError(f"{argument}: expected pairs of bodies, got {quote(value)}")
        found = set()
        for i, pair in enumerate(value):
            is_text = isinstance(pair, (str, bytes))
            both = [] if is_text or not isinstance(pair, Iterable) else list(pair)
            if len(both) != 2:
                raise ArgumentTypeError(f"{argument}[{i}]: expected two bodies, got {quote(pair)}")
            found.add(frozenset(self.read(name, f"{argument}[{i}]") for name in both))
        return found

    def read_padding(self, value: object) -> Mapping[str, float]:
        """Return the padding of each body or obstacle [m]."""
        if isinstance(value, Mapping):
            given = {
                self.read(name, "padding"): as_nonnegative(number, f"padding[{name!r}]")
                for name, number in value.items()
            }
            return {name: given.get(name, 0.0) for name in self._known}
        return dict.fromkeys(self._known, as_nonnegative(value, "padding"))


def find_pairs(
    compiled: Any, shapes: Sequence[PlacedShape], rule: object, excluded: set[frozenset[str]], names: Names
) -> list[tuple[int, int]]:
    """Return pairs of shapes, by their places.

    Shapes of one body, of bodies that are welded together, and of bodies that never move are never a pair.
    By the rule "not adjacent", neither are those of bodies that a joint connects, unless the joint is on
    World. Bodies with neither mass nor shapes, for example between the axes of a joint, are part of the
    joint. By the rule "mjcf", bodies that are welded to World are treated as World.
    """
    chosen = None
    if not isinstance(rule, str):
        chosen = names.read_pairs(rule, "pairs")
    elif rule not in _RULES:
        raise ArgumentValueError(
            f"pairs: expected {', '.join(map(repr, _RULES))}, or pairs of bodies, got {quote(rule)}"
        )
    groups = find_groups(compiled)
    inboards = _find_inboards(groups, names.bodies.values())
    # The first group that counts as adjacent to others: World is zero, groups welded to it are negative.
    first = {"not adjacent": -len(groups), "mjcf": 1}.get(str(rule), len(groups))

    def is_carried(inboard: int, body: int) -> bool:
        carrier = groups[inboard][0]
        return carrier != 0 and carrier >= first and inboards[groups[body][0]] == carrier

    found = []
    for j, b in enumerate(shapes):
        mobod_b = groups[b.node][2]
        for i, a in enumerate(shapes[:j]):
            if groups[a.node][2] == mobod_b:
                continue  # They are welded together, or neither moves.
            key = frozenset((a.owner, b.owner))
            is_adjacent = is_carried(a.node, b.node) or is_carried(b.node, a.node)
            is_wanted = key in chosen if chosen is not None else a.may_touch(b) and not is_adjacent
            if is_wanted and key not in excluded:
                found.append((i, j))
    if chosen:
        made = {frozenset((shapes[i].owner, shapes[j].owner)) for i, j in found}
        for pair in chosen - made - excluded:
            one, *other = map(quote, sorted(pair))
            if not other:
                raise ArgumentValueError(f"pairs: {one} is paired with itself")
            raise ArgumentValueError(
                f"pairs: {one} and {other[0]} cannot be checked: they do not move relative to each other, "
                "or one of them has no shape"
            )
    return found


def _find_inboards(groups: Sequence[tuple[int, int, int]], bodies: Iterable[RigidBody]) -> dict[int, int]:
    """Return the group that carries each group, skipping those with neither mass nor shapes."""
    solid = {groups[body.node_index][0] for body in bodies if body.collisions or body.default_mass > 0.0}
    carriers = {group: inboard for group, inboard, _ in groups}

    def climb(inboard: int) -> int:
        while inboard > 0 and inboard not in solid:
            inboard = carriers[inboard]
        return inboard

    return {group: climb(inboard) for group, inboard in carriers.items()}


def read_disabled(source: str | os.PathLike[str], known: Iterable[str]) -> set[frozenset[str]]:
    """Return the pairs of bodies that an SRDF or MJCF file excludes; unknown names are ignored."""
    from mbt.parsing.mjcf_files import Files
    from mbt.parsing.sources import read_source
    from mbt.parsing.xml_reader import parse_xml
    from mbt.parsing.xml_tree import Document

    read = read_source(source, (), "rules")
    root = parse_xml(read.data, Document(read.file, folder=read.folder), read.encoding)
    if root.tag == "robot":
        entries = [(e, "link1", "link2") for e in root.children if e.tag == "disable_collisions"]
    elif root.tag == "mujoco":
        files = Files(read, ())
        files.collect(root)
        waiting = [root, *(parse_xml(data, Document(name)) for name, data in files.included.items())]
        entries = []
        while waiting:
            element = waiting.pop()
            waiting += element.children
            # Other elements have the same tag, but other attributes.
            if element.tag == "exclude" and element.peek("body1") is not None:
                entries.append((element, "body1", "body2"))
    else:
        raise ArgumentValueError(f"rules: expected a file of SRDF or MJCF, got one of <{root.tag}>")
    names = set(known)
    pairs = {frozenset((e.require(first), e.require(second))) for e, first, second in entries}
    return {pair for pair in pairs if pair <= names}


def check_known(shapes: list[PlacedShape], pairs: list[tuple[int, int]]) -> None:
    """Raise unless the distance of each pair can be computed."""
    kinds = {number: kind.replace("_", " ") for kind, number in KINDS.items()}
    known = {both: is_known(*both) for both in {(shapes[i].kind, shapes[j].kind) for i, j in pairs}}
    for i, j in pairs:
        a, b = shapes[i], shapes[j]
        if not known[a.kind, b.kind]:
            raise ArgumentValueError(
                f"pairs: no distance is known between a {kinds[a.kind]} ({a.name}) and a {kinds[b.kind]} "
                f"({b.name}); leave this pair out with exclude, or use another shape for one of them"
            )
