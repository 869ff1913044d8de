"""Forward dynamics with constraints, eliminated group by group at the mobod where the loops of a group close.

    Lambda = J M^-1 J' = Z D^-1 Z',   Lambda lambda = -(J vdot + Jdot v),   M vdot = tau + J' lambda - C v

Constraints are in one group if their paths from end to end share a dof. All of these dofs are outboard of one mobod,
the root of the group: in the sweep of forward dynamics from tip to base, the group acts on the rest of the tree only by
forces on its root. With K those of unit multipliers, and lambda_0 the multipliers while the root is at rest,

    lambda = lambda_0 - Lambda^-1 K' a,   I_A += K Lambda^-1 K',   Z_A -= K lambda_0

after which the root is like any articulated body. So the cost is O(n), plus O(m^2 n + m^3) within each group.

If constraints are redundant or always satisfied, vdot is unique but lambda is not; lambda is then the least one, see
semidefinite_rows.hpp. A row depends on those before it in its group if its remainder

- is rounding, or
- is less than the heaviest of the parts held together by the group's constraints would leave, if turned by the error
  of an angle given to five decimal digits.

Light bodies between heavy ones make remainders small, too: where few digits are left, a group is factored with twice as
many, see graded_rows.hpp; and where the solution leaves a remainder of J vdot + Jdot v, the equations are solved again
for it.

J. Carpentier, R. Budhiraja, N. Mansard, "Proximal and Sparse Resolution of Constrained Dynamic Equations", RSS 2021;
A. S. Sathya, J. Carpentier, "Constrained Articulated Body Dynamics Algorithms", IEEE T-RO 2025, eliminate in the sweep.
In NumPy: tests/support/constraints.py.
"""

from mbt._core.algebra.derivative_columns cimport (
    TwoDoubles, add_graded, add_reactions, factor_graded, factor_semidefinite, has_lost, is_graded, refuse,
    solve_reactions,
)
from mbt._core.algebra.records cimport Articulated, ArticulatedDof, ConstraintWork, FrameMotion, Parameters, Placed
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport Force, dot, numbers, sum
from mbt._core.forces.constraints cimport COUPLER, calc_constraint_accelerations, num_equations_of
from mbt._core.joints.mobod_joints cimport add_dof_acceleration
from mbt._core.model.structs cimport Constraint, ConstraintGroups, MobodJoint, Model, Switches
from mbt._core.passes.articulated_bodies cimport calc_motions_and_articulations, carry_acceleration
from mbt._core.passes.constraint_responses cimport (
    add_group_forces, calc_remainders, leaves_much_in_all, respond, solve_group,
)
from mbt._core.passes.constraint_frames cimport calc_frame_accelerations, place_mobods, set_ends
from mbt._core.passes.constraint_rows cimport MAX_EQUATIONS, MUCH, STRIDE, calc_Lambda, is_off, set_rows, unit_of
from mbt._core.passes.forward_dynamics cimport calc_accelerations, take_out_joints
from mbt._core.passes.forward_dynamics_in_parents cimport calc_accelerations_in_parents, take_out_joints_in_parents
from mbt._core.scalars cimport MBT_W, Dual, Lanes, T, select_lt


cdef extern from *:
    """
    // Remainder of a row that depends on others: by rounding, 500 roundings and their sums; by angles with five digits,
    // a few times the square of 3.2e-5.
    static constexpr double kRoundingOfRow = 1e-13;
    static constexpr double kSquaredAngle = 1e-9;
    // Largest 1 / pivot: it leaves an accuracy of 1e-9 with twice the digits, and 1e-3 in doubles, for derivatives.
    static constexpr double kMostLost = 1e19;
    static constexpr double kMostLostOfDerivatives = 1e12;
    """
    const double ROUNDING_OF_ROW "kRoundingOfRow"
    const double SQUARED_ANGLE "kSquaredAngle"
    const double MOST_LOST "kMostLost"
    const double MOST_LOST_OF_DERIVATIVES "kMostLostOfDerivatives"


cdef enum:
    MAX_TIMES = 6    # that the equations are solved for the remainder


cdef inline void calc_constrained_accelerations(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* jump,                 # (nv,)            [rad/s, m/s]  NULL, or velocities at an impact: then v is zero
    const T* tau,                  # (nv,)            [N m, N]
    # Work:
    Articulated[T]* work,          # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    T* memory,                     # (model.constraint_work - num_equations,)
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)            pivots D: zero where no mass resists a dof; first ones in P
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    """M vdot = tau + J' lambda + tau_g - C v. With a jump: the change of v that makes J v zero, and impulses."""
    cdef const ConstraintGroups* groups = groups_of(model, switches)
    cdef int group, i, times
    cdef ConstraintWork[T] w
    set_places(model, groups, memory, &w)
    calc_motions_and_articulations(model, p.mobods, gravity, q, v, sin_q, cos_q, work, H_N)
    place_mobods(model, v, work, H_N, w.placed)
    set_all_wanted(model, groups, switches, p, q, v, jump, H_N, work, &w)
    set_zero(multipliers, model.num_equations)

    # Tip to base: eliminate the joints one by one, and at the root of a group its multipliers.
    set_zero(w.Z, groups.Z_size)
    i = model.num_mobods - 1
    for group in range(groups.num_groups):
        take_out(model, i, groups.root[group], reflected_inertia, switches.locked, H_N, tau, work, dofs)
        take_out_group(model, groups, group, switches, p, H_N, dofs, work, vdot, &w)
        i = groups.root[group]
    take_out(model, i, 0, reflected_inertia, switches.locked, H_N, tau, work, dofs)

    # Base to tip: the multipliers are known once their root is.
    i = 1
    for group in range(groups.num_groups - 1, -1, -1):
        accelerate(model, i, groups.root[group] + 1, H_N, dofs, work, vdot)
        add_group_forces(
            model, groups, group, numbers(work[groups.root[group]].acc), &w, dofs, <T*>NULL, multipliers
        )
        i = groups.root[group] + 1
    accelerate(model, i, model.num_mobods, H_N, dofs, work, vdot)

    for times in range(MAX_TIMES):
        for group in range(groups.num_groups):
            calc_remainders(model, groups, group, switches, p, vdot, work, &w)
        if times + 1 == MAX_TIMES or not leaves_much_in_all(model, groups, times, &w):
            break
        respond(model, groups, H_N, work, dofs, &w, multipliers)
        accelerate(model, 1, model.num_mobods, H_N, dofs, work, vdot)


cdef inline const ConstraintGroups* groups_of(const Model* model, const Switches* switches) noexcept nogil:
    return model.derivative_groups if switches.for_derivatives else model.groups


cdef inline void set_places(
    const Model* model, const ConstraintGroups* groups, T* memory, ConstraintWork[T]* w
) noexcept nogil:
    cdef Py_ssize_t m = model.num_equations
    w.placed = <Placed[T]*>memory
    w.Z = <T*>(w.placed + model.num_mobods)
    w.L = w.Z + groups.Z_size
    w.scale = w.L + groups.L_size
    w.right = w.scale + m
    w.D = w.right + m
    w.wanted = w.D + m
    w.step = w.wanted + m
    w.rest = w.step + m
    w.size = w.rest + m
    w.ends = <FrameMotion[T]*>(w.size + m)
    w.K = <T*>(w.ends + 2*model.num_constraints)
    w.Y = w.K + STRIDE*m
    w.W = w.Y + STRIDE*m
    w.A = w.W + STRIDE*m
    w.du = w.A + 6*model.num_mobods
    w.graded = w.du + model.num_velocities


cdef inline void take_out(
    # Topology:
    const Model* model,
    int first,                     # the mobod most outboard
    int end,                       # the one inboard of the last
    # Parameters:
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const int* locked,             # (nv,)            1 where a dof cannot move; NULL where all can
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const T* tau,                  # (nv,)            [N m, N]
    # In, destroyed:
    Articulated[T]* work,          # (num_mobods,)
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)
) noexcept nogil:
    if T is double:
        take_out_joints_in_parents(model, first, end, reflected_inertia, locked, H_N, tau, work, dofs)
    else:
        take_out_joints(model, first, end, reflected_inertia, locked, H_N, tau, work, dofs)


cdef inline void accelerate(
    const Model* model, int first, int end, const T* H_N, const ArticulatedDof[T]* dofs, Articulated[T]* work, T* vdot
) noexcept nogil:
    if T is double:
        calc_accelerations_in_parents(model, first, end, H_N, dofs, work, vdot)
    else:
        calc_accelerations(model, first, end, H_N, dofs, work, vdot)


cdef inline void set_all_wanted(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* jump,                 # (nv,)            [rad/s, m/s]  or NULL
    const T* H_N,                  # (nv, 6)          [1, m]
    # Work:
    Articulated[T]* work,          # (num_mobods,)    accelerations
    # Out:
    ConstraintWork[T]* w,          # ends, wanted
) noexcept nogil:
    cdef const Constraint* x
    cdef T* wanted
    cdef T[MAX_EQUATIONS] y
    cdef int i, e, n
    if jump != NULL:
        set_rates(model, jump, H_N, work)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        wanted = w.wanted + groups.place[i]
        n = num_equations_of(x.type)
        if is_off(switches, i):
            set_zero(wanted, n)
            continue
        set_ends(model, x, switches.stabilized, p, q, v, work, w.placed, w.ends + 2*i, wanted)
        if jump != NULL:
            calc_frame_accelerations(model, x, work, w.placed, w.ends + 2*i)
            calc_constraint_accelerations(x, p.constraints + x.start, jump, &w.ends[2*i], &w.ends[2*i + 1], y)
            for e in range(n):
                wanted[e] = -y[e]


cdef inline void set_rates(
    # Topology:
    const Model* model,
    # In:
    const T* v,                    # (nv,)          [rad/s, m/s]
    const T* H_N,                  # (nv, 6)        [1, m]
    # Out:
    Articulated[T]* work,          # (num_mobods,)  accelerations; in: poses, and no motion
) noexcept nogil:
    """Base to tip, with velocities in place of accelerations, which at rest depend on vdot as velocities do on v."""
    cdef int i, k
    cdef const MobodJoint* joint
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        carry_acceleration(&work[joint.parent], &work[i])
        for k in range(joint.v_start, joint.v_start + joint.nv):
            add_dof_acceleration(joint, k, H_N, v[k], &work[i].acc)


cdef inline void take_out_group(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # In, destroyed:
    Articulated[T]* work,          # (num_mobods,)
    # Work:
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
    # Out:
    ConstraintWork[T]* w,          # K, W, L, D, scale; step: multipliers while the root is at rest
) noexcept nogil:
    """Factor the equations of a group, and add their effect to I_A and Z_A of its root, unless that is World."""
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef T* L = w.L + groups.L_start[group]
    cdef Force[T] F
    cdef int e, j
    if root > 0:
        set_zero(w.K + STRIDE*first, STRIDE*m)
    set_group_rows(model, groups, group, switches, p, H_N, dofs, work, w)
    calc_Lambda(model, groups, group, dofs, w.Z, w.scale + first, L)
    copy(w.D + first, m, w.rest + first)
    factor_semidefinite(m, L, w.D + first)
    factor_again_where_graded(model, groups, group, switches, dofs, w)
    if root > 0:
        solve_reactions(
            m, L, w.D + first, w.scale + first, w.K + STRIDE*first, w.Y + STRIDE*first, w.W + STRIDE*first
        )
        set_zero(numbers(work[root].acc), 6)
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        accelerate(model, groups.mobods[j], groups.mobods[j] + 1, H_N, dofs, work, vdot)
    calc_remainders(model, groups, group, switches, p, vdot, work, w)
    solve_group(groups, group, w)
    if root > 0:
        add_reactions(m, w.D + first, w.Y + STRIDE*first, &work[root].I)
        for e in range(first, first + m):
            copy(w.K + STRIDE*e, 6, numbers(F))
            work[root].Z = sum(work[root].Z, F, -w.step[e])


cdef inline void set_group_rows(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    const Articulated[T]* work,    # (num_mobods,)
    # Out:
    ConstraintWork[T]* w,          # Z, K, scale; D: the least remainder of a row that counts, in units of `scale`
) noexcept nogil:
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const Constraint* x
    cdef T heaviest[3]             # [1/(kg m^2), 1/kg]  least compliance
    cdef T[2] compliance
    cdef T least
    cdef int a, i, e, n, row
    for i in range(3):
        heaviest[i] = <T>MUCH
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        i = groups.constraints[a]
        x = &model.constraints[i]
        row = groups.place[i]
        n = num_equations_of(x.type)
        if is_off(switches, i):
            set_zero(w.scale + row, n)
            continue
        set_rows(
            model, x, root, m, p, work, w.placed, H_N, dofs, w.ends + 2*i, groups.Z_start, w.Z + (row - first),
            w.K + STRIDE*row if root > 0 else NULL, w.scale + row, compliance
        )
        for e in range(1 + n//6):
            heaviest[unit_of(x, 3*e)] = select_lt(
                compliance[e], heaviest[unit_of(x, 3*e)], compliance[e], heaviest[unit_of(x, 3*e)]
            )
    for i in range(3):
        # Zero if no lever is long enough to measure it.
        heaviest[i] = select_lt(heaviest[i], <T>(0.5*MUCH), heaviest[i], <T>0.0)*SQUARED_ANGLE
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        x = &model.constraints[groups.constraints[a]]
        row = groups.place[groups.constraints[a]]
        for e in range(num_equations_of(x.type)):
            least = heaviest[unit_of(x, e)]*(w.scale[row + e]*w.scale[row + e])
            w.D[row + e] = select_lt(<T>ROUNDING_OF_ROW, least, least, <T>ROUNDING_OF_ROW)


cdef inline void factor_again_where_graded(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    const Switches* switches,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    ConstraintWork[T]* w,          # L, D; in: from `calc_Lambda`, and in `rest` the least remainders that count
) noexcept nogil:
    """Factor doubles with twice the digits, where light bodies leave few digits of rows that heavy ones resist.

    If these do not suffice either, results are NaN. Numbers with derivatives are not factored again: where the digits
    do not suffice, they are NaN.
    """
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef TwoDoubles* A = <TwoDoubles*>w.graded
    cdef Py_ssize_t e
    cdef T D_inverse, least, squares
    cdef double most = MOST_LOST_OF_DERIVATIVES if T is Dual or switches.for_derivatives else MOST_LOST
    cdef int l, i, j, k
    if T is double or T is Lanes or T is Dual:
        for l in range(MBT_W if T is Lanes else 1):
            if not is_graded(m, l, ROUNDING_OF_ROW, w.rest + first, w.D + first):
                continue
            if T is not Dual:
                for e in range(m*m):
                    A[e] = TwoDoubles(0.0)
            D_inverse = squares = <T>0.0
            least = <T>MUCH
            for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
                i = groups.mobods[j]
                squares = squares + dot(w.placed[i].X_WN.p, w.placed[i].X_WN.p)
                for k in range(model.joints[i].v_start, model.joints[i].v_start + model.joints[i].nv):
                    if T is not Dual:
                        add_graded(
                            m, l, w.Z + groups.Z_start[i] + m*(k - model.joints[i].v_start), dofs[k].D_inverse, A
                        )
                    D_inverse = D_inverse + dofs[k].D_inverse
                    least = select_lt(
                        <T>0.0, dofs[k].D_inverse, select_lt(dofs[k].D_inverse, least, dofs[k].D_inverse, least), least
                    )
            if T is not Dual:
                for j in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
                    i = groups.constraints[j]
                    if not is_off(switches, i) and model.constraints[i].type != COUPLER:
                        for k in range(2):
                            squares = squares + dot(w.ends[2*i + k].p, w.ends[2*i + k].p)
                factor_graded(
                    m, l, ROUNDING_OF_ROW, w.scale + first, w.rest + first, D_inverse*squares, A, A + m*m,
                    w.L + groups.L_start[group], w.D + first
                )
            if has_lost(m, l, most, least, D_inverse, w.D + first):
                refuse(m, l, w.D + first)
