"""From a graph to a forest.

Drawings show bodies by name and joints by number, `>` from parent to child.
"""

from __future__ import annotations

import pickle
import random

import pytest

from mbt.errors import ArgumentTypeError, ArgumentValueError, ElementIndexError, TopologyError
from mbt.topology import JointGraph, SpanningForest, grow_forest


def make_graph(bodies: str, edges: str) -> JointGraph:
    """A graph of one-letter bodies and edges as in ``"W>a a=>b"``, the second of which cannot be reversed."""
    graph = JointGraph("W")
    for name in bodies:
        graph.add_body(name)
    number = {name: i for i, name in enumerate(graph.body_names)}
    for i, edge in enumerate(edges.split()):
        parent, child = edge.replace("=", "").split(">")
        graph.add_edge(f"joint 'j{i}'", number[parent], number[child], is_reversible="=" not in edge)
    return graph


def grow(bodies: str, edges: str) -> tuple[str, SpanningForest]:
    """Names of the bodies in node order, and the forest."""
    graph = make_graph(bodies, edges)
    forest = grow_forest(graph)
    forest.check_invariants(graph)
    return "".join(graph.body_names[body] for body in forest.body), forest


def test_world_alone() -> None:
    order, forest = grow("", "")
    assert order == "W"
    assert forest.height == 1
    assert forest.num_nodes == 1
    assert forest.path_to_world(0) == (0,)


def test_depth_first() -> None:
    """Depth first, siblings in the order of their joints.

    W -0> a -2> c            0
          |                  1
          +--3> d            2, 3
    W -1> b -4> e            4, 5
    """
    order, forest = grow("abcde", "W>a W>b a>c a>d b>e")
    assert order == "Wacdbe"
    assert forest.parent == (-1, 0, 1, 1, 0, 4)
    assert forest.edge == (-1, 0, 2, 3, 1, 4)
    assert forest.level == (0, 1, 2, 2, 1, 2)
    assert forest.subtree_end == (6, 4, 3, 4, 6, 6)
    assert forest.height == 3
    assert forest.children == ((1, 4), (2, 3), (), (), (5,), ())
    assert forest.node_of_body == (0, 1, 4, 2, 3, 5)
    assert forest.node_of_edge == (1, 4, 2, 3, 5)
    assert forest.path_to_world(3) == (3, 1, 0)
    assert not any(forest.is_reversed)


def test_joint_order_beats_body_order() -> None:
    """
    W -1> a
    W -0> b
    """
    order, _ = grow("ab", "W>b W>a")
    assert order == "Wba"


def test_reversed_joints() -> None:
    """The child of joints 0 and 2 is nearer to World.

    W <0- a -1> b <2- c
    """
    order, forest = grow("abc", "a>W a>b c>b")
    assert order == "Wabc"
    assert forest.is_reversed == (False, True, False, True)


def test_body_without_joints_floats() -> None:
    """
    W -0> b        a
    """
    order, forest = grow("ab", "W>b")
    assert order == "Wba"
    assert forest.floating_bases == (1,)
    assert forest.edge == (-1, 0, 1)
    assert forest.level == (0, 1, 1)


def test_floating_base_is_nobodys_child() -> None:
    """
    W              b -0> a -1> c            d -2> e
    """
    order, forest = grow("abcde", "b>a a>c d>e")
    assert order == "Wbacde"
    assert forest.floating_bases == (2, 4)
    assert forest.height == 4
    assert not any(forest.is_reversed)


def test_first_of_several_that_are_nobodys_child() -> None:
    """
    W              a -0> c <1- b
    """
    order, forest = grow("abc", "a>c b>c")
    assert order == "Wacb"
    assert forest.floating_bases == (1,)
    assert forest.is_reversed == (False, False, False, True)


def test_floating_bases_come_after_all_joints_of_world() -> None:
    """
    W -0> z        a   b
    """
    order, forest = grow("abz", "W>z")
    assert order == "Wzab"
    assert forest.floating_bases == (1, 2)


def test_world_as_child_grounds_the_component() -> None:
    """
    a -0> b -1> W
    """
    order, forest = grow("ab", "a>b b>W")
    assert order == "Wba"
    assert forest.floating_bases == ()
    assert forest.is_reversed == (False, True, True)


# Graphs that are not trees.


def test_loop_names_every_joint_and_body_on_it() -> None:
    """
    W -0> a -1> b
          |     |
          2     3           d and joint 4 are not on the loop
          v     v
          c <---+
          |
          4 > d
    """
    with pytest.raises(TopologyError) as error:
        grow("abcd", "W>a a>b a>c b>c c>d")
    message = str(error.value)
    assert message.startswith(
        "joint 'j1', joint 'j2' and joint 'j3' close a loop through the bodies 'b', 'a' and 'c'."
    )
    assert "'d'" not in message
    assert "'j0'" not in message
    assert "replace one of these joints by a constraint, a BallConstraint or a WeldConstraint" in message


def test_loop_through_world() -> None:
    """
    W -0> a -1> b -2> W
    """
    with pytest.raises(
        TopologyError, match=r"joint 'j1', joint 'j0' and joint 'j2' close a loop .* 'b', 'a' and 'W'"
    ):
        grow("ab", "W>a a>b b>W")


def test_loop_beside_world() -> None:
    """
    W              a -0> b -1> c -2> a
    """
    with pytest.raises(TopologyError, match="close a loop"):
        grow("abc", "a>b b>c c>a")


def test_body_with_two_parents() -> None:
    """
    W -0> a -2> c <3- b <1- W
    """
    with pytest.raises(TopologyError, match=r"'b', 'W', 'a' and 'c'"):
        grow("abc", "W>a W>b a>c b>c")


def test_joint_to_itself() -> None:
    graph = make_graph("a", "")
    with pytest.raises(TopologyError, match="joint 'j' would connect body 'a' to itself"):
        graph.add_edge("joint 'j'", 1, 1)
    assert list(graph.edges) == []


@pytest.mark.parametrize("ends", [(0, 1), (1, 0)])
def test_second_joint_between_the_same_bodies(ends: tuple[int, int]) -> None:
    graph = make_graph("a", "W>a")
    with pytest.raises(
        TopologyError, match=r"joint 'j' would connect bodies .* which joint 'j0' connects already"
    ):
        graph.add_edge("joint 'j'", *ends)
    assert len(graph.edges) == 1


def test_irreversible_edge_towards_world() -> None:
    """
    W -0> a <1= b
    """
    with pytest.raises(TopologyError, match="outboard body 'a' is nearer World than its inboard body 'b'"):
        grow("ab", "W>a b=>a")


def test_irreversible_edge_away_from_world() -> None:
    """
    W -0> a =1> b
    """
    order, _ = grow("ab", "W>a a=>b")
    assert order == "Wab"


# Size.

N = 10_000


def test_long_chain() -> None:
    graph = JointGraph()
    for i in range(N):
        graph.add_edge(f"joint {i}", i, graph.add_body(f"body {i}"))
    forest = grow_forest(graph)
    forest.check_invariants(graph)
    assert forest.height == N + 1
    assert forest.body == tuple(range(N + 1))


def test_long_chain_from_its_tip() -> None:
    """Every joint reversed, the last body first."""
    graph = JointGraph()
    for i in range(N):
        graph.add_body(f"body {i}")
    for i in range(N, 0, -1):
        graph.add_edge(f"joint {i}", i, i - 1)
    forest = grow_forest(graph)
    forest.check_invariants(graph)
    assert all(forest.is_reversed[1:])


def test_wide_tree() -> None:
    graph = JointGraph()
    for i in range(N):
        graph.add_edge(f"joint {i}", 0, graph.add_body(f"body {i}"))
    forest = grow_forest(graph)
    forest.check_invariants(graph)
    assert forest.height == 2


def test_long_loop() -> None:
    graph = JointGraph()
    for i in range(N):
        graph.add_edge(f"joint 'j{i}'", i, graph.add_body(f"body {i}"))
    graph.add_edge("joint 'last'", N, 0)
    with pytest.raises(TopologyError) as error:
        grow_forest(graph)
    assert f"and {N - 9} more close a loop" in str(error.value)


@pytest.mark.parametrize("seed", range(50))
def test_random_forests(seed: int) -> None:
    """Bodies in random order, joints in random order and direction, some components without World."""
    rng = random.Random(seed)
    num_bodies = rng.randrange(1, 60)
    names = list(range(1, num_bodies + 1))
    rng.shuffle(names)
    placed = [0]
    edges = []
    for body in names:
        if rng.random() < 0.85:
            other = rng.choice(placed)
            edges.append((body, other) if rng.random() < 0.5 else (other, body))
        placed.append(body)
    rng.shuffle(edges)
    graph = JointGraph()
    for body in range(1, num_bodies + 1):
        graph.add_body(f"body {body}")
    for i, (parent, child) in enumerate(edges):
        graph.add_edge(f"joint {i}", parent, child)

    forest = grow_forest(graph)

    forest.check_invariants(graph)
    assert len(forest.floating_bases) == num_bodies - len(edges)
    children = {child for _, child in edges}
    assert not children.intersection(forest.floating_bases)


# The invariants catch broken forests.


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("body", (0, 1, 2, 2, 4)),
        ("parent", (-1, 0, 1, 1, 1)),
        ("edge", (-1, 0, 0, 2, 3)),
        ("is_reversed", (False, True, False, False, False)),
        ("level", (0, 1, 2, 3, 1)),
        ("subtree_end", (5, 4, 4, 4, 5)),
        ("floating_bases", ()),
        ("num_graph_edges", 4),
    ],
)
def test_broken_invariants_are_found(field: str, value: object) -> None:
    """
    W -0> a -1> b            d
          +--2> c
    """
    graph = make_graph("abcd", "W>a a>b a>c")
    forest = grow_forest(graph)
    broken = SpanningForest(**{**vars(forest), field: value})
    with pytest.raises(AssertionError, match="SpanningForest: violated"):
        broken.check_invariants(graph)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("body", (0, 1, 1)),
        ("parent", [-1, 0, 1]),
        ("edge", None),
        ("is_reversed", (False, "x", False)),
        ("level", (0, 1.0, 2)),
        ("subtree_end", (3, 3, 2)),
        ("floating_bases", (1,)),
        ("num_graph_edges", 2.0),
        ("body_names", 5),
        ("edge_labels", (0, 1)),
    ],
)
def test_a_damaged_pickle(field: str, value: object) -> None:
    forest = grow_forest(make_graph("ab", "W>a a>b"))
    assert pickle.loads(pickle.dumps(forest)) == forest
    broken = SpanningForest(**{**vars(forest), field: value})
    with pytest.raises(ArgumentValueError, match=r"unpickling a SpanningForest: it is damaged: .* violated"):
        pickle.loads(pickle.dumps(broken))


def test_frozen() -> None:
    _, forest = grow("a", "W>a")
    with pytest.raises(AttributeError):
        forest.body = ()  # type: ignore[misc]


# Several loops.


def test_further_loops_are_named() -> None:
    with pytest.raises(TopologyError, match=r"or by a force element\. joint 'j4' closes another loop\.$"):
        grow("abc", "W>a a>b W>b b>c W>c")
    with pytest.raises(TopologyError) as error:
        grow("abcd", "W>a a>b b>W W>c c>b d>W d>a")
    message = str(error.value)
    assert message.startswith(
        "joint 'j1', joint 'j0' and joint 'j2' close a loop through the bodies 'b', 'a'"
    )
    assert message.endswith("joint 'j4' and joint 'j6' close further loops.")


# Queries.


def test_sizes_and_neighbours() -> None:
    """
    W -0> a -2> c            nodes 0, 1, 2
          +--3> d -5> f      3, 4
    W -1> b <4- e            5, 6       g is free: 7
    """
    order, forest = grow("abcdefg", "W>a W>b a>c a>d e>b d>f")
    assert order == "Wacdfbeg"
    assert (forest.num_bodies, forest.num_nodes, forest.num_mobilizers) == (8, 8, 7)
    assert (forest.num_trees, forest.tree_height) == (3, 4)
    assert forest.trees == (range(1, 5), range(5, 7), range(7, 8))
    assert forest.tips == (2, 4, 6, 7)
    body = {name: i for i, name in enumerate(forest.body_names)}
    assert forest.body_names == tuple("Wabcdefg")
    assert forest.edge_labels[4] == "joint 'j4'"
    assert forest.parent_body(body["W"]) == -1
    assert [forest.body_names[forest.parent_body(body[x])] for x in "abcdefg"] == list("WWaabdW")
    assert forest.child_bodies(body["a"]) == (body["c"], body["d"])
    assert forest.outboard_bodies(body["a"]) == tuple(body[x] for x in "acdf")
    assert forest.subtree(0) == range(8)
    assert forest.path_between(4, 2) == (4, 3, 1, 2)
    assert forest.path_between(2, 4) == (2, 1, 3, 4)
    assert forest.path_between(6, 4) == (6, 5, 0, 1, 3, 4)
    assert forest.path_between(0, 0) == (0,)
    assert forest.path_between(4, 0) == forest.path_to_world(4)
    assert [forest.edge_label(b) for b in (0, 1, 6, 7)] == ["", "joint 'j0'", "joint 'j4', reversed", "free"]


@pytest.mark.parametrize(
    ("method", "argument", "kind"),
    [
        ("subtree", "node", "node"),
        ("path_to_world", "node", "node"),
        ("body_name", "node", "node"),
        ("edge_label", "node", "node"),
        ("path_between", "from_node", "node"),
        ("parent_body", "body", "body"),
        ("child_bodies", "body", "body"),
        ("outboard_bodies", "body", "body"),
    ],
)
def test_indices_are_checked(method: str, argument: str, kind: str) -> None:
    """A negative index would count from the end, and make a path circle World forever."""
    _, forest = grow("ab", "W>a a>b")
    rest = (0,) if method == "path_between" else ()
    for index in (-1, -2, 3, 10**30):
        message = rf"^{argument}: expected the index of a {kind} \(0 <= index < 3\), got {index}$"
        with pytest.raises(ElementIndexError, match=message):
            getattr(forest, method)(index, *rest)
    for index in ("a", None, 1.0):
        with pytest.raises(ArgumentTypeError, match=rf"^{argument}: expected the index of a {kind}, got "):
            getattr(forest, method)(index, *rest)
    if rest:
        with pytest.raises(ElementIndexError, match="to_node"):
            forest.path_between(0, -5)


def test_drawing() -> None:
    _, forest = grow("abcd", "W>a a>b c>a")
    assert str(forest) == "\n".join(
        [
            "0  W",
            "1  ├─ a     joint 'j0'",
            "2  │  ├─ b  joint 'j1'",
            "3  │  └─ c  joint 'j2', reversed",
            "4  └─ d     free",
        ]
    )
    assert repr(forest) == "<SpanningForest: 5 nodes in 2 trees, height 3>"
    assert str(grow("", "")[1]) == "0  W"


def test_a_forest_without_names() -> None:
    """Names are for readers: a forest works without them."""
    bare = SpanningForest(*grow("ab", "W>a a>b")[1].__reduce__()[1][:-2])
    bare.check_invariants()
    assert str(bare).splitlines()[2] == "2     └─ body 2  edge 1"
