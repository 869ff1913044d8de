"""Quantities of one tree by the address of a function, for callers outside Python."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport isnan
from libc.string cimport memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport compiled_of
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.engines cimport double_engine
from mbt._core.joints.mobilizers cimport position_is_singular
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    MAX_INTEGERS, Sizes, needs_element_forces, shape_tuple, sizes_of, take_integers,
)


cdef struct Handle:
    int quantity
    int[<int>MAX_INTEGERS] integers
    const Model* model
    const Parameters[double]* p
    const double* zeros   # in place of an input that the caller does not give; else NULL
    Py_ssize_t num_results
    double* memory


cdef int call(void* handle, const double* q, const double* v, const double* x, double* out) noexcept nogil:
    """Fill `out` from a state and an input, and return 0; or 1 where there is no result."""
    cdef Handle* h = <Handle*>handle
    cdef const Model* m = h.model
    cdef Py_ssize_t i
    cdef int b
    for i in range(m.num_checked):
        b = m.checked[i]
        if position_is_singular(m.type[b], q + m.q_start[b]):
            return 1
    if (
        m.num_elements_between and needs_element_forces(h.quantity, h.integers)
        and kernels.find_singular_element_at(m, h.p, q, h.memory, -1) >= 0
    ):
        return 1
    if h.zeros != NULL:
        x = h.zeros
    if double_engine.evaluate_state_in(
        h.quantity, h.integers, m, &m.switches, h.p, q, v, x, h.memory, out
    ) >= 0:
        return 1
    for i in range(h.num_results):
        if isnan(out[i]):
            return 1
    return 0


cdef class KernelHandle:
    """A quantity of a tree with default parameters, which `call` computes in the handle's own memory.

    `handle` is valid while this object exists; the object keeps alive what it needs of the tree.
    """

    cdef Handle h
    cdef CompiledModel compiled
    cdef readonly tuple shape

    def __cinit__(self, tree, int quantity, tuple integers, bint of_zeros):
        self.compiled = compiled_of(tree)
        if self.compiled is None:
            raise ValueError("kernels by address need a tree of doubles")
        cdef Handle* h = &self.h
        cdef const Model* m = &self.compiled.model
        cdef Sizes sizes
        cdef Py_ssize_t size
        h.quantity = quantity
        h.model = m
        h.p = &self.compiled.defaults.parameters
        take_integers(quantity, integers, m, h.integers)
        sizes = sizes_of(quantity, h.integers, m)
        h.num_results = sizes.result
        self.shape = shape_tuple(&sizes)
        size = double_engine.count_state_memory(quantity, h.integers, m)
        h.memory = <double*>PyMem_Malloc((size + sizes.input)*sizeof(double))
        if h.memory == NULL:
            raise MemoryError
        if of_zeros:
            memset(h.memory + size, 0, sizes.input*sizeof(double))
            h.zeros = h.memory + size

    def __dealloc__(self):
        PyMem_Free(self.h.memory)

    @property
    def handle(self):
        """The address to give to `call`."""
        return <size_t>&self.h

    @property
    def address(self):
        """The address of `call`."""
        return <size_t>&call

    def __reduce__(self):
        """Refuse: an address means nothing in another process."""
        raise TypeError("addresses cannot be pickled")
