"""Partial derivatives of the dynamics of a tree."""

from mbt._core.api.tree_identification cimport TreeIdentification
from mbt._core.engines.context cimport ContextCore


cdef class TreeDerivatives(TreeIdentification):
    cdef object constrained_derivatives_of(
        self, ContextCore c, object tau_applied, object external_forces, int stabilized)
    cdef list body_force_inputs(self, ContextCore c, object external_forces, str name)
    cdef tuple inverse_derivatives_of(
        self, ContextCore c, object vdot, object external_forces, bint with_elements, object out)
    cdef tuple forward_derivatives_of(self, ContextCore c, object tau_applied, object external_forces, object out)
    cdef tuple evaluate_parts(self, ContextCore c, int quantity, object x, object F_Bo_W, object out)


cdef tuple outputs_of(object out, object nv)
cdef tuple six_of(object parts, Py_ssize_t nv)
cdef tuple copies_of(object parts, Py_ssize_t nv, Py_ssize_t num_equations)
