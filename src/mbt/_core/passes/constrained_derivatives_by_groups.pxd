"""Derivatives of constrained dynamics, solved group by group of constraints, in registers of columns.

The equations and the sources are in `constrained_dynamics_derivatives.pxd`.
"""

from mbt._core.algebra.derivative_columns cimport (
    ARTICULATED_ROW, accelerate_columns, add_multiple, load_columns, num_columns_at_once, solve_register, store_columns,
    take_forces,
)
from mbt._core.algebra.records cimport ArticulatedDof, ConstraintColumns, ConstraintWork, Moving
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.model.structs cimport Constraint, ConstraintGroups, MobodJoint, Model
from mbt._core.passes.constrained_dynamics_derivatives cimport place_force
from mbt._core.passes.constraint_rows cimport STRIDE
from mbt._core.scalars cimport T


cdef inline void solve_by_groups(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    # In:
    const Moving[T]* moving,       # (num_mobods,)
    const ArticulatedDof[T]* dofs,  # (nv,)
    const ConstraintWork[T]* w,    # Z, K, W, L, D, scale
    # Work:
    ConstraintColumns[T]* x,       # in: S, U
    # Out:
    T* out,                        # (3, nv + m, nv)  [SI]  in: df and dg
) noexcept nogil:
    cdef Py_ssize_t size = (<Py_ssize_t>model.num_velocities + model.num_equations)*model.num_velocities
    cdef int part
    place_reactions(groups, moving, w, x)
    for part in range(3):
        solve_columns_by_groups(model, groups, dofs, w, part == 2, x, out + part*size)


cdef inline void place_reactions(
    # Topology:
    const ConstraintGroups* groups,
    # In:
    const Moving[T]* moving,       # (num_mobods,)
    const ConstraintWork[T]* w,    # K, W
    # Out:
    ConstraintColumns[T]* x,       # K, W
) noexcept nogil:
    cdef int e, group, root
    for group in range(groups.num_groups):
        root = groups.root[group]
        if root > 0:
            for e in range(groups.row_start[group], groups.row_start[group + 1]):
                place_force(&moving[root], w.K + STRIDE*e, x.K + 6*e)
                place_force(&moving[root], w.W + STRIDE*e, x.W + 6*e)


cdef inline void solve_columns_by_groups(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const ConstraintWork[T]* w,    # Z, L, D, scale
    bint of_unit_forces,           # on dofs, in place of df and dg
    # Work:
    ConstraintColumns[T]* x,       # in: S, U, K, W
    # Out:
    T* columns,                    # (nv + m, nv)  [SI]  dvdot and dlambda; in: df and dg
) noexcept nogil:
    cdef int n = model.num_velocities
    cdef int width = num_columns_at_once(x.A)
    cdef int first = 0
    cdef int i, k, e, row
    while first < n:
        if of_unit_forces:
            set_zero(x.y, <Py_ssize_t>n*width)
            set_zero(x.right, <Py_ssize_t>model.num_equations*width)
            for k in range(first, min(first + width, n)):
                x.y[width*k + k - first] = <T>1.0
        else:
            for k in range(n):
                load_columns(columns + <Py_ssize_t>n*k + first, n - first, -1.0, x.y + width*k)
            for i in range(model.num_constraints):
                for e in range(num_equations_of(model.constraints[i].type)):
                    row = n + model.constraints[i].row + e
                    load_columns(
                        columns + <Py_ssize_t>n*row + first, n - first, -1.0, x.right + width*(groups.place[i] + e)
                    )
        solve_one_register(model, groups, dofs, w, width, x)
        for k in range(n):
            store_columns(x.y + width*k, n - first, columns + <Py_ssize_t>n*k + first)
        for i in range(model.num_constraints):
            for e in range(num_equations_of(model.constraints[i].type)):
                row = n + model.constraints[i].row + e
                store_columns(
                    x.l + width*(groups.place[i] + e), n - first, columns + <Py_ssize_t>n*row + first
                )
        first += width


cdef inline void solve_one_register(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const ConstraintWork[T]* w,    # Z, L, D, scale
    int width,
    # In, destroyed:
    ConstraintColumns[T]* x,       # y, right
) noexcept nogil:
    """As in constrained_dynamics: inwards with the root of each group at rest, then outwards with it moving."""
    cdef const MobodJoint* joint
    cdef int group = 0
    cdef int i, k
    set_zero(x.A, 6*<Py_ssize_t>width*model.num_mobods)
    for i in range(model.num_mobods - 1, -1, -1):
        while group < groups.num_groups and groups.root[group] == i:
            take_group(model, groups, group, w, width, x)
            group += 1
        joint = &model.joints[i]
        if i > 0:
            for k in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
                take_forces(x.S + 6*k, x.U + ARTICULATED_ROW*k, dofs[k].D_inverse, x.A + 6*width*i, x.y + width*k)
            if joint.parent > 0:
                add_multiple(6, <T>1.0, x.A + 6*width*i, x.A + 6*width*joint.parent)
    set_zero(x.A, 6*width)
    for i in range(model.num_mobods):
        joint = &model.joints[i]
        if i > 0:
            copy(x.A + 6*width*joint.parent, 6*width, x.A + 6*width*i)
            for k in range(joint.v_start, joint.v_start + joint.nv):
                accelerate_columns(
                    x.S + 6*k, x.U + ARTICULATED_ROW*k, dofs[k].D_inverse, x.A + 6*width*i, x.y + width*k
                )
        while group > 0 and groups.root[group - 1] == i:
            group -= 1
            give_group(model, groups, group, dofs, w, width, x)


cdef inline void take_group(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    # In:
    const ConstraintWork[T]* w,    # Z, L, D, scale
    int width,
    # In, destroyed:
    ConstraintColumns[T]* x,       # right
) noexcept nogil:
    """Multipliers while the root is at rest, and their forces on it."""
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef int m = groups.row_start[group + 1] - first
    cdef const Constraint* c
    cdef const T* Z
    cdef int a, e, i, j, k, row
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            Z = w.Z + groups.Z_start[i] + <Py_ssize_t>m*k
            for a in range(groups.through_start[i], groups.through_start[i + 1]):
                c = &model.constraints[groups.through[a]]
                row = groups.place[groups.through[a]]
                for e in range(row, row + num_equations_of(c.type)):
                    add_multiple(1, -Z[e - first], x.y + width*(model.joints[i].v_start + k), x.right + width*e)
    solve_register(
        m, w.L + groups.L_start[group], w.D + first, w.scale + first, width, x.right + width*first,
        x.l + width*first
    )
    if root > 0:
        for e in range(first, first + m):
            for j in range(6):
                add_multiple(1, -x.K[6*e + j], x.l + width*e, x.A + width*(6*root + j))


cdef inline void give_group(
    # Topology:
    const Model* model,
    const ConstraintGroups* groups,
    int group,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const ConstraintWork[T]* w,    # Z
    int width,
    # Out:
    ConstraintColumns[T]* x,       # l; y
) noexcept nogil:
    """Multipliers once the root moves, and their effect on dofs."""
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef int m = groups.row_start[group + 1] - first
    cdef const Constraint* c
    cdef const T* Z
    cdef int a, e, i, j, k, l, row
    if root > 0:
        for e in range(first, first + m):
            for j in range(6):
                add_multiple(1, -x.W[6*e + j], x.A + width*(6*root + j), x.l + width*e)
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            Z = w.Z + groups.Z_start[i] + <Py_ssize_t>m*k
            l = model.joints[i].v_start + k
            for a in range(groups.through_start[i], groups.through_start[i + 1]):
                c = &model.constraints[groups.through[a]]
                row = groups.place[groups.through[a]]
                for e in range(row, row + num_equations_of(c.type)):
                    add_multiple(1, Z[e - first]*dofs[l].D_inverse, x.l + width*e, x.y + width*l)
