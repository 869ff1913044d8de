"""The compiled half of a MultibodyTree."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model cimport CompiledModel


cdef class TreeCore:
    cdef readonly CompiledModel _compiled    # None before finalize()
    cdef CompiledModel ready(self)
    cdef ContextCore own(self, object context)
    cdef PositionKinematicsCache position_of(self, ContextCore c, object pc)
    cdef VelocityKinematicsCache velocity_of(self, ContextCore c, object vc)
    cdef int frame(self, object frame, str name) except -1
    cdef void calc_X_WF(self, PositionKinematicsCache pc, int frame, double* X_WF) noexcept
    cdef int mass_and_moment(self, ContextCore c, double* result) except -1
    cdef int need_mass(self, double mass) except -1
    cdef int momentum(self, ContextCore c, double* L_WWo_W) except -1
