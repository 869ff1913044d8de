"""Helpers shared by the functions of motion."""

from mbt._core.door.compiled_model cimport CompiledModel

# Zero, (3,).
cdef object origin
cdef object of_state(tree, CompiledModel compiled, int quantity, const int* integers, q, v, point, out)
