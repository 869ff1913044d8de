"""The forces of one group of constraints, and how dofs and bodies respond to them.

Notation and sources are those of `constrained_dynamics.pxd`.
"""

from mbt._core.algebra.derivative_columns cimport keep_independent, keep_much, leaves_much, solve_semidefinite
from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, ConstraintWork, FrameMotion, Parameters, add_to_columns, carry_columns,
    carry_motion_columns, project_columns,
)
from mbt._core.algebra.spatial cimport add_scaled, add_to, copy, dot3, dot6, set_zero
from mbt._core.algebra.vectors cimport dot, numbers
from mbt._core.forces.constraints cimport COUPLER, DISTANCE, WELD, calc_constraint_accelerations, num_equations_of
from mbt._core.forces.numbers cimport CouplerNumbers, DistanceNumbers
from mbt._core.model.structs cimport Constraint, ConstraintGroups, MobodJoint, Model, Switches
from mbt._core.passes.constraint_frames cimport calc_frame_accelerations
from mbt._core.passes.constraint_rows cimport MAX_EQUATIONS, STRIDE, add_constraint_forces, add_force_on_dof, is_off
from mbt._core.passes.mass_matrix_inverse cimport add_motion, project_motion
from mbt._core.scalars cimport T, select_lt


cdef extern from *:
    """
    // Squared rounding of the accelerations whose difference is J vdot + Jdot v.
    static constexpr double kSquaredRounding = 1e-27;
    """
    const double SQUARED_ROUNDING "kSquaredRounding"


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
    """right = wanted - (J vdot + Jdot v), in units of `scale`; size: squares of the terms of that difference."""
    cdef const Constraint* x
    cdef const T* c
    cdef const DistanceNumbers[T]* between
    cdef const FrameMotion[T]* A
    cdef const FrameMotion[T]* B
    cdef T[MAX_EQUATIONS] y
    cdef T gear_ratio, rotational, translational
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
        A = w.ends + 2*i
        B = A + 1
        calc_frame_accelerations(model, x, work, w.placed, w.ends + 2*i)
        if x.type == COUPLER:
            gear_ratio = (<const CouplerNumbers[T]*>c).gear_ratio
            translational = vdot[x.dof_a]*vdot[x.dof_a] + (gear_ratio*gear_ratio)*(vdot[x.dof_b]*vdot[x.dof_b])
        else:
            rotational = dot(A.alpha, A.alpha) + dot(B.alpha, B.alpha)
            translational = dot(A.a, A.a) + dot(B.a, B.a)
            if x.type == DISTANCE:
                # The points are on lever arms.
                between = <const DistanceNumbers[T]*>c
                translational = translational + dot(A.alpha, A.alpha)*dot(between.p_AP, between.p_AP) + (
                    dot(B.alpha, B.alpha)*dot(between.p_BQ, between.p_BQ)
                )
        calc_constraint_accelerations(x, c, vdot, A, B, y)
        for e in range(n):
            w.right[row + e] = (w.wanted[row + e] - y[e])*w.scale[row + e]
            w.size[row + e] = rotational if x.type == WELD and e < 3 else translational
            w.size[row + e] = w.size[row + e] + w.wanted[row + e]*w.wanted[row + e]


cdef inline bint leaves_much_in_all(
    const Model* model, const ConstraintGroups* groups, int times, ConstraintWork[T]* w
) noexcept nogil:
    """Whether the remainder, `right` without the part that no force can change, is more than rounding."""
    cdef T excess = <T>0.0
    cdef T size
    cdef int group, i, first, end, e
    copy(w.right, model.num_equations, w.rest)
    for group in range(groups.num_groups):
        first = groups.row_start[group]
        keep_independent(
            groups.row_start[group + 1] - first, w.L + groups.L_start[group], w.rest + first, w.step + first
        )
    # Levers couple rotation and translation of a weld: one may have rounding errors of the other, if that is large.
    for i in range(model.num_constraints):
        first = groups.place[i]
        end = first + num_equations_of(model.constraints[i].type)
        size = <T>0.0
        for e in range(first, end):
            size = size + w.size[e]*(w.scale[e]*w.scale[e])
        for e in range(first, end):
            w.rest[e] = w.rest[e]*w.rest[e] - size*SQUARED_ROUNDING
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
    """Add the multipliers that correct the remainder, and their forces: both sweeps again, with these forces only."""
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
    """step: the multipliers while the root is at rest. Their forces on it are added to the force on it."""
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
            add_scaled(w.K + STRIDE*e, w.step[e], 6, w.A + 6*root)


cdef inline void carry_force(
    const Model* model, int i, const T* H_N, const Articulated[T]* work, ArticulatedDof[T]* dofs, ConstraintWork[T]* w
) noexcept nogil:
    """Apply the force on mobod i to its dofs, and add the rest to the force on its parent."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef T* F = w.A + 6*i
    cdef T y
    cdef int l
    for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
        project_motion(joint, l, H_N, 1, 1, F, &y)
        add_force_on_dof(l == joint.v_start, y, &dofs[l], &w.du[l])
        y = -(y*dofs[l].D_inverse)
        if T is double:
            if l == joint.v_start:  # its U is in the parent's frame
                break
        add_to_columns(numbers(dofs[l].U), 1, 1, &y, F)
    if joint.parent != 0:
        carry_columns(&work[i].X_PN, 1, 1, F)
        if T is double:
            add_to_columns(numbers(dofs[joint.v_start].U), 1, 1, &y, F)
        add_to(F, 6, w.A + 6*joint.parent)


cdef inline void carry_response(
    const Model* model, int i, const T* H_N, const Articulated[T]* work, const ArticulatedDof[T]* dofs,
    ConstraintWork[T]* w
) noexcept nogil:
    """A of mobod i: the change of its acceleration, in place of forces that are no longer needed."""
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
