"""What functions from arrays to arrays have in common."""

cimport numpy as cnp

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.model.structs cimport Model
from mbt._core.quantities.table cimport Quantity

ctypedef void (*KernelOfQ)(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* out) noexcept nogil

cdef CompiledModel compiled_of(object tree)
cdef object of_q(
    tree, CompiledModel compiled, KernelOfQ kernel, Quantity quantity, q, out,
    int ndim, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2)
