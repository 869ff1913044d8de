"""The result: every body with its place between World and the tips."""

from __future__ import annotations

import operator
from functools import cached_property
from numbers import Integral
from typing import Any

from mbt.errors import ArgumentTypeError, ElementIndexError, reporting_damage
from mbt.topology.drawing import draw_branches, make_graphviz
from mbt.topology.graph import WORLD, JointGraph
from mbt.topology.integers import shared_integers

__all__ = ["SpanningForest"]

NONE = -1

# The fields of a forest; all else is computed from them.
_FIELDS = (
    "body",
    "parent",
    "edge",
    "is_reversed",
    "level",
    "subtree_end",
    "num_graph_edges",
    "floating_bases",
    "body_names",
    "edge_labels",
)


class SpanningForest:
    """Bodies in depth-first order from World: one node per body, one edge per node.

    A node is numbered by its place in this order (``BodyNodeIndex``). ``str()`` of a forest draws it.

    Attributes
    ----------
    body : tuple of int
        The body of each node. This tuple and the next five have one entry per node.
    parent : tuple of int
        The parent node; -1 for World.
    edge : tuple of int
        The edge between parent and node; -1 for World. Edges below `num_graph_edges` are those of the graph;
        edge ``num_graph_edges + i`` is one that the graph lacks, from World to ``floating_bases[i]``.
    is_reversed : tuple of bool
        Whether the edge was declared from this node to its parent.
    level : tuple of int
        Number of edges between World and the node.
    subtree_end : tuple of int
        The subtree of node `b` consists of the nodes ``range(b, subtree_end[b])``.
    num_graph_edges : int
        Number of edges of the graph.
    floating_bases : tuple of int
        Bodies that carry a component the graph does not connect to World, in increasing order.
    body_names : tuple of str
        Name of each body of the graph.
    edge_labels : tuple of str
        Label of each edge of the graph: ``"joint 'elbow'"``.

    Notes
    -----
    Invariants, which `check_invariants` verifies:

    1. Node 0 is World.
    2. Each body has exactly one node, each edge exactly one node: ``len(body) == number of edges + 1``.
    3. A parent has a smaller index than its children. One forward loop is base to tip, one backward loop tip
       to base.
    4. A subtree is contiguous, and begins with its root.
    5. Siblings come in the order of their edges. Children of World without an edge in the graph come last.
    6. ``level[b] == level[parent[b]] + 1``.
    7. The edge of a node connects its body to its parent's body, in the direction that `is_reversed` gives.

    Examples
    --------
    >>> from mbt.topology import JointGraph, grow_forest
    >>> graph = JointGraph()
    >>> for name in ("arm", "hand", "ball"):
    ...     body = graph.add_body(name)
    >>> shoulder = graph.add_edge("joint 'shoulder'", 0, 1)
    >>> wrist = graph.add_edge("joint 'wrist'", 2, 1)
    >>> forest = grow_forest(graph)
    >>> forest
    <SpanningForest: 4 nodes in 2 trees, height 3>
    >>> print(forest)
    0  world
    1  ├─ arm      joint 'shoulder'
    2  │  └─ hand  joint 'wrist', reversed
    3  └─ ball     free
    >>> forest.parent
    (-1, 0, 1, 0)
    """

    body: tuple[int, ...]
    parent: tuple[int, ...]
    edge: tuple[int, ...]
    is_reversed: tuple[bool, ...]
    level: tuple[int, ...]
    subtree_end: tuple[int, ...]
    num_graph_edges: int
    floating_bases: tuple[int, ...]
    body_names: tuple[str, ...]
    edge_labels: tuple[str, ...]

    # Written by hand: a frozen dataclass would add more than a millisecond to every import.
    def __init__(
        self,
        body: tuple[int, ...],
        parent: tuple[int, ...],
        edge: tuple[int, ...],
        is_reversed: tuple[bool, ...],
        level: tuple[int, ...],
        subtree_end: tuple[int, ...],
        num_graph_edges: int,
        floating_bases: tuple[int, ...],
        body_names: tuple[str, ...] = (),
        edge_labels: tuple[str, ...] = (),
    ) -> None:
        # Not one by one: `__setattr__` raises an error.
        self.__dict__.update(
            body=body,
            parent=parent,
            edge=edge,
            is_reversed=is_reversed,
            level=level,
            subtree_end=subtree_end,
            num_graph_edges=num_graph_edges,
            floating_bases=floating_bases,
            body_names=body_names,
            edge_labels=edge_labels,
        )

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: a forest never changes."""
        if name in self.__dict__ or len(self.__dict__) >= len(_FIELDS):
            raise AttributeError(f"a SpanningForest does not change: cannot set {name!r}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        """Raise an error: a forest never changes."""
        raise AttributeError(f"a SpanningForest does not change: cannot delete {name!r}")

    def _fields(self) -> tuple[object, ...]:
        return tuple(self.__dict__[name] for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are the same."""
        return self._fields() == other._fields() if type(other) is SpanningForest else NotImplemented

    def __hash__(self) -> int:
        """Return a hash, the same for equal forests."""
        return hash(self._fields())

    def __copy__(self) -> SpanningForest:
        """Return itself: nothing in it changes, and clones of a tree share it."""
        return self

    def __deepcopy__(self, memo: object) -> SpanningForest:
        """Return itself."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields, not what was computed from them."""
        return _restore, self._fields()

    # Sizes, under Drake's names as well as those of a graph.

    @property
    def num_bodies(self) -> int:
        """Number of bodies, World included: the same as `num_nodes`."""
        return len(self.body)

    @property
    def num_mobilizers(self) -> int:
        """Number of mobilizers: one for each body but World."""
        return len(self.body) - 1

    @property
    def num_trees(self) -> int:
        """Number of trees of the forest: children of World, each with all that it carries."""
        return len(self.children[WORLD])

    @property
    def tree_height(self) -> int:
        """Number of bodies on the longest path from World to a tip: the same as `height`."""
        return self.height

    @property
    def num_nodes(self) -> int:
        """Number of nodes: the number of bodies, World included."""
        return len(self.body)

    @property
    def height(self) -> int:
        """Number of bodies on the longest path from World to a tip; 1 when there is only World."""
        return max(self.level) + 1

    @cached_property
    def node_of_body(self) -> tuple[int, ...]:
        """The node of each body."""
        node = [NONE] * self.num_nodes
        for b, body in zip(shared_integers(self.num_nodes), self.body, strict=False):
            node[body] = b
        return tuple(node)

    @cached_property
    def node_of_edge(self) -> tuple[int, ...]:
        """The node on the outboard side of each edge."""
        node = [NONE] * (self.num_nodes - 1)
        integers = shared_integers(self.num_nodes)
        for b in range(1, self.num_nodes):
            node[self.edge[b]] = integers[b]
        return tuple(node)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The child nodes of each node, in increasing order."""
        children: list[list[int]] = [[] for _ in self.body]
        for b in range(1, self.num_nodes):
            children[self.parent[b]].append(b)
        return tuple(map(tuple, children))

    @property
    def trees(self) -> tuple[range, ...]:
        """The nodes of each tree of the forest, in increasing order."""
        return tuple(self.subtree(base) for base in self.children[WORLD])

    @property
    def tips(self) -> tuple[int, ...]:
        """The nodes without children, in increasing order."""
        return tuple(b for b in range(self.num_nodes) if self.subtree_end[b] == b + 1)

    def subtree(self, node: int) -> range:
        """Return the nodes that move when the mobilizer of `node` moves: itself, and all it carries."""
        node = self._checked(node, "node")
        return range(node, self.subtree_end[node])

    def parent_body(self, body: int) -> int:
        """Return the body that carries `body`; -1 for World."""
        parent = self.parent[self.node_of_body[self._checked(body, "body")]]
        return NONE if parent == NONE else self.body[parent]

    def child_bodies(self, body: int) -> tuple[int, ...]:
        """Return the bodies that `body` carries directly, in node order."""
        node = self.node_of_body[self._checked(body, "body")]
        return tuple(self.body[child] for child in self.children[node])

    def outboard_bodies(self, body: int) -> tuple[int, ...]:
        """Return `body` and all bodies that it carries, in node order."""
        return tuple(self.body[b] for b in self.subtree(self.node_of_body[self._checked(body, "body")]))

    def path_between(self, from_node: int, to_node: int) -> tuple[int, ...]:
        """Return the nodes on the only path from one node to another, both included."""
        up, down = [self._checked(from_node, "from_node")], [self._checked(to_node, "to_node")]
        while up[-1] != down[-1]:
            # The greater index cannot be the other's ancestor, so its parent is on the path.
            side = up if up[-1] > down[-1] else down
            side.append(self.parent[side[-1]])
        return (*up, *reversed(down[:-1]))

    def path_to_world(self, node: int) -> tuple[int, ...]:
        """Return the nodes from `node` to World, both included."""
        path = [self._checked(node, "node")]
        while path[-1] != WORLD:
            path.append(self.parent[path[-1]])
        return tuple(path)

    def _checked(self, index: int, argument: str) -> int:
        """Return the index of a node or a body. Negative ones do not count from the end."""
        kind = "body" if argument == "body" else "node"
        try:
            i = operator.index(index)
        except TypeError:
            raise ArgumentTypeError(
                f"{argument}: expected the index of a {kind}, got {type(index).__name__}"
            ) from None
        if not 0 <= i < self.num_nodes:
            raise ElementIndexError(
                f"{argument}: expected the index of a {kind} (0 <= index < {self.num_nodes}), got {i}"
            )
        return i

    # Texts and drawings.

    def body_name(self, node: int) -> str:
        """Return the name of the body of a node; ``"body 3"`` where it has none."""
        body = self.body[self._checked(node, "node")]
        return self.body_names[body] if body < len(self.body_names) else f"body {body}"

    def edge_label(self, node: int) -> str:
        """Return what connects a node to its parent: the label of the edge, ``"free"``, or "" for World."""
        node = self._checked(node, "node")
        e = self.edge[node]
        if e == NONE:
            return ""
        if e >= self.num_graph_edges:
            return "free"
        label = self.edge_labels[e] if e < len(self.edge_labels) else f"edge {e}"
        return f"{label}, reversed" if self.is_reversed[node] else label

    def to_graphviz(self) -> str:
        """Return the forest in the language of Graphviz, World at the bottom.

        Returns
        -------
        str
            For ``dot -Tsvg``. ``tree.get_topology_graphviz_string()`` shows more: joint types, coordinates
            and model instances.
        """
        nodes = [(b, f"{self.body_name(b)}\nnode {b}", "") for b in range(self.num_nodes)]
        edges = [
            (b, self.parent[b], self.edge_label(b), self.edge[b] >= self.num_graph_edges)
            for b in range(1, self.num_nodes)
        ]
        return make_graphviz(nodes, edges)

    def __str__(self) -> str:
        """Return a drawing: one line per node, with the edge to its parent."""
        branches = [f"{line}{self.body_name(b)}" for b, line in draw_branches(self)]
        digits, width = len(str(self.num_nodes - 1)), max(map(len, branches))
        return "\n".join(
            f"{b:>{digits}}  {branch:<{width}}  {self.edge_label(b)}".rstrip()
            for b, branch in enumerate(branches)
        )

    def __repr__(self) -> str:
        """Return the sizes; ``str()`` shows more."""
        trees = f"{self.num_trees} tree{'' if self.num_trees == 1 else 's'}"
        return (
            f"<SpanningForest: {self.num_nodes} node{'' if self.num_nodes == 1 else 's'} in {trees}, "
            f"height {self.height}>"
        )

    def check_invariants(self, graph: JointGraph | None = None) -> None:
        """Verify the invariants of the class; the last one only if `graph` is given.

        Raises
        ------
        AssertionError
            When one does not hold, which is a bug of this package.
        """
        for name, value in zip(_FIELDS, self._fields(), strict=True):
            entries = (value,) if name == "num_graph_edges" else value
            kind = str if name in ("body_names", "edge_labels") else Integral
            is_valid = type(entries) is tuple and all(isinstance(entry, kind) for entry in entries)
            _require(is_valid, f"{name} is of its type")
        n = self.num_nodes
        arrays = (self.parent, self.edge, self.is_reversed, self.level, self.subtree_end)
        _require(all(len(array) == n for array in arrays), "one entry per node")
        world = (
            self.body[0],
            self.parent[0],
            self.edge[0],
            self.is_reversed[0],
            self.level[0],
            self.subtree_end[0],
        )
        _require(world == (WORLD, NONE, NONE, False, 0, n), "node 0 is World")
        _require(sorted(self.body) == list(range(n)), "each body has exactly one node")
        _require(sorted(self.edge[1:]) == list(range(n - 1)), "each edge has exactly one node")
        _require(
            self.num_graph_edges + len(self.floating_bases) == n - 1,
            "the edges are the graph's and the bases'",
        )
        for b in range(1, n):
            p = self.parent[b]
            _require(0 <= p < b, "a parent has a smaller index than its child")
            _require(b < self.subtree_end[b] <= self.subtree_end[p], "a subtree lies inside its parent's")
            _require(self.level[b] == self.level[p] + 1, "a child is one level above its parent")
        for p, children in enumerate(self.children):
            # The subtrees of the children, one after another, fill that of the parent.
            bounds = [p + 1, *(self.subtree_end[c] for c in children)]
            _require(bounds == [*children, self.subtree_end[p]], "a subtree is contiguous")
            edges = [self.edge[c] for c in children]
            _require(edges == sorted(edges), "siblings come in the order of their edges")
        for i, body in enumerate(self.floating_bases):
            b = self.node_of_body[body]
            base = (self.parent[b], self.edge[b], self.is_reversed[b])
            _require(base == (0, self.num_graph_edges + i, False), "a floating base is a child of World")
        if graph is not None:
            self._check_edges(graph)

    def _check_edges(self, graph: JointGraph) -> None:
        _require(len(graph.body_names) == self.num_nodes, "the graph has these bodies")
        _require(len(graph.edges) == self.num_graph_edges, "the graph has these edges")
        for e, edge in enumerate(graph.edges):
            b = self.node_of_edge[e]
            inboard, outboard = self.body[self.parent[b]], self.body[b]
            declared = (outboard, inboard) if self.is_reversed[b] else (inboard, outboard)
            _require(declared == (edge.parent, edge.child), "an edge connects its node to its parent")
            _require(edge.is_reversible or not self.is_reversed[b], "an irreversible edge is not reversed")


def _restore(*fields: Any) -> SpanningForest:
    """Return the forest of a pickle."""
    with reporting_damage("SpanningForest"):
        forest = SpanningForest(*fields)
        forest.check_invariants()
    return forest


def _require(condition: bool, invariant: str) -> None:
    if not condition:
        raise AssertionError(f"SpanningForest: violated: {invariant}")
