"""Trees from descriptions of other libraries' models."""

from __future__ import annotations

import warnings

from mbt.errors import ModelWarning
from mbt.math.arrays import FloatArray
from mbt.parsing.assembly import add_description, finish_tree, make_mount
from mbt.parsing.description import ModelDescription
from mbt.parsing.options import Base
from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["build_tree"]


def build_tree(
    model: ModelDescription, base: Base, base_pose: object, g_W: FloatArray | None
) -> MultibodyTree:
    """Return a finalized tree of one model. Warnings point two calls up."""
    tree = MultibodyTree()
    mount = make_mount(tree, base, base_pose, None, None)
    if model.report.warnings:
        warnings.warn(model.report.summarize_warnings(), ModelWarning, stacklevel=3)
    add_description(tree, model, mount, base=base)
    finish_tree(tree, g_W)
    return tree
