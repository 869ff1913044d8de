"""Draws the bodies of a tree: one line each, indented by branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.cli.terminal import number

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["draw_bodies"]

# Deeper branches are not drawn: they are counted, or listed with their depth for --all.
_MAX_DEPTH = 14


def draw_bodies(tree: MultibodyTree, max_rows: int | None) -> list[tuple[str, str, str, str, str]]:
    """Return one table row for each body: its name on its branch, joint, type, positions and mass.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    max_rows : int or None
        The most rows; further bodies are only counted. None draws all.
    """
    children, num_outboard = _find_children(tree)
    rows: list[tuple[str, str, str, str, str]] = []
    # A body, the branch lines in front of it, whether it is the last child, and its depth.
    stack: list[tuple[RigidBody, str, bool, int]] = [(tree.world_body, "", True, 0)]
    num_drawn = 0
    while stack:
        body, front, is_last, depth = stack.pop()
        if max_rows is not None and len(rows) >= max_rows:
            rows.append((f"… {tree.num_bodies - num_drawn} more bodies (--all shows them)", "", "", "", ""))
            break
        if depth > _MAX_DEPTH:
            branch = f"{front}{depth}: "
        else:
            branch = "" if depth == 0 else front + ("└─ " if is_last else "├─ ")
        rows.append((branch + body.name, *_describe_joint(body)))
        num_drawn += 1
        outboard = children[body.node_index]
        below = front if depth > _MAX_DEPTH else front + ("" if depth == 0 else "   " if is_last else "│  ")
        if depth == _MAX_DEPTH and outboard and max_rows is not None:
            count = num_outboard[body.node_index]
            rows.append((f"{below}└─ … {count} more", "", "", "", ""))
            num_drawn += count
            continue
        for child in reversed(outboard):
            stack.append((child, below, child is outboard[-1], depth + 1))
    return rows


def _find_children(tree: MultibodyTree) -> tuple[list[list[RigidBody]], list[int]]:
    """Return the children of each node, and the number of bodies outboard of it."""
    children: list[list[RigidBody]] = [[] for _ in tree.bodies]
    num_outboard = [0] * tree.num_bodies
    for body in sorted(tree.bodies, key=lambda b: b.node_index, reverse=True):
        mobilizer = body.inboard_mobilizer
        if mobilizer is not None:
            parent = mobilizer.inboard_body.node_index
            children[parent].append(body)
            num_outboard[parent] += num_outboard[body.node_index] + 1
    for siblings in children:
        siblings.reverse()
    return children, num_outboard


def _describe_joint(body: RigidBody) -> tuple[str, str, str, str]:
    joint = body.inboard_joint
    if joint is None:
        return "", "", "", ""
    positions = ""
    if joint.num_positions:
        first, last = joint.position_start, joint.position_start + joint.num_positions - 1
        positions = str(first) if first == last else f"{first}-{last}"
    name = f"({joint.name})" if joint.is_ephemeral else joint.name
    return (
        name,
        joint.type_name.replace("_", " "),
        positions,
        number(body.default_mass) if body.default_mass else "-",
    )
