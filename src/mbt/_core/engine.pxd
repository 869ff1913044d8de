"""The compiled half of a MultibodyTree."""

from mbt._core.tree_identification cimport TreeIdentification


cdef class TreeCore(TreeIdentification):
    pass
