"""Partial derivatives of constrained forward dynamics along each dof, by the implicit function theorem.

With f = M vdot + C v - tau - J' lambda and g = J vdot + Jdot v, both zero, and lambda held fixed in df,

    M dvdot - J' dlambda = -df,   J dvdot = -dg,   Lambda dlambda = -(dg - J M^-1 df)

in which M^-1 df is what unconstrained dynamics gives where J' lambda is among the forces. What lets errors die away
is part of g. Where Lambda is singular, dlambda is the least of many, as lambda is, and dvdot is unique: found with
the factor that forward dynamics leaves.

What a constraint changes by along one dof is in constraint_variations.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
"""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, S_of, get_column, multiply_rows, solve_columns
from mbt._core.algebra.records cimport ConstraintRates, Moving, Parameters, RelativeMotion
from mbt._core.algebra.spatial cimport add_cross, add_scaled, cross, dot3, dot6, set_zero
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.forces.force_elements cimport COUPLER, DISTANCE
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.model.structs cimport Constraint, MobodJoint, Model, Switches
from mbt._core.passes.constraint_rows cimport is_off
from mbt._core.passes.constraint_variations cimport (
    calc_equation_rates, calc_rates_of, get_axis_at, set_relative_motion, set_relative_pose, shift_to_C,
)
from mbt._core.passes.inverse_dynamics_derivatives cimport calc_axis_changes
from mbt._core.scalars cimport T


cdef inline int next_on_path(const Model* model, int* a, int* b, int* side) noexcept nogil:
    """One step from the mobods of A and B towards where they meet: the mobod that it leaves, and whose it is."""
    cdef int i
    if b[0] > a[0]:
        i = b[0]
        side[0] = 1
        b[0] = model.joints[i].parent
    else:
        i = a[0]
        side[0] = -1
        a[0] = model.joints[i].parent
    return i


# Before the accelerations are known -----------------------------------------------------------------------------

cdef inline void start_constraint_rates(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Moving[T]* moving,       # (num_mobods,)  poses
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S
    # Out:
    ConstraintRates[T]* rates,     # J
    T* tau,                        # (nv,)          [N m, N]
) noexcept nogil:
    """J, and tau += J' lambda."""
    cdef const Constraint* x
    cdef RelativeMotion[T] motion
    cdef T y[6]
    cdef T* J
    cdef int i, k, l, e, a, b
    cdef int side = 0
    set_zero(rates.J, model.num_equations*stride)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        J = rates.J + x.row*stride
        if is_off(switches, i):
            continue
        if x.type == COUPLER:
            J[x.dof_a] = <T>1.0
            J[x.dof_b] = -p.constraints[x.start + 2]
        else:
            set_relative_pose(model, x, p, moving, &motion)
            a = x.mobod_a
            b = x.mobod_b
            while a != b:
                l = next_on_path(model, &a, &b, &side)
                for k in range(model.joints[l].v_start, model.joints[l].v_start + model.joints[l].nv):
                    get_axis_at(S_of(columns, k), &moving[l], &motion, rates.axes)
                    calc_rates_of(x, &motion, rates.axes, y)
                    for e in range(num_equations_of(x.type)):
                        J[e*stride + k] = y[e]*<double>side
    for e in range(model.num_equations):
        add_scaled(rates.J + e*stride, rates.multipliers[e], model.num_velocities, tau)


# With the accelerations -----------------------------------------------------------------------------------------

cdef inline void add_constraint_rates(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)         [rad, m]
    const Moving[T]* moving,       # (num_mobods,)
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S, P, Q, W
    # Out:
    ConstraintRates[T]* rates,     # dg: by_q, by_v
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]
) noexcept nogil:
    """dg, and dtau -= the change of J' lambda."""
    cdef const Constraint* x
    cdef const T* c
    cdef RelativeMotion[T] motion
    cdef int i, l, a, b
    cdef int side = 0
    set_zero(rates.by_q, model.num_equations*stride)
    set_zero(rates.by_v, model.num_equations*stride)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        c = p.constraints + x.start
        if is_off(switches, i):
            continue
        if x.type == COUPLER:
            if switches.stabilized:
                add_scaled(rates.J + x.row*stride, c[0]*c[0], model.num_velocities, rates.by_q + x.row*stride)
                add_scaled(
                    rates.J + x.row*stride, c[0]*c[1]*(2.0*switches.stabilized), model.num_velocities,
                    rates.by_v + x.row*stride
                )
            continue
        set_relative_pose(model, x, p, moving, &motion)
        set_relative_motion(x, rates.multipliers + x.row, moving, &motion)
        a = x.mobod_a
        b = x.mobod_b
        while a != b:
            l = next_on_path(model, &a, &b, &side)
            get_axes(model, l, moving, &motion, columns, rates.axes)
        a = x.mobod_a
        b = x.mobod_b
        while a != b:
            l = next_on_path(model, &a, &b, &side)
            add_rates_along(
                model, x, switches.stabilized, c, p, q, rates.multipliers + x.row, rates.axes, moving, &motion, l, side,
                stride, columns, rates.by_q + x.row*stride, rates.by_v + x.row*stride, dtau_dq
            )


cdef inline void get_axes(
    const Model* model, int mobod, const Moving[T]* moving, const RelativeMotion[T]* motion,
    DerivativeColumns[T]* columns, T* axes
) noexcept nogil:
    cdef const MobodJoint* joint = &model.joints[mobod]
    cdef int k
    for k in range(joint.v_start, joint.v_start + joint.nv):
        get_axis_at(S_of(columns, k), &moving[mobod], motion, axes + 6*k)


cdef inline void add_rates_along(
    # Topology:
    const Model* model,
    const Constraint* x,
    int stabilized,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)         [rad, m]
    const T* multipliers,          # (num_equations_of,) [N m, N]
    const T* axes,                 # (nv, 6)       [1, m]  about C
    const Moving[T]* moving,       # (num_mobods,)
    const RelativeMotion[T]* motion,
    int mobod,
    int side,                      # 1: its dofs move B; -1: they move A
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # P, Q, W
    # Out:
    T* by_q,                       # (num_equations_of, stride) [rad/s^2, m/s^2] per [rad, m]
    T* by_v,                       # (num_equations_of, stride) [rad/s^2, m/s^2] per [rad/s, m/s]
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]
) noexcept nogil:
    """The columns of the dofs of one mobod."""
    cdef const MobodJoint* joint = &model.joints[mobod]
    cdef int n = num_equations_of(x.type)
    cdef int e, j, k
    cdef T S_O[36]
    cdef T D[216]
    cdef T change[6]
    cdef T dq[6]
    cdef T dv[6]
    cdef T* at
    for j in range(joint.v_start, joint.v_start + joint.nv):
        calc_equation_rates(x, stabilized, c, axes + 6*j, &moving[mobod], motion, j, columns, dq, dv)
        for e in range(n):
            by_q[e*stride + j] = dq[e]*<double>side
            by_v[e*stride + j] = dv[e]*<double>side
        add_force_rates_along(model, x, multipliers, axes, motion, mobod, side, j, stride, dtau_dq)
    if joint.kind == GENERAL:
        # Axes of the joint change along its own dofs.
        for k in range(joint.nv):
            get_column(S_of(columns, joint.v_start + k), 6, S_O + 6*k)
        calc_axis_changes(
            joint, model.constants[joint.node], &p.mobods[mobod], q, S_O, &moving[joint.parent], &moving[mobod], D
        )
        for k in range(joint.nv):
            for j in range(joint.nv):
                shift_to_C(D + 36*j + 6*k, &moving[mobod], motion, change)
                at = dtau_dq + stride*(joint.v_start + k) + joint.v_start + j
                at[0] = at[0] - dot6(change, motion.F)*<double>side


cdef inline void add_force_rates_along(
    # Topology:
    const Model* model,
    const Constraint* x,
    # In:
    const T* multipliers,          # (num_equations_of,) [N m, N]
    const T* axes,                 # (nv, 6)       [1, m]  about C
    const RelativeMotion[T]* motion,
    int mobod,
    int side,
    int j,
    Py_ssize_t stride,
    # Out:
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]
) noexcept nogil:
    """tau_k -= s_k S_k' F, along dof j: F changes by y where it moves B, else by S × F - y.

    Where j carries k, S_k changes by S × S_k, the work of which with F is that of S_k with -S × F.
    """
    cdef const T* S = axes + 6*j
    cdef const MobodJoint* joint
    cdef T turned[6]
    cdef T dF[12]
    cdef T along
    cdef T* at
    cdef int a, b, i, k
    cdef int side_k = 0
    cross(S, motion.F, turned)
    add_cross(S + 3, motion.F + 3, turned)
    cross(S, motion.F + 3, turned + 3)
    # The point of B that the force acts at moves by S, and of a distance the force turns.
    cross(S + 3, motion.F + 3, dF)
    set_zero(dF + 3, 3)
    if x.type == DISTANCE:
        along = dot3(motion.u, S + 3)
        for i in range(3):
            dF[3 + i] = (S[3 + i] - motion.u[i]*along)*multipliers[0]/motion.length
    # And behind it where j carries k.
    for i in range(6):
        if side < 0:
            dF[6 + i] = -dF[i]
            dF[i] = turned[i] - dF[i]
        else:
            dF[6 + i] = dF[i] - turned[i]
    a = x.mobod_a
    b = x.mobod_b
    while a != b:
        i = next_on_path(model, &a, &b, &side_k)
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            at = dtau_dq + stride*k + j
            at[0] = at[0] - dot6(axes + 6*k, dF + (6 if side_k == side and i > mobod else 0))*<double>side_k


# What follows from both ------------------------------------------------------------------------------------------

cdef inline void solve_constraint_rates(
    # Topology:
    const Model* model,
    Py_ssize_t stride,
    # In:
    const ConstraintRates[T]* rates,  # J, by_q, by_v
    const T* M_inverse,            # (nv, stride)  [1/(kg m^2), 1/(kg m), 1/kg]
    # Out:
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]  in: df
    T* dtau_dv,                    # (nv, stride)  [N m, N] per [rad/s, m/s]  in: df
) noexcept nogil:
    """dlambda, which takes the place of dg, and dtau = df - J' dlambda: then dvdot = -M^-1 dtau."""
    cdef int n = model.num_velocities
    cdef Py_ssize_t m = model.num_equations
    multiply_rows(m, n, stride, rates.J, M_inverse, rates.J_inverse_M)
    solve_columns(
        m, n, stride, rates.L, rates.D, rates.scale, rates.J_inverse_M, rates.by_q, rates.J, rates.work, rates.by_q,
        dtau_dq
    )
    solve_columns(
        m, n, stride, rates.L, rates.D, rates.scale, rates.J_inverse_M, rates.by_v, rates.J, rates.work, rates.by_v,
        dtau_dv
    )


cdef inline void solve_constraint_response(
    # Topology:
    const Model* model,
    Py_ssize_t stride,
    # In:
    const ConstraintRates[T]* rates,  # J_inverse_M
    # Out:
    T* dvdot_dtau,                 # (nv, stride)  [1/(kg m^2), 1/(kg m), 1/kg]  in: M^-1
) noexcept nogil:
    """dlambda by tau, and dvdot = M^-1 + M^-1 J' dlambda."""
    solve_columns(
        model.num_equations, model.num_velocities, stride, rates.L, rates.D, rates.scale, <const T*>NULL,
        rates.J_inverse_M, rates.J_inverse_M, rates.work, rates.by_tau, dvdot_dtau
    )
