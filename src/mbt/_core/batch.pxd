"""Operands with leading axes: converted, broadcast, and handed out sample by sample."""

from mbt._core cimport kernels
from mbt._core.mobilizers cimport position_is_singular
from mbt._core.model cimport CompiledModel, Model
from mbt._core.records cimport Parameters


cdef struct Operand:
    # Sample i starts at data + stride*i; a stride of zero repeats one sample.
    const double* data
    Py_ssize_t stride


cdef class Batch:
    cdef list arrays                 # keeps the memory of the operands alive
    cdef tuple shape
    cdef Py_ssize_t count
    cdef Operand[5] operands
    cdef const double* no_q          # NaN, in place of positions in which a mobilizer has no pose
    cdef keep_apart_from(self, object out)
    cdef object output(self, object out, tuple core)
    cdef check_single(self, object tree, CompiledModel compiled)
    cdef check_single_with_forces(self, object tree, CompiledModel compiled)


cdef check_elements(tree, CompiledModel compiled, const double* q)


cdef add_forces_operands(tree, external_forces, list names, list values, list cores, const Model* m)


cdef inline const double* sample(const Operand* operand, Py_ssize_t i) noexcept nogil:
    return operand.data + operand.stride*i


cdef inline const double* sample_q(const Model* m, const Operand* q, Py_ssize_t i, const double* no_q) noexcept nogil:
    cdef const double* x = sample(q, i)
    cdef int k, b
    for k in range(m.num_checked):
        b = m.checked[k]
        if position_is_singular(m.type[b], x + m.q_start[b]):
            return no_q
    return x


cdef inline const double* sample_q_with_forces(
    const Model* m, const Parameters[double]* p, const Operand* q, Py_ssize_t i, const double* no_q, double* memory
) noexcept nogil:
    """As `sample_q`, and NaN also where the force of an element is undefined."""
    cdef const double* x = sample_q(m, q, i, no_q)
    if m.num_elements_between and kernels.find_singular_element_at(m, p, x, memory) >= 0:
        return no_q
    return x
