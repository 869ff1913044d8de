"""The algorithm: find loops, choose floating bases, number the nodes, iteratively and in linear time."""

from __future__ import annotations

from mbt.errors import TopologyError, quote
from mbt.topology.forest import NONE, SpanningForest
from mbt.topology.graph import WORLD, JointGraph
from mbt.topology.integers import shared_integers

__all__ = ["grow_forest"]


def grow_forest(graph: JointGraph) -> SpanningForest:
    """Return the spanning forest of a graph without loops.

    Nodes are numbered depth first from World, siblings in the order of their edges. In each component that
    has no path to World, the first body that is not a child becomes a floating base.

    Parameters
    ----------
    graph : JointGraph
        Bodies and edges. It is not changed.

    Returns
    -------
    SpanningForest

    Raises
    ------
    TopologyError
        When edges close a loop (all its edges and bodies are named), or when the child of an irreversible
        edge would be nearer World than its parent.

    Examples
    --------
    >>> graph = JointGraph()
    >>> arm, ball, hand = (graph.add_body(name) for name in ("arm", "ball", "hand"))
    >>> shoulder = graph.add_edge("joint 'shoulder'", 0, arm)
    >>> wrist = graph.add_edge("joint 'wrist'", arm, hand)
    >>> forest = grow_forest(graph)
    >>> [graph.body_names[body] for body in forest.body]
    ['world', 'arm', 'hand', 'ball']
    >>> [graph.body_names[body] for body in forest.floating_bases]
    ['ball']
    """
    in_order = _take_in_order(graph)
    if in_order is not None:
        return in_order
    components = _find_components(graph)
    floating_bases = _choose_floating_bases(graph, components)
    return _number_nodes(graph, floating_bases)


def _take_in_order(graph: JointGraph) -> SpanningForest | None:
    """Return the forest of a graph that is already in order, like that of a model read from a file.

    In order means: edge `i` carries body ``i + 1``, from a body on the path from World to body `i`.
    """
    edges, count = graph.edges, len(graph.body_names)
    if len(edges) != count - 1:
        return None
    integers = shared_integers(count + 1)
    parents, levels, subtree_end = [NONE], [0], integers[1 : count + 1]
    path = [WORLD]
    for body, (_, parent, child, _) in zip(integers[1:], edges, strict=False):
        if child != body:
            return None
        # The subtrees of the bodies taken off the path end here.
        while path[-1] != parent:
            subtree_end[path.pop()] = body
            if not path:
                return None
        parents.append(parent)
        levels.append(integers[len(path)])
        path.append(body)
    for body in path:
        subtree_end[body] = integers[count]
    bodies = tuple(integers[:count])
    return SpanningForest(
        body=bodies,
        parent=tuple(parents),
        edge=(NONE, *bodies[:-1]),
        is_reversed=(False,) * count,
        level=tuple(levels),
        subtree_end=tuple(subtree_end),
        num_graph_edges=len(edges),
        floating_bases=(),
        body_names=tuple(graph.body_names),
        edge_labels=tuple([edge.label for edge in edges]),
    )


def _find_components(graph: JointGraph) -> list[int]:
    """Return a representative of the component of each body (union-find); raise an error for loops."""
    representative = list(range(len(graph.body_names)))

    def find(body: int) -> int:
        while representative[body] != body:
            # Path halving keeps the chains short.
            representative[body] = representative[representative[body]]
            body = representative[body]
        return body

    closing = []
    for e, edge in enumerate(graph.edges):
        a, b = find(edge.parent), find(edge.child)
        if a == b:
            closing.append(e)
        representative[a] = b
    if closing:
        raise _loop_error(graph, closing)
    return [find(body) for body in range(len(representative))]


def _choose_floating_bases(graph: JointGraph, components: list[int]) -> tuple[int, ...]:
    """Return one body of each component without World: the first that is not a child."""
    children = {edge.child for edge in graph.edges}
    grounded = {components[WORLD]}
    bases = []
    for body, component in enumerate(components):
        # A component of n bodies has n - 1 edges, so at least one body is not a child.
        if component not in grounded and body not in children:
            grounded.add(component)
            bases.append(body)
    return tuple(bases)


def _number_nodes(graph: JointGraph, floating_bases: tuple[int, ...]) -> SpanningForest:
    """Return the forest with its nodes numbered depth first from World."""
    edges = graph.edges
    integers = shared_integers(len(graph.body_names) + 1)
    edges_of_body: list[list[int]] = [[] for _ in graph.body_names]
    for e, edge in zip(integers, edges, strict=False):
        edges_of_body[edge.parent].append(e)
        edges_of_body[edge.child].append(e)

    bodies: list[int] = []
    parents: list[int] = []
    node_edges: list[int] = []
    is_reversed: list[bool] = []
    levels: list[int] = []

    # (body, parent node, edge): the top gets the next number, siblings lie in reverse order below.
    stack = [(body, WORLD, integers[len(edges) + i]) for i, body in enumerate(floating_bases)][::-1]
    stack.append((WORLD, NONE, NONE))
    while stack:
        body, parent, e = stack.pop()
        node = integers[len(bodies)]
        from_graph = 0 <= e < len(edges)
        bodies.append(body)
        parents.append(parent)
        node_edges.append(e)
        is_reversed.append(from_graph and bool(edges[e].child != body))
        levels.append(0 if parent == NONE else integers[levels[parent] + 1])
        if is_reversed[node] and not edges[e].is_reversible:
            raise _direction_error(graph, e)
        for outboard in reversed(edges_of_body[body]):
            if outboard != e:
                edge = edges[outboard]
                stack.append((edge.child if edge.parent == body else edge.parent, node, outboard))

    # Tip to base: the subtree of the parent ends where that of its last child ends.
    subtree_end = integers[1 : len(bodies) + 1]
    for node in range(len(bodies) - 1, 0, -1):
        subtree_end[parents[node]] = max(subtree_end[parents[node]], subtree_end[node])

    return SpanningForest(
        body=tuple(bodies),
        parent=tuple(parents),
        edge=tuple(node_edges),
        is_reversed=tuple(is_reversed),
        level=tuple(levels),
        subtree_end=tuple(subtree_end),
        num_graph_edges=len(edges),
        floating_bases=floating_bases,
        body_names=tuple(graph.body_names),
        edge_labels=tuple([edge.label for edge in edges]),
    )


def _direction_error(graph: JointGraph, e: int) -> TopologyError:
    edge = graph.edges[e]
    inboard, outboard = graph.body_names[edge.parent], graph.body_names[edge.child]
    return TopologyError(
        f"{edge.label}: its outboard body {quote(outboard)} is nearer World than its inboard body "
        f"{quote(inboard)}. Exchange its frames, or use a joint, which works in either direction."
    )


def _loop_error(graph: JointGraph, closing: list[int]) -> TopologyError:
    """Return the error that names the loop which the first of these edges completes, and the other edges."""
    loop_edges, loop_bodies = _find_loop(graph, closing[0])
    others = ""
    if len(closing) > 1:
        one = len(closing) == 2
        others = (
            f" {_enumerate([graph.edges[e].label for e in closing[1:]])} {'closes' if one else 'close'} "
            f"{'another loop' if one else 'further loops'}."
        )
    return TopologyError(
        f"{_enumerate([graph.edges[e].label for e in loop_edges])} close a loop through the bodies "
        f"{_enumerate([quote(graph.body_names[body]) for body in loop_bodies])}. In a tree there is one path "
        "between any two bodies: replace one of these joints by a constraint, a BallConstraint or a "
        f"WeldConstraint (docs/constraints.md), or by a force element.{others}"
    )


def _find_loop(graph: JointGraph, closing: int) -> tuple[list[int], list[int]]:
    """Return the edges and bodies on the loop that edge `closing` completes with the edges before it.

    Both run around the loop: edge `i` connects bodies `i` and `i + 1`, and the last edge, `closing`, ends at
    body 0.
    """
    edges_of_body: dict[int, list[int]] = {}
    for e, edge in enumerate(graph.edges[:closing]):
        edges_of_body.setdefault(edge.parent, []).append(e)
        edges_of_body.setdefault(edge.child, []).append(e)

    # Breadth first from one end of the closing edge to the other; there is exactly one path.
    start, end = graph.edges[closing].child, graph.edges[closing].parent
    reached_by = {start: NONE}
    queue = [start]
    for body in queue:
        for e in edges_of_body.get(body, ()):
            edge = graph.edges[e]
            neighbour = edge.child if edge.parent == body else edge.parent
            if neighbour not in reached_by:
                reached_by[neighbour] = e
                queue.append(neighbour)

    loop_edges, loop_bodies = [], [end]
    while loop_bodies[-1] != start:
        e = reached_by[loop_bodies[-1]]
        edge = graph.edges[e]
        loop_edges.append(e)
        loop_bodies.append(edge.child if edge.parent == loop_bodies[-1] else edge.parent)
    return [*loop_edges, closing], loop_bodies


def _enumerate(words: list[str], limit: int = 10) -> str:
    *first, last = words if len(words) <= limit else [*words[:limit], f"{len(words) - limit} more"]
    return f"{', '.join(first)} and {last}" if first else last
