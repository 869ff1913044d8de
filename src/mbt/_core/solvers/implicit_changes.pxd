"""Changes of the gradient of an implicit step's convex function with the state before it: bodies and single dofs.

The formulas of single bodies and points are in `implicit_changes.hpp`.
"""

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from mbt._core.forces.force_elements cimport JOINT_FRICTION
from mbt._core.joints.mobilizers cimport PLAIN, orientation_of
from mbt._core.model.structs cimport ForceElement, MobodJoint, Model, Switches
from mbt._core.quantities cimport derivatives
from mbt._core.quantities.call cimport Call
from mbt._core.solvers.implicit_rows cimport (
    PULL, RETURN, Principal, Problem, StepInput, Terms, add_drives, friction_impulse, limit_impulse,
)

cdef extern from "solvers/convex_step.hpp" namespace "mbt_convex" nogil:
    double pull_impulse(const Problem& x, int i, double v)
    bint is_pulled(const Problem& x, int i, double v)
    double pull_slope(const Problem& x, int i)

cdef extern from "solvers/implicit_changes.hpp" namespace "mbt_convex" nogil:
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
    void differentiate_momentum(
        const Principal& x, const double* gravity, const double* X, const double* X0, const double* V0, double h,
        int mobod, const Path& path, const Motion& here, const Motion& before, Changes& y)


# The changes of the gradient of one step, and the data they are computed from.
cdef struct Work:
    const Terms* terms
    const StepInput* at
    const Problem* y
    Call[double]* c
    double* v                  # (nv,) the minimum
    Changes changes
    double* by_tau             # (nv, nv)
    double* F                  # (num_bodies, 6) all impulses on bodies, about their origins in World
    Switches switches          # without the stabilization of constraints
    double* multipliers        # (num_equations,)
    double* none               # (num_equations,) zeros
    double* dM                 # (nv, nv) the change of M x - J' F with q, for given x and F
    double* dJ                 # (num_equations, nv) that of J x for constraints
    double* x                  # (nv,)
    double* share              # (nv,)
    double* points             # (6, num_points)
    int* dofs                  # (nv,), and room for a path of bodies
    double* memory             # of derivatives
    Motion before              # one step back, with v; now: with v, with v1, and with x
    Motion with_v
    Motion with_v1
    Motion with_x


cdef inline Py_ssize_t count_change_work(const Terms* x) noexcept nogil:
    """Return the doubles that `differentiate_step` needs beside those of a step."""
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


cdef inline void change_forces(Work* w, const double* x, const double* F, const double* multipliers) noexcept nogil:
    """Compute `dM`, including the forces of constraints, and `dJ`."""
    derivatives.forces_at_rest_derivatives(
        w.terms.model, w.terms.own, &w.switches, w.at.q, x, F, multipliers, w.memory, w.dM, w.dJ
    )


cdef inline void change_motion(Work* w, const double* q, const double* v, Motion* out) noexcept nogil:
    derivatives.motion_changes(w.terms.model, w.terms.own, q, v, w.memory, out.S, out.P, out.V, out.p_WO)


cdef inline Path find_path(const Work* w, int mobod) noexcept nogil:
    """Find the dofs that move a mobod."""
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
    """Add the changes of what acts on single dofs: limits, dry friction, springs, servos, inputs."""
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
        # The bounds of v are the distances to the limits over h, which change with q.
        below, above = x.lower[i] - w.at.q[x.position_of[i]], w.at.q[x.position_of[i]] - x.upper[i]
        if (v > y.upper[i] and above < 0.0) or (v < y.lower[i] and below < 0.0):
            by_q[d] += y.limit_slope[i]/h
        impulse = pull_impulse(y[0], i, v)
        if is_pulled(y[0], i, v):
            by_q[d] += pull_slope(y[0], i)/(h + RETURN)
        elif impulse != 0.0:
            by_q[d] += h*inertia/(PULL*PULL)
        # These impulses are proportional to the inertia, which changes with q.
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
    """Add the changes of momenta and gravity. The positions one step back depend on q and v."""
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
    # They change by dq - h dv; rotations by exp([u]x) dq - h J(u) dv with u = -h v.
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
