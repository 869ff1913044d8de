"""Partial derivatives of constrained forward dynamics along each dof, by the implicit function theorem.

With f = M vdot + C v - tau - J' lambda and g = J vdot + Jdot v, both zero, and lambda held fixed in df,

    M dvdot - J' dlambda = -df,   J dvdot = -dg

The stabilizing terms are part of g. If Lambda is singular, dlambda is the least of many, as lambda is, and dvdot is
unique. There are two ways, both with the articulated bodies and the factors that forward dynamics leaves:

- with M^-1, where all constraints are one group: Lambda dlambda = -(dg - J M^-1 df), dvdot = -M^-1 (df - J' dlambda).
  Dense matrices, O(n^3 + n^2 m + n m^2), at which processors are fast;
- by groups: the equations are those of constrained dynamics with other forces, so columns go from tip to base and
  back, one register of them at once. O(n^2), like the size of the result, plus the cost of each group.

The change of a constraint along one dof is in constraint_variations.

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
"""

from mbt._core.algebra.derivative_columns cimport (
    ARTICULATED_ROW, DerivativeColumns, S_of, column_at, get_column, multiply_negative, multiply_rows, solve_columns,
)
from mbt._core.algebra.records cimport (
    ArticulatedDof, ConstraintRates, ConstraintWork, Moving, Parameters, RelativeMotion,
)
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport Force, Motion, Vec3, cross, dot, numbers, put, vector_at
from mbt._core.forces.constraints cimport COUPLER, DISTANCE, num_equations_of
from mbt._core.forces.numbers cimport ConstraintNumbers, CouplerNumbers
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.model.structs cimport Constraint, MobodJoint, Model, Switches
from mbt._core.passes.constraint_rows cimport is_off
from mbt._core.passes.constraint_variations cimport (
    at_C, calc_equation_rates, calc_rates_of, set_relative_motion, set_relative_pose,
)
from mbt._core.passes.general_joint_derivatives cimport add_same_joint_terms
from mbt._core.scalars cimport T


cdef inline int next_on_path(const Model* model, int* a, int* b, int* side) noexcept nogil:
    """One step from the mobods of A and B towards where their paths meet: the mobod that it leaves, and its side."""
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


# Changes of equations and forces --------------------------------------------------------------------------------

cdef inline void add_constraint_rates(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)         [rad, m]
    const T* multipliers,          # (m,)          [N m, N]
    const Moving[T]* moving,       # (num_mobods,)
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S, P, Q, W
    Motion[T]* axes,               # (nv,)         [1, m]  S of the dofs that one constraint acts on, at C
    # Out:
    T* by_q,                       # (m, stride)   [rad/s^2, m/s^2] per [rad, m]
    T* by_v,                       # (m, stride)   [rad/s^2, m/s^2] per [rad/s, m/s]
    T* dtau_dq,                    # (nv, stride)  [N m, N] per [rad, m]
    T* J,                          # (m, stride)   [1, m]  or NULL
) noexcept nogil:
    """dg, and dtau -= the change of J' lambda."""
    cdef const Constraint* x
    cdef const T* c
    cdef const CouplerNumbers[T]* coupler
    cdef T* dq
    cdef T* dv
    cdef T* J_x = NULL
    cdef RelativeMotion[T] motion
    cdef int i, k, l, a, b
    cdef int side = 0
    set_zero(by_q, model.num_equations*stride)
    set_zero(by_v, model.num_equations*stride)
    if J != NULL:
        set_zero(J, model.num_equations*stride)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        c = p.constraints + x.start
        coupler = <const CouplerNumbers[T]*>c
        dq = by_q + x.row*stride
        dv = by_v + x.row*stride
        if J != NULL:
            J_x = J + x.row*stride
        if is_off(switches, i):
            continue
        if x.type == COUPLER:
            if J != NULL:
                J_x[x.dof_a] = <T>1.0
                J_x[x.dof_b] = -coupler.gear_ratio
            if switches.stabilized:
                dq[x.dof_a] = coupler.frequency*coupler.frequency
                dv[x.dof_a] = coupler.frequency*coupler.damping_ratio*(2.0*switches.stabilized)
                dq[x.dof_b] = -(dq[x.dof_a]*coupler.gear_ratio)
                dv[x.dof_b] = -(dv[x.dof_a]*coupler.gear_ratio)
            continue
        set_relative_pose(model, x, p, moving, &motion)
        set_relative_motion(x, multipliers + x.row, moving, &motion)
        a = x.mobod_a
        b = x.mobod_b
        while a != b:
            l = next_on_path(model, &a, &b, &side)
            for k in range(model.joints[l].v_start, model.joints[l].v_start + model.joints[l].nv):
                axes[k] = at_C(column_at(S_of(columns, k)), &moving[l], &motion)
        a = x.mobod_a
        b = x.mobod_b
        while a != b:
            l = next_on_path(model, &a, &b, &side)
            add_rates_along(
                model, x, switches.stabilized, <const ConstraintNumbers[T]*>c, p, q, multipliers + x.row, axes, moving,
                &motion, l, side, stride, columns, dq, dv, dtau_dq, J_x
            )


cdef inline void add_rates_along(
    # Topology:
    const Model* model,
    const Constraint* x,
    int stabilized,
    # Parameters:
    const ConstraintNumbers[T]* c,
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)         [rad, m]
    const T* multipliers,          # (num_equations_of,) [N m, N]
    const Motion[T]* axes,         # (nv,)         [1, m]  about C
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
    T* J,                          # (num_equations_of, stride) [1, m]  or NULL
) noexcept nogil:
    """The columns of the dofs of one mobod."""
    cdef const MobodJoint* joint = &model.joints[mobod]
    cdef int n = num_equations_of(x.type)
    cdef int e, j
    cdef T[6] dq, dv
    cdef Force[T] F
    for j in range(joint.v_start, joint.v_start + joint.nv):
        calc_equation_rates(x, stabilized, c, axes[j], &moving[mobod], motion, j, columns, dq, dv)
        for e in range(n):
            by_q[e*stride + j] = dq[e]*<double>side
            by_v[e*stride + j] = dv[e]*<double>side
        if J != NULL:
            calc_rates_of(x, motion, axes[j], dq)
            for e in range(n):
                J[e*stride + j] = dq[e]*<double>side
        add_force_rates_along(model, x, multipliers, axes, motion, mobod, side, j, stride, dtau_dq)
    if joint.kind == GENERAL:
        # Axes of the joint change along its own dofs.
        F.t = motion.F.t + cross(motion.p_WC - moving[mobod].p_WO, motion.F.f)
        F.f = motion.F.f
        if side == 1:
            F = -F
        add_same_joint_terms(
            joint, model.constants[joint.node], &p.mobods[mobod], q, &moving[joint.parent], &moving[mobod], F, stride,
            columns, dtau_dq
        )


cdef inline void add_force_rates_along(
    # Topology:
    const Model* model,
    const Constraint* x,
    # In:
    const T* multipliers,          # (num_equations_of,) [N m, N]
    const Motion[T]* axes,         # (nv,)         [1, m]  about C
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
    cdef const MobodJoint* joint
    cdef Motion[T] S = axes[j]
    cdef Force[T] turned = cross(S, motion.F)
    cdef Force[T] dF, behind
    cdef const Force[T]* change
    cdef T* at
    cdef int a, b, i, k
    cdef int side_k = 0
    # The point of B at which the force acts moves by S, and the force of a distance constraint turns.
    dF.t = cross(S.v, motion.F.f)
    set_zero(numbers(dF.f), 3)
    if x.type == DISTANCE:
        dF.f = (S.v - motion.u*dot(motion.u, S.v))*multipliers[0]/motion.length
    # `behind`: the change where j carries k.
    if side < 0:
        behind = -dF
        dF = turned - dF
    else:
        behind = dF - turned
    a = x.mobod_a
    b = x.mobod_b
    while a != b:
        i = next_on_path(model, &a, &b, &side_k)
        joint = &model.joints[i]
        change = &behind if side_k == side and i > mobod else &dF
        for k in range(joint.v_start, joint.v_start + joint.nv):
            at = dtau_dq + stride*k + j
            at[0] = at[0] - dot(change[0], axes[k])*<double>side_k


# Articulated bodies in World ------------------------------------------------------------------------------------

cdef inline void place_articulated_bodies(
    # Topology:
    const Model* model,
    # In:
    const Moving[T]* moving,       # (num_mobods,)
    const ArticulatedDof[T]* dofs,  # (nv,)    of constrained forward dynamics, in N
    # Work:
    DerivativeColumns[T]* columns,  # S
    # Out:
    T* S,                          # (nv, 6)  [1, m]
    T* U,                          # (nv, 8)  [kg m^2, kg m, kg]
) noexcept nogil:
    """Fill S and U, about O in World."""
    cdef const MobodJoint* joint
    cdef const Moving[T]* mobod
    cdef int i, k
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            get_column(S_of(columns, k), 6, S + 6*k)
            mobod = &moving[i]
            if T is double and k == joint.v_start:
                # U of the first dof is in the parent's frame, see forward_dynamics_in_parents.
                mobod = &moving[joint.parent]
            place_force(mobod, numbers(dofs[k].U), U + ARTICULATED_ROW*k)


cdef inline void place_force(const Moving[T]* mobod, const T* F_N, T* F) noexcept nogil:
    """Move F_N, about the origin of a mobod in its axes, to O in World."""
    cdef Vec3[T] f = mobod.R*vector_at(F_N + 3)
    put(mobod.R*vector_at(F_N) + cross(mobod.p, f), F)
    put(f, F + 3)


# With M^-1 ------------------------------------------------------------------------------------------------------

cdef inline void solve_with_mass_matrix_inverse(
    # Topology:
    const Model* model,
    # In:
    Py_ssize_t stride,
    const ConstraintWork[T]* w,    # L, D, scale of one group
    # In, destroyed:
    ConstraintRates[T]* rates,     # df, M_inverse, J, dg
    # Out:
    T* out,                        # (3, nv + m, nv)  [SI]
) noexcept nogil:
    cdef int n = model.num_velocities
    cdef Py_ssize_t m = model.num_equations
    cdef Py_ssize_t e, k
    cdef int part
    cdef T* by
    cdef T* dtau
    multiply_rows(m, n, stride, rates.J, rates.M_inverse, rates.J_inverse_M)
    for part in range(3):
        by = rates.by + part*m*stride
        if part < 2:    # dlambda, which takes the place of dg, and df - J' dlambda
            dtau = rates.dtau + part*n*stride
        else:           # dlambda by tau, and M^-1 + M^-1 J' dlambda
            dtau = rates.M_inverse
        solve_columns(
            m, n, stride, w.L, w.D, w.scale, rates.J_inverse_M if part < 2 else NULL,
            by if part < 2 else rates.J_inverse_M, rates.J if part < 2 else rates.J_inverse_M, rates.work, by, dtau
        )
        if part < 2:
            multiply_negative(rates.M_inverse, dtau, stride, n, 0, n, out)
        else:
            for k in range(n):
                copy(dtau + stride*k, n, out + n*k)
        for e in range(m):
            copy(by + stride*e, n, out + n*(n + e))
        out += (n + m)*n
