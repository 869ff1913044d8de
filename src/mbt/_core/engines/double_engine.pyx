from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Kinematics, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities cimport dynamics
from mbt._core.quantities.dispatch cimport calc_with_kinematics, count_work_of
from mbt._core.quantities.table cimport (
    BODY_POSES, CENTER_OF_MASS, CONSTRAINED_FORWARD_DYNAMICS, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES, FRAME_JACOBIAN, FRAME_POSE_IN_WORLD, GRAVITY_GENERALIZED_FORCES,
    IMPULSE_DYNAMICS, INVERSE_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX, MASS_MATRIX_BY_INVERSE_DYNAMICS,
    MASS_MATRIX_INVERSE, MOTION_FORCES, OPERATIONAL_SPACE_INERTIA, OPERATIONAL_SPACE_INVERSE_INERTIA, POSES,
    POSITIONS, ROLLOUT, VELOCITIES, describe, sizes_of,
)


cdef int evaluate(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, Kinematics[double]* k, double* out
) except -2 nogil:
    """Fill `out` from q and v, or from what the quantity reads of their kinematics.

    Returns -1, or a dof that no mass resists: then `out` is as it was.
    """
    cdef double* memory = kernels.get_work(model, count_memory(quantity, integers, model))
    return run(quantity, integers, model, switches, p, q, v, x, k, memory, out)


cdef int evaluate_state(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, double* out
) except -2 nogil:
    """The same without caches: kinematics are computed in working memory."""
    cdef int reads = describe(quantity).reads
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t num_kinematics = 66*nb + 12*nv
    cdef double* memory = kernels.get_work(model, num_kinematics + count_memory(quantity, integers, model))
    cdef double* work = memory + num_kinematics
    cdef Kinematics[double] k
    k.X_WB = memory
    k.X_FM = k.X_WB + 16*nb
    k.X_PB = k.X_FM + 16*nb
    k.H_FM = k.X_PB + 16*nb
    k.H_PB_W = k.H_FM + 6*nv
    k.V_PB_W = k.H_PB_W + 6*nv
    k.V_PB = k.V_PB_W + 6*nb
    k.V_WB = k.V_PB + 6*nb
    if reads >= POSES:
        kernels.body_poses(model, p, q, work, k.X_WB)
    if reads >= POSITIONS:
        kernels.complete_position_kinematics(model, p, q, k.X_WB, work, k.X_FM, k.X_PB, k.H_FM, k.H_PB_W)
    if reads == VELOCITIES:
        kernels.velocity_kinematics(model, k.X_WB, k.H_PB_W, v, k.V_PB_W, k.V_PB, k.V_WB)
    return run(quantity, integers, model, switches, p, q, v, x, &k, work, out)


cdef Py_ssize_t count_memory(int quantity, const int* integers, const Model* model) noexcept nogil:
    """Doubles that `run` needs behind those of any algorithm."""
    cdef Py_ssize_t num_out = sizes_of(quantity, integers, model).result if divides_by_pivots(quantity) else 0
    return count_work_of(quantity, integers, model) + num_out + model.num_bodies


cdef int run(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, Kinematics[double]* k, double* memory, double* out
) noexcept nogil:
    cdef double* behind = memory + kernels.work_size(model) + count_work_of(quantity, integers, model)
    cdef double* result = out
    cdef Py_ssize_t num_out = 0
    cdef int singular
    if divides_by_pivots(quantity):
        num_out = sizes_of(quantity, integers, model).result
        result = behind
    cdef int* base = <int*>(behind + num_out)
    if quantity == ROLLOUT:
        kernels.rollout(integers, model, switches, p, q, v, x, memory, out)
        return -1
    if quantity <= CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        singular = calc_dynamics(quantity, integers, model, switches, p, q, v, x, memory, base, result)
        if singular < 0 and num_out:
            memcpy(out, result, num_out*sizeof(double))
        return singular
    k.F_Bo_W = memory
    k.rest = k.F_Bo_W + 6*model.num_bodies
    calc_with_kinematics[double](quantity, integers, model, switches, p, q, v, x, k, base, out)
    return -1


cdef bint divides_by_pivots(int quantity) noexcept nogil:
    return (
        quantity == FORWARD_DYNAMICS or quantity == CONSTRAINED_FORWARD_DYNAMICS or quantity == MASS_MATRIX_INVERSE
        or quantity == FORWARD_DYNAMICS_DERIVATIVES or quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES
        or quantity == OPERATIONAL_SPACE_INVERSE_INERTIA or quantity == OPERATIONAL_SPACE_INERTIA
        or quantity == IMPULSE_DYNAMICS
    )


cdef int calc_dynamics(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p,
    const double* q, const double* v, const double* x, double* memory, int* base, double* out
) noexcept nogil:
    """What has kernels of its own, all of them compiled elsewhere."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t i, j
    cdef double* more = memory + kernels.work_size(model)
    cdef double[3] no_gravity = [0.0, 0.0, 0.0]
    cdef double* matrices
    cdef double mass
    cdef Switches own = switches[0]
    cdef int singular = -1
    if quantity == MOTION_FORCES:
        kernels.inverse_dynamics(model, p, no_gravity, q, v, x, memory, out)
        if integers[0]:
            subtract_forces(model, p, q, x + nv, memory, out)
    elif quantity == INVERSE_DYNAMICS:
        kernels.inverse_dynamics_with_elements(model, p, switches.weightless, q, v, x, memory, out)
        if integers[0]:
            subtract_forces(model, p, q, x + nv, memory, out)
    elif quantity == FORWARD_DYNAMICS or quantity == CONSTRAINED_FORWARD_DYNAMICS:
        # Behind the memory of forward dynamics.
        memcpy(more + 2*nv, x, nv*sizeof(double))
        if integers[0]:
            kernels.stateless_generalized_forces(model, p, q, x + nv, memory, more)
            for i in range(nv):
                more[2*nv + i] += x[nv + 6*model.num_bodies + i] + more[i]
        if quantity == CONSTRAINED_FORWARD_DYNAMICS:
            own.stabilized = integers[1]
        singular = kernels.forward_dynamics_with_elements(model, p, &own, q, v, more + 2*nv, memory, out)
        if quantity == CONSTRAINED_FORWARD_DYNAMICS:
            memcpy(out + nv, kernels.multipliers_in(model, memory), model.num_equations*sizeof(double))
    elif quantity == IMPULSE_DYNAMICS:
        singular = kernels.impulse_dynamics(model, p, switches, q, v, x, memory, out)
    elif quantity == MASS_MATRIX:
        kernels.mass_matrix(model, p, q, memory, out)
    elif quantity == MASS_MATRIX_INVERSE:
        singular = kernels.mass_matrix_inverse(model, p, q, memory, more, out)
    elif quantity == MASS_MATRIX_BY_INVERSE_DYNAMICS:
        memset(more, 0, 2*nv*sizeof(double))
        for i in range(nv):
            more[nv + i] = 1.0
            kernels.inverse_dynamics(model, p, no_gravity, q, more, more + nv, memory, more + 2*nv)
            more[nv + i] = 0.0
            for j in range(nv):
                out[nv*j + i] = more[2*nv + j]
    elif quantity == GRAVITY_GENERALIZED_FORCES:
        kernels.gravity_generalized_forces(model, p, switches.weightless, q, memory, out)
    elif quantity == BODY_POSES:
        kernels.body_poses(model, p, q, memory, out)
    elif quantity == FRAME_POSE_IN_WORLD:
        kernels.frame_pose(model, p, integers[0], q, memory, base, out)
    elif quantity == FRAME_JACOBIAN:
        kernels.frame_jacobian(
            model, p, integers[0], integers[1], q, x if integers[3] != 0 else NULL, memory, base,
            more if integers[2] else out
        )
        if integers[2]:
            kernels.multiply_by_Nplus(model, q, 6, more, out)
    elif quantity == OPERATIONAL_SPACE_INVERSE_INERTIA or quantity == OPERATIONAL_SPACE_INERTIA:
        singular = calc_operational_space(quantity, integers, model, p, q, memory, base, out)
    elif quantity == CENTER_OF_MASS:
        kernels.center_of_mass(model, p, q, memory, &mass, out)
    elif quantity == FORWARD_DYNAMICS_DERIVATIVES:
        singular = derivatives.forward_dynamics_rates(
            model, p, switches, q, v, x, x + nv if integers[0] else NULL, memory, &matrices
        )
        derivatives.forward_dynamics_derivatives(model, matrices, out, out + nv*nv, out + 2*nv*nv)
    elif quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        own.stabilized = integers[1]
        singular = derivatives.constrained_forward_dynamics_derivatives(
            model, p, &own, q, v, x, x + nv if integers[0] else NULL, x + nv + 6*model.num_bodies, memory, out
        )
    else:
        derivatives.inverse_dynamics_derivatives(
            model, p, switches.weightless, quantity == INVERSE_DYNAMICS_DERIVATIVES, q, v, x,
            x + nv if integers[0] else NULL, memory, out, out + nv*nv, out + 2*nv*nv
        )
    return singular


cdef int calc_operational_space(
    int quantity, const int* integers, const Model* model, const Parameters[double]* p, const double* q,
    double* memory, int* path, double* out
) noexcept nogil:
    """J M^-1 J', or its inverse. Returns -1, a dof that no mass resists, or nv plus the row that depends on others."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef double* more = memory + kernels.work_size(model)
    cdef double* M_inverse = more + 6*nv*(model.num_mobods + 1) + 3*nv
    cdef double* J = M_inverse + nv*nv
    cdef double[6] D
    cdef double[6] scale
    cdef int i, singular
    kernels.frame_jacobian(model, p, integers[0], integers[1], q, NULL, memory, path, J)
    singular = kernels.mass_matrix_inverse(model, p, q, memory, more, M_inverse)
    if singular >= 0:
        return singular
    dynamics.calc_J_Minverse_Jt[double](nv, J, M_inverse, J + 6*nv, out)
    if quantity == OPERATIONAL_SPACE_INERTIA:
        dynamics.invert_symmetric6[double](out, D, scale)
        for i in range(6):
            if D[i] <= PIVOT_TOLERANCE*scale[i]:
                return <int>nv + i
    return -1


cdef void subtract_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* forces, double* memory, double* tau
) noexcept nogil:
    """tau -= J' F of body forces, and generalized forces behind them."""
    cdef const double* tau_applied = forces + 6*model.num_bodies
    cdef double* tau_of_bodies = memory + kernels.work_size(model)
    cdef int i
    kernels.stateless_generalized_forces(model, p, q, forces, memory, tau_of_bodies)
    for i in range(model.num_velocities):
        tau[i] -= tau_applied[i] + tau_of_bodies[i]
