"""Dynamics, and what else goes straight from q into mobod frames."""

from mbt._core.algebra.records cimport ArticulatedDof, ConstraintRates, Parameters, Pivots
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes.element_forces cimport acts_on_bodies
from mbt._core.passes.jacobian cimport multiply_by_Nplus
from mbt._core.quantities cimport algorithms, derivative_algorithms
from mbt._core.quantities.table cimport (
    BODY_POSES, CENTER_OF_MASS, CONSTRAINED_FORWARD_DYNAMICS, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES, FRAME_JACOBIAN, FRAME_POSE_IN_WORLD, GRAVITY_GENERALIZED_FORCES,
    IMPULSE_DYNAMICS, INVERSE_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX, MASS_MATRIX_BY_INVERSE_DYNAMICS,
    MASS_MATRIX_INVERSE, MOTION_FORCES, OPERATIONAL_SPACE_INERTIA, OPERATIONAL_SPACE_INVERSE_INERTIA,
)
from mbt._core.scalars cimport PyScalar, T


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
    pivots.further = 0
    return pivots


cdef inline Pivots[T] calc_hot_quantity(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, T* x, T* memory, T* out
) noexcept nogil:
    """Those that lanes have functions of their own for. The input of forward dynamics is overwritten."""
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == INVERSE_DYNAMICS or quantity == MOTION_FORCES:
        calc_inverse_dynamics(quantity, integers[0], model, switches, p, q, v, x, memory, out)
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
        quantity <= FORWARD_DYNAMICS or quantity == MASS_MATRIX
        or quantity == GRAVITY_GENERALIZED_FORCES or quantity == BODY_POSES
    )


cdef inline void calc_inverse_dynamics(
    int quantity, bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, T* tau
) noexcept nogil:
    """Of vdot, with or without the force elements, less body forces and generalized forces."""
    cdef bint with_elements = quantity == INVERSE_DYNAMICS
    cdef T zero[3]
    cdef const T* gravity = zero
    if with_elements:
        gravity = algorithms.gravity_acceleration(p, switches.weightless, zero)
    else:
        set_zero(zero, 3)
    algorithms.run_inverse_dynamics(model, p, gravity, q, v, x, memory, tau)
    if with_elements:
        algorithms.add_joint_forces(model, p, q, v, 1, tau)
        if acts_on_bodies(model, switches.weightless):
            algorithms.subtract_body_forces(model, p, switches.weightless, q, v, memory, tau)
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


cdef inline Pivots[T] calc_constrained_forward_dynamics(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, T* x, T* memory, T* out
) noexcept nogil:
    """vdot, and the multipliers, or the derivatives of both; tau is overwritten. Integers are GIVEN and STABILIZED."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t k
    cdef Switches stabilized = switches[0]
    cdef ConstraintRates[T] rates
    cdef const T* F_Bo_W = NULL
    cdef const T* further = x + nv + 6*model.num_bodies
    cdef T* vdot = out
    cdef T first
    cdef T* matrices
    cdef Pivots[T] pivots
    stabilized.stabilized = integers[1]
    if quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        vdot = derivative_algorithms.memory_of_constraints(model, memory, &rates)
        copy(x, nv, rates.tau)
        if integers[0]:
            F_Bo_W = x + nv
            for k in range(nv):
                rates.tau[k] = rates.tau[k] + further[k]
    pivots = calc_forward_dynamics(integers[0], model, &stabilized, p, q, v, x, memory, vdot)
    if quantity == CONSTRAINED_FORWARD_DYNAMICS:
        copy(algorithms.multipliers_in(model, memory), model.num_equations, out + nv)
        return pivots
    derivative_algorithms.keep_factor(model, memory, &rates)
    first = pivots.D[0]
    matrices = derivative_algorithms.run_constrained_forward_dynamics_derivatives(
        model, p, &stabilized, q, v, F_Bo_W, &rates, memory, out
    )
    if T is not PyScalar:
        derivative_algorithms.keep_unsolved(model, first, matrices)
    return pivots_of_matrices(model, matrices, switches.locked)


cdef inline Pivots[T] pivots_of_matrices(const Model* model, const T* matrices, const int* locked) noexcept nogil:
    """Those of derivatives."""
    cdef Pivots[T] pivots
    pivots.D = derivative_algorithms.pivots_of(model, matrices)
    pivots.scale = pivots.D + model.num_velocities
    pivots.stride = 1
    pivots.locked = locked
    pivots.further = 0
    return pivots


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
    """All others in mobod frames."""
    cdef T total_mass
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == MASS_MATRIX_INVERSE:
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
    elif quantity == OPERATIONAL_SPACE_INVERSE_INERTIA or quantity == OPERATIONAL_SPACE_INERTIA:
        pivots = calc_operational_space(quantity, integers, model, p, q, memory, base, out)
    elif quantity == CENTER_OF_MASS:
        algorithms.run_center_of_mass(model, p, q, memory, &total_mass, out)
    elif quantity == IMPULSE_DYNAMICS:
        pivots = pivots_of(
            algorithms.run_impulse_dynamics(
                model, p, switches, q, v, x, memory, out, out + model.num_velocities
            ),
            switches.locked,
        )
    elif quantity == CONSTRAINED_FORWARD_DYNAMICS or quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        pivots = calc_constrained_forward_dynamics(quantity, integers, model, switches, p, q, v, <T*>x, memory, out)
    else:
        pivots = calc_derivatives(quantity, integers[0], model, switches, p, q, v, x, memory, out)
    return pivots


cdef inline Py_ssize_t count_operational_space_work(const Model* model) noexcept nogil:
    """Scalars of working memory behind those that any algorithm needs: of the inverse mass matrix, and more."""
    cdef Py_ssize_t nv = model.num_velocities
    return 6*nv*(model.num_mobods + 1) + 3*nv + nv*nv + 12*nv + 2*(nv + 6)


cdef inline Pivots[T] calc_operational_space(
    int quantity, const int* integers, const Model* model, const Parameters[T]* p, const T* q, T* memory, int* path,
    T* out
) noexcept nogil:
    """J M^-1 J' of frame F in frame E, or its inverse. The pivots are those of M^-1 and, of the inverse, six more."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef T* more = memory + algorithms.count_work(model)
    cdef T* M_inverse = more + 6*nv*(model.num_mobods + 1) + 3*nv
    cdef T* J = M_inverse + nv*nv
    cdef T* D = J + 12*nv
    cdef const ArticulatedDof[T]* dofs
    cdef Pivots[T] pivots
    cdef Py_ssize_t k
    algorithms.run_frame_jacobian(
        model, p, integers[0], integers[1], q, <const T*>NULL, memory, path, J
    )
    dofs = algorithms.run_mass_matrix_inverse(model, p, q, memory, more, M_inverse)
    for k in range(nv):
        D[k] = dofs[k].D
        D[nv + 6 + k] = dofs[k].scale
    calc_J_Minverse_Jt(nv, J, M_inverse, J + 6*nv, out)
    pivots.D = D
    pivots.scale = D + nv + 6
    pivots.stride = 1
    pivots.locked = NULL
    pivots.further = 0
    if quantity == OPERATIONAL_SPACE_INERTIA:
        invert_symmetric6(out, D + nv, D + 2*nv + 6)
        pivots.further = 6
    return pivots


cdef inline void calc_J_Minverse_Jt(Py_ssize_t nv, const T* J, const T* M_inverse, T* work, T* A) noexcept nogil:
    """A = J M^-1 J', (6, 6); `work` holds 6 nv scalars."""
    cdef Py_ssize_t i, j, k
    cdef T total
    for i in range(6):
        for k in range(nv):
            total = <T>0.0
            for j in range(nv):
                total = total + J[nv*i + j]*M_inverse[nv*j + k]
            work[nv*i + k] = total
    for i in range(6):
        for j in range(i + 1):
            total = <T>0.0
            for k in range(nv):
                total = total + work[nv*i + k]*J[nv*j + k]
            A[6*i + j] = total
            A[6*j + i] = total


cdef inline void invert_symmetric6(T* A, T* D, T* scale) noexcept nogil:
    """A = A^-1 in place, by A = L D L'. The pivots D (6,), and the entries of A they began as, (6,)."""
    cdef T L[36]
    cdef T X[36]
    cdef T total
    cdef int i, j, k
    for i in range(6):
        scale[i] = A[7*i]
        for j in range(i):
            total = A[6*i + j]
            for k in range(j):
                total = total - L[6*i + k]*L[6*j + k]*D[k]
            L[6*i + j] = total/D[j]
        total = A[7*i]
        for k in range(i):
            total = total - L[6*i + k]*L[6*i + k]*D[k]
        D[i] = total
    # X = L^-1, lower; A^-1 = X' D^-1 X.
    for i in range(6):
        X[7*i] = <T>1.0
        for j in range(i):
            total = L[6*i + j]
            for k in range(j + 1, i):
                total = total + L[6*i + k]*X[6*k + j]
            X[6*i + j] = -total
    for i in range(6):
        for j in range(i + 1):
            total = <T>0.0
            for k in range(i, 6):
                total = total + X[6*k + i]*X[6*k + j]/D[k]
            A[6*i + j] = total
            A[6*j + i] = total


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
    cdef T* matrices
    cdef Pivots[T] pivots = no_pivots(memory)
    if quantity == FORWARD_DYNAMICS_DERIVATIVES:
        matrices = derivative_algorithms.run_mass_matrix_inverse_with_rates(
            model, p, switches, q, v, x, F_Bo_W, <ConstraintRates[T]*>NULL, memory
        )
        derivative_algorithms.multiply_by_mass_matrix_inverse(model, matrices, out, by_v, by_x)
        pivots = pivots_of_matrices(model, matrices, switches.locked)
    else:
        derivative_algorithms.run_inverse_dynamics_derivatives(
            model, p, switches.weightless, quantity == INVERSE_DYNAMICS_DERIVATIVES, q, v, x, F_Bo_W, memory, out,
            by_v, by_x
        )
    return pivots
