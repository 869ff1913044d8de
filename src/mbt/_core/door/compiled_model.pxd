"""The owners of the data that kernels read."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.model.structs cimport Model, ParameterLayout


# All data that kernels read, derived from parameters. Both arrays must live as long as `p`.
cdef void derive_numbers(
    const Model* model, const ParameterLayout* layout, const double* parameters, double* derived,
    Parameters[double]* p
) noexcept nogil


cdef class CompiledModel:
    cdef Model model
    cdef ParameterLayout layout
    cdef dict _arrays                        # keeps the NumPy arrays behind `model` alive
    cdef readonly object default_parameters  # (layout.size,) float64, read-only
    cdef readonly object default_q           # (num_positions,) float64, read-only
    cdef readonly Derived defaults           # of the default parameters
    cdef readonly bint has_massless_inboard  # of a mobod with mass, whose inertia axes in series may eliminate
    cdef object lane_defaults                # the same for batches, made at the first one
    cdef take_integers(self, dict a)
    cdef set_constants(self, declared)
    cdef set_mobods(self)
    cdef set_force_elements(self, force_type, force_places, force_parameters)
    cdef set_constraints(self, constraint_type, constraint_places)
    cdef group_constraints(self)
    cdef set_parameters(self, sections)
    cdef set_fictive_inertia(self)
    cdef Py_ssize_t find_parameters(self, str section, int index, Py_ssize_t* first) except -1


cdef class Derived:
    """The data that kernels read, derived from one parameter vector."""
    cdef Parameters[double] parameters
    cdef object _source                      # the parameter vector
    cdef int num_frames
    cdef void* _memory


cdef int check_index(Py_ssize_t index, Py_ssize_t count, str kind) except -1
