"""Contact constants of pairs from the surfaces of their shapes, and the contact of a robot description."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mbt.geometry.collision_model import CollisionModel
from mbt.geometry.placed_shapes import places_on
from mbt.tree.surface import Surface

if TYPE_CHECKING:
    from mbt.geometry.shape_contact import ShapeContact
    from mbt.math.arrays import FloatArray
    from mbt.parsing.assembly import ListedPair
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.shape import Shape

__all__ = ["by_surfaces", "contacts_of_file", "in_a_row", "mean", "mean_of_inverses", "total"]

_NOTHING = Surface()
_NUMBERS = ("friction", "stiffness", "dissipation", "margin")


def mean_of_inverses(a: float, b: float) -> float:
    """Return the harmonic mean, the inverse of the mean of 1/a and 1/b."""
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0


def mean(a: float, b: float) -> float:
    """Return the mean."""
    return 0.5 * (a + b)


def in_a_row(a: float, b: float) -> float:
    """Return the stiffness of two springs in series."""
    return 0.5 * mean_of_inverses(a, b)


def total(a: float, b: float) -> float:
    """Return the sum."""
    return a + b


# In the order of precedence, see `Surface`.
_FRICTIONS: dict[str, Callable[[float, float], float]] = {
    "mean": mean_of_inverses,
    "least": min,
    "largest": max,
}
# Constants that do not depend on priorities.
_BOTH_COUNT = ("stiffness", "margin")


def by_surfaces(scene: CollisionModel, what: str, default: FloatArray) -> FloatArray:
    """Return one of `_NUMBERS` for each pair; the default if neither surface specifies it."""
    numbers = default.copy()
    for i, (j, k, _) in enumerate(scene._pairs):
        a, b = (scene._shapes[place].surface or _NOTHING for place in (j, k))
        known = [(s, x) for s in (a, b) if (x := getattr(s, what)) is not None]
        if len(known) == 2 and what not in _BOTH_COUNT:
            first = max(a.priority, b.priority)
            known = [(s, x) for s, x in known if s.priority == first]
        if len(known) == 2:
            rules = {"stiffness": in_a_row, "dissipation": mean, "margin": total}
            rule = rules.get(what) or _FRICTIONS[max(a.combine, b.combine, key=list(_FRICTIONS).index)]
            numbers[i] = rule(*(x for _, x in known))
        elif known:
            numbers[i] = known[0][1]
    return numbers


def contacts_of_file(
    tree: MultibodyTree,
    rule: str,
    obstacles: Iterable[Shape],
    package_paths: Sequence[str | os.PathLike[str]],
    listed: Sequence[ListedPair] | None,
) -> ShapeContact:
    """Return the contact that the description of a tree specifies, with meshes as their convex hulls.

    Pairs that it has `listed` have their own surfaces. None stands for a description without contact: only
    obstacles touch its shapes.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an obstacle is not a Shape, or the distance between two kinds of shapes is not implemented.
    MissingPackageError, ParseError
        When a mesh cannot be read.
    """
    from mbt.geometry.shape_contact import ShapeContact

    if listed is None:
        nothing = CollisionModel(tree, [], hulls=True, package_paths=package_paths)
        return ShapeContact(nothing.edit(add=obstacles))
    scene = CollisionModel(tree, rule, obstacles=obstacles, hulls=True, package_paths=package_paths)
    if not listed:
        return ShapeContact(scene)
    places = places_on(tree)
    how = {frozenset((places[a], places[b])): surface for a, b, surface in listed}
    contact = ShapeContact(scene._with_pairs((min(pair), max(pair)) for pair in how))
    numbers = {name: getattr(contact, name).copy() for name in _NUMBERS}
    for k, (i, j, _) in enumerate(contact.scene._pairs):
        own = how.get(frozenset((i, j)), _NOTHING)
        for name, array in numbers.items():
            if (value := getattr(own, name)) is not None:
                array[k] = value
    return ShapeContact(contact.scene, **numbers)
