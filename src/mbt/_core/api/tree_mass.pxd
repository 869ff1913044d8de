"""Mass and momentum of a tree, or of a part of it."""

from mbt._core.api.tree_accelerations cimport TreeAccelerations
from mbt._core.engines.context cimport ContextCore


cdef class TreeMass(TreeAccelerations):
    cdef object mask_of(self, ContextCore c, object model_instances)
    cdef object mask_with_mass(self, ContextCore c, object model_instances)
    cdef object operational_space(self, object context, int quantity, object frame_F, object expressed_in, object out)
    cdef int carrier_of(self, ContextCore c, object model_instances, int frame) except -1
