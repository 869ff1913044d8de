"""Forward dynamics with constraints, each group of which is eliminated where its loops have closed.

    Lambda = J M^-1 J' = Z D^-1 Z',   Lambda lambda = -(J vdot + Jdot v),   M vdot = tau + J' lambda - C v

Constraints are of one group where their ways from end to end share a dof. All of these dofs are outboard of one mobod,
the root of the group: on the way of forward dynamics from tip to base, what the group does to the rest of the tree are
forces on its root alone. With K those of unit multipliers, and lambda_0 what is left to do while the root is at rest,

    lambda = lambda_0 - Lambda^-1 K' a,   I_A += K Lambda^-1 K',   Z_A -= K lambda_0

with which the root goes on as any articulated body. So the cost is O(n), and O(m^2 n + m^3) in each group alone.

Constraints that say the same twice, or what cannot be otherwise, leave lambda open but not vdot; lambda is the least
one, see semidefinite_rows.hpp. A row follows from those of its group before it when what is left of it

- is rounding, or
- is less than the heaviest of what the constraints of its group hold together would leave, were it turned by an angle
  of a decimal number with five digits.

Light bodies between heavy ones leave little of rows, too: where few digits are left, a group is factored with twice as
many, see graded_rows.hpp; and what comes out is put in, and the equations are solved once more for what remains of
J vdot + Jdot v.

J. Carpentier, R. Budhiraja, N. Mansard, "Proximal and Sparse Resolution of Constrained Dynamic Equations", RSS 2021;
A. S. Sathya, J. Carpentier, "Constrained Articulated Body Dynamics Algorithms", IEEE T-RO 2025, eliminate in the sweep.
In NumPy: tests/support/constraints.py.
"""

from mbt._core.algebra.derivative_columns cimport (
    TwoDoubles, add_graded, add_reactions, factor_graded, factor_semidefinite, has_lost, is_graded,
    keep_independent, keep_much, leaves_much, refuse, solve_reactions, solve_semidefinite,
)
from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, ConstraintWork, FrameMotion, Parameters, Placed, add_to_columns, carry_columns,
    carry_motion_columns, project_columns,
)
from mbt._core.algebra.spatial cimport copy, dot3, dot6, set_zero
from mbt._core.algebra.vectors cimport Force, numbers, sum
from mbt._core.forces.constraints cimport COUPLER, DISTANCE, WELD, calc_constraint_accelerations, num_equations_of
from mbt._core.joints.mobod_joints cimport add_dof_acceleration
from mbt._core.model.structs cimport Constraint, ConstraintGroups, MobodJoint, Model, Switches
from mbt._core.passes.articulated_bodies cimport calc_motions_and_articulations, carry_acceleration
from mbt._core.passes.constraint_rows cimport (
    MAX_EQUATIONS, MUCH, STRIDE, add_constraint_forces, add_force_on_dof, calc_frame_accelerations, calc_Lambda,
    is_off, place_mobods, set_ends, set_rows, unit_of,
)
from mbt._core.passes.forward_dynamics cimport calc_accelerations, take_out_joints
from mbt._core.passes.forward_dynamics_in_parents cimport (
    calc_accelerations_in_parents, take_out_joints_in_parents,
)
from mbt._core.passes.mass_matrix_inverse cimport add_motion, project_motion
from mbt._core.scalars cimport MBT_W, Lanes, T, select_lt


cdef extern from *:
    """
    // What is left of a row that follows from others: of one by rounding, of 500 roundings and their sums; of one by
    // angles with five digits, of the square of 3.2e-5, a few of them.
    static constexpr double kRoundingOfRow = 1e-13;
    static constexpr double kSquaredAngle = 1e-9;
    // Rounding of the accelerations that J vdot + Jdot v is a difference of, squared.
    static constexpr double kSquaredRounding = 1e-25;
    // A part of a row that leaves 1e-9 of twice the digits; and 1e-3 of doubles, which derivatives are solved with.
    static constexpr double kMostLost = 1e19;
    static constexpr double kMostLostOfDerivatives = 1e12;
    """
    const double ROUNDING_OF_ROW "kRoundingOfRow"
    const double SQUARED_ANGLE "kSquaredAngle"
    const double SQUARED_ROUNDING "kSquaredRounding"
    const double MOST_LOST "kMostLost"
    const double MOST_LOST_OF_DERIVATIVES "kMostLostOfDerivatives"


cdef enum:
    MAX_TIMES = 6    # that what remains is solved for


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
    """M vdot = tau + J' lambda + tau_g - C v. Of a jump: the change of v that makes J v zero, and impulses."""
    cdef const ConstraintGroups* groups = groups_of(model, switches)
    cdef int group, i, times
    cdef ConstraintWork[T] w
    set_places(model, groups, memory, &w)
    calc_motions_and_articulations(model, p.mobods, gravity, q, v, sin_q, cos_q, work, H_N)
    place_mobods(model, v, work, H_N, w.placed)
    set_all_wanted(model, groups, switches, p, q, v, jump, H_N, work, &w)
    set_zero(multipliers, model.num_equations)

    # Tip to base: take out one joint after the other, and at the root of a group its multipliers.
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
    """Base to tip, velocities in the place of accelerations: of points at rest these depend on vdot as those on v."""
    cdef int i, k
    cdef const MobodJoint* joint
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        carry_acceleration(&work[joint.parent], &work[i])
        for k in range(joint.v_start, joint.v_start + joint.nv):
            add_dof_acceleration(joint, k, H_N, v[k], numbers(work[i].acc))


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
    """Make I_A and Z_A of the root what they are with the constraints of a group; World needs no such."""
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
    ConstraintWork[T]* w,          # Z, K, scale; D: what is left of a row, in units of `scale`, that counts
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
        # Where no lever is long enough to tell.
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
    ConstraintWork[T]* w,          # L, D; in: what they are by `calc_Lambda`, and the least that counts in `rest`
) noexcept nogil:
    """Factor doubles with twice the digits, where light bodies leave few digits of rows that heavy ones resist.

    Where these do not do either, nothing is a number.
    """
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef TwoDoubles* A = <TwoDoubles*>w.graded
    cdef Py_ssize_t e
    cdef T D_inverse, least, squares
    cdef double most = MOST_LOST_OF_DERIVATIVES if switches.for_derivatives else MOST_LOST
    cdef int l, i, j, k
    if T is double or T is Lanes:
        for l in range(1 if T is double else MBT_W):
            if not is_graded(m, l, ROUNDING_OF_ROW, w.rest + first, w.D + first):
                continue
            for e in range(m*m):
                A[e] = TwoDoubles(0.0)
            D_inverse = squares = <T>0.0
            least = <T>MUCH
            for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
                i = groups.mobods[j]
                squares = squares + dot3(numbers(w.placed[i].X_WN.p), numbers(w.placed[i].X_WN.p))
                for k in range(model.joints[i].v_start, model.joints[i].v_start + model.joints[i].nv):
                    add_graded(
                        m, l, w.Z + groups.Z_start[i] + m*(k - model.joints[i].v_start), dofs[k].D_inverse, A
                    )
                    D_inverse = D_inverse + dofs[k].D_inverse
                    least = select_lt(
                        <T>0.0, dofs[k].D_inverse, select_lt(dofs[k].D_inverse, least, dofs[k].D_inverse, least), least
                    )
            for j in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
                i = groups.constraints[j]
                if not is_off(switches, i) and model.constraints[i].type != COUPLER:
                    for k in range(2):
                        squares = squares + dot3(w.ends[2*i + k].p, w.ends[2*i + k].p)
            factor_graded(
                m, l, ROUNDING_OF_ROW, w.scale + first, w.rest + first, D_inverse*squares, A, A + m*m,
                w.L + groups.L_start[group], w.D + first
            )
            if has_lost(m, l, most, least, D_inverse, w.D + first):
                refuse(m, l, w.D + first)


cdef inline void solve_group(const ConstraintGroups* groups, int group, ConstraintWork[T]* w) noexcept nogil:
    """Lambda step = right, which is destroyed."""
    cdef int first = groups.row_start[group]
    cdef int end = groups.row_start[group + 1]
    cdef int e
    solve_semidefinite(end - first, w.L + groups.L_start[group], w.D + first, w.right + first, w.step + first)
    for e in range(first, end):
        w.step[e] = w.step[e]*w.scale[e]


cdef inline void add_group_forces(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    # In:
    const T* acceleration,         # (6,)             [rad/s^2, m/s^2]  of the root
    # In, destroyed:
    ConstraintWork[T]* w,          # step: in: while the root is at rest
    ArticulatedDof[T]* dofs,       # (nv,)
    # Out:
    T* du,                         # (nv,)            [rad/s^2, m/s^2]  or NULL
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    cdef int first = groups.row_start[group]
    cdef int a, e, i, row
    if groups.root[group] > 0:
        for e in range(first, groups.row_start[group + 1]):
            w.step[e] = w.step[e] - dot6(w.W + STRIDE*e, acceleration)
    add_constraint_forces(model, groups, group, w.Z, w.step + first, dofs, du)
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        i = groups.constraints[a]
        row = model.constraints[i].row
        for e in range(num_equations_of(model.constraints[i].type)):
            multipliers[row + e] = multipliers[row + e] + w.step[groups.place[i] + e]


cdef inline void calc_remainders(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    # Out:
    ConstraintWork[T]* w,
) noexcept nogil:
    """right = wanted - (J vdot + Jdot v), in units of `scale`; size: the squares of what that is a difference of."""
    cdef const Constraint* x
    cdef const T* c
    cdef const FrameMotion[T]* A
    cdef const FrameMotion[T]* B
    cdef T[MAX_EQUATIONS] y
    cdef T[2] squares
    cdef int a, i, e, n, row
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        i = groups.constraints[a]
        x = &model.constraints[i]
        row = groups.place[i]
        n = num_equations_of(x.type)
        if is_off(switches, i):
            set_zero(w.right + row, n)
            set_zero(w.size + row, n)
            continue
        c = p.constraints + x.start
        A = &w.ends[2*i]
        B = &w.ends[2*i + 1]
        calc_frame_accelerations(model, x, work, w.placed, w.ends + 2*i)
        if x.type == COUPLER:
            squares[0] = vdot[x.dof_a]*vdot[x.dof_a] + (c[2]*c[2])*(vdot[x.dof_b]*vdot[x.dof_b])
        else:
            squares[0] = dot3(A.alpha, A.alpha) + dot3(B.alpha, B.alpha)
            squares[1] = dot3(A.a, A.a) + dot3(B.a, B.a)
            if x.type == DISTANCE:
                # Of points on lever arms.
                squares[0] = squares[1] + dot3(A.alpha, A.alpha)*dot3(c + 3, c + 3) + (
                    dot3(B.alpha, B.alpha)*dot3(c + 6, c + 6)
                )
            elif x.type != WELD:
                squares[0] = squares[1]
        calc_constraint_accelerations(x, c, vdot, A, B, y)
        for e in range(n):
            w.right[row + e] = (w.wanted[row + e] - y[e])*w.scale[row + e]
            w.size[row + e] = squares[e//3] + w.wanted[row + e]*w.wanted[row + e]


cdef inline bint leaves_much_in_all(
    const Model* model, const ConstraintGroups* groups, int times, ConstraintWork[T]* w
) noexcept nogil:
    """Whether what remains is more than rounding: `right`, less what no force can change."""
    cdef T excess = <T>0.0
    cdef int group, first, e
    copy(w.right, model.num_equations, w.rest)
    for group in range(groups.num_groups):
        first = groups.row_start[group]
        keep_independent(
            groups.row_start[group + 1] - first, w.L + groups.L_start[group], w.rest + first, w.step + first
        )
    for e in range(model.num_equations):
        w.rest[e] = w.rest[e]*w.rest[e] - w.size[e]*(w.scale[e]*w.scale[e]*SQUARED_ROUNDING)
        excess = select_lt(excess, w.rest[e], w.rest[e], excess)
    if not leaves_much(&excess, times):
        return False
    keep_much(model.num_equations, &excess, w.right)
    return True


cdef inline void respond(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const Articulated[T]* work,    # (num_mobods,)
    # In, destroyed:
    ArticulatedDof[T]* dofs,       # (nv,)
    ConstraintWork[T]* w,          # right, step
    # Out:
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    """Add the multipliers that give what is missing, and their forces: both ways again, with nothing else in them."""
    cdef int farthest = groups.root[0]
    cdef int group = 0
    cdef int i
    if farthest > 0:
        set_zero(w.A, 6*<Py_ssize_t>model.num_mobods)
        set_zero(w.du, model.num_velocities)
    for i in range(farthest, 0, -1):
        while group < groups.num_groups and groups.root[group] == i:
            respond_of_group(model, groups, group, w)
            group += 1
        carry_force(model, i, H_N, work, dofs, w)
    while group < groups.num_groups:
        respond_of_group(model, groups, group, w)
        group += 1
    for i in range(farthest + 1):
        if i > 0:
            carry_response(model, i, H_N, work, dofs, w)
        while group > 0 and groups.root[group - 1] == i:
            group -= 1
            add_group_forces(
                model, groups, group, w.A + 6*i, w, dofs, w.du if farthest > 0 else NULL, multipliers
            )


cdef inline void respond_of_group(
    const Model* model, const ConstraintGroups* groups, int group, ConstraintWork[T]* w
) noexcept nogil:
    """step: the multipliers while the root is at rest. What they do to it is added to the force on it."""
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef int m = groups.row_start[group + 1] - first
    cdef const T* row
    cdef int e, i, j, k
    if groups.root[0] > 0:
        for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
            i = groups.mobods[j]
            for k in range(model.joints[i].nv):
                row = w.Z + groups.Z_start[i] + m*k
                for e in range(m):
                    w.right[first + e] = w.right[first + e] - w.scale[first + e]*(
                        row[e]*w.du[model.joints[i].v_start + k]
                    )
    solve_group(groups, group, w)
    if root > 0:
        for e in range(first, first + m):
            for j in range(6):
                w.A[6*root + j] = w.A[6*root + j] + w.K[STRIDE*e + j]*w.step[e]


cdef inline void carry_force(
    const Model* model, int i, const T* H_N, const Articulated[T]* work, ArticulatedDof[T]* dofs, ConstraintWork[T]* w
) noexcept nogil:
    """Of a force on mobod i what its dofs get, and add the rest to the force on its parent."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef T* F = w.A + 6*i
    cdef T y
    cdef int l, j
    for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
        project_motion(joint, l, H_N, 1, 1, F, &y)
        add_force_on_dof(l == joint.v_start, y, &dofs[l], &w.du[l])
        y = -(y*dofs[l].D_inverse)
        if T is double:
            if l == joint.v_start:  # U of which is that of the parent
                break
        add_to_columns(numbers(dofs[l].U), 1, 1, &y, F)
    if joint.parent != 0:
        carry_columns(&work[i].X_PN, 1, 1, F)
        if T is double:
            add_to_columns(numbers(dofs[joint.v_start].U), 1, 1, &y, F)
        for j in range(6):
            w.A[6*joint.parent + j] = w.A[6*joint.parent + j] + F[j]


cdef inline void carry_response(
    const Model* model, int i, const T* H_N, const Articulated[T]* work, const ArticulatedDof[T]* dofs,
    ConstraintWork[T]* w
) noexcept nogil:
    """A of mobod i: what its acceleration changes by. The forces that were there are done with."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef T* A = w.A + 6*i
    cdef T y, reaction
    cdef int l
    if i == 1:
        set_zero(w.A, 6)
    for l in range(joint.v_start, joint.v_start + joint.nv):
        if T is double:
            if l == joint.v_start:
                project_columns(numbers(dofs[l].U), 1, 1, w.A + 6*joint.parent, &reaction)
                carry_motion_columns(&work[i].X_PN, 1, 1, w.A + 6*joint.parent, A)
            else:
                project_columns(numbers(dofs[l].U), 1, 1, A, &reaction)
        else:
            if l == joint.v_start:
                carry_motion_columns(&work[i].X_PN, 1, 1, w.A + 6*joint.parent, A)
            project_columns(numbers(dofs[l].U), 1, 1, A, &reaction)
        y = w.du[l] - reaction*dofs[l].D_inverse
        add_motion(joint, l, H_N, 1, 1, &y, A)
