"""Batches: what a tree computes, for many states at once."""

from mbt._core.batch cimport Batch
from mbt._core.model cimport CompiledModel


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, const int* integers, tuple outputs
) except -1
