"""Joints of a tree, found by the names of a model."""

from __future__ import annotations

from mbt.errors import ArgumentValueError, quote, unknown_name_error
from mbt.tree.joint import Joint
from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["find_joint"]


def find_joint(tree: MultibodyTree, name: str, model_instance: int | str | None) -> Joint:
    """Return the joint of this name in a model instance, or in one inside it.

    Raises
    ------
    UnknownNameError
        When there is no such joint.
    ArgumentValueError
        When there are several.
    """
    scope = (
        None if model_instance is None else tree._elements.instance_at(model_instance, "model_instance").name
    )
    found = [
        joint
        for joint in tree.joints
        if joint.name == name and (scope is None or _is_inside(tree, joint.model_instance, scope))
    ]
    if not found:
        raise unknown_name_error("joint", name, [joint.name for joint in tree.joints])
    if len(found) > 1:
        raise ArgumentValueError(
            f"tree: it has {len(found)} joints named {quote(name)}: choose one by model_instance"
        )
    return found[0]


def _is_inside(tree: MultibodyTree, model_instance: int, scope: str) -> bool:
    name = tree.get_model_instance(model_instance).name
    return name == scope or name.startswith(f"{scope}::")
