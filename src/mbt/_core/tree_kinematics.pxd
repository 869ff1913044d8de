"""How the bodies and frames of a tree move."""

from mbt._core.context cimport PositionKinematicsCache
from mbt._core.tree_caches cimport TreeCaches


cdef class TreeKinematics(TreeCaches):
    cdef void calc_X_WF(self, PositionKinematicsCache pc, int frame, double* X_WF) noexcept
