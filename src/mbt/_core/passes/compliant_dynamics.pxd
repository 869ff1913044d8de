"""The linear system of an implicit step, in sweeps through the tree: dofs that resist, and constraints that give way.

    (M + diagonal + J' slopes J) y = f

What acts on single dofs is part of their pivots, as reflected inertia is; what acts on points, of the inertia of their
bodies. Constraints are eliminated group by group, as in constrained_dynamics, where Lambda + 1 / slopes takes the place
of Lambda. So the cost is O(n), plus O(m^2 n + m^3) within each group.

The responses of bodies to forces on them, from World to the tips, give J M^-1 J' of single rows:

    Omega_N = F' Omega_P F + y D^-1 y'

with y and F the forces of unit forces on N that remain at the dofs and at P.

K. Kreutz-Delgado, A. Jain, G. Rodriguez, "Recursive Formulation of Operational Space Control", IJRR 11 (1992).
tests/support/convex_steps.py solves the same system with matrices.
"""

from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, CompliantWork, FrameMotion, Parameters, Placed, PointOnMobod, carry_columns,
)
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, Motion, Pose, RigidInertia, add_in_parent, add_shifted, dot, in_child, numbers, rotated, sum,
)
from mbt._core.joints.mobod_joints cimport add_dof_acceleration, calc_rigid_momentum
from mbt._core.model.structs cimport ConstraintGroups, MobodJoint, Model, Switches
from mbt._core.passes.articulated_bodies cimport calc_motions_and_articulations, start_articulation
from mbt._core.passes.compliant_points cimport (
    add_impulses_of_points, add_slopes_of_points, calc_shares, count_points, place_points,
)
from mbt._core.passes.compliant_rows cimport (
    add_forces_of_group_at_rest, add_impulses_of_rows, calc_rates_of_rows, calc_slopes_of_rows, place_constraints,
    take_out_compliant_group,
)
from mbt._core.passes.constrained_dynamics cimport accelerate, set_places, take_out
from mbt._core.passes.constraint_responses cimport add_group_forces
from mbt._core.passes.constraint_rows cimport STRIDE, give_way
from mbt._core.passes.mass_matrix_inverse cimport project_motion


cdef inline Py_ssize_t count_compliant_work(const Model* model) noexcept nogil:
    """Scalars of working memory: O(n), and O(n m + m^2) within each group."""
    cdef Py_ssize_t nb = model.num_mobods, nv = model.num_velocities
    cdef Py_ssize_t bytes_of_records = (
        nb*(
            sizeof(Articulated[double]) + sizeof(RigidInertia[double]) + sizeof(Placed[double]) + sizeof(Pose[double])
            + sizeof(Motion[double]) + sizeof(Force[double])
        )
        + nv*sizeof(ArticulatedDof[double]) + 2*model.num_constraints*sizeof(FrameMotion[double])
        + count_points(model)*sizeof(PointOnMobod[double])
    )
    return (
        bytes_of_records//sizeof(double) + 45*nb + 9*nv + 2*model.angle_stride + (3*STRIDE + 11)*model.num_equations
        + 2*model.groups.Z_size + model.groups.L_size
    )


cdef inline void set_compliant_places(const Model* model, double* memory, CompliantWork[double]* x) noexcept nogil:
    cdef Py_ssize_t nb = model.num_mobods, nv = model.num_velocities
    x.mobods = <Articulated[double]*>memory
    x.dofs = <ArticulatedDof[double]*>(x.mobods + nb)
    x.composites = <RigidInertia[double]*>(x.dofs + nv)
    x.H_N = <double*>(x.composites + nb)
    x.responses = x.H_N + 6*nv
    x.still = x.responses + 36*nb
    x.resistance = x.still + nv
    x.sin_q = x.resistance + nv
    x.cos_q = x.sin_q + model.angle_stride
    x.P = x.cos_q + model.angle_stride
    x.u = x.P + 3*model.num_equations
    x.J = x.u + model.num_equations
    x.num_points = <int>count_points(model)
    x.points = <PointOnMobod[double]*>(x.J + model.groups.Z_size)
    x.X_WN = <Pose[double]*>(x.points + x.num_points)
    x.V = <Motion[double]*>(x.X_WN + nb)
    x.F = <Force[double]*>(x.V + nb)
    x.sizes = <double*>(x.F + nb)
    set_places[double](model, model.groups, x.sizes + 2*nb, &x.w)
    x.carries = <int*>(x.w.du + nv)
    x.has_projections = 0


cdef inline void place_tree(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,               # (nq,)            [rad, m]
    # Work:
    double* memory,                # (count_compliant_work,)
    # Out:
    CompliantWork[double]* x,
    double* inertia,               # (nv,)            [kg m^2, kg]  the diagonal of M; 1 for a locked dof
) noexcept nogil:
    """Poses, Jacobians of constraints, and the diagonal of the mass matrix."""
    cdef const MobodJoint* joint
    cdef Force[double] momentum
    cdef int i, k
    set_compliant_places(model, memory, x)
    set_zero[double](x.still, model.num_velocities)
    calc_motions_and_articulations[double](
        model, p.mobods, x.still, q, x.still, x.sin_q, x.cos_q, x.mobods, x.H_N
    )
    for i in range(1, model.num_mobods):
        x.composites[i] = p.mobods[i].I
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            calc_rigid_momentum[double](joint, k, x.H_N, &x.composites[i], &momentum)
            project_motion[double](joint, k, x.H_N, 1, 1, numbers(momentum), &inertia[k])
            inertia[k] += p.reflected_inertia[k]
            if switches.locked != NULL and switches.locked[k]:
                inertia[k] = 1.0
        if joint.parent != 0:
            add_shifted(rotated(x.mobods[i].X_PN.R, x.composites[i]), x.mobods[i].X_PN.p, &x.composites[joint.parent])
    if model.num_equations:
        place_constraints(model, switches, p, q, x)
    if x.num_points:
        place_points(model, p, x)
    for i in range(model.num_mobods):
        x.carries[i] = 0
    for i in range(model.groups.num_groups):
        x.carries[model.groups.root[i]] = 1
    for i in range(x.num_points):
        x.carries[x.points[i].mobod] = 1
    for i in range(model.num_mobods - 1, 0, -1):
        x.carries[model.joints[i].parent] |= x.carries[i]


cdef inline void solve_with_compliance(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    bint with_rows,                # and points; without them, those slopes are not read
    const double* slopes,          # (nv + num_equations + 4 num_points,) [kg m^2, kg]  NULL: those of the last call
    # Work:
    CompliantWork[double]* x,
    # Out:
    double* y,                     # (nv,)            [rad/s, m/s]  in: f [N m s, N s]
) noexcept nogil:
    """y = (M + J' slopes J)^-1 f, with J also for single dofs; at locked dofs, zero."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int group, i = 1
    if slopes != NULL:
        x.with_rows = with_rows
        take_out_all(model, switches, p, slopes, y, x)
    else:
        take_forces_again(model, y, x)
    set_zero[double](numbers(x.mobods[0].acc), 6)
    if x.with_rows and groups.num_groups:
        set_zero[double](x.u, model.num_equations)
        for group in range(groups.num_groups - 1, -1, -1):
            accelerate[double](model, i, groups.root[group] + 1, x.H_N, x.dofs, x.mobods, y)
            i = groups.root[group] + 1
            add_group_forces[double](
                model, groups, group, numbers(x.mobods[i - 1].acc), &x.w, x.dofs, NULL, x.u
            )
    accelerate[double](model, i, model.num_mobods, x.H_N, x.dofs, x.mobods, y)


cdef inline void take_out_all(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* slopes,          # (nv + num_equations + 4 num_points,) [kg m^2, kg]
    const double* f,               # (nv,)            [N m s, N s]
    # Out:
    CompliantWork[double]* x,      # dofs, and factors of groups
) noexcept nogil:
    """Tip to base: eliminate joints and, where their loops close, groups of constraints."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int nv = model.num_velocities
    cdef int i, group
    for i in range(nv):
        x.resistance[i] = p.reflected_inertia[i] + slopes[i]
    for i in range(1, model.num_mobods):
        start_articulation[double](&p.mobods[i], &x.mobods[i])
    i = model.num_mobods - 1
    if x.with_rows:
        add_slopes_of_points(slopes + nv + model.num_equations, x)
        set_zero[double](x.w.Z, groups.Z_size)
        for group in range(groups.num_groups):
            take_out[double](model, i, groups.root[group], x.resistance, switches.locked, x.H_N, f, x.mobods, x.dofs)
            i = groups.root[group]
            take_out_compliant_group(model, group, switches, p, slopes + nv, x)
    take_out[double](model, i, 0, x.resistance, switches.locked, x.H_N, f, x.mobods, x.dofs)


cdef inline void take_forces_again(
    # Topology:
    const Model* model,
    # In:
    const double* f,               # (nv,)            [N m s, N s]
    # Out:
    CompliantWork[double]* x,      # u of dofs, multipliers while roots are at rest
) noexcept nogil:
    """Tip to base with the factors of the last call: other forces, and what is left of them."""
    cdef const ConstraintGroups* groups = model.groups
    cdef const MobodJoint* joint
    cdef ArticulatedDof[double]* dof
    cdef double y
    cdef int group = 0 if x.with_rows else groups.num_groups
    cdef int i, k
    set_zero[double](numbers(x.F[0]), 6*<Py_ssize_t>model.num_mobods)
    for i in range(model.num_mobods - 1, 0, -1):
        while group < groups.num_groups and groups.root[group] == i:
            add_forces_of_group_at_rest(model, group, x, &x.F[i])
            group += 1
        joint = &model.joints[i]
        for k in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            dof = &x.dofs[k]
            project_motion[double](joint, k, x.H_N, 1, 1, numbers(x.F[i]), &y)
            dof.u = f[k] + y
            y = -(dof.u*dof.D_inverse)
            if k > joint.v_start:
                x.F[i] = sum(x.F[i], dof.U, y)
        # Of the first dof, u is over D, and U is in the parent's frame.
        x.dofs[joint.v_start].u = -y
        if joint.parent != 0:
            add_in_parent(x.mobods[i].X_PN, x.F[i], &x.F[joint.parent])
            x.F[joint.parent] = sum(x.F[joint.parent], x.dofs[joint.v_start].U, y)
    while group < groups.num_groups:
        add_forces_of_group_at_rest(model, group, x, &x.F[0])
        group += 1


cdef inline void calc_slopes_and_shares(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    double rigid,                  # compliance of equations relative to the mass that they move
    # Work:
    CompliantWork[double]* x,      # as after `solve_with_compliance` of the tree alone; P
    # Out:
    double* target,                # (num_equations,) [rad/s, m/s]  in: without projections
    double* slopes,                # (num_equations,) [kg m^2, kg]
    double* shares,                # (num_points,)    [1/kg]  sums of w along the two axes of each plane
) noexcept nogil:
    """Slopes of the rows, and what points need for theirs, from the responses of the tree alone."""
    calc_responses(model, x)
    if model.num_equations:
        calc_slopes_of_rows(model, switches, p, rigid, x, target, slopes)
    calc_shares(x, shares)


cdef inline void calc_responses(
    # Topology:
    const Model* model,
    # Work:
    CompliantWork[double]* x,      # dofs; responses of mobods that carry points or roots of groups
) noexcept nogil:
    """Omega: the motion of each mobod that carries something due to unit impulses on it."""
    cdef double[6*STRIDE] F
    cdef double[6*STRIDE] half
    cdef double[STRIDE] y
    cdef const MobodJoint* joint
    cdef const double* inboard
    cdef double* A
    cdef int i, l, j, k
    set_zero[double](x.responses, 36)
    for i in range(1, model.num_mobods):
        if not x.carries[i]:
            continue
        joint = &model.joints[i]
        A = x.responses + 36*i
        set_zero[double](A, 36)
        set_zero[double](F, 6*STRIDE)
        for j in range(6):
            F[STRIDE*j + j] = 1.0
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            project_motion[double](joint, l, x.H_N, STRIDE, STRIDE, F, y)
            for j in range(6):
                for k in range(6):
                    A[6*j + k] = A[6*j + k] + y[j]*y[k]*x.dofs[l].D_inverse
            if l > joint.v_start:  # U of the first dof is in the parent's frame
                give_way[double](&x.dofs[l], STRIDE, y, F)
        if joint.parent == 0:
            continue
        carry_columns(&x.mobods[i].X_PN, STRIDE, STRIDE, F)
        give_way[double](&x.dofs[joint.v_start], STRIDE, y, F)
        inboard = x.responses + 36*joint.parent
        for j in range(6):
            for k in range(STRIDE):
                half[STRIDE*j + k] = 0.0
                for l in range(6):
                    half[STRIDE*j + k] = half[STRIDE*j + k] + inboard[6*j + l]*F[STRIDE*l + k]
        for j in range(6):
            for k in range(6):
                for l in range(6):
                    A[6*j + k] = A[6*j + k] + F[STRIDE*l + j]*half[STRIDE*l + k]


cdef inline void calc_momenta_and_rates(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* v,               # (nv,)            [rad/s, m/s]
    # Work:
    CompliantWork[double]* x,      # V, F
    # Out:
    double* Mv,                    # (nv,)            [N m s, N s]  at a locked dof: v
    double* u,                     # (num_equations + 3 num_points,) [rad/s, m/s]
) noexcept nogil:
    """M v from World to the tips and back, and u = J v."""
    cdef const MobodJoint* joint
    cdef const PointOnMobod[double]* point
    cdef int i, k
    set_zero[double](numbers(x.V[0]), 6)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x.V[i] = in_child(x.mobods[i].X_PN, x.V[joint.parent])
        for k in range(joint.v_start, joint.v_start + joint.nv):
            add_dof_acceleration[double](joint, k, x.H_N, v[k], &x.V[i])
        x.F[i] = p.mobods[i].I*x.V[i]
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            project_motion[double](joint, k, x.H_N, 1, 1, numbers(x.F[i]), &Mv[k])
            Mv[k] += p.reflected_inertia[k]*v[k]
            if switches.locked != NULL and switches.locked[k]:
                Mv[k] = v[k]
        if joint.parent != 0:
            add_in_parent(x.mobods[i].X_PN, x.F[i], &x.F[joint.parent])
    if model.num_equations:
        calc_rates_of_rows(model, v, x, u)
    for k in range(x.num_points):
        point = &x.points[k]
        for i in range(3):
            u[model.num_equations + 3*k + i] = dot(point.axes[i], x.V[point.mobod])


cdef inline void add_impulses(
    # Topology:
    const Model* model,
    const Switches* switches,
    # In:
    const double* impulses,        # (num_equations + 3 num_points,) [N m s, N s]
    # Work:
    CompliantWork[double]* x,      # J
    # Out:
    double* gradient,              # (nv,)            [N m s, N s]  less J' impulses
    double* size,                  # (nv,)            [N m s, N s]  with the sizes of these terms
) noexcept nogil:
    """gradient -= J' impulses"""
    if model.num_equations:
        add_impulses_of_rows(model, impulses, x, gradient, size)
    if x.num_points:
        add_impulses_of_points(model, switches, impulses + model.num_equations, x, gradient, size)
