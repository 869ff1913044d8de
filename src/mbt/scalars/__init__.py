"""Contexts of other numbers than one state of doubles.

Those of another scalar, with the trees that make them (``MultibodyTree.clone_to_scalar``), and those of many
states (``MultibodyTree.create_default_context(batch_shape)``).
"""

from mbt.scalars.batch_context import BatchContext, make_batch_context
from mbt.scalars.context import ScalarContext
from mbt.scalars.tree import ScalarTree

__all__ = ["BatchContext", "ScalarContext", "ScalarTree", "make_batch_context"]
