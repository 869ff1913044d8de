"""What steps and their derivatives have in common."""

from mbt._core.door.compiled_model cimport CompiledModel

# Whether compiled code does all of it.
cdef bint is_plain(tree, CompiledModel compiled, dt)

# Refuse positions without poses or forces.
cdef int check_state(tree, CompiledModel compiled, const double* q) except -1
