"""Selection of the bodies that a computation includes: those of some model instances, or a set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError, quote
from mbt.math.arrays import FloatArray
from mbt.tree import RigidBody
from mbt.tree.context_access import raise_foreign_element

if TYPE_CHECKING:
    from mbt.tree import ModelInstance, MultibodyTree

__all__ = ["mask_of_bodies", "mask_of_instances", "raise_no_mass"]


def mask_of_instances(tree: MultibodyTree, model_instances: object) -> FloatArray:
    """Return 1 for the bodies of one or several model instances, 0 for the others, shape (num_bodies,).

    Raises
    ------
    ArgumentTypeError, ElementIndexError
        When there is no model instance with an index.
    UnknownNameError
        When there is no model instance with a name.
    """
    instances = {instance.index for instance in _find_instances(tree, model_instances)}
    mask = np.zeros(tree.num_bodies)
    mask[[body._node_index for body in tree.bodies if body.model_instance in instances]] = 1.0
    return mask


def mask_of_bodies(tree: MultibodyTree, body_indexes: object) -> FloatArray:
    """Return 1 for the bodies of a set, 0 for the others, shape (num_bodies,).

    Raises
    ------
    ArgumentTypeError, ElementIndexError
        When there is no body with an index.
    ArgumentValueError
        When a body is named twice.
    ForeignElementError
        When a body belongs to another tree.
    """
    mask, bodies = np.zeros(tree.num_bodies), tree._elements.bodies
    if isinstance(body_indexes, str):
        body_indexes = [body_indexes]
    for entry in _each(body_indexes, "body_indexes", "a BodyIndex"):
        if isinstance(entry, str):
            body = bodies.named(entry, tree._elements.model_instances, "body_indexes")
        elif isinstance(entry, RigidBody):
            if entry.parent_tree is not tree:
                raise_foreign_element(tree, entry, "body_indexes: expected bodies")
            body = entry
        else:
            body = bodies.at(entry, "body_indexes")
        if mask[body._node_index]:
            raise ArgumentValueError(f"body_indexes: {body._label} (index {body.index}) is named twice")
        mask[body._node_index] = 1.0
    return mask


def raise_no_mass(tree: MultibodyTree, model_instances: object) -> NoReturn:
    """Raise because the selected bodies have no mass, and hence no centre of mass."""
    if model_instances is None:
        raise SingularityError(f"centre of mass: {tree!r} has no mass outside World.")
    names = ", ".join(quote(instance.name) for instance in _find_instances(tree, model_instances))
    raise SingularityError(f"centre of mass: the bodies of the model instances ({names}) have no mass.")


def _find_instances(tree: MultibodyTree, model_instances: object) -> list[ModelInstance]:
    """Return the model instances of one or several indices or names."""
    if isinstance(model_instances, str):
        model_instances = [model_instances]
    given = _each(model_instances, "model_instances", "a ModelInstanceIndex or a name")
    return [tree._elements.instance_at(instance, "model_instances") for instance in given]


def _each(value: object, name: str, wanted: str) -> list[Any]:
    """Return the entries of a sequence, or a list of the one entry that is not a sequence."""
    # Faster than the check for an Iterable.
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (str, bytes)):
        raise ArgumentTypeError(
            f"{name}: expected {wanted} or a sequence of them, got {type(value).__name__}"
        )
    if isinstance(value, np.ndarray):
        return list(value.ravel())
    return list(value) if isinstance(value, Iterable) else [value]
