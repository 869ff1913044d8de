"""Implicit steps of many samples, MBT_W of them in the lanes of a register."""

from mbt._core.solvers.implicit_rows cimport Terms

# Whether steps with these terms can be computed there.
cdef bint fits_lanes(const Terms* x) noexcept nogil

# Rollouts of a Job: every `num_parts`-th block of samples from number `part` on.
cdef int roll_out_blocks(const void* job, int part) noexcept nogil
