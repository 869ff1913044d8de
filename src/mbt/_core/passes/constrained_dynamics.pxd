"""Constraint forces, on the articulated bodies that forward dynamics leaves in memory: O(n m + m^2 n) for m equations.

    Lambda = J M^-1 J' = Z D^-1 Z',   Lambda lambda = -(J vdot + Jdot v),   M vdot = tau + J' lambda - C v

A column of Z is what a unit multiplier leaves at each dof after those outboard have given way: one sweep to World
from either frame. Rows are in units in which the sweeps from both frames alone give entries of size one. Constraints
that say the same twice, or what cannot be otherwise, leave lambda open but not vdot; lambda is the least one, see
semidefinite_rows.hpp. A row follows from those before it when what is left of it

- is rounding, or
- is less than the heaviest of what constraints hold together would leave, were it turned by an angle of a decimal
  number with five digits.

Light bodies between heavy ones leave little of rows, too: so what comes out is put in, and the equations are solved
once more for what remains of J vdot + Jdot v.

J. Carpentier, R. Budhiraja, N. Mansard, "Proximal and Sparse Resolution of Constrained Dynamic Equations", RSS 2021,
has the sweeps. In NumPy: tests/support/constraints.py.
"""

from mbt._core.algebra.derivative_columns cimport (
    factor_semidefinite, keep_independent, keep_much, leaves_much, solve_semidefinite,
)
from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, FrameMotion, Parameters, Placed, Pose, add_to_columns, carry_columns,
)
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport (
    add_cross, copy, cross, dot3, multiply_rotations, rotate, rotate_inverse, set_zero,
)
from mbt._core.algebra.vectors cimport numbers
from mbt._core.forces.constraints cimport (
    calc_axes_and_points, calc_constraint_accelerations, calc_constraint_errors, calc_constraint_rates,
    num_equations_of,
)
from mbt._core.forces.force_elements cimport COUPLER, DISTANCE, WELD
from mbt._core.joints.mobod_joints cimport add_dof_acceleration, add_joint_acceleration
from mbt._core.model.structs cimport Constraint, MobodJoint, Model, Switches
from mbt._core.passes.articulated_bodies cimport carry_acceleration
from mbt._core.passes.forward_dynamics cimport calc_accelerations
from mbt._core.passes.forward_dynamics_in_parents cimport calc_accelerations_in_parents
from mbt._core.passes.mass_matrix_inverse cimport project_motion
from mbt._core.scalars cimport T, select_lt, sqrt_


cdef extern from *:
    """
    // Levers shorter than 1e-6 m count little: what they add is lost in the rounding of others.
    static constexpr double kSquaredLever = 1e-12;
    // What is left of a row that follows from others: of one by rounding, of 500 roundings and their sums; of one by
    // angles with five digits, of the square of 3.2e-5, a few of them.
    static constexpr double kRoundingOfRow = 1e-13;
    static constexpr double kSquaredAngle = 1e-9;
    // Rounding of the accelerations that J vdot + Jdot v is a difference of, squared.
    static constexpr double kSquaredRounding = 1e-25;
    // More than all that rows leave.
    static constexpr double kMuch = 1e300;
    """
    const double SQUARED_LEVER "kSquaredLever"
    const double ROUNDING_OF_ROW "kRoundingOfRow"
    const double SQUARED_ANGLE "kSquaredAngle"
    const double SQUARED_ROUNDING "kSquaredRounding"
    const double MUCH "kMuch"


cdef enum:
    MAX_EQUATIONS = 6
    STRIDE = 8    # of columns, a multiple of what fits into a register
    MAX_TIMES = 6    # that what remains is solved for
    # Rows of one unit.
    OF_DOFS = 0
    OF_ROTATION = 1
    OF_TRANSLATION = 2


cdef inline void calc_constrained_accelerations(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* jump,                 # (nv,)            [rad/s, m/s]  NULL, or velocities at an impact: then v is zero
    const T* H_N,                  # (nv, 6)          [1, m]
    # In, destroyed:
    Articulated[T]* work,          # (num_mobods,)    with the accelerations
    ArticulatedDof[T]* dofs,       # (nv,)            u with the constraint forces
    # Work:
    T* memory,                     # (model.constraint_work - num_equations,)
    # Out:
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]  in: without constraint forces
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    """What is left to do behind forward dynamics. Of a jump: the change of v that makes J v zero, and impulses."""
    cdef Py_ssize_t m = model.num_equations
    cdef Placed[T]* placed = <Placed[T]*>memory
    cdef T* Z = <T*>(placed + model.num_mobods)
    cdef T* Lambda = factor_in(model, memory)
    cdef T* scale = Lambda + m*m
    cdef T* right = scale + m
    cdef T* D = right + m
    cdef T* wanted = D + m
    cdef T* step = wanted + m
    cdef T* rest = step + m
    cdef T* size = rest + m
    cdef FrameMotion[T]* ends = <FrameMotion[T]*>(size + m)
    cdef T excess
    cdef int times
    cdef Py_ssize_t e
    cdef const T* moving = vdot
    place_mobods(model, v, work, H_N, placed)
    if jump != NULL:
        set_rates(model, jump, H_N, work)
        moving = jump
    start_constraints(model, switches, p, q, v, moving, work, placed, H_N, dofs, Z, scale, right, wanted, D, ends)
    calc_Lambda(model, dofs, Z, scale, Lambda)
    factor_semidefinite(m, Lambda, D)
    set_zero(multipliers, m)
    if jump != NULL:
        copy(right, m, wanted)
    for e in range(m):
        right[e] = right[e]*scale[e]
    for times in range(MAX_TIMES):
        solve_semidefinite(m, Lambda, D, right, step)
        for e in range(m):
            step[e] = step[e]*scale[e]
            multipliers[e] = multipliers[e] + step[e]
        add_constraint_forces(model, Z, step, dofs)
        if T is double:
            calc_accelerations_in_parents(model, H_N, dofs, work, vdot)
        else:
            calc_accelerations(model, H_N, dofs, work, vdot)
        calc_remainders(model, switches, p, vdot, work, placed, wanted, ends, right, size)
        for e in range(m):
            right[e] = right[e]*scale[e]
            rest[e] = right[e]
        keep_independent(m, Lambda, rest, step)
        excess = <T>0.0
        for e in range(m):
            rest[e] = rest[e]*rest[e] - size[e]*(scale[e]*scale[e]*SQUARED_ROUNDING)
            excess = select_lt(excess, rest[e], rest[e], excess)
        if times + 1 == MAX_TIMES or not leaves_much(&excess, times):
            break
        keep_much(m, &excess, right)


cdef inline void start_constraints(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)          [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* Z,                          # (nv, num_equations) [N m, N]
    T* scale,                      # (num_equations,) [1]  1 / (size of the diagonal of Lambda)^(1/2)
    T* right,                      # (num_equations,) [rad/s^2, m/s^2]  what is missing of `wanted`
    T* wanted,                     # (num_equations,) [rad/s^2, m/s^2]  of J vdot + Jdot v
    T* least,                      # (num_equations,) [1]  what is left of a row, in units of `scale`, that counts
    FrameMotion[T]* ends,          # (num_constraints, 2)
) noexcept nogil:
    """Every constraint alone."""
    cdef const Constraint* x
    cdef T heaviest[3]             # [1/(kg m^2), 1/kg]  least compliance
    cdef T compliance[2]
    cdef int i, e, n
    for i in range(3):
        heaviest[i] = <T>MUCH
    set_zero(Z, <Py_ssize_t>model.num_equations*model.num_velocities)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        n = num_equations_of(x.type)
        if switches.disabled != NULL and switches.disabled[i]:
            set_zero(scale + x.row, n)
            set_zero(right + x.row, n)
            set_zero(wanted + x.row, n)
        else:
            start_constraint(
                model, x, switches.stabilized, p, q, v, vdot, work, placed, H_N, dofs, Z + x.row, scale + x.row,
                right + x.row, wanted + x.row, compliance, ends + 2*i
            )
            for e in range(1 + n//6):
                heaviest[unit_of(x, 3*e)] = select_lt(
                    compliance[e], heaviest[unit_of(x, 3*e)], compliance[e], heaviest[unit_of(x, 3*e)]
                )
    for i in range(3):
        # Where no lever is long enough to tell.
        heaviest[i] = select_lt(heaviest[i], <T>(0.5*MUCH), heaviest[i], <T>0.0)*SQUARED_ANGLE
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        for e in range(num_equations_of(x.type)):
            least[x.row + e] = heaviest[unit_of(x, e)]*(scale[x.row + e]*scale[x.row + e])
            least[x.row + e] = select_lt(<T>ROUNDING_OF_ROW, least[x.row + e], least[x.row + e], <T>ROUNDING_OF_ROW)


cdef inline int unit_of(const Constraint* x, int e) noexcept nogil:
    """What an equation is between."""
    if x.type == COUPLER:
        return OF_DOFS
    return OF_ROTATION if x.type == WELD and e < 3 else OF_TRANSLATION


cdef inline void calc_remainders(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* wanted,               # (num_equations,) [rad/s^2, m/s^2]
    # Out:
    FrameMotion[T]* ends,          # (num_constraints, 2)  accelerations; in: poses and velocities
    T* right,                      # (num_equations,) [rad/s^2, m/s^2]  wanted - (J vdot + Jdot v)
    T* size,                       # (num_equations,) [rad/s^2, m/s^2]  squared, of what it is a difference of
) noexcept nogil:
    cdef const Constraint* x
    cdef const T* c
    cdef const FrameMotion[T]* A
    cdef const FrameMotion[T]* B
    cdef T y[MAX_EQUATIONS]
    cdef T squares[2]
    cdef int i, e, n
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        n = num_equations_of(x.type)
        if switches.disabled != NULL and switches.disabled[i]:
            set_zero(right + x.row, n)
            set_zero(size + x.row, n)
            continue
        c = p.constraints + x.start
        A = &ends[2*i]
        B = &ends[2*i + 1]
        calc_frame_accelerations(model, x, work, placed, ends + 2*i)
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
            right[x.row + e] = wanted[x.row + e] - y[e]
            size[x.row + e] = squares[e//3] + wanted[x.row + e]*wanted[x.row + e]


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


cdef inline T* factor_in(const Model* model, T* memory) noexcept nogil:
    """Where `calc_constrained_accelerations` leaves L, behind it the scale, what is missing and 1 / D."""
    cdef T* Z = <T*>(<Placed[T]*>memory + model.num_mobods)
    return Z + <Py_ssize_t>model.num_equations*model.num_velocities


cdef inline void place_mobods(
    # Topology:
    const Model* model,
    # In:
    const T* v,                    # (nv,)          [rad/s, m/s]
    const Articulated[T]* work,    # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    # Out:
    Placed[T]* placed,             # (num_mobods,)  those that constraints act through, and World
) noexcept nogil:
    """Poses in World, and velocities of origins."""
    cdef T angular[3]
    cdef T v_P[3]
    cdef int i, k
    cdef const MobodJoint* joint
    cdef const Placed[T]* parent
    set_identity(numbers(placed[0].X_WN.R))
    set_zero(numbers(placed[0].X_WN.p), 3)
    set_zero(placed[0].v, 3)
    for i in range(1, model.num_mobods):
        if model.through_start[i] == model.through_start[i + 1]:
            continue
        joint = &model.joints[i]
        parent = &placed[joint.parent]
        multiply_rotations(numbers(parent.X_WN.R), numbers(work[i].X_PN.R), numbers(placed[i].X_WN.R))
        rotate(numbers(parent.X_WN.R), numbers(work[i].X_PN.p), numbers(placed[i].X_WN.p))
        copy(parent.v, 3, v_P)
        add_cross(numbers(work[joint.parent].w), numbers(work[i].X_PN.p), v_P)
        rotate_inverse(numbers(work[i].X_PN.R), v_P, placed[i].v)
        set_zero(angular, 3)
        add_joint_acceleration(joint, H_N, v, angular, placed[i].v)
        for k in range(3):
            numbers(placed[i].X_WN.p)[k] = numbers(placed[i].X_WN.p)[k] + numbers(parent.X_WN.p)[k]


cdef inline void calc_frame_in_mobod(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Parameters[T]* p,
    # Out:
    T* R_NF,                       # (3, 3)  [1]
    T* p_NF,                       # (3,)    [m]
) noexcept nogil:
    cdef const Pose[T]* X_NB = &p.X_NB[model.frame_node[frame]]
    cdef const T* X_BF = p.X_BF + 16*frame
    cdef T R_BF[9]
    cdef T p_BF[3]
    cdef int j, k
    if model.frame_parent[frame] < 0:
        copy(numbers(X_NB.R), 9, R_NF)
        copy(numbers(X_NB.p), 3, p_NF)
    else:
        for j in range(3):
            for k in range(3):
                R_BF[3*j + k] = X_BF[4*j + k]
            p_BF[j] = X_BF[4*j + 3]
        multiply_rotations(numbers(X_NB.R), R_BF, R_NF)
        rotate(numbers(X_NB.R), p_BF, p_NF)
        for j in range(3):
            p_NF[j] = p_NF[j] + numbers(X_NB.p)[j]


cdef inline void calc_frame_motion(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* F,
) noexcept nogil:
    """Of a frame in World, but for its acceleration."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef const T* R_WN = numbers(placed[i].X_WN.R)
    cdef T R_NF[9]
    cdef T p_NF[3]
    cdef T y[3]
    cdef int j
    calc_frame_in_mobod(model, frame, p, R_NF, p_NF)
    multiply_rotations(R_WN, R_NF, F.R)
    rotate(R_WN, p_NF, F.p)
    for j in range(3):
        F.p[j] = F.p[j] + numbers(placed[i].X_WN.p)[j]
    # v + w × p
    cross(numbers(work[i].w), p_NF, y)
    for j in range(3):
        y[j] = y[j] + placed[i].v[j]
    rotate(R_WN, y, F.v)
    rotate(R_WN, numbers(work[i].w), F.w)


cdef inline void calc_frame_acceleration(
    # Topology:
    const Model* model,
    int frame,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* F,
) noexcept nogil:
    """And that, less gravity."""
    cdef int i = model.mobod[model.frame_node[frame]]
    cdef T r[3]
    cdef T wr[3]
    cdef int j
    for j in range(3):
        r[j] = F.p[j] - numbers(placed[i].X_WN.p)[j]
    rotate(numbers(placed[i].X_WN.R), numbers(work[i].acc.w), F.alpha)
    rotate(numbers(placed[i].X_WN.R), numbers(work[i].acc.v), F.a)
    # a + alpha × r + w × (w × r)
    cross(F.w, r, wr)
    add_cross(F.alpha, r, F.a)
    add_cross(F.w, wr, F.a)


cdef inline void calc_frame_accelerations(
    # Topology:
    const Model* model,
    const Constraint* x,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    # Out:
    FrameMotion[T]* ends,          # (2,)
) noexcept nogil:
    """Of both frames of a constraint that has some."""
    if x.type != COUPLER:
        calc_frame_acceleration(model, x.a, work, placed, &ends[0])
        calc_frame_acceleration(model, x.b, work, placed, &ends[1])


cdef inline void start_constraint(
    # Topology:
    const Model* model,
    const Constraint* x,
    int stabilized,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)          [rad, m]
    const T* v,                    # (nv,)          [rad/s, m/s]
    const T* vdot,                 # (nv,)          [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* Z,                          # (nv, num_equations) [N m, N]  from the column of the first equation on
    T* scale,                      # (n,)           [1]  1 / (size of the diagonal of Lambda)^(1/2)
    T* right,                      # (n,)           [rad/s^2, m/s^2]  wanted - (J vdot + Jdot v)
    T* wanted,                     # (n,)           [rad/s^2, m/s^2]
    T* compliance,                 # (2,)           [1/(kg m^2), 1/kg]  of all dofs between the ends as one
    FrameMotion[T]* ends,          # (2,)
) noexcept nogil:
    """What the equations of one constraint need of vdot, and their columns of Z."""
    cdef const T* c = p.constraints + x.start
    cdef int n = num_equations_of(x.type)
    cdef FrameMotion[T]* A = &ends[0]
    cdef FrameMotion[T]* B = &ends[1]
    cdef T y[MAX_EQUATIONS]
    cdef T size[2]
    cdef T between[3]
    cdef T axes[9]
    cdef T u[3]
    cdef T p_A[3]
    cdef T p_B[3]
    cdef int e
    cdef int meet = common_mobod(model, x.mobod_a, x.mobod_b)
    if x.type != COUPLER:
        calc_frame_motion(model, x.a, p, work, placed, A)
        calc_frame_motion(model, x.b, p, work, placed, B)
        calc_frame_accelerations(model, x, work, placed, ends)
    set_zero(wanted, n)
    if stabilized:
        calc_constraint_rates(x, c, v, A, B, y)
        for e in range(n):
            wanted[e] = -(c[1]*c[0]*(2.0*stabilized)*y[e])
        calc_constraint_errors(x, c, q, A, B, y)
        for e in range(n):
            wanted[e] = wanted[e] - c[0]*c[0]*y[e]
    calc_constraint_accelerations(x, c, vdot, A, B, y)
    for e in range(n):
        right[e] = wanted[e] - y[e]
    set_zero(size, 2)
    set_zero(between, 3)
    if x.type == COUPLER:
        # Between dofs, not between points.
        set_zero(axes, 9)
        set_zero(u, 3)
        set_zero(p_A, 3)
        set_zero(p_B, 3)
        sweep(model, x, x.mobod_a, x.dof_a, <T>1.0, axes, u, p_A, work, placed, H_N, dofs, meet, size, between, Z)
        sweep(model, x, x.mobod_b, x.dof_b, -c[2], axes, u, p_B, work, placed, H_N, dofs, meet, size, between, Z)
    else:
        calc_axes_and_points(x, c, A, B, axes, u, p_A, p_B)
        sweep(model, x, x.mobod_a, -1, <T>(-1.0), axes, u, p_A, work, placed, H_N, dofs, meet, size, between, Z)
        sweep(model, x, x.mobod_b, -1, <T>1.0, axes, u, p_B, work, placed, H_N, dofs, meet, size, between, Z)
    for e in range(2):
        # Zero where all dofs are locked.
        size[e] = <T>1.0/sqrt_(select_lt(<T>0.0, size[e], size[e], <T>1.0))
    for e in range(n):
        scale[e] = size[e//3]
    for e in range(2):
        compliance[e] = select_lt(
            <T>SQUARED_LEVER, between[e],
            between[e]/select_lt(<T>SQUARED_LEVER, between[e], between[2], <T>1.0), <T>MUCH
        )


cdef inline int common_mobod(const Model* model, int a, int b) noexcept nogil:
    """The last that carries both."""
    while a != b:
        if a > b:
            a = model.joints[a].parent
        else:
            b = model.joints[b].parent
    return a


cdef inline void sweep(
    # Topology:
    const Model* model,
    const Constraint* x,
    int i,                         # the mobod it begins at
    int dof,                       # of a coupler the dof it begins at; else -1
    # In:
    T unit,                        # what a multiplier of one is there
    const T* axes,                 # (3, 3)         [1]  columns, in World
    const T* u,                    # (3,)           [1]  in World
    const T* p_WP,                 # (3,)           [m]  where forces act
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    int meet,                      # the mobod that carries both ends
    # Out:
    T* size,                       # (2,)           [1/kg]  of the diagonal of Lambda, rotational rows of six first
    T* between,                    # (3,)           [SI]  of dofs outboard of `meet` squares of y, as in size; sum of D
    T* Z,                          # (nv, num_equations) [N m, N]  from the column of the first equation on
) noexcept nogil:
    """Add what unit multipliers at one end of a constraint leave at the dofs inboard of it."""
    cdef T F[MAX_EQUATIONS*STRIDE]
    cdef T y[STRIDE]
    cdef const MobodJoint* joint
    cdef int l
    cdef int n = 3 if x.type == DISTANCE else num_equations_of(x.type)
    cdef int width = n
    if T is double:
        width = STRIDE if n > 1 else 1
    set_zero(F, MAX_EQUATIONS*STRIDE)
    if dof < 0:
        set_unit_forces(x.type == WELD, unit, axes, p_WP, &placed[i].X_WN, F)
    while i > 0:
        joint = &model.joints[i]
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            project_motion(joint, l, H_N, width, STRIDE, F, y)
            if l == dof:
                y[0] = y[0] + unit
            add_row(x, n, u, y, &dofs[l], size, between if i > meet else NULL, Z + l*model.num_equations)
            if T is double:
                # U of the first dof is that of the parent, see forward_dynamics_in_parents.
                if l > joint.v_start:
                    give_way(&dofs[l], width, y, F)
            else:
                give_way(&dofs[l], width, y, F)
        if joint.parent != 0:
            carry_columns(&work[i].X_PN, width, STRIDE, F)
            if T is double:
                give_way(&dofs[joint.v_start], width, y, F)
        i = joint.parent


cdef inline void give_way(const ArticulatedDof[T]* dof, int n, T* y, T* F) noexcept nogil:
    """F -= U y / D."""
    cdef int e
    for e in range(n):
        y[e] = -(y[e]*dof.D_inverse)
    add_to_columns(numbers(dof.U), n, STRIDE, y, F)


cdef inline void add_row(
    # Topology:
    const Constraint* x,
    int n,
    # In:
    const T* u,                    # (3,)           [1]  in World
    const T* y,                    # (n,)           [N m, N]
    const ArticulatedDof[T]* dof,
    # Out:
    T* size,                       # (2,)           [1/kg]  of the diagonal of Lambda
    T* between,                    # (3,)           [SI]  or NULL
    T* Z,                          # (num_equations,) [N m, N]  from the column of the first equation on
) noexcept nogil:
    """Of one dof."""
    cdef T moves
    cdef int e
    if x.type == DISTANCE:
        Z[0] = Z[0] + dot3(u, y)
    else:
        for e in range(n):
            Z[e] = Z[e] + y[e]
    for e in range(n):
        size[e//3] = size[e//3] + y[e]*y[e]*dof.D_inverse
    for e in range(1 + n//6):
        size[e] = size[e] + dof.D_inverse*SQUARED_LEVER
    if between != NULL:
        # One, or zero where the dof is locked.
        moves = dof.D*dof.D_inverse
        for e in range(n):
            between[e//3] = between[e//3] + y[e]*y[e]*moves
        between[2] = between[2] + dof.D*moves


cdef inline void set_unit_forces(
    bint with_torques, T unit, const T* axes, const T* p_WP, const Pose[T]* X_WN, T* F
) noexcept nogil:
    """Columns of [torque about No; force] in N: torques along the axes where there are any, and forces at P."""
    cdef T f[3]
    cdef T t[3]
    cdef T p_NP_W[3]
    cdef T p_NP[3]
    cdef int i, j
    cdef int first = 3 if with_torques else 0
    for i in range(3):
        p_NP_W[i] = p_WP[i] - numbers(X_WN.p)[i]
    rotate_inverse(numbers(X_WN.R), p_NP_W, p_NP)
    for j in range(3):
        for i in range(3):
            f[i] = unit*(
                numbers(X_WN.R)[i]*axes[j] + numbers(X_WN.R)[3 + i]*axes[3 + j] + numbers(X_WN.R)[6 + i]*axes[6 + j]
            )
        cross(p_NP, f, t)
        for i in range(3):
            F[STRIDE*i + first + j] = t[i]
            F[STRIDE*(3 + i) + first + j] = f[i]
            if with_torques:
                F[STRIDE*i + j] = f[i]


cdef inline void calc_Lambda(
    # Topology:
    const Model* model,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const T* Z,                    # (nv, num_equations) [N m, N]
    const T* scale,                # (num_equations,) [1]
    # Out:
    T* Lambda,                     # (num_equations, num_equations) [1]  lower triangle
) noexcept nogil:
    """Z D^-1 Z' in units of `scale`, from what acts through each mobod."""
    cdef Py_ssize_t m = model.num_equations
    cdef const Constraint* x
    cdef const Constraint* y
    cdef const T* row
    cdef int i, k, a, b
    cdef Py_ssize_t e, f
    cdef T s
    set_zero(Lambda, m*m)
    for i in range(1, model.num_mobods):
        for k in range(model.joints[i].v_start, model.joints[i].v_start + model.joints[i].nv):
            row = Z + m*k
            for a in range(model.through_start[i], model.through_start[i + 1]):
                x = &model.constraints[model.through[a]]
                for e in range(x.row, x.row + num_equations_of(x.type)):
                    s = row[e]*dofs[k].D_inverse
                    for b in range(model.through_start[i], a + 1):
                        y = &model.constraints[model.through[b]]
                        for f in range(y.row, y.row + num_equations_of(y.type)):
                            Lambda[m*e + f] = Lambda[m*e + f] + s*row[f]
    for e in range(m):
        for f in range(e + 1):
            Lambda[m*e + f] = Lambda[m*e + f]*(scale[e]*scale[f])


cdef inline void add_constraint_forces(
    # Topology:
    const Model* model,
    # In:
    const T* Z,                    # (nv, num_equations) [N m, N]
    const T* multipliers,          # (num_equations,) [N m, N]
    # In, destroyed:
    ArticulatedDof[T]* dofs,       # (nv,)
) noexcept nogil:
    """u += Z' lambda; of doubles u / D, of the first dof of a joint."""
    cdef const Constraint* x
    cdef int i, k, a, e
    cdef T s
    for i in range(1, model.num_mobods):
        for k in range(model.joints[i].v_start, model.joints[i].v_start + model.joints[i].nv):
            s = <T>0.0
            for a in range(model.through_start[i], model.through_start[i + 1]):
                x = &model.constraints[model.through[a]]
                for e in range(x.row, x.row + num_equations_of(x.type)):
                    s = s + Z[model.num_equations*k + e]*multipliers[e]
            if T is double:
                if k == model.joints[i].v_start:
                    s = s*dofs[k].D_inverse
            dofs[k].u = dofs[k].u + s
