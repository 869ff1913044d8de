"""Drawings of a forest: as text with branches, and in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbt.topology.forest import SpanningForest

__all__ = ["draw_branches", "make_graphviz"]


def draw_branches(forest: SpanningForest, max_level: int = 40) -> list[tuple[int, str]]:
    """Return each node in order, with the branches to draw in front of its name.

    Iterative and linear: nodes above `max_level` are indented no further, and show their level instead.

    Examples
    --------
    >>> from mbt.topology import JointGraph, grow_forest
    >>> graph = JointGraph()
    >>> arm, hand = graph.add_body("arm"), graph.add_body("hand")
    >>> wrist = graph.add_edge("joint 'wrist'", arm, hand)
    >>> draw_branches(grow_forest(graph))
    [(0, ''), (1, '└─ '), (2, '   └─ ')]
    """
    branches = [(0, "")]
    # The text in front of the children of each node.
    front = [""] * forest.num_nodes
    for b in range(1, forest.num_nodes):
        parent = forest.parent[b]
        if forest.level[b] > max_level:
            front[b] = front[parent]
            branches.append((b, f"{front[b]}level {forest.level[b]}: "))
            continue
        is_last = forest.subtree_end[b] == forest.subtree_end[parent]
        branches.append((b, front[parent] + ("└─ " if is_last else "├─ ")))
        front[b] = front[parent] + ("   " if is_last else "│  ")
    return branches


def make_graphviz(
    nodes: Iterable[tuple[int, str, str]], edges: Iterable[tuple[int, int, str, bool]], title: str = ""
) -> str:
    """Return a graph in the language of Graphviz, drawn from bottom to top.

    Parameters
    ----------
    nodes : iterable of (int, str, str)
        Number and label of each node, and the name of the group it is drawn in; "" for none.
    edges : iterable of (int, int, str, bool)
        The nodes that each edge connects, upper one first, its label, and whether it is dashed.
    title : str, optional
        Text above the graph.
    """
    groups: dict[str, list[str]] = {}
    for number, label, group in nodes:
        groups.setdefault(group, []).append(f"node{number} [label={_quoted(label)}];")
    lines = ["digraph multibody_tree {"]
    if title:
        lines += [f"  label={_quoted(title)};", "  labelloc=t;"]
    lines += ["  rankdir=BT;", "  node [shape=box];"]
    for i, (group, statements) in enumerate(groups.items()):
        if not group:
            lines += [f"  {statement}" for statement in statements]
            continue
        lines += [f"  subgraph cluster{i} {{", f"    label={_quoted(group)};"]
        lines += [f"    {statement}" for statement in statements]
        lines.append("  }")
    for upper, lower, label, is_dashed in edges:
        style = ", style=dashed" if is_dashed else ""
        lines.append(f"  node{upper} -> node{lower} [arrowhead=none, label={_quoted(label)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    r"""Return a quoted label: line breaks stay, other unprintable characters are replaced."""
    lines = (
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
        for line in text.split("\n")
    )
    return '"' + r"\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
