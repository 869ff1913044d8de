"""Derivatives of the dynamics, along each degree of freedom."""

from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivative_algorithms as algorithms
from mbt._core.quantities.algorithms cimport count_dynamics_work, widen_scales
from mbt._core.quantities.call cimport Call, Functions, flags_of, set_pivots_in_row
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport Lanes, T, make_small


cdef inline void register_derivatives(Functions[T]* functions) noexcept:
    functions.set(MOTION_FORCES_DERIVATIVES, calc_motion_forces_derivatives[T], count_derivative_memory)
    functions.set(INVERSE_DYNAMICS_DERIVATIVES, calc_inverse_dynamics_derivatives[T], count_derivative_memory)
    functions.set(FORWARD_DYNAMICS_DERIVATIVES, calc_forward_dynamics_derivatives[T], count_derivative_memory)
    functions.set(
        CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, calc_constrained_forward_dynamics_derivatives[T],
        count_constrained_derivative_memory
    )


cdef inline Py_ssize_t count_derivative_memory(const int* integers, const Model* model) noexcept nogil:
    return algorithms.count_forward_derivative_work(model)


cdef inline Py_ssize_t count_constrained_derivative_memory(const int* integers, const Model* model) noexcept nogil:
    return algorithms.count_constrained_derivative_work(model)


cdef inline const T* given_body_forces(Call[T]* c) noexcept nogil:
    """F_Bo_W after the first nv entries of the input, or NULL."""
    if flags_of(c).given:
        return c.x + c.model.num_velocities
    return NULL


cdef inline void calc_motion_forces_derivatives(Call[T]* c) noexcept nogil:
    calc_rates_of_forces(c, False)


cdef inline void calc_inverse_dynamics_derivatives(Call[T]* c) noexcept nogil:
    calc_rates_of_forces(c, True)


cdef inline void calc_rates_of_forces(Call[T]* c, bint with_elements) noexcept nogil:
    make_small()
    cdef Py_ssize_t size = <Py_ssize_t>c.model.num_velocities*c.model.num_velocities
    algorithms.run_inverse_dynamics_derivatives(
        c.model, c.p, c.switches.weightless, with_elements, c.q, c.v, c.x, given_body_forces(c),
        c.model.num_velocities, T is Lanes and algorithms.has_sparse_derivatives(c.model), c.memory, c.out,
        c.out + size, c.out + 2*size
    )


cdef inline void calc_forward_dynamics_derivatives(Call[T]* c) noexcept nogil:
    make_small()
    cdef Py_ssize_t size = <Py_ssize_t>c.model.num_velocities*c.model.num_velocities
    cdef T* matrices = algorithms.run_mass_matrix_inverse_with_rates(
        c.model, c.p, c.switches, c.q, c.v, c.x, given_body_forces(c), c.memory
    )
    algorithms.multiply_by_mass_matrix_inverse(c.model, False, matrices, c.out, c.out + size, c.out + 2*size)
    set_pivots_of_matrices(c, matrices)


cdef inline void set_pivots_of_matrices(Call[T]* c, T* matrices) noexcept nogil:
    cdef T* D = algorithms.pivots_of(c.model, matrices)
    widen_scales(c.model, 1, D + c.model.num_velocities)
    set_pivots_in_row(c, D, D + c.model.num_velocities, c.switches.locked, 0)


cdef inline void calc_constrained_forward_dynamics_derivatives(Call[T]* c) noexcept nogil:
    """Derivatives of vdot and multipliers. Forward dynamics overwrites tau."""
    make_small()
    cdef Switches switches = c.switches[0]
    cdef Call[T] dynamics = c[0]
    switches.stabilized = flags_of(c).stabilized
    switches.for_derivatives = 1
    dynamics.switches = &switches
    dynamics.out = c.memory + count_dynamics_work(c.model)
    c.functions.call(CONSTRAINED_FORWARD_DYNAMICS, &dynamics)
    c.pivots = dynamics.pivots
    algorithms.run_constrained_forward_dynamics_derivatives(
        c.model, c.p, &switches, c.q, c.v, given_body_forces(c), c.memory, c.out
    )
