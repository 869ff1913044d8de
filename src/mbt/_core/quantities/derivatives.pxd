"""Derivatives of the dynamics for one state of doubles, each compiled once."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities.call cimport Functions

cdef void register_derivatives_of_doubles(Functions[double]* functions) noexcept
cdef Py_ssize_t inverse_work_size(const Model* model) noexcept nogil
cdef Py_ssize_t forward_work_size(const Model* model) noexcept nogil
cdef void inverse_dynamics_derivatives(
    const Model* model, const Parameters[double]* p, const int* weightless, bint with_elements, const double* q,
    const double* v, const double* vdot, const double* F_Bo_W, double* memory, double* dtau_dq, double* dtau_dv,
    double* M) noexcept nogil
cdef int forward_dynamics_rates(
    const Model* model, const Parameters[double]* p, const Switches* switches, const double* q, const double* v,
    const double* tau, const double* F_Bo_W, double* memory, double** matrices) noexcept nogil
cdef void forward_dynamics_derivatives(
    const Model* model, double* matrices, double* dvdot_dq, double* dvdot_dv, double* M_inverse) noexcept nogil
cdef void subtract_from_rates(
    const Model* model, const double* dtau_dq, const double* dtau_dv, double* matrices) noexcept nogil
