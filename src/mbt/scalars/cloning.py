"""Clones of trees in other scalar types."""

from __future__ import annotations

from mbt.context.checks import raise_not_finalized
from mbt.scalars.tree import ScalarTree
from mbt.symbolic import ScalarType, get_scalar_type
from mbt.tree import MultibodyTree
from mbt.tree.pickling import copy_tree

__all__ = ["clone_to_scalar"]


def clone_to_scalar(tree: MultibodyTree, scalar: str | ScalarType) -> MultibodyTree:
    """Return a clone that computes in another scalar; see ``MultibodyTree.clone_to_scalar``."""
    scalar_type = get_scalar_type(scalar)
    if not tree.is_finalized:
        raise_not_finalized(tree)
    tree._compile_copy()
    tree_type = MultibodyTree if scalar_type.name == "double" else ScalarTree
    attributes = {} if tree_type is MultibodyTree else {"_scalar_type": scalar_type}
    twin = copy_tree(tree, {}, tree_type, **attributes)
    twin._declarations = twin._declare()
    elements = (twin.force_elements[element.index] for element in tree._user_force_elements or ())
    twin._share_compiled(tree, tuple(elements))
    return twin
