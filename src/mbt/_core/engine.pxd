"""The compiled half of a MultibodyTree."""

from mbt._core.context cimport ContextCore
from mbt._core.tree_dynamics cimport TreeDynamics


cdef class TreeCore(TreeDynamics):
    cdef int mass_and_moment(self, ContextCore c, double* result) except -1
    cdef int need_mass(self, double mass) except -1
    cdef int momentum(self, ContextCore c, double* L_WWo_W) except -1
