"""Evaluate any quantity of one state of doubles."""

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.model.structs cimport Model, Switches


cdef int evaluate(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, Kinematics[double]* k, double* out
) except -2 nogil
cdef int evaluate_state(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, double* out
) except -2 nogil

# The same in the caller's memory, of `count_state_memory` doubles.
cdef int evaluate_state_in(
    int quantity, const int* integers, const Model* model, const Switches* switches,
    const Parameters[double]* p, const double* q, const double* v, const double* x, double* memory, double* out
) noexcept nogil
cdef Py_ssize_t count_state_memory(int quantity, const int* integers, const Model* model) noexcept nogil
