"""Batches: what a tree computes, for many states at once."""

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.engines.leading_axes cimport Batch


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, const int* integers, tuple outputs
) except -1
