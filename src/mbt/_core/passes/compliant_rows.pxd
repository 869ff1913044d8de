"""Rows of constraints that give way, in the linear system of an implicit step.

The notation is that of `compliant_dynamics.pxd`. Directions that contribute too little to three rows along three axes
are left out: P projects onto the others, see little_directions.hpp.
"""

from libc.math cimport fabs

from mbt._core.algebra.derivative_columns cimport add_reactions, factor_semidefinite, solve_reactions
from mbt._core.algebra.records cimport ArticulatedDof, CompliantWork, ConstraintWork, Parameters
from mbt._core.algebra.spatial cimport copy, dot6, set_zero
from mbt._core.algebra.vectors cimport Force, force_at, numbers, sum
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.model.structs cimport Constraint, ConstraintGroups, Model, Switches
from mbt._core.passes.constraint_frames cimport place_mobods, set_ends
from mbt._core.passes.constraint_responses cimport solve_group
from mbt._core.passes.constraint_rows cimport MAX_EQUATIONS, MUCH, STRIDE, calc_Lambda, is_off, set_rows


cdef extern from "algebra/little_directions.hpp" namespace "MBT_NS" nogil:
    const double LEAST "MBT_NS::kLeast"
    const double NOTHING "MBT_NS::kNothing"
    bint find_little(int count, double most, double* S, double* P)
    void project(int count, const double* P, Py_ssize_t stride, double* x, double* rest)


cdef inline void place_constraints(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,               # (nq,)            [rad, m]
    # Out:
    CompliantWork[double]* x,      # J, P, ends
) noexcept nogil:
    """The frames of constraints, and their Jacobians; P: no direction is left out."""
    cdef const ConstraintGroups* groups = model.groups
    cdef double[MAX_EQUATIONS] wanted
    cdef int i, k, l, group, e
    cdef Py_ssize_t m
    place_mobods[double](model, x.still, x.mobods, x.H_N, x.w.placed)
    for i in range(model.num_constraints):
        if not is_off(switches, i):
            set_ends[double](
                model, &model.constraints[i], 0, p, q, x.still, x.mobods, x.w.placed, x.w.ends + 2*i, wanted
            )
    # A dof that does not give way leaves a row of J in place of one of Z.
    for k in range(model.num_velocities):
        set_zero[double](numbers(x.dofs[k].U), 6)
        x.dofs[k].D = x.dofs[k].D_inverse = 0.0
    set_zero[double](x.P, 3*<Py_ssize_t>model.num_equations)
    for i in range(model.num_constraints):
        for e in range(num_equations_of(model.constraints[i].type)):
            x.P[3*(model.constraints[i].row + e) + e % 3] = 1.0
    set_zero[double](x.J, groups.Z_size)
    for group in range(groups.num_groups):
        set_rows_of_group(model, group, switches, p, False, x.J, x)
        m = groups.row_start[group + 1] - groups.row_start[group]
        for k in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
            i = groups.mobods[k]
            for l in range(model.joints[i].nv):
                if switches.locked != NULL and switches.locked[model.joints[i].v_start + l]:
                    set_zero[double](x.J + groups.Z_start[i] + m*l, m)


cdef inline void set_rows_of_group(
    # Topology:
    const Model* model,
    int group,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    bint with_K,
    # Out:
    double* Z,                     # (dofs, rows)     [N m, N]  in: zeros
    CompliantWork[double]* x,      # scale, K
) noexcept nogil:
    """The rows of a group on dofs, without the directions that were left out, and on request on its root."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const Constraint* c
    cdef double* K
    cdef double[2] compliance
    cdef int a, i, e, n, row
    if with_K:
        set_zero[double](x.w.K + STRIDE*first, STRIDE*m)
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        i = groups.constraints[a]
        c = &model.constraints[i]
        row = groups.place[i]
        n = num_equations_of(c.type)
        if is_off(switches, i):
            set_zero[double](x.w.scale + row, n)
            continue
        K = x.w.K + STRIDE*row if with_K and root > 0 else NULL
        set_rows[double](
            model, c, root, m, p, x.mobods, x.w.placed, x.H_N, x.dofs, x.w.ends + 2*i, groups.Z_start,
            Z + (row - first), K, x.w.scale + row, compliance
        )
        if x.has_projections:
            for e in range(0, n, 3):
                project_rows(model, group, min(3, n - e), x.P + 3*(c.row + e), row + e, Z)
                if K != NULL:
                    project_reactions(min(3, n - e), x.P + 3*(c.row + e), x.w.K + STRIDE*(row + e))


cdef inline void project_rows(
    # Topology:
    const Model* model,
    int group,
    int count,                     # of rows along axes: 1 to 3
    # In:
    const double* P,               # (count, 3)       [1]
    int row,                       # the first, by group
    # Out:
    double* Z,                     # (dofs, rows)     [N m, N]
) noexcept nogil:
    """Replace rows by P times them."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef double[3] rest
    cdef int i, j, k
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            project(count, P, 1, Z + groups.Z_start[i] + m*k + (row - first), rest)


cdef inline void project_reactions(int count, const double* P, double* K) noexcept nogil:
    cdef double[3] rest
    cdef int j
    for j in range(6):
        project(count, P, STRIDE, K + j, rest)


cdef inline void take_out_compliant_group(
    # Topology:
    const Model* model,
    int group,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* slopes,          # (num_equations,) [kg m^2, kg]
    # Work:
    CompliantWork[double]* x,
) noexcept nogil:
    """Factor the equations of a group, and add their effect to I_A and Z_A of its root, unless that is World."""
    cdef const ConstraintGroups* groups = model.groups
    cdef ConstraintWork[double]* w = &x.w
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef double* L = w.L + groups.L_start[group]
    cdef const Constraint* c
    cdef Force[double] F
    cdef double s
    cdef int a, e, n, row
    set_rows_of_group(model, group, switches, p, True, w.Z, x)
    calc_Lambda[double](model, groups, group, x.dofs, w.Z, w.scale + first, L)
    for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
        c = &model.constraints[groups.constraints[a]]
        row = groups.place[groups.constraints[a]]
        n = num_equations_of(c.type)
        for e in range(n):
            # An equation that moves nothing has no multiplier.
            w.D[row + e] = MUCH  # the least pivot that counts
            if slopes[c.row + e] > 0.0:
                w.D[row + e] = 0.0
                s = w.scale[row + e]*w.scale[row + e]/slopes[c.row + e]
                L[(m + 1)*(row - first + e)] += s
    factor_semidefinite(m, L, w.D + first)
    if root > 0:
        solve_reactions(
            m, L, w.D + first, w.scale + first, w.K + STRIDE*first, w.Y + STRIDE*first, w.W + STRIDE*first
        )
        add_reactions(m, w.D + first, w.Y + STRIDE*first, &x.mobods[root].I)
    set_zero[double](numbers(F), 6)
    add_forces_of_group_at_rest(model, group, x, &F)
    if root > 0:
        x.mobods[root].Z = sum(x.mobods[root].Z, F, -1.0)


cdef inline void add_forces_of_group_at_rest(
    # Topology:
    const Model* model,
    int group,
    # Work:
    CompliantWork[double]* x,      # step
    # Out:
    Force[double]* F,              # [N m s, N s]
) noexcept nogil:
    """The multipliers while the root is at rest, and the forces on it that they add."""
    cdef const ConstraintGroups* groups = model.groups
    cdef ConstraintWork[double]* w = &x.w
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const double* Z
    cdef double s
    cdef int e, i, j, k
    set_zero[double](w.right + first, m)
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            Z = w.Z + groups.Z_start[i] + m*k
            s = x.dofs[model.joints[i].v_start + k].u
            if k > 0:  # that of the first dof is over D
                s = s*x.dofs[model.joints[i].v_start + k].D_inverse
            for e in range(m):
                w.right[first + e] -= Z[e]*s
    for e in range(first, first + m):
        w.right[e] = w.right[e]*w.scale[e]
    solve_group[double](groups, group, w)
    if groups.root[group] > 0:
        for e in range(first, first + m):
            F[0] = sum(F[0], force_at(w.K + STRIDE*e), w.step[e])


cdef inline void calc_slopes_of_rows(
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
) noexcept nogil:
    """Slopes of 1 / (rigid w), with w the largest entry of J M^-1 J' for three rows along three axes."""
    cdef const ConstraintGroups* groups = model.groups
    cdef const Constraint* c
    cdef double[9] S
    cdef double[9] P
    cdef double[3] rest
    cdef double most
    cdef int group, a, i, j, e, k, n, row, count
    set_zero[double](x.w.Z, groups.Z_size)
    for group in range(groups.num_groups):
        set_rows_of_group(model, group, switches, p, True, x.w.Z, x)
        for a in range(groups.constraint_start[group], groups.constraint_start[group + 1]):
            i = groups.constraints[a]
            c = &model.constraints[i]
            n = num_equations_of(c.type)
            for e in range(0, n, 3):
                count, row = min(3, n - e), groups.place[i] + e
                set_zero[double](slopes + c.row + e, count)
                if not largest_entry(model, group, count, row, x.J) > LEAST:
                    continue
                most = calc_response_of_rows(model, group, count, row, x, S)
                for k in range(count):
                    slopes[c.row + e + k] = 1.0/(rigid*most)
                if not find_little(count, most, S, P):
                    continue
                if calc_response_left_out(model, group, count, P, row, x) <= NOTHING*most:
                    continue
                x.has_projections = 1
                for j in range(count):
                    copy[double](P + 3*j, 3, x.P + 3*(c.row + e + j))
                project(count, P, 1, target + c.row + e, rest)
                project_rows(model, group, count, P, row, x.J)


cdef inline double largest_entry(
    # Topology:
    const Model* model,
    int group,
    int count,                     # of rows along axes: 1 to 3
    # In:
    int row,                       # the first, by group
    const double* J,               # (dofs, rows)     [1, m]
) noexcept nogil:
    cdef const ConstraintGroups* groups = model.groups
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef double most = 0.0
    cdef int i, j, k, e
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            for e in range(count):
                most = max(most, fabs(J[groups.Z_start[i] + m*k + (row - first) + e]))
    return most


cdef inline double calc_response_of_rows(
    # Topology:
    const Model* model,
    int group,
    int count,                     # of rows along axes: 1 to 3
    # In:
    int row,                       # the first, by group
    const CompliantWork[double]* x,  # Z, K, dofs, responses
    # Out:
    double* S,                     # (3, 3)           [1/(kg m^2), 1/kg]
) noexcept nogil:
    """S = J M^-1 J' = Z D^-1 Z' + K Omega K'; return the largest entry on the diagonal."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef const double* Z
    cdef double D_inverse
    cdef int i, j, k, e, f
    set_zero[double](S, 9)
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            Z = x.w.Z + groups.Z_start[i] + m*k + (row - first)
            D_inverse = x.dofs[model.joints[i].v_start + k].D_inverse
            for e in range(count):
                for f in range(count):
                    S[3*e + f] += Z[e]*Z[f]*D_inverse
    if root > 0:
        add_response_of_root(count, x.responses + 36*root, x.w.K + STRIDE*row, S)
    return max(S[0], max(S[4], S[8]))


cdef inline void add_response_of_root(int count, const double* response, const double* K, double* S) noexcept nogil:
    """S += K Omega K'"""
    cdef int e, f, j
    for e in range(count):
        for j in range(6):
            for f in range(count):
                S[3*e + f] += K[STRIDE*e + j]*dot6[double](response + 6*j, K + STRIDE*f)


cdef inline double calc_response_left_out(
    # Topology:
    const Model* model,
    int group,
    int count,                     # of rows along axes: 1 to 3
    # In:
    const double* P,               # (count, 3)       [1]
    int row,                       # the first, by group
    const CompliantWork[double]* x,  # Z, K, dofs, responses
) noexcept nogil:
    """The trace of J M^-1 J' with 1 - P times the rows, from these, as S has too few digits."""
    cdef const ConstraintGroups* groups = model.groups
    cdef int root = groups.root[group]
    cdef int first = groups.row_start[group]
    cdef Py_ssize_t m = groups.row_start[group + 1] - first
    cdef double[3] old
    cdef double[3] rest
    cdef double[3*STRIDE] of_root
    cdef double[9] S
    cdef double trace = 0.0
    cdef int i, j, k, e
    for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
        i = groups.mobods[j]
        for k in range(model.joints[i].nv):
            copy[double](x.w.Z + groups.Z_start[i] + m*k + (row - first), count, old)
            project(count, P, 1, old, rest)
            for e in range(count):
                trace += rest[e]*rest[e]*x.dofs[model.joints[i].v_start + k].D_inverse
    if root > 0:
        for j in range(6):
            for e in range(count):
                old[e] = x.w.K[STRIDE*(row + e) + j]
            project(count, P, 1, old, rest)
            for e in range(count):
                of_root[STRIDE*e + j] = rest[e]
        set_zero[double](S, 9)
        add_response_of_root(count, x.responses + 36*root, of_root, S)
        trace += S[0] + S[4] + S[8]
    return trace


cdef inline void calc_rates_of_rows(
    # Topology:
    const Model* model,
    # In:
    const double* v,               # (nv,)            [rad/s, m/s]
    # Work:
    CompliantWork[double]* x,      # J
    # Out:
    double* u,                     # (num_equations,) [rad/s, m/s]
) noexcept nogil:
    """u = J v"""
    cdef const ConstraintGroups* groups = model.groups
    cdef const double* J
    cdef double* by_group = x.u
    cdef int group, i, j, k, e, first, m
    set_zero[double](by_group, model.num_equations)
    for group in range(groups.num_groups):
        first = groups.row_start[group]
        m = groups.row_start[group + 1] - first
        for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
            i = groups.mobods[j]
            for k in range(model.joints[i].nv):
                J = x.J + groups.Z_start[i] + <Py_ssize_t>m*k
                for e in range(m):
                    by_group[first + e] += J[e]*v[model.joints[i].v_start + k]
    for i in range(model.num_constraints):
        copy[double](
            by_group + groups.place[i], num_equations_of(model.constraints[i].type), u + model.constraints[i].row
        )


cdef inline void add_impulses_of_rows(
    # Topology:
    const Model* model,
    # In:
    const double* impulses,        # (num_equations,) [N m s, N s]
    # Work:
    CompliantWork[double]* x,      # J
    # Out:
    double* gradient,              # (nv,)            [N m s, N s]  less J' impulses
    double* size,                  # (nv,)            [N m s, N s]  with the sizes of these terms
) noexcept nogil:
    """gradient -= J' impulses"""
    cdef const ConstraintGroups* groups = model.groups
    cdef const double* J
    cdef double* by_group = x.u
    cdef double term
    cdef int group, i, j, k, l, e, first, m
    for i in range(model.num_constraints):
        copy[double](
            impulses + model.constraints[i].row, num_equations_of(model.constraints[i].type),
            by_group + groups.place[i]
        )
    for group in range(groups.num_groups):
        first = groups.row_start[group]
        m = groups.row_start[group + 1] - first
        for j in range(groups.mobod_start[group], groups.mobod_start[group + 1]):
            i = groups.mobods[j]
            for k in range(model.joints[i].nv):
                J = x.J + groups.Z_start[i] + <Py_ssize_t>m*k
                l = model.joints[i].v_start + k
                for e in range(m):
                    term = J[e]*by_group[first + e]
                    gradient[l] -= term
                    size[l] += fabs(term)
