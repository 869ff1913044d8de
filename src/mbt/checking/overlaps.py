"""Finds collision shapes that overlap in the default position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.errors import quote

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.parsing.sources import Source
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_overlaps"]

# Shapes that overlap by less only touch [m].
_TOUCH = 1e-4
# The most shapes: the time grows with the number of pairs.
_MOST_SHAPES = 400
# The most pairs that a finding names.
_NAMED = 6


def check_overlaps(tree: MultibodyTree, subject: Subject, rules: Source | None) -> None:
    """Find shapes that overlap in the default position; one finding lists them, the deepest first.

    Meshes are not opened. Shapes of bodies that a joint connects often overlap, and are not compared. A file
    with `rules` defines which others may overlap.
    """
    if subject.touches_nothing:
        return
    count = sum(shape.kind != "mesh" for body in tree.bodies for shape in body.collisions)
    if not 2 <= count <= _MOST_SHAPES:
        return
    from mbt.geometry.collision_model import model_without_meshes

    scene = model_without_meshes(tree, rules)
    if not scene.num_pairs:
        return
    d = scene.distances(tree.default_positions)
    order = d.argsort(kind="stable")
    deep = order[d[order] < -_TOUCH].tolist()
    if not deep:
        return
    pairs = [scene.pairs[i] for i in deep[:_NAMED]]
    named = [
        f"{quote(a)} and {quote(b)} by {-1e3 * d[i]:.3g} mm" for i, (a, b) in zip(deep, pairs, strict=False)
    ]
    more = f", and {len(deep) - _NAMED} more" if len(deep) > _NAMED else ""
    message = f"shapes overlap in the default position: {', '.join(named)}{more}"
    cure = (
        "separate them, or leave out the pairs that may overlap: exclude= of mbt.CollisionModel, "
        "disable_collisions of SRDF, <contact><exclude> of MJCF"
    )
    owner = scene._shapes[scene._pairs[deep[0]][1]].owner
    subject.report("note", "overlap", "", message, cure, line=subject.line_of("link", owner))
