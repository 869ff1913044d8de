"""Removals from a tree: dependents are checked before anything changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from mbt.errors import ArgumentValueError
from mbt.topology import grow_forest
from mbt.tree.body import RigidBody
from mbt.tree.element import MultibodyElement, check_element
from mbt.tree.force_elements import UniformGravityFieldElement
from mbt.tree.frame import BodyFrame, Frame
from mbt.tree.indices import ModelInstanceIndex, default_model_instance
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.model_instance import ModelInstance

if TYPE_CHECKING:
    from mbt.tree.registry import ElementRegistry

__all__ = ["check_can_change", "remove", "remove_subtree"]

# Number of elements that a message names.
_SHOWN = 4


def check_can_change(elements: ElementRegistry, element: MultibodyElement, method: str) -> None:
    """Check that an argument is an element of a tree that may be removed, or renamed.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ForeignElementError
        When it is anything else.
    """
    check_element(element, MultibodyElement, f"{method}: element")
    elements.check_is_owned(element, f"{method}: element")
    if element is elements.bodies.as_tuple()[0]:
        raise ArgumentValueError(f"{method}: element: expected any body but World")
    if element in elements.model_instances.as_tuple()[: default_model_instance() + 1]:
        raise ArgumentValueError(
            f"{method}: element: expected a model instance that was added, got {element._label}"
        )
    if isinstance(element, BodyFrame):
        raise ArgumentValueError(
            f"{method}: element: expected a frame other than {element._label}, which goes with its body"
        )


def remove(elements: ElementRegistry, element: MultibodyElement) -> None:
    """Remove one element that no other element needs; see ``MultibodyTree.remove``."""
    check_can_change(elements, element, "remove")
    parts = _with_frames([element])
    if isinstance(element, ModelInstance):
        others = [e for e in elements.in_order() if e.model_instance == element._index]
    else:
        others = _find_dependents(elements, parts)
    if others:
        hint = "; remove_subtree() removes all at once" if isinstance(element, RigidBody) else ""
        raise ArgumentValueError(
            f"remove: {element._label} is needed by {_list_some(others)}: remove that first{hint}"
        )
    if isinstance(element, ModelInstance):
        _remove_model_instance(elements, element)
    else:
        elements.rebuild(parts)


def remove_subtree(elements: ElementRegistry, body: RigidBody) -> tuple[MultibodyElement, ...]:
    """Remove a body and all that depends on it; see ``MultibodyTree.remove_subtree``."""
    check_element(body, RigidBody, "remove_subtree: body")
    check_can_change(elements, body, "remove_subtree")
    forest = grow_forest(elements.graph)
    b = forest.node_of_body[body._index]
    bodies = [elements.bodies.as_tuple()[i] for i in forest.body[b : forest.subtree_end[b]]]
    parts = _with_frames(bodies)
    while more := _find_dependents(elements, parts):
        _check_connect(more, bodies, body)
        parts += more
    out = set(map(id, parts))
    gone = tuple(element for element in elements.in_order() if id(element) in out)
    elements.rebuild(gone)
    return gone


def _remove_model_instance(elements: ElementRegistry, instance: ModelInstance) -> None:
    """Remove an empty model instance: those behind it get smaller indices.

    Elements removed from these follow, for they may come back; those removed from it get the default one.
    """
    removed = instance._index

    def closed_up(index: int) -> ModelInstanceIndex:
        return default_model_instance() if index == removed else ModelInstanceIndex(index - (index > removed))

    elements.model_instances.rebuild([other for other in elements.model_instances if other is not instance])
    instance._tree, instance._index = None, -1
    loose = [element for element in elements.removed if element._tree is None]
    for element in (*elements.in_order(), *loose):
        element._model_instance = closed_up(element._model_instance)
        if isinstance(element, UniformGravityFieldElement):
            disabled = element._disabled_model_instances - {removed}
            element._disabled_model_instances = set(map(closed_up, disabled))
    elements.rebuild([])


def _with_frames(elements: Collection[MultibodyElement]) -> list[MultibodyElement]:
    """Return elements, and the body frames of bodies among them."""
    return [*elements, *(element.body_frame for element in elements if isinstance(element, RigidBody))]


def _find_dependents(
    elements: ElementRegistry, parts: Collection[MultibodyElement]
) -> list[MultibodyElement]:
    """Return the other elements that need one of these."""
    found = set(map(id, parts))
    return [
        element
        for element in elements.in_order()
        if id(element) not in found and any(id(needed) in found for needed, _ in element._needs())
    ]


def _check_connect(
    dependents: Collection[MultibodyElement], bodies: Collection[RigidBody], body: RigidBody
) -> None:
    """Check that no joint or mobilizer among `dependents` connects two bodies that remain.

    Raises
    ------
    ArgumentValueError
        When one does, by a user's frame that needs another element.
    """
    for element in dependents:
        if isinstance(element, (Joint, Mobilizer)):
            ends = [end.body for end, _ in element._needs() if isinstance(end, Frame)]
            if not any(end in bodies for end in ends):
                raise ArgumentValueError(
                    f"remove_subtree: {element._label} connects bodies that are not part of it, by a frame "
                    f"that needs part of it: remove the joint before {body._label}"
                )


def _list_some(elements: Collection[MultibodyElement]) -> str:
    names = [element._label for element in elements]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
