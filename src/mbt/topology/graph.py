"""The graph a user builds: bodies, and edges (joints) between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mbt.errors import TopologyError, quote

__all__ = ["Edge", "JointGraph"]

WORLD = 0


class Edge(NamedTuple):
    """A connection between two bodies.

    Attributes
    ----------
    label : str
        Its name in messages: ``"joint 'elbow'"``.
    parent, child : int
        The bodies, as declared. Either may end up nearer World.
    is_reversible : bool
        Whether `child` may end up nearer World than `parent`.
    """

    label: str
    parent: int
    child: int
    is_reversible: bool = True


class JointGraph:
    """Bodies and edges, numbered in the order in which they are added. Body 0 is World.

    The graph rejects at once what a tree cannot contain: an edge from a body to itself, and a second edge
    between the same two bodies. Longer loops are found by `grow_forest`.

    Examples
    --------
    >>> graph = JointGraph()
    >>> link = graph.add_body("link")
    >>> graph.add_edge("joint 'hinge'", 0, link)
    0
    >>> graph.add_edge("joint 'slider'", link, 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mbt.errors.TopologyError: joint 'slider' would connect bodies 'link' and 'world', which joint 'hinge'...
    """

    def __init__(self, world_name: str = "world") -> None:
        self._body_names = [world_name]
        self._edges: list[Edge] = []
        self._edge_between: dict[tuple[int, int], Edge] = {}

    @property
    def body_names(self) -> Sequence[str]:
        """Names of the bodies, World first."""
        return self._body_names

    @property
    def edges(self) -> Sequence[Edge]:
        """The edges, in the order added."""
        return self._edges

    def add_body(self, name: str) -> int:
        """Add a body and return its number."""
        self._body_names.append(name)
        return len(self._body_names) - 1

    def add_edge(self, label: str, parent: int, child: int, *, is_reversible: bool = True) -> int:
        """Add an edge and return its number.

        Parameters
        ----------
        label : str
            Its name in messages.
        parent, child : int
            The bodies that it connects.
        is_reversible : bool, optional
            Whether `child` may end up nearer World than `parent`.

        Raises
        ------
        TopologyError
            As for `check_edge`.
        """
        pair = _pair(parent, child)
        if parent == child or pair in self._edge_between:
            self.check_edge(label, parent, child)
        edge = Edge(label, parent, child, is_reversible)
        self._edges.append(edge)
        self._edge_between[pair] = edge
        return len(self._edges) - 1

    def rename_body(self, body: int, name: str) -> None:
        """Give a body another name."""
        self._body_names[body] = name

    def rename_edge(self, number: int, label: str) -> None:
        """Give an edge another label for messages."""
        edge = self._edges[number]._replace(label=label)
        self._edges[number] = self._edge_between[_pair(edge.parent, edge.child)] = edge

    def check_edge(self, label: str, parent: int, child: int) -> None:
        """Check that an edge could be added.

        Raises
        ------
        TopologyError
            When it would connect a body to itself, or two bodies that another edge connects already.
        """
        parent_name, child_name = self._body_names[parent], self._body_names[child]
        if parent == child:
            raise TopologyError(
                f"{label} would connect body {quote(parent_name)} to itself. It connects two different "
                "bodies: check its parent and child."
            )
        other = self._edge_between.get(_pair(parent, child))
        if other is not None:
            raise TopologyError(
                f"{label} would connect bodies {quote(parent_name)} and {quote(child_name)}, which "
                f"{other.label} connects already. Model both motions with one joint, or put a "
                "body between two joints."
            )


def _pair(parent: int, child: int) -> tuple[int, int]:
    return (parent, child) if parent < child else (child, parent)
