"""Batches: computations of a tree for many states at once."""

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.engines.leading_axes cimport Batch


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, const int* integers, tuple outputs
) except -1

cdef int roll_out_batch(
    Batch batch, CompiledModel compiled, const int* integers, double dt, q, v, Py_ssize_t num_rows, Py_ssize_t first_row
) except -1
