"""How the bodies and frames of a tree move."""

from mbt._core.context cimport PositionKinematicsCache
from mbt._core.model cimport CompiledModel, Derived
from mbt._core.tree_caches cimport TreeCaches


cdef class FrameBodyPoseCache:
    cdef CompiledModel compiled
    cdef Derived derived                  # whose poses these are
    cdef readonly object X_BF             # (num_frames, 4, 4)
    cdef object _X_FB, _is_identity       # made when asked for


cdef class TreeKinematics(TreeCaches):
    cdef object points(self, object value, str name)
    cdef void calc_points_in_world(
        self, PositionKinematicsCache pc, int frame, const double* p_BoBi_B, Py_ssize_t n, double* p_WoBi) noexcept
    cdef void calc_p_WoFo(self, PositionKinematicsCache pc, int frame, double* p_WoFo) noexcept
    cdef void calc_X_WF(self, PositionKinematicsCache pc, int frame, double* X_WF) noexcept
