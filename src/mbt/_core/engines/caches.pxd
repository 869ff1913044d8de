"""Caches of kinematics, and the memory shared by arrays returned from them."""

cimport numpy as cnp

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport MAX_AXES, new_read_only


# A returned array keeps its memory alive, and counts as a reference to it. Memory is written only while there are no
# other references to it, and a Context computes into its cache only while there are none to the cache: returned arrays
# never change.

cdef class Memory:
    """Doubles shared by returned arrays. No array owns them, so none can resize or unlock them."""
    cdef double* data
    cdef Py_ssize_t size


cdef class SampleVectors:
    cdef Memory memory
    cdef int ndim
    cdef cnp.npy_intp[MAX_AXES] shape


cdef class PositionKinematicsCache:
    cdef CompiledModel compiled
    cdef Derived derived
    cdef unsigned long long q_serial, parameter_serial
    cdef Memory memory           # of all arrays below
    cdef double* q_data          # (nq,)              the positions that the rest is computed from
    cdef double* X_WB_data       # (num_bodies, 4, 4)
    cdef object _X_WB            # an array of these, once requested
    # The rest is computed by `complete`.
    cdef bint is_complete
    cdef double* X_FM_data       # (num_bodies, 4, 4)
    cdef double* X_PB_data       # (num_bodies, 4, 4)
    cdef double* H_FM_data       # (nv, 6)
    cdef double* H_PB_W_data     # (nv, 6)
    cdef take_memory(self)
    cdef bint is_held(self)
    cdef compute(
        self, Derived derived, const double* q, unsigned long long q_serial, unsigned long long parameter_serial)
    cdef complete(self)


cdef class VelocityKinematicsCache:
    cdef CompiledModel compiled
    cdef unsigned long long q_serial, v_serial, parameter_serial
    cdef Memory memory           # of all arrays below
    cdef double* V_PB_W_data     # (num_bodies, 6)
    cdef double* V_PB_data       # (num_bodies, 6)
    cdef double* V_WB_data       # (num_bodies, 6)
    cdef take_memory(self)
    cdef compute(self, PositionKinematicsCache pc, const double* v, unsigned long long v_serial)


cdef class AccelerationKinematicsCache:
    cdef CompiledModel compiled
    cdef readonly object A_WB    # (num_bodies, 6)
    cdef readonly object vdot    # (nv,)
    cdef bint is_of_context      # a Context returns it, and only that Context computes into it
    cdef set(self, A_WB, vdot)


cdef inline object view(object owner, int ndim, cnp.npy_intp* shape, double* memory):
    """A read-only array over memory that `owner` keeps alive."""
    array = new_read_only(ndim, shape, memory)
    cnp.set_array_base(array, owner)
    return array


cdef inline object vector(Memory memory):
    """All of the memory."""
    cdef cnp.npy_intp[1] shape = [memory.size]
    return view(memory, 1, shape, memory.data)


cdef refuse_copy(cache)
