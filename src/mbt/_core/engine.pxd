"""The compiled half of a MultibodyTree."""

from mbt._core.tree_mass cimport TreeMass


cdef class TreeCore(TreeMass):
    pass
