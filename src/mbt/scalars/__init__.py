"""Trees that compute in another scalar than double: see ``MultibodyTree.clone_to_scalar``."""

from mbt.scalars.context import ScalarContext
from mbt.scalars.tree import ScalarTree

__all__ = ["ScalarContext", "ScalarTree"]
