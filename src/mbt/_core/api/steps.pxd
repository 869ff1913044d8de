"""Helpers shared by steps and their derivatives."""

from mbt._core.door.compiled_model cimport CompiledModel

# Whether compiled code can compute the whole step.
cdef bint is_plain(tree, CompiledModel compiled, dt)

# Refuse positions at which poses or forces are undefined.
cdef int check_state(tree, CompiledModel compiled, const double* q) except -1
