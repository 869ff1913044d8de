"""Mass and momentum of a tree, or of a part of it."""

from mbt._core.context cimport ContextCore
from mbt._core.model cimport Derived
from mbt._core.tree_accelerations cimport TreeAccelerations


cdef class TreeMass(TreeAccelerations):
    cdef object selected_masses(self, Derived derived, object model_instances)
    cdef int mass_and_moment(self, ContextCore c, object masses, double* result) except -1
    cdef double positive_mass(self, ContextCore c, object masses, object model_instances, double* p_WScm) except -1.0
    cdef int ancestor_of_masses(self, ContextCore c, object masses, int node) except -1
    cdef int momentum(self, ContextCore c, object masses, const double* V_WB, double* L_WWo_W) except -1
    cdef int center_of_mass_acceleration(
        self, ContextCore c, object masses, double mass, const double* V_WB, const double* A_WB, double* a_WScm
    ) except -1
