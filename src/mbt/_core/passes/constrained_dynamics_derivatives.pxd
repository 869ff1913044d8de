"""Partial derivatives of constrained forward dynamics along each dof, by the implicit function theorem.

With f = M vdot + C v - tau - J' lambda and g = J vdot + Jdot v, both zero, and lambda held fixed in df,

    M dvdot - J' dlambda = -df,   J dvdot = -dg,   Lambda dlambda = -(dg - J M^-1 df)

in which M^-1 df is what unconstrained dynamics gives where J' lambda is among the forces. What lets errors die away
is part of g. Where Lambda is singular, dlambda is one of many, as lambda is, and dvdot is unique: the same few proximal
steps find it, with the factor that forward dynamics leaves.

A constraint depends on how B moves in A: only on the dofs that move one of the two. Seen from A, about the point C of B
that the force acts at, with s = 1 where dof j moves B and -1 where it moves A,

    C moves by s S_j,   V = V_B - V_A changes by s (S_j × V_B + P_j),
    A = A_B - A_A - V_A × V_B by s (S_j × A_B + P_j × (V_A + V_B) + Q_j - V_A × (S_j × V_B)),
    and with v_j: V by s S_j, A by s (S_j × (V_A + V_B) + W_j)

where S, P, Q, W are those of inverse_dynamics_derivatives.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
"""

from mbt._core.algebra.derivative_columns cimport (
    DerivativeColumns, P_of, Q_of, S_of, W_of, get_column, multiply_rows, solve_columns,
)
from mbt._core.algebra.records cimport ConstraintRates, Moving, Parameters, RelativeMotion
from mbt._core.algebra.rotations cimport calc_rotation_vector, multiply_by_inverse_left_jacobian
from mbt._core.algebra.spatial cimport (
    add_cross, add_scaled, copy, cross, dot3, dot6, multiply_rotations, rotate, rotate_inverse, set_zero, transpose3,
)
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.forces.force_elements cimport COUPLER, DISTANCE, WELD
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.model.structs cimport Constraint, MobodJoint, Model, Switches
from mbt._core.passes.constrained_dynamics cimport calc_frame_in_mobod
from mbt._core.passes.element_derivatives cimport get_shifted
from mbt._core.passes.inverse_dynamics_derivatives cimport add_cross_motion, calc_axis_changes, cross_motion
from mbt._core.scalars cimport T, sqrt_


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


cdef inline bint is_off(const Switches* switches, int constraint) noexcept nogil:
    return switches.disabled != NULL and switches.disabled[constraint]


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


cdef inline void set_relative_pose(
    const Model* model, const Constraint* x, const Parameters[T]* p, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """R_WA, p_WC, and of a distance u and the length; of a weld the error."""
    cdef const T* c = p.constraints + x.start
    cdef T R_WB[9]
    cdef T R_AW[9]
    cdef T R_AB[9]
    cdef T p_WA[3]
    cdef T y[3]
    cdef int i
    place_frame(model, x.a, p, moving, motion.R_WA, p_WA)
    place_frame(model, x.b, p, moving, R_WB, motion.p_WC)
    set_zero(motion.u, 3)
    motion.length = <T>1.0
    if x.type == DISTANCE:
        rotate(motion.R_WA, c + 3, y)
        for i in range(3):
            motion.u[i] = -(p_WA[i] + y[i])
        rotate(R_WB, c + 6, y)
        for i in range(3):
            motion.p_WC[i] = motion.p_WC[i] + y[i]
            motion.u[i] = motion.u[i] + motion.p_WC[i]
        motion.length = sqrt_(dot3(motion.u, motion.u))
        for i in range(3):
            motion.u[i] = motion.u[i]/motion.length
    elif x.type == WELD:
        transpose3(motion.R_WA, R_AW)
        multiply_rotations(R_AW, R_WB, R_AB)
        calc_rotation_vector(R_AB, motion.error)


cdef inline void place_frame(
    const Model* model, int frame, const Parameters[T]* p, const Moving[T]* moving, T* R_WF, T* p_WF
) noexcept nogil:
    cdef const Moving[T]* x = &moving[model.mobod[model.frame_node[frame]]]
    cdef T R_NF[9]
    cdef T p_NF[3]
    cdef int i
    calc_frame_in_mobod(model, frame, p, R_NF, p_NF)
    multiply_rotations(x.R, R_NF, R_WF)
    rotate(x.R, p_NF, p_WF)
    for i in range(3):
        p_WF[i] = p_WF[i] + (x.p_WO[i] + x.p[i])


cdef inline void get_axis_at(
    const T* field, const Moving[T]* x, const RelativeMotion[T]* motion, T* S
) noexcept nogil:
    """A motion of a column, of mobod `x`, about C."""
    cdef T p_OC[3]
    cdef int i
    for i in range(3):
        p_OC[i] = motion.p_WC[i] - x.p_WO[i]
    get_shifted(field, p_OC, S)


cdef inline void calc_rates_of(const Constraint* x, const RelativeMotion[T]* motion, const T* V, T* y) noexcept nogil:
    """J v of a motion of B in A, about C in World."""
    if x.type == DISTANCE:
        y[0] = dot3(motion.u, V + 3)
    else:
        rotate_inverse(motion.R_WA, V + 3, y + num_equations_of(x.type) - 3)
        if x.type == WELD:
            rotate_inverse(motion.R_WA, V, y)


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
                add_scaled(rates.J + x.row*stride, c[0]*c[1]*2.0, model.num_velocities, rates.by_v + x.row*stride)
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


cdef inline void set_relative_motion(
    const Constraint* x, const T* multipliers, const Moving[T]* moving, RelativeMotion[T]* motion
) noexcept nogil:
    """Velocities, accelerations, and the force."""
    cdef const Moving[T]* A = &moving[x.mobod_a]
    cdef const Moving[T]* B = &moving[x.mobod_b]
    cdef T A_A[6]
    cdef T y[6]
    cdef int i
    shift_to_C(A.V, A, motion, motion.V_A)
    shift_to_C(B.V, B, motion, motion.V_B)
    shift_to_C(A.A, A, motion, A_A)
    shift_to_C(B.A, B, motion, motion.A_B)
    cross_motion(motion.V_A, motion.V_B, y)
    for i in range(6):
        motion.sum[i] = motion.V_A[i] + motion.V_B[i]
        y[i] = motion.A_B[i] - A_A[i] - y[i]
    for i in range(3):
        motion.w[i] = motion.V_B[i] - motion.V_A[i]
        motion.v[i] = motion.V_B[3 + i] - motion.V_A[3 + i]
        motion.alpha[i] = y[i]
        motion.a[i] = y[3 + i]
    add_cross(motion.w, motion.v, motion.a)
    set_zero(motion.F, 6)
    if x.type == DISTANCE:
        add_scaled(motion.u, multipliers[0], 3, motion.F + 3)
    else:
        rotate(motion.R_WA, multipliers + num_equations_of(x.type) - 3, motion.F + 3)
        if x.type == WELD:
            rotate(motion.R_WA, multipliers, motion.F)


cdef inline void shift_to_C(const T* V, const Moving[T]* x, const RelativeMotion[T]* motion, T* V_C) noexcept nogil:
    """The same motion about C."""
    cdef T p_OC[3]
    cdef int i
    for i in range(3):
        p_OC[i] = motion.p_WC[i] - x.p_WO[i]
    copy(V, 6, V_C)
    add_cross(V, p_OC, V_C + 3)


cdef inline void add_rates_along(
    # Topology:
    const Model* model,
    const Constraint* x,
    bint stabilized,
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


cdef inline void calc_equation_rates(
    # Topology:
    const Constraint* x,
    bint stabilized,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* S,                    # (6,)  [1, m]
    const Moving[T]* mobod,
    const RelativeMotion[T]* motion,
    int j,
    # Work:
    DerivativeColumns[T]* columns,  # P, Q, W
    # Out:
    T* by_q,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad, m]
    T* by_v,                       # (num_equations_of,) [rad/s^2, m/s^2] per [rad/s, m/s]
) noexcept nogil:
    """Along one dof, as if it moved B."""
    cdef T P[6]
    cdef T dA[6]
    cdef T dV[6]
    cdef T y[6]
    cdef T at_rest[6]
    cdef int i
    # S × A_B + P × (V_A + V_B) + Q - V_A × (S × V_B)
    get_axis_at(P_of(columns, j), mobod, motion, P)
    get_axis_at(Q_of(columns, j), mobod, motion, dA)
    add_cross_motion(S, motion.A_B, dA)
    add_cross_motion(P, motion.sum, dA)
    cross_motion(S, motion.V_B, dV)
    cross_motion(motion.V_A, dV, y)
    for i in range(6):
        dA[i] = dA[i] - y[i]
        dV[i] = dV[i] + P[i]
    calc_change_of_equations(x, stabilized, c, S, dV, dA, motion, by_q)
    get_axis_at(W_of(columns, j), mobod, motion, dA)
    add_cross_motion(S, motion.sum, dA)
    set_zero(at_rest, 6)
    calc_change_of_equations(x, stabilized, c, at_rest, S, dA, motion, by_v)


cdef inline void calc_change_of_equations(
    # Topology:
    const Constraint* x,
    bint stabilized,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    # In:
    const T* S,                    # (6,)  [1, m]
    const T* dV,                   # (6,)  [rad/s, m/s]
    const T* dA,                   # (6,)  [rad/s^2, m/s^2]
    const RelativeMotion[T]* motion,
    # Out:
    T* change,                     # (num_equations_of,) [rad/s^2, m/s^2]
) noexcept nogil:
    """While B moves in A by S, and velocity and acceleration of this motion change by dV and dA: all about C."""
    cdef T v[3]
    cdef T a[3]
    cdef T w[3]
    cdef T y[3]
    cdef T rate, drate, length, across
    cdef int i
    # Of the point of B that is at C: dv + w × S, da + alpha × S + dw × v + w × that.
    copy(dV + 3, 3, v)
    add_cross(motion.w, S + 3, v)
    copy(dA + 3, 3, a)
    add_cross(motion.alpha, S + 3, a)
    add_cross(dV, motion.v, a)
    add_cross(motion.w, v, a)
    if x.type == DISTANCE:
        # Of u'a + (v'v - (u'v)^2) / length, in which u changes by (S - u u'S) / length.
        rate = dot3(motion.u, motion.v)
        length = dot3(motion.u, S + 3)
        drate = dot3(motion.u, v) + (dot3(motion.v, S + 3) - rate*length)/motion.length
        across = dot3(motion.v, motion.v) - rate*rate
        change[0] = dot3(motion.u, a) + (
            dot3(motion.a, S + 3) - dot3(motion.a, motion.u)*length
            + (dot3(motion.v, v) - rate*drate)*2.0 - across*length/motion.length
        )/motion.length
        if stabilized:
            change[0] = change[0] + c[0]*(c[1]*2.0*drate + c[0]*length)
    else:
        if stabilized:
            for i in range(3):
                a[i] = a[i] + c[0]*(c[1]*2.0*v[i] + c[0]*S[3 + i])
        rotate_inverse(motion.R_WA, a, change + num_equations_of(x.type) - 3)
        if x.type == WELD:
            rotate_inverse(motion.R_WA, dA, change)
            if stabilized:
                rotate_inverse(motion.R_WA, S, w)
                multiply_by_inverse_left_jacobian(motion.error, w, y)
                rotate_inverse(motion.R_WA, dV, w)
                for i in range(3):
                    change[i] = change[i] + c[0]*(c[1]*2.0*w[i] + c[0]*y[i])


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
