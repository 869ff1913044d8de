"""Inertial parameters of a tree, and what is linear in them."""

from mbt._core.api.tree_mass cimport TreeMass


cdef class TreeIdentification(TreeMass):
    pass
