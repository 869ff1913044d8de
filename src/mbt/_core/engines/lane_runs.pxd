"""Divide a batch into runs, with a check for signals between them, and runs among threads."""

from mbt._core.engines.lane_blocks cimport run_samples
from mbt._core.engines.lane_job cimport Job
from mbt._core.engines.pool cimport Pool, seconds
from mbt._core.quantities.dispatch cimport count_work_of
from mbt._core.scalars cimport MBT_W, Lanes


cdef inline bint plan_runs(Job* job) noexcept nogil:
    """Set the first run to whole blocks that take a fraction of a second for any model; return whether more follow."""
    cdef Py_ssize_t numbers = count_work_of[Lanes](job.functions, job.quantity, job.integers, job.model)
    numbers += job.output_size*job.num_outputs
    if job.path != NULL:
        numbers *= job.integers[1]
    # The first run takes milliseconds: it writes this many entries before the first check for signals.
    job.first_run = MBT_W*(1 + 8*1024*1024//(MBT_W*numbers))
    return job.count > job.first_run


cdef inline int run_in_threads(Job* job, Py_ssize_t begin, Py_ssize_t end, Pool* pool, int threads) noexcept nogil:
    """Run samples `begin` to `end` - 1, the first two blocks in this thread.

    The duration of the second block, with its data in the CPU cache, gives an estimate of the rest.
    """
    cdef double start, duration
    cdef int error
    if threads == 1:
        return run_samples(job, begin, end)
    error = run_samples(job, begin, begin + MBT_W)
    start = seconds()
    error |= run_samples(job, begin + MBT_W, begin + 2*MBT_W)
    job.shared_from = begin + 2*MBT_W
    job.shared_to = end
    duration = (seconds() - start)/MBT_W*(end - job.shared_from)
    # A thread is not woken for less work than this.
    job.num_parts = <int>min(<double>threads, duration/50e-6)
    if job.num_parts < 2:
        return error | run_samples(job, job.shared_from, end)
    return error | pool.run(run_part, job, job.num_parts)


cdef inline int run_part(const void* shared, int part) noexcept nogil:
    cdef const Job* job = <const Job*>shared
    return run_samples(job, begin_of_part(job, part), begin_of_part(job, part + 1))


cdef inline Py_ssize_t begin_of_part(const Job* job, int part) noexcept nogil:
    cdef Py_ssize_t blocks = (job.shared_to - job.shared_from + MBT_W - 1)//MBT_W
    return min(job.shared_to, job.shared_from + MBT_W*(blocks*part//job.num_parts))
