"""Dynamics, and what else goes straight from q into node frames."""

from mbt._core cimport algorithms, derivative_algorithms
from mbt._core.model cimport Model, Switches
from mbt._core.passes.jacobian cimport multiply_by_Nplus
from mbt._core.quantity cimport (
    BODY_POSES, CENTER_OF_MASS, FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES, FRAME_JACOBIAN, FRAME_POSE_IN_WORLD,
    GRAVITY_GENERALIZED_FORCES, INVERSE_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX,
    MASS_MATRIX_BY_INVERSE_DYNAMICS, MASS_MATRIX_INVERSE, MOTION_FORCES,
)
from mbt._core.records cimport ArticulatedDof, Parameters, Pivots
from mbt._core.scalars cimport T
from mbt._core.spatial cimport set_zero


cdef inline Pivots[T] no_pivots(const T* memory) noexcept nogil:
    """`memory` tells the scalar only."""
    cdef Pivots[T] pivots
    pivots.D = NULL
    return pivots


cdef inline Pivots[T] pivots_of(const ArticulatedDof[T]* dofs, const int* locked) noexcept nogil:
    cdef Pivots[T] pivots
    pivots.D = &dofs.D
    pivots.scale = &dofs.scale
    pivots.stride = sizeof(ArticulatedDof[T])//sizeof(T)
    pivots.locked = locked
    return pivots


cdef inline Pivots[T] calc_hot_quantity(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, T* x, T* memory, T* out
) noexcept nogil:
    """Those that lanes have functions of their own for. The input of forward dynamics is overwritten."""
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == INVERSE_DYNAMICS:
        calc_inverse_dynamics(integers[0], model, switches, p, q, v, x, memory, out)
    elif quantity == FORWARD_DYNAMICS:
        pivots = calc_forward_dynamics(integers[0], model, switches, p, q, v, x, memory, out)
    elif quantity == MASS_MATRIX:
        algorithms.run_mass_matrix(model, p, q, memory, out)
    elif quantity == GRAVITY_GENERALIZED_FORCES:
        algorithms.run_gravity_forces(model, p, switches.weightless, q, memory, out)
    else:
        algorithms.run_body_poses(model, p, q, memory, out)
    return pivots


cdef inline bint is_hot(int quantity) noexcept nogil:
    return (
        quantity == INVERSE_DYNAMICS or quantity == FORWARD_DYNAMICS or quantity == MASS_MATRIX
        or quantity == GRAVITY_GENERALIZED_FORCES or quantity == BODY_POSES
    )


cdef inline void calc_inverse_dynamics(
    bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q, const T* v,
    const T* x, T* memory, T* tau
) noexcept nogil:
    """Of vdot, less body forces and generalized forces."""
    algorithms.run_inverse_dynamics_with_elements(model, p, switches.weightless, q, v, x, memory, tau)
    if with_forces:
        subtract_forces(model, p, q, x + model.num_velocities, memory, tau)


cdef inline Pivots[T] calc_forward_dynamics(
    bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q, const T* v,
    T* x, T* memory, T* vdot
) noexcept nogil:
    """Of tau, with body forces and generalized forces; tau is overwritten with the sum."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef const T* tau_applied = x + nv + 6*model.num_bodies
    cdef T* tau_of_bodies = memory + algorithms.count_work(model)
    cdef Py_ssize_t k
    if with_forces:
        algorithms.run_stateless_generalized_forces(model, p, q, x + nv, memory, tau_of_bodies)
        for k in range(nv):
            x[k] = x[k] + (tau_applied[k] + tau_of_bodies[k])
    return pivots_of(
        algorithms.run_forward_dynamics_with_elements(model, p, switches, q, v, x, memory, vdot), switches.locked
    )


cdef inline void subtract_forces(
    const Model* model, const Parameters[T]* p, const T* q, const T* forces, T* memory, T* tau
) noexcept nogil:
    """tau -= J' F of body forces, and generalized forces behind them. Needs nv more scalars of memory."""
    cdef const T* tau_applied = forces + 6*model.num_bodies
    cdef T* tau_of_bodies = memory + algorithms.count_work(model)
    cdef Py_ssize_t k
    algorithms.run_stateless_generalized_forces(model, p, q, forces, memory, tau_of_bodies)
    for k in range(model.num_velocities):
        tau[k] = tau[k] - (tau_applied[k] + tau_of_bodies[k])


cdef inline Pivots[T] calc_cold_quantity(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, int* base, T* out
) noexcept nogil:
    """All others in node frames."""
    cdef T no_gravity[3]
    cdef T total_mass
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == MOTION_FORCES:
        set_zero(no_gravity, 3)
        algorithms.run_inverse_dynamics(model, p, no_gravity, q, v, x, memory, out)
        if integers[0]:
            subtract_forces(model, p, q, x + model.num_velocities, memory, out)
    elif quantity == MASS_MATRIX_INVERSE:
        pivots = pivots_of(
            algorithms.run_mass_matrix_inverse(model, p, q, memory, memory + algorithms.count_work(model), out),
            NULL,
        )
    elif quantity == MASS_MATRIX_BY_INVERSE_DYNAMICS:
        calc_mass_matrix_by_inverse_dynamics(model, p, q, memory, out)
    elif quantity == FRAME_POSE_IN_WORLD:
        algorithms.run_frame_pose(model, p, integers[0], q, memory, base, out)
    elif quantity == FRAME_JACOBIAN:
        calc_frame_jacobian(integers, model, p, q, x, memory, base, out)
    elif quantity == CENTER_OF_MASS:
        algorithms.run_center_of_mass(model, p, q, memory, &total_mass, out)
    else:
        pivots = calc_derivatives(quantity, integers[0], model, switches, p, q, v, x, memory, out)
    return pivots


cdef inline void calc_mass_matrix_by_inverse_dynamics(
    const Model* model, const Parameters[T]* p, const T* q, T* memory, T* M
) noexcept nogil:
    """Column k is the inverse dynamics of unit acceleration k at rest. Needs 3 nv more scalars of memory."""
    cdef Py_ssize_t k, l, nv = model.num_velocities
    cdef T no_gravity[3]
    cdef T* v = memory + algorithms.count_work(model)
    cdef T* vdot = v + nv
    cdef T* column = vdot + nv
    set_zero(no_gravity, 3)
    set_zero(v, 2*nv)
    for k in range(nv):
        vdot[k] = <T>1.0
        algorithms.run_inverse_dynamics(model, p, no_gravity, q, v, vdot, memory, column)
        vdot[k] = <T>0.0
        for l in range(nv):
            M[nv*l + k] = column[l]


cdef inline void calc_frame_jacobian(
    const int* integers, const Model* model, const Parameters[T]* p, const T* q, const T* x, T* memory, int* path,
    T* J
) noexcept nogil:
    """Integers are the frames F and E, BY_QDOT and POINTS: 0 for the origin of F."""
    cdef T* J_v = memory + algorithms.count_work(model) if integers[2] else J
    algorithms.run_frame_jacobian(
        model, p, integers[0], integers[1], q, x if integers[3] != 0 else <const T*>NULL, memory, path, J_v
    )
    if integers[2]:
        multiply_by_Nplus(model, q, 6, J_v, J)


cdef inline Pivots[T] calc_derivatives(
    int quantity, bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, T* out
) noexcept nogil:
    """Of the dynamics, along each degree of freedom."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef const T* F_Bo_W = x + nv if with_forces else <const T*>NULL
    cdef T* by_v = out + nv*nv
    cdef T* by_x = out + 2*nv*nv
    cdef const T* matrices
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == FORWARD_DYNAMICS_DERIVATIVES:
        matrices = derivative_algorithms.run_mass_matrix_inverse_with_rates(
            model, p, switches, q, v, x, F_Bo_W, memory
        )
        derivative_algorithms.multiply_by_mass_matrix_inverse(model, matrices, out, by_v, by_x)
        pivots.D = derivative_algorithms.pivots_of(model, matrices)
        pivots.scale = pivots.D + nv
        pivots.stride = 1
        pivots.locked = switches.locked
    else:
        derivative_algorithms.run_inverse_dynamics_derivatives(
            model, p, switches.weightless, quantity == INVERSE_DYNAMICS_DERIVATIVES, q, v, x, F_Bo_W, memory, out,
            by_v, by_x
        )
    return pivots
