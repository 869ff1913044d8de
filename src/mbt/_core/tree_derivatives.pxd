"""Partial derivatives of the dynamics of a tree."""

from mbt._core.context cimport ContextCore
from mbt._core.tree_identification cimport TreeIdentification


cdef class TreeDerivatives(TreeIdentification):
    cdef list body_force_inputs(self, ContextCore c, object external_forces, str name)


cdef tuple outputs_of(object out, object nv)
