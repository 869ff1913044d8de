"""The forest of a tree laid out in a plane: World on the left, tips on the right, one row per tip."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.tree.pictures.colours import BLUE, GREEN, GREY, PURPLE, VERMILION

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["MAX_BODIES", "TopologyPicture", "lay_out_topology"]

#: With more bodies the drawing becomes too large to read.
MAX_BODIES = 400

# In letter heights: the mean width of a letter, space around a name, and between rows.
_LETTER = 0.62
_BLANK = 0.5
ROW = 3.0
_LONGEST = 26


class Box(NamedTuple):
    """A body: its name in a box with this left side, width, and height of the middle."""

    text: str
    x: float
    y: float
    width: float


class Edge(NamedTuple):
    """A joint: a line from the box of its inboard body to that of its outboard body, its name and type."""

    name: str
    kind: str
    color: str
    is_dashed: bool
    inboard: int
    outboard: int
    x: float  # where the line comes down into the row of the outboard body


class TopologyPicture(NamedTuple):
    """Boxes by node, and edges, in letter heights; y points upwards."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float


def lay_out_topology(tree: MultibodyTree, method: str) -> TopologyPicture:
    """Return the picture of a finalized tree.

    Raises
    ------
    ArgumentValueError
        When it has more than `MAX_BODIES` bodies.
    """
    plan = tree._finalized(method)
    if tree.num_bodies > MAX_BODIES:
        raise ArgumentValueError(
            f"{method}: tree: expected at most {MAX_BODIES} bodies, got {tree.num_bodies}: "
            "tree.get_topology_graphviz_string() is for larger ones"
        )
    forest = plan.forest
    bodies = [tree.bodies[index] for index in forest.body]
    names = [_clip(body.name) for body in bodies]
    joints = [_describe(m) for m in plan.mobilizer_of_node]
    rows = _find_rows(forest.parent, forest.num_nodes)
    # A column is as wide as its widest body, and the line into it as its longest joint.
    num_levels = max(forest.level) + 1
    box_width, line_length = np.zeros(num_levels), np.zeros(num_levels)
    for b, name in enumerate(names):
        level = forest.level[b]
        box_width[level] = max(box_width[level], _LETTER * len(name) + 2 * _BLANK)
        if b:
            text = max(joints[b - 1][:2], key=len)
            line_length[level] = max(line_length[level], 0.85 * _LETTER * len(text) + 4 * _BLANK)
    left = np.concatenate([[0.0], np.cumsum(box_width[:-1] + line_length[1:])])
    top = float(rows.max()) * ROW
    boxes = tuple(
        Box(name, float(left[forest.level[b]]), top - ROW * float(rows[b]), _LETTER * len(name) + 2 * _BLANK)
        for b, name in enumerate(names)
    )
    edges = []
    for b, (name, kind, color, is_dashed) in enumerate(joints, start=1):
        level = forest.level[b]
        x = float(left[level] - line_length[level] + _BLANK)
        edges.append(Edge(name, kind, color, is_dashed, forest.parent[b], b, x))
    return TopologyPicture(boxes, tuple(edges), float(left[-1] + box_width[-1]), top + ROW)


def _find_rows(parent: tuple[int, ...] | list[int], num_nodes: int) -> FloatArray:
    """Return the row of each node: tips one below the other, the others in the middle of their children."""
    first, last = np.full((2, num_nodes), np.nan)
    rows = np.zeros(num_nodes)
    is_tip = np.ones(num_nodes, dtype=bool)
    is_tip[[parent[b] for b in range(1, num_nodes)]] = False
    rows[is_tip] = np.arange(np.count_nonzero(is_tip))
    for b in range(num_nodes - 1, -1, -1):
        if not is_tip[b]:
            rows[b] = 0.5 * (first[b] + last[b])
        if b:
            p = parent[b]
            first[p] = np.fmin(first[p], rows[b])
            last[p] = np.fmax(last[p], rows[b])
    return rows


def _describe(mobilizer: Mobilizer) -> tuple[str, str, str, bool]:
    """Return name and type of a joint, a colour, and whether its line is dashed."""
    joint = mobilizer.joint
    kind = type(mobilizer).__name__ if joint is None else joint.type_name.replace("_", " ")
    name = mobilizer.name if joint is None else joint.name
    if joint is not None and joint.is_ephemeral:
        name = f"({name})"
    color = {"revolute": BLUE, "prismatic": VERMILION, "weld": GREY}.get(
        kind, PURPLE if mobilizer.has_six_dofs else GREEN
    )
    return _clip(name), kind, color, mobilizer.num_velocities == 0


def _clip(text: str) -> str:
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[1 - _LONGEST // 2 :]}"
