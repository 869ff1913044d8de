"""Rows of constraints in Z: what a unit multiplier leaves at each dof after those outboard have given way.

One sweep to World from either frame. See constrained_dynamics.
"""

from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, FrameMotion, Placed, Pose, add_to_columns, carry_columns,
)
from mbt._core.algebra.spatial cimport cross, dot3, rotate_inverse, set_zero
from mbt._core.forces.constraints cimport calc_axes_and_points, num_equations_of
from mbt._core.forces.force_elements cimport COUPLER, DISTANCE, WELD
from mbt._core.model.structs cimport Constraint, MobodJoint, Model
from mbt._core.passes.mass_matrix_inverse cimport project_motion
from mbt._core.scalars cimport T


cdef extern from *:
    """
    // Levers shorter than 1e-6 m count little: what they add is lost in the rounding of others.
    static constexpr double kSquaredLever = 1e-12;
    """
    const double SQUARED_LEVER "kSquaredLever"


cdef enum:
    MAX_EQUATIONS = 6
    STRIDE = 8    # of columns, a multiple of what fits into a register


cdef inline int common_mobod(const Model* model, int a, int b) noexcept nogil:
    """The last that carries both."""
    while a != b:
        if a > b:
            a = model.joints[a].parent
        else:
            b = model.joints[b].parent
    return a


cdef inline void sweep_from_ends(
    # Topology:
    const Model* model,
    const Constraint* x,
    # Parameters:
    const T* c,                    # (num_constraint_parameters_of,)  [SI]
    # In:
    const FrameMotion[T]* ends,    # (2,)
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* size,                       # (2,)           [1/kg]  see `sweep`
    T* between,                    # (3,)           [SI]
    T* Z,                          # (nv, num_equations) [N m, N]  from the column of the first equation on
) noexcept nogil:
    """Add the columns of Z of one constraint."""
    cdef T axes[9]
    cdef T u[3]
    cdef T p_A[3]
    cdef T p_B[3]
    cdef int meet = common_mobod(model, x.mobod_a, x.mobod_b)
    if x.type == COUPLER:
        # Between dofs, not between points.
        set_zero(axes, 9)
        set_zero(u, 3)
        set_zero(p_A, 3)
        set_zero(p_B, 3)
        sweep(model, x, x.mobod_a, x.dof_a, <T>1.0, axes, u, p_A, work, placed, H_N, dofs, meet, size, between, Z)
        sweep(model, x, x.mobod_b, x.dof_b, -c[2], axes, u, p_B, work, placed, H_N, dofs, meet, size, between, Z)
    else:
        calc_axes_and_points(x, c, &ends[0], &ends[1], axes, u, p_A, p_B)
        sweep(model, x, x.mobod_a, -1, <T>(-1.0), axes, u, p_A, work, placed, H_N, dofs, meet, size, between, Z)
        sweep(model, x, x.mobod_b, -1, <T>1.0, axes, u, p_B, work, placed, H_N, dofs, meet, size, between, Z)


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
    add_to_columns(dof.U, n, STRIDE, y, F)


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
        p_NP_W[i] = p_WP[i] - X_WN.p[i]
    rotate_inverse(X_WN.R, p_NP_W, p_NP)
    for j in range(3):
        for i in range(3):
            f[i] = unit*(X_WN.R[i]*axes[j] + X_WN.R[3 + i]*axes[3 + j] + X_WN.R[6 + i]*axes[6 + j])
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
