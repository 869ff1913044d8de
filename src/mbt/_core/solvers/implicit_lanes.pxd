"""Implicit steps of many samples, MBT_W of them in the lanes of a register."""

from mbt._core.solvers.implicit_rows cimport Terms

# Whether steps with these terms can be computed in lanes.
cdef bint fits_lanes(const Terms* x) noexcept nogil

# Roll out every `num_parts`-th block of a Job's samples, from number `part` on.
cdef int roll_out_blocks(const void* job, int part) noexcept nogil
