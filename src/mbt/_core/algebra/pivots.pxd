"""Cython view of pivots.hpp."""

from mbt._core.algebra.records cimport ArticulatedDof


cdef extern from "algebra/pivots.hpp" namespace "MBT_NS" nogil:
    bint has_small_pivots[S](Py_ssize_t nv, const ArticulatedDof[S]* dofs)
