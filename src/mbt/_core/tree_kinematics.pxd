"""How the bodies and frames of a tree move."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache
from mbt._core.tree_caches cimport TreeCaches


cdef class TreeKinematics(TreeCaches):
    cdef void calc_X_WF(self, PositionKinematicsCache pc, int frame, double* X_WF) noexcept
    cdef fill_accelerations(self, ContextCore c, object vdot, object A_WB)
