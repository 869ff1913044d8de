"""The compiled half of a MultibodyTree."""

from mbt._core.context cimport ContextCore
from mbt._core.tree_derivatives cimport TreeDerivatives


cdef class TreeCore(TreeDerivatives):
    cdef object with_user_elements(self, ContextCore c, object total, str method)
