"""Inertial parameters of a tree, and regressors of quantities linear in them."""

from mbt._core.api.tree_mass cimport TreeMass


cdef class TreeIdentification(TreeMass):
    pass
