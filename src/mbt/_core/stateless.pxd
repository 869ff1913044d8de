"""What functions from arrays to arrays have in common."""

from mbt._core.model cimport CompiledModel

cdef CompiledModel compiled_of(object tree)
