"""Helpers shared by the functions from arrays to arrays."""

cimport numpy as cnp

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport is_array1
from mbt._core.engines.leading_axes cimport Batch
from mbt._core.model.structs cimport Model
from mbt._core.quantities.table cimport Quantity

ctypedef void (*KernelOfQ)(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* out) noexcept nogil

cdef CompiledModel compiled_of(object tree)
cdef object of_q(
    tree, CompiledModel compiled, KernelOfQ kernel, Quantity quantity, q, out,
    int ndim, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2)

# q, v, another array (..., nv), and forces.
cdef Batch batch_with_forces(tree, CompiledModel compiled, q, v, str name, x, external_forces)


cdef inline bint is_single(tree, const Model* m, q, v, x, external_forces):
    """Whether these are exact arrays of one state, without forces that Python computes."""
    return (
        external_forces is None and is_array1(q, m.num_positions) and is_array1(v, m.num_velocities)
        and is_array1(x, m.num_velocities) and (<TreeCore>tree)._user_force_elements is None
    )


# The same for operands after conversion.
cdef bint became_single(tree, const Model* m, Batch batch)

# Raise if constraint forces are undefined.
cdef int check_multipliers(tree, CompiledModel compiled, const double* multipliers, q) except -1
