"""Samples of implicit steps, shared among threads."""

from mbt._core.engines.pool cimport Pool, PoolTask, get_pool
from mbt._core.solvers.implicit_job cimport Job


cdef enum:
    FEWEST_STEPS = 8  # per thread


cdef inline int share(PoolTask task, void* job, int* num_parts, Py_ssize_t parts) except -1:
    """Let `parts` threads do a part of a job each; the job's `num_parts` becomes the number that do."""
    cdef Pool* pool = get_pool() if parts > 1 else NULL
    cdef int error
    num_parts[0] = <int>parts if pool != NULL else 1
    with nogil:
        error = task(job, 0) if pool == NULL else pool.run(task, job, num_parts[0])
    if error:
        raise MemoryError
    return 0


cdef inline int run(Job* job, PoolTask task, Py_ssize_t count, int num_threads) except -1:
    """Share samples among threads, some at a time."""
    cdef Py_ssize_t num_steps = max(<Py_ssize_t>1, job.last - job.first)
    return share(
        task, job, &job.num_parts, min(<Py_ssize_t>num_threads, min(count, count*num_steps//FEWEST_STEPS))
    )
