"""Cython view of pool.hpp: threads that share the parts of a job."""

cdef extern from "engines/pool.hpp" namespace "MBT_NS" nogil:
    ctypedef int (*PoolTask)(const void* job, int part) noexcept nogil
    cdef cppclass Pool:
        int run(PoolTask task, const void* job, int count)
    Pool* get_pool()
    double seconds()
    Py_ssize_t next_run(Py_ssize_t count, double duration, Py_ssize_t block)
