"""A Context, and the engine that evaluates its quantities."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.engines.caches cimport PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.state cimport StateCore
from mbt._core.model.structs cimport Model


cdef class Engine:
    """Evaluates quantities in one scalar type for one Context; one state of doubles needs no engine."""
    cdef bint accepts(self, object value, Py_ssize_t n) except -1
    cdef int check_input(self, object x, Py_ssize_t n) except -1
    cdef object evaluate_quantity(
        self, ContextCore context, int quantity, const int* integers, object x, object out)


cdef class ContextCore(StateCore):
    # The engine that evaluates quantities; None for one state of doubles, where kernels are called directly.
    cdef public Engine _engine
    cdef PositionKinematicsCache _pc
    cdef VelocityKinematicsCache _vc
    cdef object _frame_body_poses            # a FrameBodyPoseCache, or None
    cdef object _forward_accelerations       # a ForwardAccelerations, or None
    cdef object evaluate(self, int quantity, const int* integers, object x=*, object out=*)
    cdef object evaluate_state(self, int quantity, const int* integers, object x, object out)
    cdef object take(self, object value, str name, Py_ssize_t n)
    cdef object take_points(self, object value, str name, int* count)
    cdef object concatenate(self, tuple parts)
    cdef object zeros(self, Py_ssize_t n)
    cdef object numbers_of(self, object array)
    cdef PositionKinematicsCache poses(self)
    cdef PositionKinematicsCache position(self)
    cdef VelocityKinematicsCache velocity(self)


cdef check_maps(tree, CompiledModel compiled, const double* q, int node)
cdef check_elements_at(tree, const Model* m, const Parameters[double]* p, const double* X_WB, int element)
cdef object flat(ContextCore c, F_Bo_W)
cdef object of_bodies(F)
cdef tuple sum_of(list pairs)
