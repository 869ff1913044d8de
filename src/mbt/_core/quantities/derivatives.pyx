from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivative_algorithms as algorithms
from mbt._core.quantities.algorithms cimport widen_scales
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.dynamics_derivatives cimport register_derivatives

cdef extern from "algebra/step_rows.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Turning:
        const int* starts
        int count
    cdef cppclass Rates:
        const double* vdot
        const double* by[3]
    cdef cppclass RatesOfStage "MBT_NS::StageRates":
        const double* M_inverse
        const double* by_q
        const double* by_v
        const double* by_tau
        Py_ssize_t stride
    cdef cppclass Sparsity:
        const int* ends
    void rotate_by(const double* u, double* E, double* J)
    Py_ssize_t count_changes "MBT_NS::Changes::count"(Py_ssize_t n)
    void differentiate_euler_step "MBT_NS::differentiate_euler"(
        Py_ssize_t n, const Turning& turning, double dt, const double* v, const Rates& rates, double* A, double* B)
    void calc_rate_of_step "MBT_NS::calc_step_rate"(
        Py_ssize_t n, const Turning& turning, const double* u, const double* v, double* rate)
    void differentiate_runge_kutta_step "MBT_NS::differentiate_runge_kutta"(
        Py_ssize_t n, const Turning& turning, const double* weights, const double* reaches, double dt, const double* u,
        const double* v, const double* u_end, const RatesOfStage* rates, const Sparsity& sparsity, double* memory,
        double* A, double* B)

# Runge-Kutta: the weight of each stage, and the position of the next stage within the step.
cdef double[4] WEIGHTS = [1.0/6.0, 1.0/3.0, 1.0/3.0, 1.0/6.0]
cdef double[4] REACHES = [0.5, 0.5, 1.0, 0.0]


cdef void register_derivatives_of_doubles(Functions[double]* functions) noexcept:
    register_derivatives[double](functions)


cdef Py_ssize_t inverse_work_size(const Model* model) noexcept nogil:
    return algorithms.count_derivative_work(model)


cdef Py_ssize_t forward_work_size(const Model* model) noexcept nogil:
    return algorithms.count_forward_derivative_work(model)


cdef void inverse_dynamics_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const int* weightless,  # (num_bodies,) or NULL
    bint with_elements,
    # In:
    const double* q,        # (nq,)            [rad, m]
    const double* v,        # (nv,)            [rad/s, m/s]
    const double* vdot,     # (nv,)            [rad/s^2, m/s^2]
    const double* F_Bo_W,   # (num_bodies, 6)  [N m, N]  or NULL
    # Work:
    double* memory,         # (inverse_work_size(model),)
    # Out:
    double* dtau_dq,        # (nv, nv)         [N m, N] per [rad, m]
    double* dtau_dv,        # (nv, nv)         [N m, N] per [rad/s, m/s]
    double* M,              # (nv, nv)         [kg m^2, kg m, kg]
) noexcept nogil:
    algorithms.run_inverse_dynamics_derivatives[double](
        model, p, weightless, with_elements, q, v, vdot, F_Bo_W, model.num_velocities, False, memory, dtau_dq, dtau_dv,
        M
    )


cdef void forces_at_rest_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const Switches* switches,   # without stabilization of constraints
    # In:
    const double* q,            # (nq,)            [rad, m]
    const double* vdot,         # (nv,)            [rad/s^2, m/s^2]
    const double* F_Bo_W,       # (num_bodies, 6)  [N m, N]  or NULL
    const double* multipliers,  # (m,)             [N m, N]
    # Work:
    double* memory,             # (inverse_work_size(model) + (nv + m) nv + nv,)
    # Out:
    double* dtau_dq,            # (nv, nv)         [N m, N] per [rad, m]
    double* dg_dq,              # (m, nv)          [rad/s^2, m/s^2] per [rad, m]
) noexcept nogil:
    """Derivatives of M vdot - J_B' F_Bo_W - J' multipliers, and of J vdot."""
    cdef Py_ssize_t k, nv = model.num_velocities
    cdef double* at_rest = memory + inverse_work_size(model)
    for k in range(nv):
        at_rest[k] = 0.0
    inverse_dynamics_derivatives(
        model, p, NULL, False, q, at_rest, vdot, F_Bo_W, memory, dtau_dq, at_rest + nv, NULL
    )
    if model.num_equations:
        algorithms.add_rates_of_constraints[double](
            model, switches, p, q, multipliers, memory, dg_dq, at_rest + nv, dtau_dq
        )


cdef void motion_changes(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,        # (nq,)             [rad, m]
    const double* v,        # (nv,)             [rad/s, m/s]
    # Work:
    double* memory,         # (inverse_work_size(model),)
    # Out:
    double* S,              # (nv, 6)           [1, m]
    double* P,              # (nv, 6)           [rad/s, m/s] per [rad, m]
    double* V,              # (num_mobods, 6)   [rad/s, m/s]
    double* p_WO,           # (num_mobods, 3)   [m]
) noexcept nogil:
    """Derivatives of velocities along each dof about the points O; see `inverse_dynamics_derivatives.pxd`."""
    algorithms.run_motion_changes[double](model, p, q, v, memory, S, P, V, p_WO)


cdef int forward_dynamics_rates(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const Switches* switches,
    # In:
    const double* q,       # (nq,)            [rad, m]
    const double* v,       # (nv,)            [rad/s, m/s]
    const double* tau,     # (nv,)            [N m, N]
    const double* F_Bo_W,  # (num_bodies, 6)  [N m, N]  or NULL
    # Work:
    double* memory,        # (forward_work_size(model),)
    # Out:
    double** matrices,     # (1,)             their addresses
) noexcept nogil:
    """Compute the matrices in `memory` that `forward_dynamics_derivatives` multiplies: first dtau_dq and dtau_dv.

    Returns -1, or the first massless dof.
    """
    matrices[0] = algorithms.run_mass_matrix_inverse_with_rates[double](
        model, p, switches, q, v, tau, F_Bo_W, memory
    )
    return find_massless_dof(model, switches, matrices[0])


cdef int find_massless_dof(const Model* model, const Switches* switches, double* matrices) noexcept nogil:
    cdef double* D = algorithms.pivots_of[double](model, matrices)
    cdef int k
    widen_scales[double](model, 1, D + model.num_velocities)
    for k in range(model.num_velocities):
        # NaN is not singular: it propagates.
        if D[k] <= PIVOT_TOLERANCE*D[model.num_velocities + k] and not (switches.locked != NULL and switches.locked[k]):
            return k
    return -1


cdef void forward_dynamics_derivatives(
    const Model* model, bint is_dense, double* matrices, double* dvdot_dq, double* dvdot_dv, double* M_inverse
) noexcept nogil:
    """See `multiply_by_mass_matrix_inverse`; dense if `subtract_from_rates` has been called."""
    algorithms.multiply_by_mass_matrix_inverse[double](model, is_dense, matrices, dvdot_dq, dvdot_dv, M_inverse)


cdef void subtract_from_rates(
    const Model* model, const double* dtau_dq, const double* dtau_dv, double* matrices
) noexcept nogil:
    """Subtract the derivatives of further forces, (nv, nv), from dtau."""
    cdef Py_ssize_t i, j, nv = model.num_velocities, stride = algorithms.row_stride(model)
    for i in range(nv):
        for j in range(nv):
            matrices[stride*i + j] -= dtau_dq[nv*i + j]
            matrices[stride*(nv + i) + j] -= dtau_dv[nv*i + j]


cdef const double* vdot_in(const Model* model, const double* matrices) noexcept nogil:
    """The accelerations, after the matrices of `forward_dynamics_rates`."""
    return algorithms.vdot_of[double](model, matrices)


# Time steps -----------------------------------------------------------------------------------------------------

cdef inline Rates rates_of(const StepRates* rates) noexcept nogil:
    cdef Rates r
    r.vdot = rates.vdot
    r.by[0] = rates.by_q
    r.by[1] = rates.by_v
    r.by[2] = rates.by_tau
    return r


cdef inline Turning turning_of(const int* starts, int count) noexcept nogil:
    cdef Turning turning
    turning.starts, turning.count = starts, count
    return turning


cdef void turn_by(const double* u, double* R, double* J) noexcept nogil:
    """exp([u]x) and the left Jacobian, (3, 3)."""
    cdef int i
    rotate_by(u, R, J)
    for i in range(3):
        R[4*i] += 1.0


cdef void differentiate_euler(
    Py_ssize_t nv, const int* turning, int num_turning, double dt, const double* v, const StepRates* rates, double* A,
    double* B
) noexcept nogil:
    """A (2 nv, 2 nv) and B (2 nv, nv) of a semi-implicit Euler step from v."""
    differentiate_euler_step(nv, turning_of(turning, num_turning), dt, v, rates_of(rates), A, B)


cdef Py_ssize_t count_rates(const Model* model) noexcept nogil:
    """Number of doubles in the matrices of `forward_dynamics_rates`."""
    return 3*model.num_velocities*algorithms.row_stride(model)


cdef StageRates stage_rates_in(const Model* model, const double* matrices) noexcept nogil:
    """Return the matrices that `forward_dynamics_rates` left in its memory, not yet multiplied."""
    cdef StageRates rates
    cdef Py_ssize_t nv = model.num_velocities, stride = algorithms.row_stride(model)
    rates.by_q, rates.by_v, rates.M_inverse = matrices, matrices + nv*stride, matrices + 2*nv*stride
    rates.by_tau = NULL
    rates.stride = stride
    return rates


cdef Py_ssize_t count_runge_kutta_work(Py_ssize_t nv) noexcept nogil:
    """Doubles of working memory for `differentiate_runge_kutta`."""
    return count_changes(nv)


cdef void take_stage(
    # Topology:
    Py_ssize_t nv,
    const int* turning,  # (num_turning,)  dofs
    int num_turning,
    # In:
    int number,
    double dt,           # [s]
    const double* v0,    # (nv,)           [rad/s, m/s]
    const double* vdot,  # (nv,)           [rad/s^2, m/s^2]
    # Out:
    double* u,           # (5, nv)         [rad, m]
    double* v,           # (5, nv)         [rad/s, m/s]
    double* u_end,       # (nv,)           [rad, m]  added to
) noexcept nogil:
    """Go from stage `number`, 0 to 3, to u and v of the next one; u_end, initially zero, accumulates.

    Row 4 of u holds the rate; those before belong to the stages.
    """
    cdef Py_ssize_t i
    cdef double h = REACHES[number]*dt
    cdef double* rate = u + 4*nv
    calc_rate_of_step(nv, turning_of(turning, num_turning), u + nv*number, v + nv*number, rate)
    for i in range(nv):
        u_end[i] = u_end[i] + WEIGHTS[number]*dt*rate[i]
    if number < 3:
        for i in range(nv):
            u[nv*(number + 1) + i] = h*rate[i]
            v[nv*(number + 1) + i] = v0[i] + h*vdot[i]


cdef void differentiate_runge_kutta(
    # Topology:
    const Model* model,
    const int* turning,       # (num_turning,)  dofs
    int num_turning,
    # In:
    double dt,                # [s]
    const double* u,          # (5, nv)         [rad, m]
    const double* v,          # (5, nv)         [rad/s, m/s]
    const double* u_end,      # (nv,)           [rad, m]
    const StageRates* rates,  # (4,)
    const int* ends,          # (nv,)
    # Work:
    double* memory,           # (count_runge_kutta_work(nv),)
    # Out:
    double* A,                # (2 nv, 2 nv)    [SI]
    double* B,                # (2 nv, nv)      [SI]
) noexcept nogil:
    """A and B as in a semi-implicit Euler step, from u, v and rates of all stages, and the final u."""
    cdef RatesOfStage[4] all_rates
    cdef Sparsity sparsity
    cdef int i
    for i in range(4):
        all_rates[i].M_inverse = rates[i].M_inverse
        all_rates[i].by_q = rates[i].by_q
        all_rates[i].by_v = rates[i].by_v
        all_rates[i].by_tau = rates[i].by_tau
        all_rates[i].stride = rates[i].stride
    sparsity.ends = ends
    differentiate_runge_kutta_step(
        model.num_velocities, turning_of(turning, num_turning), WEIGHTS, REACHES, dt, u, v, u_end, all_rates, sparsity,
        memory, A, B
    )
