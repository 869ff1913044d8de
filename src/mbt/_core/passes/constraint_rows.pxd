"""Rows of the equations of constraints, on the articulated bodies of forward dynamics.

A column of Z holds the force of a unit multiplier that remains at each dof after those outboard have given way: one
sweep from either frame to the root of its group; K is the force that arrives there. Rows are scaled so that the sweeps
from both frames alone give entries of size one.

J. Carpentier, R. Budhiraja, N. Mansard, "Proximal and Sparse Resolution of Constrained Dynamic Equations", RSS 2021,
has the sweeps. In NumPy: tests/support/constraints.py.
"""

from mbt._core.algebra.derivative_columns cimport add_square
from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, FrameMotion, Parameters, Placed, Pose, add_to_columns, carry_columns,
)
from mbt._core.algebra.spatial cimport add_to, dot3, set_zero
from mbt._core.algebra.vectors cimport Mat3, Vec3, cross, numbers, put, skew, transpose
from mbt._core.forces.constraints cimport COUPLER, DISTANCE, WELD, calc_axes_and_points, num_equations_of
from mbt._core.forces.numbers cimport CouplerNumbers
from mbt._core.model.structs cimport Constraint, ConstraintGroups, MobodJoint, Model, Switches
from mbt._core.passes.mass_matrix_inverse cimport project_motion
from mbt._core.scalars cimport T, select_lt, sqrt_


cdef extern from *:
    """
    // Levers shorter than 1e-6 m count little: their terms are lost in the rounding of others.
    static constexpr double kSquaredLever = 1e-12;
    // More than any remainder of a row.
    static constexpr double kMuch = 1e300;
    """
    const double SQUARED_LEVER "kSquaredLever"
    const double MUCH "kMuch"


cdef enum:
    MAX_EQUATIONS = 6
    STRIDE = 8    # of columns, a multiple of what fits into a register
    # Rows with the same unit.
    OF_DOFS = 0
    OF_ROTATION = 1
    OF_TRANSLATION = 2


cdef inline void set_rows(
    # Topology:
    const Model* model,
    const Constraint* x,
    int root,                      # the mobod that carries the group
    Py_ssize_t m,                  # equations of the group
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    const FrameMotion[T]* ends,    # (2,)
    const Py_ssize_t* Z_start,     # (num_mobods,)
    # Out:
    T* Z,                          # (dofs of the group, m) [N m, N]  from the column of the first equation on
    T* K,                          # (n, 8)         [N m, N]  on the root, at its origin; NULL of World
    T* scale,                      # (n,)           [1]  1 / (size of the diagonal of Lambda)^(1/2)
    T* compliance,                 # (2,)           [1/(kg m^2), 1/kg]  of all dofs between the ends as one
) noexcept nogil:
    cdef const T* c = p.constraints + x.start
    cdef int n = num_equations_of(x.type)
    cdef T[2] size
    cdef T[3] between
    cdef Mat3[T] axes
    cdef Vec3[T] u, p_A, p_B
    cdef int e
    cdef int meet = common_mobod(model, x.mobod_a, x.mobod_b)
    set_zero(size, 2)
    set_zero(between, 3)
    if x.type == COUPLER:
        # Between dofs, not between points.
        set_zero(numbers(axes), 9)
        set_zero(numbers(u), 3)
        set_zero(numbers(p_A), 3)
        set_zero(numbers(p_B), 3)
        sweep(
            model, x, x.mobod_a, x.dof_a, <T>1.0, axes, u, p_A, work, placed, H_N, dofs, meet, root, m, Z_start,
            size, between, Z, K
        )
        sweep(
            model, x, x.mobod_b, x.dof_b, -(<const CouplerNumbers[T]*>c).gear_ratio, axes, u, p_B, work, placed, H_N,
            dofs, meet, root, m, Z_start, size, between, Z, K
        )
    else:
        calc_axes_and_points(x, c, ends, ends + 1, &axes, &u, &p_A, &p_B)
        sweep(
            model, x, x.mobod_a, -1, <T>(-1.0), axes, u, p_A, work, placed, H_N, dofs, meet, root, m, Z_start,
            size, between, Z, K
        )
        sweep(
            model, x, x.mobod_b, -1, <T>1.0, axes, u, p_B, work, placed, H_N, dofs, meet, root, m, Z_start,
            size, between, Z, K
        )
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
    """The outermost mobod that carries both."""
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
    int dof,                       # for a coupler, the dof it begins at; else -1
    # In:
    T unit,                        # force of a unit multiplier there
    const Mat3[T]& axes,           # [1]            columns, in World
    const Vec3[T]& u,              # [1]            in World
    const Vec3[T]& p_WP,           # [m]            where forces act
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    int meet,                      # the mobod that carries both ends
    int root,                      # the mobod that it ends at
    Py_ssize_t m,                  # equations of the group
    const Py_ssize_t* Z_start,     # (num_mobods,)
    # Out:
    T* size,                       # (2,)           [1/kg]  of the diagonal of Lambda, rotational rows of six first
    T* between,                    # (3,)           [SI]  dofs outboard of `meet`: squares of y, as in size; sum of D
    T* Z,                          # (dofs of the group, m) [N m, N]  from the column of the first equation on
    T* K,                          # (n, 8)         [N m, N]  NULL of World
) noexcept nogil:
    """Add the forces of unit multipliers at one end of a constraint that remain at the dofs inboard and at the root."""
    cdef T[MAX_EQUATIONS*STRIDE] F
    cdef T[STRIDE] y
    cdef const MobodJoint* joint
    cdef int l
    cdef int n = 3 if x.type == DISTANCE else num_equations_of(x.type)
    cdef int width = n
    if T is double:
        width = 1 if n == 1 else STRIDE//2 if n <= STRIDE//2 else STRIDE
    set_zero(F, MAX_EQUATIONS*STRIDE)
    if dof < 0:
        set_unit_forces(x.type == WELD, unit, axes, p_WP, &placed[i].X_WN, F)
    while i > root:
        joint = &model.joints[i]
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            project_motion(joint, l, H_N, width, STRIDE, F, y)
            if l == dof:
                y[0] = y[0] + unit
            add_row(
                x, n, numbers(u), y, &dofs[l], size, between if i > meet else NULL,
                Z + Z_start[i] + (l - joint.v_start)*m
            )
            if T is double:
                # U of the first dof is in the parent's frame, see forward_dynamics_in_parents.
                if l > joint.v_start:
                    give_way(&dofs[l], width, y, F)
            else:
                give_way(&dofs[l], width, y, F)
        if joint.parent != 0:
            carry_columns(&work[i].X_PN, width, STRIDE, F)
            if T is double:
                give_way(&dofs[joint.v_start], width, y, F)
        i = joint.parent
    if K != NULL:
        add_forces_on_root(x, n, numbers(u), F, K)


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
    """Add the row of one dof."""
    # One, or zero where the dof is locked.
    cdef T moves = dof.D*dof.D_inverse
    cdef T square
    cdef int e
    if x.type == DISTANCE:
        Z[0] = Z[0] + dot3(u, y)
    else:
        add_to(y, n, Z)
    for e in range(0, n, 3):
        square = y[0]*y[0] if n == 1 else dot3(y + e, y + e)
        size[e//3] = size[e//3] + (square + <T>SQUARED_LEVER)*dof.D_inverse
        if between != NULL:
            between[e//3] = between[e//3] + square*moves
    if between != NULL:
        between[2] = between[2] + dof.D*moves


cdef inline void add_forces_on_root(const Constraint* x, int n, const T* u, const T* F, T* K) noexcept nogil:
    cdef int e, j
    if x.type == DISTANCE:
        for j in range(6):
            K[j] = K[j] + dot3(u, F + STRIDE*j)
    else:
        for e in range(n):
            for j in range(6):
                K[STRIDE*e + j] = K[STRIDE*e + j] + F[STRIDE*j + e]


cdef inline void set_unit_forces(
    bint with_torques, T unit, const Mat3[T]& axes, const Vec3[T]& p_WP, const Pose[T]* X_WN, T* F
) noexcept nogil:
    """Columns of [torque about No; force] in N: torques along the axes where there are any, and forces at P."""
    cdef Mat3[T] R_NW = transpose(X_WN.R)
    cdef Mat3[T] f = (R_NW*axes)*unit
    cdef Mat3[T] t = skew(R_NW*(p_WP - X_WN.p))*f
    cdef int first = 3 if with_torques else 0
    put(t, F + first, STRIDE)
    put(f, F + 3*STRIDE + first, STRIDE)
    if with_torques:
        put(f, F, STRIDE)


cdef inline bint is_off(const Switches* switches, int constraint) noexcept nogil:
    return switches.disabled != NULL and switches.disabled[constraint]


cdef inline int unit_of(const Constraint* x, int e) noexcept nogil:
    """The unit of an equation, by what it constrains."""
    if x.type == COUPLER:
        return OF_DOFS
    return OF_ROTATION if x.type == WELD and e < 3 else OF_TRANSLATION


cdef inline void calc_Lambda(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const T* Z,                    # (dofs, rows)   [N m, N]  of each group
    const T* scale,                # (m,)           [1]
    # Out:
    T* Lambda,                     # (m, m)         [1]  lower triangle
) noexcept nogil:
    """Z D^-1 Z' in units of `scale`, from the constraints that act through each mobod."""
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const Constraint* x
    cdef const Constraint* y
    cdef const T* row
    cdef T* out
    cdef int num_constraints = groups.constraint_start[group + 1] - groups.constraint_start[group]
    cdef int i, j, k, a, b, n
    cdef Py_ssize_t e, f, from_e, from_f
    cdef T D_inverse, s
    set_zero(Lambda, m*m)
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            row = Z + groups.Z_start[i] + m*k
            D_inverse = dofs[model.joints[i].v_start + k].D_inverse
            a = groups.through_start[i]
            if groups.through_start[i + 1] == a + num_constraints:
                add_square(m, D_inverse, row, m, Lambda)
                continue
            if groups.through_start[i + 1] == a + 1:
                from_e = groups.place[groups.through[a]] - first
                n = num_equations_of(model.constraints[groups.through[a]].type)
                add_square(n, D_inverse, row + from_e, m, Lambda + (m + 1)*from_e)
                continue
            for a in range(groups.through_start[i], groups.through_start[i + 1]):
                x = &model.constraints[groups.through[a]]
                from_e = groups.place[groups.through[a]] - first
                for e in range(from_e, from_e + num_equations_of(x.type)):
                    s = row[e]*D_inverse
                    out = Lambda + m*e
                    for b in range(groups.through_start[i], a + 1):
                        y = &model.constraints[groups.through[b]]
                        from_f = groups.place[groups.through[b]] - first
                        n = num_equations_of(y.type)
                        for f in range(from_f, from_f + n):
                            out[f] = out[f] + s*row[f]
    for e in range(m):
        for f in range(e + 1):
            Lambda[m*e + f] = Lambda[m*e + f]*(scale[e]*scale[f])


cdef inline void add_constraint_forces(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    # In:
    const T* Z,                    # (dofs, rows)   [N m, N]  of each group
    const T* multipliers,          # (m,)           [N m, N]
    # In, destroyed:
    ArticulatedDof[T]* dofs,       # (nv,)
    # Out:
    T* du,                         # (nv,)          [rad/s^2, m/s^2]  their part of u / D, or NULL
) noexcept nogil:
    """u += Z' lambda; for doubles, u / D of the first dof of a joint."""
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const Constraint* x
    cdef const T* row
    cdef int i, j, k, l, a
    cdef Py_ssize_t e, from_e
    cdef T s
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for l in range(model.joints[i].nv):
            k = model.joints[i].v_start + l
            row = Z + groups.Z_start[i] + m*l
            s = <T>0.0
            for a in range(groups.through_start[i], groups.through_start[i + 1]):
                x = &model.constraints[groups.through[a]]
                from_e = groups.place[groups.through[a]] - first
                for e in range(from_e, from_e + num_equations_of(x.type)):
                    s = s + row[e]*multipliers[e]
            add_force_on_dof(l == 0, s, &dofs[k], du + k if du != NULL else NULL)


cdef inline void add_force_on_dof(bint is_first, T force, ArticulatedDof[T]* dof, T* du) noexcept nogil:
    cdef T s = force*dof.D_inverse
    if du != NULL:
        du[0] = du[0] + s
    if T is double:
        dof.u = dof.u + (s if is_first else force)
    else:
        dof.u = dof.u + force
