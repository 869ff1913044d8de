"""How the velocity behind an implicit step changes with the state before it, and with the forces.

By the implicit function theorem, dv1 = -H^-1 dg: at the minimum the gradient g(v1; q, v, tau) of the convex function is
zero. `implicit_changes.hpp` says how its parts change. In numbers with derivatives, and for every kind of term:
mbt.motion.implicit_derivatives.
"""

from libc.math cimport NAN, fabs, isfinite
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS

from mbt._core.algebra.rotations cimport multiply_by_inverse_left_jacobian
from mbt._core.forces.constraints cimport WELD, num_equations_of
from mbt._core.forces.force_elements cimport DOOR_HINGE, JOINT_FRICTION, POINT_CONTACT
from mbt._core.joints.mobilizers cimport PLAIN, orientation_of
from mbt._core.engines.leading_axes cimport is_singular
from mbt._core.model.structs cimport Constraint, ForceElement, MobodJoint, Model, Switches
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.derivatives cimport StepRates
from mbt._core.quantities.names cimport POINT_POSITIONS
from mbt._core.solvers.implicit_elements cimport count_element_rows
from mbt._core.solvers.implicit_job cimport DONE, SINGULAR
from mbt._core.solvers.implicit_parts cimport count_doubles
from mbt._core.solvers.implicit_rows cimport (
    CLOSING, PULL, RETURN, Principal, Problem, StepInput, Terms, add_drives, call, calc_touch, dot, friction_impulse,
    limit_impulse, row_impulse, set_call, solve_inner, solve_outer,
)
from mbt._core.solvers.implicit_step cimport StepResult, solve_free, take_step

cdef extern from "solvers/convex_step.hpp" namespace "mbt_convex" nogil:
    double pull_impulse(const Problem& x, int i, double v)
    bint is_pulled(const Problem& x, int i, double v)
    double pull_slope(const Problem& x, int i)
    bint linearize(Problem& x, double* v)

cdef extern from "solvers/implicit_changes.hpp" namespace "mbt_convex" nogil:
    cdef cppclass Vec:
        double x, y, z
    cdef cppclass Motion:
        double* S
        double* P
        double* V
        double* p_WO
    cdef cppclass Path:
        const int* dofs
        int count
    cdef cppclass Changes:
        Py_ssize_t n
        double* by_q
        double* by_before
        double* by_v
    cdef cppclass Place:
        int mobod
        const double* R_WA
        Vec p_OC
        Vec p_BoC
    cdef cppclass Rubbing:
        double still, moving, slow
    void differentiate_momentum(
        const Principal& x, const double* gravity, const double* X, const double* X0, const double* V0, double h,
        int mobod, const Path& path, const Motion& here, const Motion& before, Changes& y)
    void differentiate_touch(
        const Problem& x, int k, const Place& at, const Rubbing& rubbing, const Path& path, const Motion& v0,
        const Motion& v1, Changes& y)
    void add_row_changes(
        const Place& at, int i, const Path& path, const Motion& motion, double factor, double* change)


# What the gradient at one step changes by, and what that is computed of.
cdef struct Work:
    const Terms* terms
    const StepInput* at
    const Problem* y
    Call[double]* c
    double* v                  # (nv,) the minimum
    Changes changes
    double* by_tau             # (nv, nv)
    double* F                  # (num_bodies, 6) all impulses on bodies, about their origins in World
    Switches switches          # of constraints that let errors be
    double* multipliers        # (num_equations,)
    double* none               # (num_equations,) zeros
    double* dM                 # (nv, nv) the change of M x - J' F, x and F given, with q
    double* dJ                 # (num_equations, nv) that of J x, of constraints
    double* x                  # (nv,)
    double* share              # (nv,)
    double* points             # (6, num_points)
    int* dofs                  # (nv,), and room for a path of bodies
    double* memory             # of derivatives
    Motion before              # one step before, with v; now, with v; now, with that behind the step; and any other
    Motion with_v
    Motion with_v1
    Motion with_x


cdef inline Py_ssize_t count_change_work(const Terms* x) noexcept nogil:
    """Doubles that `differentiate_step` needs behind those of a step."""
    cdef const Model* m = x.model
    cdef Py_ssize_t n = m.num_velocities
    return (
        6*n*n + 5*n + 7*m.num_bodies + 6*x.num_points + 4*(12*n + 9*<Py_ssize_t>m.num_mobods)
        + derivatives.inverse_work_size(m) + 2*m.num_equations*(n + 1)
    )


cdef inline void set_work(Work* w, double* memory) noexcept nogil:
    cdef const Model* m = w.terms.model
    cdef Py_ssize_t n = m.num_velocities
    w.changes.n = n
    w.changes.by_q = memory
    w.changes.by_before = w.changes.by_q + n*n
    w.changes.by_v = w.changes.by_before + n*n
    w.by_tau = w.changes.by_v + n*n
    w.dM = w.by_tau + n*n
    w.dJ = w.dM + n*n
    w.multipliers = w.dJ + m.num_equations*n
    w.none = w.multipliers + m.num_equations
    w.x = w.none + m.num_equations
    w.v = w.x + n
    w.share = w.v + n
    w.dofs = <int*>(w.share + n)
    w.F = w.share + 2*n + m.num_bodies
    w.points = w.F + 6*m.num_bodies
    memory = place_motion(m, &w.before, w.points + 6*w.terms.num_points)
    memory = place_motion(m, &w.with_v, memory)
    memory = place_motion(m, &w.with_v1, memory)
    w.memory = place_motion(m, &w.with_x, memory)
    memset(w.changes.by_q, 0, 4*n*n*sizeof(double))
    memset(w.none, 0, m.num_equations*sizeof(double))
    w.switches = w.terms.switches
    w.switches.stabilized = 0


cdef inline double* place_motion(const Model* m, Motion* x, double* memory) noexcept nogil:
    x.S = memory
    x.P = x.S + 6*m.num_velocities
    x.V = x.P + 6*m.num_velocities
    x.p_WO = x.V + 6*m.num_mobods
    return x.p_WO + 3*m.num_mobods


cdef inline bint is_differentiable(const Terms* x) noexcept nogil:
    """Whether nothing acts but on bodies, on single dofs, in constraints, and at points on planes of World."""
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef int i
    if x.num_angles or count_element_rows(m) or x.shapes != NULL or x.has_locks:
        return False
    if x.switches.weightless != NULL or x.body_forces != NULL:
        return False
    for i in range(m.num_velocities):
        if isfinite(x.slowest[i]) or isfinite(x.fastest[i]):
            return False
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type == DOOR_HINGE or (e.type == POINT_CONTACT and m.mobod[m.frame_node[e.a]]):
            return False
    return True


cdef inline int differentiate_step(
    # Parameters:
    const Terms* x,
    # In:
    const StepInput* at,
    # Work:
    double* work,            # as `take_step`
    double* memory,          # (count_change_work,)
    # Out:
    StepResult* out,
    double* by_q,            # (nv, nv) of (v1 - v)/h
    double* by_v,            # (nv, nv)
    double* by_tau,          # (nv, nv)
) noexcept nogil:
    cdef Call[double] c
    cdef Problem y
    cdef Work w
    cdef int n = x.model.num_velocities
    cdef int i, j
    cdef int state = take_step(x, at, work, &y, False, out)
    if state != DONE:
        return state
    set_call(x, work, &c)
    c.q, c.v = at.q, at.v
    w.terms, w.at, w.y, w.c = x, at, &y, &c
    set_work(&w, memory)
    memcpy(w.v, out.v, n*sizeof(double))
    if not linearize(y, w.v):
        return state
    change_dofs(&w)
    change_momenta(&w)
    change_touches(&w)
    for i in range(x.model.num_equations):
        w.multipliers[i] = row_impulse(y, i, y.u[i])
    # What J' F changes by while F stays in World.
    change_forces(&w, w.v, w.F, w.multipliers)
    for i in range(n):
        for j in range(n):
            w.changes.by_q[<Py_ssize_t>n*j + i] += w.dM[<Py_ssize_t>n*i + j]
    change_constraints(&w)
    solve_changes(&y, w.changes.by_q, 0.0, by_q)
    solve_changes(&y, w.changes.by_v, 1.0, by_v)
    solve_changes(&y, w.by_tau, 0.0, by_tau)
    return state


cdef inline void solve_changes(const Problem* y, double* D, double less, double* by) noexcept nogil:
    """Of v1, less so much of what it changes with, per time: by rows of D, which are lost."""
    cdef Py_ssize_t n = y.n
    cdef Py_ssize_t i, j
    for j in range(n):
        solve_outer(<int>n, y.H, y.columns, D + n*j)
        solve_inner(<int>n, y.H, y.columns, D + n*j)
        for i in range(n):
            by[n*i + j] = -D[n*j + i]/y.h
        by[(n + 1)*j] -= less/y.h


cdef inline void change_forces(Work* w, const double* x, const double* F, const double* multipliers) noexcept nogil:
    """`dM`, of M x - J' F with the forces of constraints, and `dJ`."""
    derivatives.forces_at_rest_derivatives(
        w.terms.model, w.terms.own, &w.switches, w.at.q, x, F, multipliers, w.memory, w.dM, w.dJ
    )


cdef inline void change_motion(Work* w, const double* q, const double* v, Motion* out) noexcept nogil:
    derivatives.motion_changes(w.terms.model, w.terms.own, q, v, w.memory, out.S, out.P, out.V, out.p_WO)


cdef inline Path find_path(const Work* w, int mobod) noexcept nogil:
    """The dofs that move a mobod."""
    cdef const MobodJoint* joint
    cdef Path path
    cdef int k
    path.dofs, path.count = w.dofs, 0
    while mobod:
        joint = &w.terms.model.joints[mobod]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            w.dofs[path.count] = k
            path.count += 1
        mobod = joint.parent
    return path


cdef inline void change_dofs(Work* w) noexcept nogil:
    """What acts on single dofs: limits, dry friction, springs, servos, inputs."""
    cdef const Terms* x = w.terms
    cdef const Problem* y = w.y
    cdef const ForceElement* e
    cdef const double* a
    cdef double h = y.h
    cdef double v, below, above, inertia, impulse, ratio
    cdef Py_ssize_t d, n = y.n
    cdef int i, j, k
    cdef double* by_q = w.changes.by_q
    cdef double* by_v = w.changes.by_v
    add_drives(y[0], w.v, y.total, NULL)
    for i in range(<int>n):
        d = (n + 1)*i
        v, inertia = w.v[i], y.M[d]
        by_q[d] += h*x.stiffness[i]
        by_v[d] -= x.own.reflected_inertia[i]
        if y.effort_lower[i] < y.total[i] < y.effort_upper[i]:
            w.by_tau[d] = -h
        # Limits are so many velocities away, and come nearer.
        below, above = x.lower[i] - w.at.q[x.position_of[i]], w.at.q[x.position_of[i]] - x.upper[i]
        if (v > y.upper[i] and above < 0.0) or (v < y.lower[i] and below < 0.0):
            by_q[d] += y.limit_slope[i]/h
        impulse = pull_impulse(y[0], i, v)
        if is_pulled(y[0], i, v):
            by_q[d] += pull_slope(y[0], i)/(h + RETURN)
        elif impulse != 0.0:
            by_q[d] += h*inertia/(PULL*PULL)
        # In proportion to inertia.
        impulse = limit_impulse(y[0], i, v)
        if fabs(y.friction_slope[i]*v) < y.friction[i]:
            impulse += friction_impulse(y[0], i, v)
        if impulse != 0.0 and inertia > 0.0:
            memset(w.x, 0, n*sizeof(double))
            w.x[i] = 1.0
            change_forces(w, w.x, NULL, w.none)
            for j in range(<int>n):
                by_q[n*j + i] += impulse/inertia*w.dM[n*i + j]
    for i in range(x.num_servos):
        k = x.servo_dofs[i]
        if y.effort_lower[k] < y.total[k] < y.effort_upper[k] and (
            fabs(y.effort[i] - y.effort_slope[i]*w.v[k]) < y.effort_limit[i]
        ):
            by_q[(n + 1)*k] += h*x.kp[i]
    for i in range(x.model.num_force_elements):
        e = &x.model.force_elements[i]
        if e.type == JOINT_FRICTION and fabs(y.friction_slope[e.b]*w.v[e.b]) >= y.friction[e.b] > 0.0:
            a = x.elements + e.start
            ratio = w.at.v[e.b]/a[2]
            impulse = -2.0*h*(a[1] - a[0])*ratio/(a[2]*(1.0 + ratio*ratio)*(1.0 + ratio*ratio))
            by_v[(n + 1)*e.b] += impulse if w.v[e.b] > 0.0 else -impulse


cdef inline void change_momenta(Work* w) noexcept nogil:
    """What bodies carry, and gravity. The positions one step before depend on q and v."""
    cdef const Terms* x = w.terms
    cdef const Model* m = x.model
    cdef Py_ssize_t n = m.num_velocities
    cdef const double* F = w.y.effort_slope + x.num_servos  # as `set_momenta` leaves it
    cdef const double* X0_WB = F + 6*m.num_bodies
    cdef const double* V0_WB = X0_WB + 16*m.num_bodies
    cdef const double* before = V0_WB + 6*m.num_bodies
    cdef double h = w.at.h
    cdef double[3] u
    cdef double[9] R
    cdef double[9] J
    cdef const double* K
    cdef Path path
    cdef Py_ssize_t i
    cdef int b, j, k
    memcpy(w.F, F, 6*m.num_bodies*sizeof(double))
    change_motion(w, before, w.at.v, &w.before)
    change_motion(w, w.at.q, w.at.v, &w.with_v)
    for b in range(1, m.num_bodies):
        if m.mobod[b]:
            path = find_path(w, m.mobod[b])
            differentiate_momentum(
                x.bodies[b], x.own.gravity, w.c.k.X_WB + 16*b, X0_WB + 16*b, V0_WB + 6*b, h, m.mobod[b], path,
                w.with_v, w.before, w.changes
            )
    # dq - h dv, but of rotations exp([u]x) dq - h J(u) dv with u = -h v.
    for b in range(1, m.num_bodies):
        for k in range(m.v_start[b], m.v_start[b + 1]):
            K = w.changes.by_before + n*k
            if orientation_of(m.type[b]) == PLAIN or k >= m.v_start[b] + 3:
                for i in range(n):
                    w.changes.by_q[n*k + i] += K[i]
                    w.changes.by_v[n*k + i] -= h*K[i]
                continue
            for j in range(3):
                u[j] = -h*w.at.v[m.v_start[b] + j]
            derivatives.turn_by(u, R, J)
            for j in range(3):
                for i in range(n):
                    w.changes.by_q[n*(m.v_start[b] + j) + i] += R[3*(k - m.v_start[b]) + j]*K[i]
                    w.changes.by_v[n*(m.v_start[b] + j) + i] -= h*J[3*(k - m.v_start[b]) + j]*K[i]


cdef inline void change_constraints(Work* w) noexcept nogil:
    """Of the impulses of constraints, after `change_forces` of the step; see `set_constraints`."""
    cdef const Model* m = w.terms.model
    cdef const Problem* y = w.y
    cdef const Constraint* x
    cdef Py_ssize_t n = y.n
    cdef double[3] error
    cdef double[6] rate
    cdef double[3] turned
    cdef Py_ssize_t i, j, row
    cdef int k, l, count
    for k in range(m.num_constraints):
        x = &m.constraints[k]
        count = num_equations_of(x.type)
        for j in range(n):
            # An error changes by J, but the rotation vector that a weld has first.
            for l in range(count):
                rate[l] = y.J[n*(x.row + l) + j]
            if x.type == WELD:
                for l in range(3):
                    error[l] = -y.target[x.row + l]*(y.h + CLOSING)
                multiply_by_inverse_left_jacobian(<const double*>error, <const double*>rate, turned)
                memcpy(rate, turned, 3*sizeof(double))
            for l in range(count):
                row = x.row + l
                rate[l] = -y.row_slope[row]*(rate[l]/(y.h + CLOSING) + w.dJ[n*row + j])
                for i in range(n):
                    w.changes.by_q[n*j + i] -= y.J[n*row + i]*rate[l]
    for k in range(m.num_constraints):
        x = &m.constraints[k]
        count = num_equations_of(x.type)
        for l in range(0, count, 3):
            change_stiffness(w, x.row + l, min(l + 3, count) - l)


cdef inline void change_stiffness(Work* w, int first, int count) noexcept nogil:
    """Of equations with one compliance, in proportion to the largest J M^-1 J'."""
    cdef const Problem* y = w.y
    cdef Py_ssize_t n = y.n
    cdef double share = 0.0
    cdef double* change = w.share
    cdef double one
    cdef Py_ssize_t i, j
    cdef int k, most = first
    for k in range(first, first + count):
        memcpy(w.x, y.J + n*k, n*sizeof(double))
        solve_free(y, w.x)
        one = dot(<int>n, w.x, y.J + n*k)
        if one > share:
            share, most = one, k
    if not share > 0.0:
        return
    memcpy(w.x, y.J + n*most, n*sizeof(double))
    solve_free(y, w.x)
    change_forces(w, w.x, NULL, w.none)
    for j in range(n):
        change[j] = 2.0*w.dJ[n*most + j]
        for i in range(n):
            change[j] -= w.x[i]*w.dM[n*i + j]
    for k in range(first, first + count):
        for j in range(n):
            for i in range(n):
                w.changes.by_q[n*j + i] += y.J[n*k + i]*w.multipliers[k]*change[j]/share


cdef inline void change_touches(Work* w) noexcept nogil:
    """Points in contact."""
    cdef const Terms* x = w.terms
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef const double* a
    cdef const double* X_WB
    cdef double[16] X_WA
    cdef double[9] R_WA
    cdef double* p_WC
    cdef double[3] impulse
    cdef double[3] f
    cdef double[3] r
    cdef double* F
    cdef int[5] integers
    cdef Place place
    cdef Rubbing rubbing
    cdef Path path
    cdef int i, j, k, body, count, first = 0
    change_motion(w, w.at.q, w.v, &w.with_v1)
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type != POINT_CONTACT:
            continue
        a, count, body = x.elements + e.start, e.num_points, m.frame_node[e.b]
        for j in range(3):
            for k in range(count):
                w.points[count*j + k] = a[NUM_CONTACT_CONSTANTS + 3*k + j]
        integers = [e.b, 0, count, 0, 0]
        p_WC = w.points + 3*count
        call(POINT_POSITIONS, integers, w.c, w.points, p_WC)
        kernels.frame_pose(m, x.own, e.a, w.at.q, w.c.memory, w.dofs, X_WA)
        for j in range(9):
            R_WA[j] = X_WA[4*(j//3) + j % 3]
        rubbing.still, rubbing.moving, rubbing.slow = a[2], a[3], a[4]
        place.mobod, place.R_WA = m.mobod[body], R_WA
        path = find_path(w, place.mobod)
        X_WB = w.c.k.X_WB + 16*body
        F = w.F + 6*body
        for k in range(count):
            for j in range(3):
                r[j] = p_WC[count*j + k] - X_WB[4*j + 3]
            place.p_BoC.x, place.p_BoC.y, place.p_BoC.z = r[0], r[1], r[2]
            place.p_OC.x = p_WC[k] - w.with_v1.p_WO[3*place.mobod]
            place.p_OC.y = p_WC[count + k] - w.with_v1.p_WO[3*place.mobod + 1]
            place.p_OC.z = p_WC[2*count + k] - w.with_v1.p_WO[3*place.mobod + 2]
            calc_touch(w.y[0], first, w.y.u + w.y.num_rows + 3*first, impulse)
            if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                differentiate_touch(w.y[0], first, place, rubbing, path, w.with_v, w.with_v1, w.changes)
                change_compliance(w, first, &place, &path)
                for j in range(3):
                    f[j] = R_WA[3*j]*impulse[0] + R_WA[3*j + 1]*impulse[1] + R_WA[3*j + 2]*impulse[2]
                    F[3 + j] += f[j]
                F[0] += r[1]*f[2] - r[2]*f[1]
                F[1] += r[2]*f[0] - r[0]*f[2]
                F[2] += r[0]*f[1] - r[1]*f[0]
            first += 1


cdef inline void change_compliance(Work* w, int point, const Place* place, const Path* path) noexcept nogil:
    """Where a point sticks: its friction is that of a damper, in inverse proportion to J M^-1 J'."""
    cdef const Problem* y = w.y
    cdef Py_ssize_t n = y.n
    cdef const double* rows = y.points + 3*n*point
    cdef const double* u = y.u + y.num_rows + 3*point
    cdef double slope = y.point_slope[point]
    cdef double share = 0.0, force
    cdef Py_ssize_t i, j
    cdef int k
    if slope*slope*(u[0]*u[0] + u[1]*u[1]) >= y.point_friction[point]*y.point_friction[point]:
        return
    memset(w.share, 0, n*sizeof(double))
    for k in range(2):
        # d(J x) - x' dM x, with x = M^-1 J' and with J x once more.
        memcpy(w.x, rows + n*k, n*sizeof(double))
        solve_free(y, w.x)
        share += dot(<int>n, w.x, rows + n*k)
        change_motion(w, w.at.q, w.x, &w.with_x)
        add_row_changes(place[0], k, path[0], w.with_x, 2.0, w.share)
        change_forces(w, w.x, NULL, w.none)
        for i in range(n):
            for j in range(n):
                w.share[j] -= w.x[i]*w.dM[n*i + j]
    for j in range(n):
        for i in range(n):
            force = slope*(u[0]*rows[i] + u[1]*rows[n + i])
            w.changes.by_q[n*j + i] -= force*w.share[j]/share


# Steps of many samples ----------------------------------------------------------------------------------------------

cdef struct ChangeJob:
    # What threads share.
    const Terms* terms
    double h
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts
    const double* q
    const double* v
    const double* tau
    const int* turning         # the first of each three velocities that are an angular velocity
    int num_turning
    double* A                  # (count, 2 nv, 2 nv)
    double* B                  # (count, 2 nv, nv)
    char* singular             # 1 where there is no step


cdef inline int differentiate_part(const void* shared, int part) noexcept nogil:
    """Every `num_parts`-th sample from number `part` on."""
    cdef const ChangeJob* job = <const ChangeJob*>shared
    cdef const Model* m = job.terms.model
    cdef Py_ssize_t nq = m.num_positions, n = m.num_velocities, k
    cdef Py_ssize_t num_work = count_doubles(job.terms)
    cdef double* work = <double*>malloc(
        (num_work + count_change_work(job.terms) + nq + 2*n + 3*n*n)*sizeof(double)
    )
    cdef double* by = work + num_work + count_change_work(job.terms)
    cdef double* vdot = by + 3*n*n
    cdef double* A
    cdef double* B
    cdef Py_ssize_t i = job.begin + part
    cdef StepInput at
    cdef StepResult out
    cdef StepRates rates
    cdef int state
    if work == NULL:
        return 1
    out.v = vdot + n
    out.q = out.v + n
    rates.vdot, rates.by_q, rates.by_v, rates.by_tau = vdot, by, by + n*n, by + 2*n*n
    at.bias = NULL
    at.h = job.h
    while i < job.end:
        at.q, at.v, at.tau = job.q + nq*i, job.v + n*i, job.tau + n*i
        A, B = job.A + 4*n*n*i, job.B + 2*n*n*i
        state = SINGULAR
        if not is_singular(m, at.q):
            state = differentiate_step(
                job.terms, &at, work, work + num_work, &out, by, by + n*n, by + 2*n*n
            )
        if state == DONE:
            for k in range(n):
                vdot[k] = (out.v[k] - at.v[k])/job.h
            derivatives.differentiate_euler(n, job.turning, job.num_turning, job.h, at.v, &rates, A, B)
        else:
            job.singular[i] = state == SINGULAR
            for k in range(4*n*n):
                A[k] = NAN
            for k in range(2*n*n):
                B[k] = NAN
        i += job.num_parts
    free(work)
    return 0
