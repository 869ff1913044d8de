"""The complete contents of a tree as plain values: two trees with equal states are the same model."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt
from mbt.tree.element import MultibodyElement
from mbt.tree.pickling import collection_of, reduce_tree

# Attributes in which trees that were built alike differ.
_OF_ONE_TREE = ("_family", "_declarations", "_declaring", "parse_reports")


def model_state(tree: mbt.MultibodyTree) -> dict[str, Any]:
    """The classes of all elements, with every attribute to the last bit, and how they are connected."""
    _, (_, _, classes), state = reduce_tree(tree)
    own = {name: value for name, value in state["tree"].items() if name not in _OF_ONE_TREE}
    return _plain(tree, {"classes": classes, **state, "tree": own}, ())


def _plain(tree: mbt.MultibodyTree, value: Any, path: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, (bool, int, str, type)):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if value is tree:
        return "the tree"
    if isinstance(value, MultibodyElement):
        assert value._tree is tree
        return collection_of(value), value._index
    assert id(value) not in path, "nothing contains itself but elements"
    path = (*path, id(value))
    if isinstance(value, np.ndarray):
        assert value.dtype != object
        return value.shape, value.dtype.str, value.tobytes(), value.flags.writeable
    if isinstance(value, dict):
        # Skip a value equal to that of the class: the element has no index yet.
        items = [item for item in value.items() if item != ("_core_index", -1)]
        return [(_plain(tree, key, path), _plain(tree, part, path)) for key, part in items]
    if isinstance(value, (list, tuple)):
        return [_plain(tree, part, path) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(tree, part, path) for part in value)
    return type(value), _plain(tree, value.__reduce_ex__(2)[1:3], path)
