"""Contexts other than those of one state of doubles.

They hold numbers of another scalar type, with the trees that create them
(``MultibodyTree.clone_to_scalar``), or many states (``MultibodyTree.create_default_context(batch_shape)``).
"""

from mbt.scalars.batch_context import BatchContext, make_batch_context
from mbt.scalars.context import ScalarContext
from mbt.scalars.tree import ScalarTree

__all__ = ["BatchContext", "ScalarContext", "ScalarTree", "make_batch_context"]
