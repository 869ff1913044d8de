"""Writes a tree as JSON: its elements in order, except those that ``finalize()`` made."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError, MbtError
from mbt.saving.json_elements import kind_of, write_element
from mbt.saving.json_header import HEADER
from mbt.saving.json_instances import write_instances
from mbt.saving.json_names import NamesOfTree
from mbt.saving.json_text import dump_model
from mbt.saving.json_user_elements import path_of_class, write_attributes
from mbt.saving.json_values import SHAPES
from mbt.tree.frame import BodyFrame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbt.tree.element import MultibodyElement
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["hash_content", "write_json"]


def write_json(tree: MultibodyTree, *, user_elements: bool) -> str:
    """Return a tree as JSON text.

    Raises
    ------
    ArgumentTypeError
        When an element has a user-written class, and `user_elements` is False or the class cannot be written.
    """
    return dump_model(_describe(tree, user_elements=user_elements))


def hash_content(tree: MultibodyTree) -> str | None:
    """Return a hash of the inputs of all computations: equal for trees that compute the same bits.

    Shapes are left out. None if there are user-written classes: mbt cannot know their inputs.
    """
    if type(tree).__module__.partition(".")[0] != "mbt":
        return None
    try:
        model = _describe(tree, user_elements=False)
    except MbtError:
        return None
    model.pop("collision_exclusions", None)
    for body in (model.pop("world", {}), *model["bodies"]):
        for shapes in ("visuals", "collisions"):
            body.pop(shapes, None)
    return hashlib.sha256(dump_model(model).encode()).hexdigest()


def _describe(tree: MultibodyTree, *, user_elements: bool) -> dict[str, Any]:
    """Return the JSON sections of a tree."""
    names = NamesOfTree(tree)
    elements = tree._elements
    # Frames with bodies, and mobilizers with joints, in the order of addition: so each gets its index again.
    bodies = (frame.body if isinstance(frame, BodyFrame) else frame for frame in elements.frames)
    sections: dict[str, Iterable[MultibodyElement]] = {
        "bodies": (element for element in bodies if element is not tree.world_body),
        "joints": elements.connections,
        "force_elements": elements.force_elements,
        "actuators": elements.actuators,
        "constraints": elements.constraints,
        "sensors": elements.sensors,
    }
    model: dict[str, Any] = {**HEADER, **write_instances(names)}
    world = tree.world_body
    shapes = {
        "visuals": SHAPES.write(world.visuals, names),
        "collisions": SHAPES.write(world.collisions, names),
    }
    if any(shapes.values()):
        model["world"] = {key: value for key, value in shapes.items() if value is not None}
    for section, members in sections.items():
        if section == "sensors" and not elements.sensors:
            continue  # As in files from before there were sensors.
        model[section] = [_write_element(element, section, names, user_elements) for element in members]
    if tree.collision_exclusions:
        pairs = tree.collision_exclusions
        model["collision_exclusions"] = [[names.refer_to(body) for body in pair] for pair in pairs]
    return model


def _write_element(
    element: MultibodyElement, section: str, names: NamesOfTree, user_elements: bool
) -> dict[str, Any]:
    kind = kind_of(type(element), section)
    if kind is None:
        raise ArgumentTypeError(f"save_model: {element._label}: JSON cannot hold a {type(element).__name__}")
    values = write_element(element, kind, names)
    if type(element) is kind.element_type:
        return {"type": type(element).__name__, **values}
    if not user_elements:
        raise ArgumentTypeError(
            f"save_model: {element._label} is of the user-written class {type(element).__name__}: pass "
            "user_elements=True to write it with the import path of the class"
        )
    values = {"type": path_of_class(element), **values}
    attributes = write_attributes(element, names)
    if attributes:
        values["attributes"] = attributes
    return values
