"""The compiled half of a MultibodyTree."""

from mbt._core.api.tree_derivatives cimport TreeDerivatives
from mbt._core.engines.context cimport ContextCore


cdef class TreeCore(TreeDerivatives):
    cdef object with_user_elements(self, ContextCore c, object total, str method)
