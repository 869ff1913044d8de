"""Names that dask gives to computations with a tree: equal for equal models, in every process.

Otherwise dask would make a name from a pickle, which differs even between trees that are built alike.
"""

from __future__ import annotations

import hashlib
import io
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.tree.element import MultibodyElement
from mbt.tree.pickling import FrozenArray, collection_of, reduce_tree
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["token_of_element", "token_of_tree"]

# Attributes of a tree besides its model: its family of clones, declarations, and reports of its files.
_NO_MODEL = ("_family", "_declarations", "_declaring", "parse_reports")


def token_of_tree(tree: MultibodyTree) -> Any:
    """Return the content of a tree in the names of dask: its elements with all their attributes."""
    _, make, state = reduce_tree(tree)
    for name in _NO_MODEL:
        state["tree"].pop(name, None)
    return _token(tree, (make, state))


def token_of_element(element: MultibodyElement) -> Any:
    """Return the content of an element: its tree and its place there, or its attributes."""
    if element._tree is not None:
        return token_of_tree(element._tree), collection_of(element), element._index
    return _token(None, element.__reduce_ex__(2))


def _token(tree: MultibodyTree | None, content: Any) -> str:
    # Installed with dask. It pickles classes and functions of a script by their code, not by name.
    from cloudpickle import Pickler

    class ContentPickler(Pickler):  # type: ignore[misc]
        """Pickles a tree, and the elements in it, by their places."""

        def persistent_id(self, thing: object) -> Any:
            # By value: pickle writes a repeated object as a reference, but an equal one in full. The same
            # holds for arrays, whose copies may or may not share their dtype.
            if type(thing) is str:
                return thing.encode("utf-8", "surrogatepass")
            if type(thing) is FrozenArray:
                thing = thing.array
            if type(thing) is np.ndarray and not thing.dtype.hasobject:
                return thing.dtype.str, thing.shape, thing.tobytes()
            if type(thing) is Shape:
                return repr(thing._key()).encode("utf-8", "surrogatepass")
            if tree is None:
                return None
            if thing is tree:
                return "tree"
            if isinstance(thing, MultibodyElement) and thing._tree is tree:
                return collection_of(thing), thing._index
            return None

    memory = io.BytesIO()
    try:
        ContentPickler(memory, protocol=5).dump(content)
    except Exception:
        # An attribute that cannot be pickled: a new name each time, as dask does.
        return uuid.uuid4().hex
    return hashlib.sha256(memory.getvalue()).hexdigest()
