"""Edits of a collision model: other obstacles, fewer pairs, or other padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.geometry.pair_rules import Names, check_known, find_pairs
from mbt.geometry.placed_shapes import PlacedShape, name_bodies, name_obstacles, place

if TYPE_CHECKING:
    from mbt.geometry.collision_model import CollisionModel
    from mbt.tree.shape import Shape

__all__ = ["edit_scene"]


def edit_scene(
    scene: CollisionModel, add: object, remove: object, exclude: object, padding: object
) -> tuple[list[PlacedShape], list[tuple[int, int, float]], dict[str, Shape]]:
    """Return shapes, pairs and obstacles, see `CollisionModel.edit`."""
    tree: Any = scene.tree
    bodies = name_bodies(tree)
    gone = _read_obstacles(remove, scene._obstacles)
    obstacles = {name: shape for name, shape in scene._obstacles.items() if name not in gone}
    new = name_obstacles(add, {**bodies, **obstacles}, "add")
    obstacles |= new
    names = Names(bodies, obstacles)
    excluded = names.read_pairs(exclude, "exclude")
    if new and padding is None and any(pad for *_, pad in scene._pairs):
        raise ArgumentValueError("padding: this model has padding: pass it again, with that of new obstacles")

    # As in every model, the bodies' shapes come first, and obstacles follow.
    kept = [i for i, shape in enumerate(scene._shapes) if shape.owner not in gone]
    place_of = {old: i for i, old in enumerate(kept)}
    shapes = [scene._shapes[i] for i in kept]
    pairs = [(place_of[i], place_of[j], pad) for i, j, pad in scene._pairs if i in place_of and j in place_of]
    shapes += [place(shape, name, name, 0, argument="add") for name, shape in new.items()]
    made = find_pairs(tree._compiled, shapes, "all", set(), names) if new else []
    added = [(i, j) for i, j in made if j >= len(kept)]
    check_known(shapes, added)
    pairs += [(i, j, 0.0) for i, j in added]
    pairs = [x for x in pairs if frozenset((shapes[x[0]].owner, shapes[x[1]].owner)) not in excluded]
    if padding is not None:
        thickness = names.read_padding(padding)
        pairs = [(i, j, thickness[shapes[i].owner] + thickness[shapes[j].owner]) for i, j, _ in pairs]
    return shapes, pairs, obstacles


def _read_obstacles(value: object, obstacles: Iterable[str]) -> set[str]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ArgumentTypeError(f"remove: expected names of obstacles, got {quote(value)}")
    found = set()
    for name in value:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"remove: expected the name of an obstacle, got {quote(name)}")
        if name not in obstacles:
            raise unknown_name_error("obstacle", name, obstacles, "to remove")
        found.add(name)
    return found
