"""Derivatives of inverse and forward dynamics, over the fused scalar: passes combined on working memory."""

from mbt._core.algebra.derivative_columns cimport (
    ARTICULATED, ARTICULATED_ROW, COMPOSITE, COMPOSITE_WITH_EXTERNAL, DerivativeColumns, P_of, S_of, aligned,
    behind_columns, get_column, multiply_negative, multiply_negative_of_branches,
)
from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, ConstraintColumns, ConstraintRates, ConstraintWork, Moving, Parameters,
)
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport Motion, put
from mbt._core.model.structs cimport MobodJoint, Model, Switches
from mbt._core.passes.constrained_dynamics cimport set_places
from mbt._core.passes.constrained_derivatives_by_groups cimport solve_by_groups
from mbt._core.passes.constrained_dynamics_derivatives cimport (
    add_constraint_rates, place_articulated_bodies, solve_with_mass_matrix_inverse,
)
from mbt._core.passes.element_derivatives cimport add_derivatives_between, add_joint_force_derivatives
from mbt._core.passes.forward_dynamics_derivatives cimport (
    add_accelerations, calc_articulated_dofs, calc_mass_matrix_inverse_in_world,
    start_articulated_bodies,
)
from mbt._core.passes.inverse_dynamics_derivatives cimport (
    add_external_forces, calc_bodies, calc_inverse_dynamics_derivatives, calc_momenta, calc_motions, calc_rates,
    calc_rows, sum_composites,
)
from mbt._core.passes.position_kinematics cimport calc_position_kinematics
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.quantities.algorithms cimport (
    add_joint_forces, count_dynamics_work, count_work, multipliers_in, run_body_forces,
)
from mbt._core.scalars cimport PyScalar, T


cdef inline Py_ssize_t row_stride(const Model* model) noexcept nogil:
    """Columns of the matrices in working memory."""
    return (model.num_velocities + 7)//8*8


cdef inline Py_ssize_t count_derivative_work(const Model* model) noexcept nogil:
    """Scalars of working memory for the derivatives of inverse dynamics."""
    cdef Py_ssize_t nv = model.num_velocities
    return 100*(nv + 8) + 39*model.num_mobods + 7*nv + 2*model.angle_stride + 24 + count_work(model)


cdef inline Py_ssize_t count_forward_derivative_work(const Model* model) noexcept nogil:
    """The same for the derivatives of forward dynamics."""
    cdef Py_ssize_t nv = model.num_velocities
    return (
        count_derivative_work(model) + 3*nv*row_stride(model) + 19*nv + row_stride(model) + 8
        + 6*(model.num_mobods + 1)*row_stride(model) + ARTICULATED*model.num_mobods
    )


cdef inline Py_ssize_t count_constrained_derivative_work(const Model* model) noexcept nogil:
    """The same for those of constrained forward dynamics, which begin with forward dynamics."""
    cdef Py_ssize_t m = model.num_equations
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t size = count_dynamics_work(model) + nv + count_derivative_work(model) + 20*nv + 8
    if are_derivatives_dense(model):
        return size + 2*nv + row_stride(model)*(3*nv + 6*m + 6*(model.num_mobods + 1))
    return size + 12*m + 8*(6*<Py_ssize_t>model.num_mobods + nv + 2*m)


cdef inline bint has_sparse_derivatives(const Model* model) noexcept nogil:
    """Whether lanes may skip entries of these derivatives known from topology: where no element couples branches."""
    return not model.num_elements_between


cdef inline void run_inverse_dynamics_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,  # (num_bodies,) or NULL
    bint with_elements,
    # In:
    const T* q,             # (nq,)            [rad, m]
    const T* v,             # (nv,)            [rad/s, m/s]
    const T* vdot,          # (nv,)            [rad/s^2, m/s^2]
    const T* F_Bo_W,        # (num_bodies, 6)  [N m, N]  or NULL
    Py_ssize_t stride,
    bint sparse,            # see `calc_rows`
    # Work:
    T* memory,              # (count_derivative_work(model),)
    # Out:
    T* dtau_dq,             # (nv, stride)     [N m, N] per [rad, m]
    T* dtau_dv,             # (nv, stride)     [N m, N] per [rad/s, m/s]
    T* M,                   # (nv, stride)     [kg m^2, kg m, kg]  or NULL
) noexcept nogil:
    """Derivatives of M vdot + C v - (gravity, joint damping, force elements) - J' F_Bo_W."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef DerivativeColumns[T]* columns = <DerivativeColumns[T]*>aligned(memory)
    cdef Moving[T]* moving = <Moving[T]*>behind_columns(columns, model.num_velocities)
    cdef T* H_N = <T*>(moving + model.num_mobods)
    cdef T* sin_q = H_N + 6*nv
    cdef T* cos_q = sin_q + model.angle_stride
    cdef T* rest = cos_q + model.angle_stride
    cdef T[3] gravity
    if weightless == NULL and with_elements:
        copy(p.gravity, 3, gravity)
    else:
        set_zero(gravity, 3)
    calc_inverse_dynamics_derivatives(
        model, p, gravity, weightless if with_elements else NULL, q, v, vdot, F_Bo_W, stride, H_N, sin_q, cos_q,
        moving, columns, dtau_dq, dtau_dv, M, sparse
    )
    if with_elements:
        add_element_derivatives(model, p, q, v, moving, stride, columns, rest, dtau_dq, dtau_dv)


cdef inline void add_rates_of_constraints(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                # (nq,)     [rad, m]
    const T* multipliers,      # (m,)      [N m, N]
    # Work:
    T* memory,                 # (count_derivative_work(model),)  as `run_inverse_dynamics_derivatives` leaves it
    # Out:
    T* dg_dq,                  # (m, nv)   [rad/s^2, m/s^2] per [rad, m]
    T* dg_dv,                  # (m, nv)   [rad/s^2, m/s^2] per [rad/s, m/s]
    T* dtau_dq,                # (nv, nv)  [N m, N] per [rad, m]  added to
) noexcept nogil:
    """See `add_constraint_rates`."""
    cdef DerivativeColumns[T]* columns = <DerivativeColumns[T]*>aligned(memory)
    cdef Moving[T]* moving = <Moving[T]*>behind_columns(columns, model.num_velocities)
    # Reuses the memory of the joint axes.
    cdef Motion[T]* axes = <Motion[T]*>(moving + model.num_mobods)
    add_constraint_rates(
        model, switches, p, q, multipliers, moving, model.num_velocities, columns, axes, dg_dq, dg_dv, dtau_dq, NULL
    )


cdef inline void run_motion_changes(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,             # (nq,)             [rad, m]
    const T* v,             # (nv,)             [rad/s, m/s]
    # Work:
    T* memory,              # (count_derivative_work(model),)
    # Out:
    T* S,                   # (nv, 6)           [1, m]
    T* P,                   # (nv, 6)           [rad/s, m/s] per [rad, m]
    T* V,                   # (num_mobods, 6)   [rad/s, m/s]
    T* p_WO,                # (num_mobods, 3)   [m]
) noexcept nogil:
    """Derivatives of velocities along each dof: the first part of `calc_rows`, for bodies without acceleration."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef DerivativeColumns[T]* columns = <DerivativeColumns[T]*>aligned(memory)
    cdef Moving[T]* moving = <Moving[T]*>behind_columns(columns, model.num_velocities)
    cdef T* H_N = <T*>(moving + model.num_mobods)
    cdef T* sin_q = H_N + 6*nv
    cdef T* cos_q = sin_q + model.angle_stride
    cdef T* at_rest = cos_q + model.angle_stride
    cdef T[3] gravity
    cdef int i, k
    set_zero(gravity, 3)
    set_zero(at_rest, nv)
    calc_motions(model, p.mobods, gravity, q, v, at_rest, H_N, sin_q, cos_q, moving, columns)
    for i in range(model.num_mobods):
        put(moving[i].V, V + 6*i)
        put(moving[i].p_WO, p_WO + 3*i)
    for k in range(<int>nv):
        get_column(S_of(columns, k), 6, S + 6*k)
        get_column(P_of(columns, k), 6, P + 6*k)


cdef inline void add_element_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,               # (nq,)         [rad, m]
    const T* v,               # (nv,)         [rad/s, m/s]
    const Moving[T]* moving,  # (num_mobods,)
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,
    T* memory,                # (count_work(model),)
    # Out:
    T* dtau_dq,               # (nv, stride)  [N m, N] per [rad, m]  added to
    T* dtau_dv,               # (nv, stride)  [N m, N] per [rad/s, m/s]  added to
) noexcept nogil:
    """Add the derivatives of joint damping and all force elements except gravity."""
    cdef T* X_WB = memory
    cdef T* V_PB_W = X_WB + 16*model.num_bodies
    cdef T* V_PB = V_PB_W + 6*model.num_bodies
    cdef T* V_WB = V_PB + 6*model.num_bodies
    cdef T* H_FM = V_WB + 6*model.num_bodies
    cdef T* H_PB_W = H_FM + 6*model.num_velocities
    cdef T* sin_q = H_PB_W + 6*model.num_velocities
    add_joint_force_derivatives(model, p.damping, p.force_elements, q, v, stride, dtau_dq, dtau_dv)
    if model.num_elements_between:
        calc_position_kinematics(model, p.X_BF, q, sin_q, sin_q + model.angle_stride, NULL, NULL, X_WB, H_FM, H_PB_W)
        calc_velocity_kinematics(model, X_WB, H_PB_W, v, V_PB_W, V_PB, V_WB)
        add_derivatives_between(
            model, p.force_elements, p.X_BF, p.mobods, q, X_WB, V_WB, moving, stride, columns, dtau_dq, dtau_dv
        )


cdef inline T* run_mass_matrix_inverse_with_rates(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const Switches* switches,
    # In:
    const T* q,                 # (nq,)            [rad, m]
    const T* v,                 # (nv,)            [rad/s, m/s]
    const T* tau,               # (nv,)            [N m, N]
    const T* F_Bo_W,            # (num_bodies, 6)  [N m, N]  or NULL
    # Work:
    T* memory,                  # (count_forward_derivative_work(model),)
) noexcept nogil:
    """Compute the factors of forward dynamics whose products are M_inverse, dvdot_dq and dvdot_dv: see below.

    Returns the matrices (nv, stride) dtau_dq, dtau_dv, M_inverse, then pivots and their scales, in `memory`.
    """
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t stride = row_stride(model)
    cdef DerivativeColumns[T]* columns = <DerivativeColumns[T]*>aligned(memory)
    cdef T* dtau_dq = behind_columns(columns, model.num_velocities)
    cdef T* dtau_dv = dtau_dq + nv*stride
    cdef T* M_inverse = dtau_dv + nv*stride
    cdef T* D = M_inverse + nv*stride
    cdef T* scale = D + nv
    cdef T* D_inverse = scale + nv
    cdef T* vdot = D_inverse + nv
    cdef T* total = vdot + stride
    cdef T* work = total + nv
    cdef T* axes = work + nv
    cdef T* U = axes + 6*nv
    cdef T* I_A = U + ARTICULATED_ROW*nv
    cdef T* unit_F = aligned(I_A + ARTICULATED*model.num_mobods)
    cdef T* unit_A = unit_F + 6*stride
    cdef Moving[T]* moving = <Moving[T]*>(unit_A + 6*stride*model.num_mobods)
    cdef T* H_N = <T*>(moving + model.num_mobods)
    cdef T* sin_q = H_N + 6*nv
    cdef T* cos_q = sin_q + model.angle_stride
    cdef T* rest = cos_q + model.angle_stride
    cdef bint with_external = F_Bo_W != NULL or switches.weightless != NULL
    cdef T[3] gravity
    cdef int k
    if switches.weightless == NULL:
        copy(p.gravity, 3, gravity)
    else:
        set_zero(gravity, 3)

    # All forces on dofs.
    copy(tau, nv, total)
    add_joint_forces(model, p, q, v, 0, total)
    if model.num_elements_between:
        run_body_forces(model, p, NULL, q, v, rest, work)
        for k in range(nv):
            total[k] = total[k] + work[k]

    # With vdot = 0, because it is not known yet.
    set_zero(vdot, nv)
    calc_motions(model, p.mobods, gravity, q, v, vdot, H_N, sin_q, cos_q, moving, columns)
    calc_bodies(model, p.mobods, moving, columns)
    if with_external:
        add_external_forces(model, p, switches.weightless, F_Bo_W, moving, columns)
    start_articulated_bodies(model, columns, I_A)
    sum_composites(model, COMPOSITE_WITH_EXTERNAL if with_external else COMPOSITE, columns)
    calc_momenta(model, columns)
    calc_articulated_dofs(
        model, p.reflected_inertia, switches.locked, total, columns, moving, I_A, axes, U, D, D_inverse, scale, vdot
    )
    calc_mass_matrix_inverse_in_world(
        model, axes, U, D_inverse, stride, unit_F, unit_A, M_inverse, moving, vdot
    )
    add_accelerations(model, vdot, moving, columns)

    calc_rates(model, p.mobods, q, v, vdot, with_external, moving, columns)
    calc_rows(model, p.mobods, q, with_external, moving, stride, columns, dtau_dq, dtau_dv, <T*>NULL, False)
    add_element_derivatives(model, p, q, v, moving, stride, columns, rest, dtau_dq, dtau_dv)
    return dtau_dq


cdef inline void multiply_by_mass_matrix_inverse(
    const Model* model, bint is_dense, T* matrices, T* dvdot_dq, T* dvdot_dv, T* M_inverse
) noexcept nogil:
    """dvdot = -M^-1 dtau of the matrices above, and a copy of M^-1. Dense if dtau includes forces from Python."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t stride = row_stride(model)
    cdef const T* inverse = matrices + 2*nv*stride
    cdef const T* dtau_dv = matrices + nv*stride
    cdef int* ends = <int*>(behind_pivots(model, matrices))
    cdef const MobodJoint* base
    cdef int i, k, first, end
    # An element between bodies couples branches; expressions drop zeros anyway.
    if T is PyScalar or is_dense or model.num_elements_between:
        multiply_negative(inverse, matrices, stride, nv, 0, nv, dvdot_dq)
        multiply_negative(inverse, dtau_dv, stride, nv, 0, nv, dvdot_dv)
    else:
        for k in range(nv):
            ends[k] = model.joints[model.dof_mobod[k]].v_end
        if nv > 0 and model.joints[1].v_end < nv:
            set_zero(dvdot_dq, nv*nv)
            set_zero(dvdot_dv, nv*nv)
        for i in range(1, model.num_mobods):
            base = &model.joints[i]
            if base.parent != 0:
                continue
            first, end = base.v_start, base.v_end
            if T is double:    # a register of columns needs nearly all rows
                multiply_negative(inverse, matrices, stride, nv, first, end, dvdot_dq)
                multiply_negative(inverse, dtau_dv, stride, nv, first, end, dvdot_dv)
            else:
                multiply_negative_of_branches(
                    inverse, matrices, stride, nv, first, end, ends, ends + nv, dvdot_dq
                )
                multiply_negative_of_branches(inverse, dtau_dv, stride, nv, first, end, ends, ends + nv, dvdot_dv)
    for k in range(nv):
        copy(inverse + stride*k, nv, M_inverse + nv*k)


cdef inline T* pivots_of(const Model* model, T* matrices) noexcept nogil:
    """(nv,) pivots, followed by their scales."""
    return matrices + 3*model.num_velocities*row_stride(model)


cdef inline T* behind_pivots(const Model* model, T* matrices) noexcept nogil:
    """(nv,) inverses of the pivots, whose memory is free once M^-1 is known."""
    return matrices + 3*model.num_velocities*row_stride(model) + 2*model.num_velocities


cdef inline const T* vdot_of(const Model* model, const T* matrices) noexcept nogil:
    """(nv,) accelerations, after pivots, their scales and their inverses."""
    return pivots_of(model, <T*>matrices) + 3*model.num_velocities


# With constraints -----------------------------------------------------------------------------------------------

cdef inline bint are_derivatives_dense(const Model* model) noexcept nogil:
    """Whether derivatives use M^-1 and treat all constraints as one group."""
    return model.derivative_groups == model.one_group


cdef inline void run_constrained_forward_dynamics_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const Switches* switches,
    # In:
    const T* q,       # (nq,)                        [rad, m]
    const T* v,       # (nv,)                        [rad/s, m/s]
    const T* F_Bo_W,  # (num_bodies, 6)              [N m, N]  or NULL
    # Work:
    T* memory,        # (count_constrained_derivative_work(model),)  in: results of forward dynamics, and vdot
    # Out:
    T* out,           # (3, nv + num_equations, nv)  [SI]
) noexcept nogil:
    """Derivatives of accelerations and multipliers, (num_velocities + num_equations, num_velocities): by q, v, tau."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t m = model.num_equations
    cdef Py_ssize_t size = (nv + m)*nv
    cdef T* H_N = <T*>(<Articulated[T]*>memory + model.num_mobods)
    cdef ArticulatedDof[T]* dofs = <ArticulatedDof[T]*>(H_N + 6*nv + 2*model.angle_stride)
    cdef T* multipliers = multipliers_in(model, memory)
    cdef T* vdot = memory + count_dynamics_work(model)
    cdef T* S = vdot + nv
    cdef T* U = S + 6*nv
    cdef T* axes = U + ARTICULATED_ROW*nv
    cdef T* work = axes + 6*nv
    cdef T* rest = work + count_derivative_work(model)
    cdef DerivativeColumns[T]* columns = <DerivativeColumns[T]*>aligned(work)
    cdef Moving[T]* moving = <Moving[T]*>behind_columns(columns, model.num_velocities)
    cdef bint is_dense = are_derivatives_dense(model)
    cdef Py_ssize_t stride = row_stride(model) if is_dense else nv
    cdef ConstraintRates[T] rates
    cdef ConstraintColumns[T] x
    cdef ConstraintWork[T] w
    cdef T* D_inverse = rest
    cdef T* unused = rest + nv
    cdef T* dtau_dv
    cdef T* by_v
    cdef Py_ssize_t k
    set_places(model, model.derivative_groups, multipliers + m, &w)
    if model.fictive_inertia != NULL:
        for k in range(nv):
            if model.fictive_inertia[k] > 0.0:
                dofs[k].D = <T>0.0  # there is no M^-1
    if is_dense:
        rates.dtau = aligned(rest + 2*nv)
        rates.M_inverse = rates.dtau + 2*nv*stride
        rates.by = rates.M_inverse + nv*stride
        rates.J = rates.by + 3*m*stride
        rates.J_inverse_M = rates.J + m*stride
        rates.work = rates.J_inverse_M + m*stride
    else:
        rates.dtau = out
        rates.by = out + nv*nv
        rates.M_inverse = rates.J = rates.J_inverse_M = rates.work = NULL
    dtau_dv = rates.dtau + (nv*stride if is_dense else size)
    by_v = rates.by + (m*stride if is_dense else size)
    run_inverse_dynamics_derivatives(
        model, p, switches.weightless, True, q, v, vdot, F_Bo_W, stride, False, work, rates.dtau, dtau_dv, <T*>NULL
    )
    add_constraint_rates(
        model, switches, p, q, multipliers, moving, stride, columns, <Motion[T]*>axes, rates.by, by_v, rates.dtau,
        rates.J
    )
    place_articulated_bodies(model, moving, dofs, columns, S, U)
    if is_dense:
        for k in range(nv):
            D_inverse[k] = dofs[k].D_inverse
            unused[k] = <T>0.0
        calc_mass_matrix_inverse_in_world(
            model, S, U, D_inverse, stride, rates.work + m*stride, rates.work + (m + 6)*stride, rates.M_inverse,
            moving, unused
        )
        solve_with_mass_matrix_inverse(model, stride, &w, &rates, out)
    else:
        x.S = S
        x.U = U
        x.A = aligned(rest)
        x.y = x.A + 48*model.num_mobods
        x.l = x.y + 8*nv
        x.right = x.l + 8*m
        x.K = x.right + 8*m
        x.W = x.K + 6*m
        solve_by_groups(model, model.derivative_groups, moving, dofs, &w, &x, out)
