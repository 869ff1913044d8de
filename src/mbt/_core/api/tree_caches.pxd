"""The compiled model of a tree, its Contexts and their caches."""

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.identities cimport Identities
from mbt._core.engines.caches cimport PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context cimport ContextCore


cdef class TreeCaches:
    cdef readonly CompiledModel _compiled      # None before finalize()
    cdef readonly tuple _user_force_elements   # written by users in Python; None if there are none
    cdef Identities _frame_numbers             # empty until the first look-up of a frame
    cdef tuple _numbered                       # its elements
    cdef _become(self, CompiledModel compiled, tuple user_force_elements)
    cdef CompiledModel ready(self)
    cdef ContextCore own(self, object context)
    cdef PositionKinematicsCache position_of(self, ContextCore c, object pc)
    cdef VelocityKinematicsCache velocity_of(self, ContextCore c, object vc)
    cdef int check_caches(self, ContextCore c, object pc, object vc) except -1
    cdef int frame(self, object frame, str name) except -1
    cdef int number_frames(self) except -1
