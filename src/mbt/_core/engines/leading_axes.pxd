"""Operands with leading axes, converted and broadcast."""

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.joints.mobilizers cimport map_is_singular, position_is_singular
from mbt._core.model.structs cimport Model


cdef struct Operand:
    # Sample i starts at data + stride*i; a stride of zero repeats one sample.
    const double* data
    Py_ssize_t stride
    Py_ssize_t size              # entries of a sample


cdef class Batch:
    cdef list arrays                 # keeps the memory of the operands alive
    cdef tuple shape
    cdef Py_ssize_t count
    cdef Operand[5] operands
    cdef bint take(self, list values, list cores)
    cdef convert(self, list names, list values, list cores)
    cdef keep_apart_from(self, object out)
    cdef object output(self, object out, tuple core)
    cdef tuple outputs(self, object out, tuple cores)
    cdef list hold(self, tuple results)
    cdef check_single(self, object tree, CompiledModel compiled)


cdef extern from "Python.h":
    ctypedef struct PyThreadState
    ctypedef struct PyInterpreterState
    PyThreadState* PyThreadState_Get() noexcept
    PyInterpreterState* PyThreadState_GetInterpreter(PyThreadState* thread) noexcept
    PyThreadState* PyInterpreterState_ThreadHead(PyInterpreterState* interpreter) noexcept
    PyThreadState* PyThreadState_Next(PyThreadState* thread) noexcept


cdef inline bint is_alone() noexcept:
    """Whether no other Python thread could run while this one has released the GIL."""
    cdef PyThreadState* own = PyThreadState_Get()
    return PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(own)) == own and PyThreadState_Next(own) == NULL


cdef int hold(list held, object array) except -1


cdef check_elements(tree, CompiledModel compiled, const double* q)


cdef add_forces_operands(tree, external_forces, list names, list values, list cores, const Model* m)


cdef inline bint has_singular_map(const Model* m, const double* q, int node) noexcept nogil:
    """Whether qdot = N(q) v is undefined at these positions, for one mobilizer, or for any if `node` is negative."""
    cdef int k, b
    for k in range(m.num_map_checked):
        b = m.map_checked[k]
        if (node < 0 or b == node) and map_is_singular(m.type[b], q + m.q_start[b]):
            return True
    return False


cdef inline bint is_singular(const Model* m, const double* q) noexcept nogil:
    """Whether a mobilizer has no pose at these positions."""
    cdef int k, b
    for k in range(m.num_checked):
        b = m.checked[k]
        if position_is_singular(m.type[b], q + m.q_start[b]):
            return True
    return False
