"""The compiled half of a MultibodyTree."""

from mbt._core.tree_derivatives cimport TreeDerivatives


cdef class TreeCore(TreeDerivatives):
    pass
