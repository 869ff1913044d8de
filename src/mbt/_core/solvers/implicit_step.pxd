"""One implicit step of one state of doubles: the convex problem, and its solution.

What each term means, and why, is in docs/implicit_steps.md. In NumPy: tests/support/convex_steps.py.
"""

from libc.math cimport fabs, isfinite, isnan
from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport CompliantWork
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport CONSTRAINT_ERRORS
from mbt._core.solvers.contact_rows cimport minimize_with_friction, set_shapes
from mbt._core.solvers.implicit_elements cimport add_hinges, set_angle_limits, set_elements
from mbt._core.solvers.implicit_job cimport DONE, NOT_FINITE, SINGULAR
from mbt._core.solvers.implicit_rows cimport (
    CLOSING, PULL, RETURN, RIGID, STICTION, MassFactor, Problem, StepInput, SweptTree, Terms, add_momenta,
    calc_touch, call, clip, factorize, friction_impulse, go_to, integrate, limit_impulse, linear_slope, positive,
    reserve_points, row_impulse, set_call, set_constraints, set_contacts, set_memory, set_point, solve_inner,
    solve_outer,
)
from mbt._core.solvers.implicit_sweeps cimport place_sweeps, solve_tree


# Where a step writes, and how it was solved.
cdef struct StepResult:
    double* q
    double* v
    int iterations
    double residual


cdef inline int take_step(
    const Terms* x, const StepInput* at, double* work, Problem* y, bint with_carried, StepResult* out
) noexcept nogil:
    """Take one step. `y` is valid as long as the working memory."""
    cdef Call[double] c
    cdef double* v1 = out.v
    cdef double* step = place_of_step(x, work)
    cdef double* residual = &out.residual
    cdef int i
    out.iterations, out.residual = 0, 0.0
    set_call(x, work, &c)
    cdef int state = set_problem(x, at, &c, y, with_carried, v1)
    if state != DONE:
        return state
    for i in range(y.n):
        step[i] = at.v[i]*x.free[i]
    out.iterations = minimize_with_friction(x, y, v1, step, residual)
    for i in range(y.n):
        v1[i] = v1[i]*x.free[i] + 0.0
    integrate(&c, v1, at.h, step, out.q)
    return DONE


cdef inline double* place_of_step(const Terms* x, double* work) noexcept nogil:
    """Return the working memory of `integrate`: behind a mass matrix, its factor, and the factor's columns."""
    if x.has_sweeps:
        return work + x.num_work
    return work + x.num_work + 3*<Py_ssize_t>x.model.num_velocities*x.model.num_velocities


cdef inline int set_problem(
    const Terms* x, const StepInput* at, Call[double]* c, Problem* y, bint with_carried, double* v1
) noexcept nogil:
    """Set all terms of the convex function; v1 becomes the velocity if only impulses act that do not depend on it.

    The call is as `set_call` leaves it.
    """
    cdef int n = x.model.num_velocities
    cdef double* rest = place_of_step(x, c.k.X_WB) + n + 1
    cdef double h = at.h
    cdef double bad = h
    cdef int i
    for i in range(n):
        bad += at.v[i] + at.tau[i]
    if not isfinite(bad):
        return NOT_FINITE
    y.n, y.h, y.num_servos, y.num_points = n, h, x.num_servos, x.num_points
    y.num_rows, y.num_sided = x.num_rows, x.num_angles
    y.inertia = rest
    y.p = y.inertia + n
    y.linear = y.p + n
    y.lower = y.linear + n
    y.upper = y.lower + n
    y.limit_slope = y.upper + n
    y.back = y.limit_slope + n
    y.pull = y.back + n
    y.friction = y.pull + n
    y.friction_slope = y.friction + n
    y.given = y.friction_slope + n
    y.carried = y.given + n
    y.effort = y.carried + n
    y.effort_slope = y.effort + x.num_servos
    rest = y.effort_slope + x.num_servos
    rest = set_momenta(x, at, c, y, with_carried, rest)
    bad = 0.0
    for i in range(n):
        v1[i] = y.p[i]
        bad += v1[i]
    if not isfinite(bad):
        return NOT_FINITE
    if x.has_sweeps:
        return set_sweeps(x, at, with_carried, c, rest, y, v1)
    return set_matrices(x, at, with_carried, c, rest, y, v1)


cdef inline int set_matrices(
    # Parameters:
    const Terms* x,
    # In:
    const StepInput* at,
    bint with_carried,
    # Work:
    Call[double]* c,
    double* rest,            # (count_scratch,)  what is left of it
    # Out:
    Problem* y,
    double* v1,              # (nv,)  [rad/s, m/s]  in: the momentum [N m s, N s]
) noexcept nogil:
    """Set what depends on the mass matrix."""
    cdef const Model* m = x.model
    cdef int n = m.num_velocities
    cdef Py_ssize_t square = <Py_ssize_t>n*n
    cdef double* step = place_of_step(x, c.k.X_WB)
    cdef double* M = step - 3*square
    cdef double* L = M + square
    cdef int* columns = <int*>(L + square)
    cdef double bad
    cdef MassFactor factor
    cdef int i
    factor.L, factor.columns, factor.column = L, columns, step
    y.M = M
    y.sweeps = NULL
    kernels.mass_matrix(m, x.own, at.q, c.memory, M)
    if x.has_locks:
        hold(x, M)
    memcpy(L, M, square*sizeof(double))
    if not factorize(n, L, columns) and not factorize_with_damping(x, at.h, M, L, columns):
        bad = 0.0
        for i in range(<int>square):
            bad += M[i]
        return SINGULAR if isfinite(bad) else NOT_FINITE
    for i in range(n):
        y.inertia[i] = M[(n + 1)*i]
    solve_free(y, v1)
    if with_carried:
        solve_free(y, y.carried)
    if not set_dofs(x, at, y):
        return NOT_FINITE
    rest = set_constraints(x, c, &factor, y, rest)
    set_elements(x, c, m.num_equations, y, rest)
    set_angle_limits(x, c, &factor, x.num_rows - x.num_angles, y, rest)
    rest = set_contacts(x, c, &factor, y, rest)
    rest = set_shapes(x, c, &factor, y, rest)
    set_memory(y[0], rest)
    return DONE


cdef inline int set_sweeps(
    # Parameters:
    const Terms* x,
    # In:
    const StepInput* at,
    bint with_carried,
    # Work:
    Call[double]* c,
    double* rest,            # (count_scratch,)  what is left of it
    # Out:
    Problem* y,
    double* v1,              # (nv,)  [rad/s, m/s]  in: the momentum [N m s, N s]
) noexcept nogil:
    """The same without matrices, see implicit_sweeps.pxd."""
    cdef int[5] integers = [0, 0, 0, 0, 0]
    cdef SweptTree* tree = <SweptTree*>rest
    cdef double* work = y.lower  # and `y.upper` behind it: `set_dofs` sets both
    cdef double* shares
    cdef double bad = 0.0
    cdef int i
    rest = place_sweeps(x, at, rest, y)
    if not solve_tree(x, at.h, tree, work, v1, y.carried if with_carried else NULL):
        return SINGULAR
    for i in range(y.n):
        bad += v1[i]
    if not isfinite(bad) or not set_dofs(x, at, y):
        return NOT_FINITE
    y.M = y.J = y.points = NULL
    y.target = rest
    y.row_slope = y.target + y.num_rows
    shares = y.row_slope + y.num_rows
    rest = reserve_points(x, y, shares + y.num_points)
    if y.num_rows:
        call(CONSTRAINT_ERRORS, integers, c, NULL, y.target)
        for i in range(y.num_rows):
            y.target[i] = -y.target[i]/(y.h + CLOSING)
    kernels.sweeps.calc_slopes_and_shares(
        x.model, &x.switches, x.own, RIGID, &tree.w, y.target, y.row_slope, shares
    )
    set_memory(y[0], rest)
    if y.num_points:
        set_swept_points(x, at.v, &tree.w, shares, y)
    return DONE


cdef inline void set_swept_points(
    const Terms* x, const double* v, CompliantWork[double]* w, const double* shares, Problem* y
) noexcept nogil:
    cdef const ForceElement* e
    cdef int i, k, first = 0
    kernels.sweeps.calc_momenta_and_rates(x.model, &x.switches, x.own, v, w, y.Mv, y.u)
    for i in range(x.model.num_force_elements):
        e = &x.model.force_elements[i]
        for k in range(first, first + e.num_points):
            y.depth[k] = w.points[k].depth
            set_point(y, k, x.elements + e.start, y.u + y.num_rows + 3*k, shares[k])
        first += e.num_points


cdef inline void solve_free(const Problem* y, double* x) noexcept nogil:
    """Replace x by M^-1 x, with the factor M = L' L that `set_problem` stores behind M."""
    cdef Py_ssize_t square = <Py_ssize_t>y.n*y.n
    cdef const double* L = y.M + square
    solve_outer_free(y, x)
    solve_inner(y.n, L, <const int*>(L + square), x)


cdef inline void solve_outer_free(const Problem* y, double* x) noexcept nogil:
    """Replace x by L'^-1 x."""
    cdef Py_ssize_t square = <Py_ssize_t>y.n*y.n
    cdef const double* L = y.M + square
    solve_outer(y.n, L, <const int*>(L + square), x)


cdef inline bint factorize_with_damping(
    const Terms* x, double h, const double* M, double* L, int* columns
) noexcept nogil:
    """Factorize M + h D + h^2 K in place of M, where dampers and springs resist a motion that no mass resists."""
    cdef int n = x.model.num_velocities
    cdef int i
    memcpy(L, M, <size_t>n*n*sizeof(double))
    for i in range(n):
        L[n*i + i] += linear_slope(x, h, i)
    return factorize(n, L, columns)


cdef inline double* set_momenta(
    const Terms* x, const StepInput* at, Call[double]* c, const Problem* y, bint with_carried, double* memory
) noexcept nogil:
    """Set `y.p`, the momenta of the bodies and the impulses of the forces at q and v; on request also `y.carried`.

    `y.carried` is without these impulses.
    The velocity belongs to the positions one step back. The kinematics of the call become those at q and v.
    """
    cdef const Model* m = x.model
    cdef int n = m.num_velocities
    cdef Py_ssize_t nb = m.num_bodies
    cdef double[3] zero = [0.0, 0.0, 0.0]
    cdef double* F = memory
    cdef double* X0_WB = F + 6*nb
    cdef double* V0_WB = X0_WB + 16*nb
    cdef double* before = V0_WB + 6*nb
    cdef double* forces = before + m.num_positions
    cdef double* step = place_of_step(x, c.k.X_WB)
    cdef double* p = y.p
    cdef double* carried = y.carried
    cdef const double* q = at.q
    cdef const double* v = at.v
    cdef double h = at.h
    cdef Py_ssize_t k
    cdef int i
    c.q = q
    integrate(c, v, -h, step, before)
    go_to(c, before, v)
    memcpy(X0_WB, c.k.X_WB, 16*nb*sizeof(double))
    memcpy(V0_WB, c.k.V_WB, 6*nb*sizeof(double))
    go_to(c, q, v)
    memset(F, 0, 6*nb*sizeof(double))
    memset(forces, 0, n*sizeof(double))
    if with_carried:
        add_momenta(<int>nb, x.bodies, NULL, c.k.X_WB, X0_WB, V0_WB, h, F)
        kernels.generalized_forces(m, c.k.X_WB, c.k.H_PB_W, F, c.memory, carried)
        for i in range(n):
            carried[i] = (carried[i] + x.own.reflected_inertia[i]*v[i])*x.free[i]
        memset(F, 0, 6*nb*sizeof(double))
    if at.bias == NULL:
        kernels.add_body_forces(m, x.own, x.switches.weightless, c.k.X_WB, c.k.V_WB, F)
        kernels.add_joint_forces(m, x.own, q, v, 0, forces)
        if x.body_forces != NULL:
            for k in range(6*nb):
                F[k] += x.body_forces[k]
            for i in range(n):
                forces[i] += x.generalized_forces[i]
    else:
        # The bias includes C v: take that out.
        memset(step, 0, n*sizeof(double))
        kernels.inverse_dynamics(m, x.own, zero, q, v, step, c.memory, forces)
        for i in range(n):
            forces[i] -= at.bias[i]
    add_momenta(
        <int>nb, x.bodies, x.own.gravity if at.bias == NULL and x.switches.weightless == NULL else NULL, c.k.X_WB,
        X0_WB, V0_WB, h, F
    )
    kernels.generalized_forces(m, c.k.X_WB, c.k.H_PB_W, F, c.memory, p)
    for i in range(n):
        p[i] = (p[i] + x.own.reflected_inertia[i]*v[i] + h*(forces[i] + x.damping[i]*v[i]))*x.free[i]
    return forces + n


cdef inline void hold(const Terms* x, double* A) noexcept nogil:
    """Decouple dofs that cannot move from the others."""
    cdef int n = x.model.num_velocities
    cdef int i, j
    for i in range(n):
        for j in range(n):
            if x.free[i] == 0.0 or x.free[j] == 0.0:
                A[n*i + j] = 1.0 if i == j else 0.0


cdef inline bint set_dofs(const Terms* x, const StepInput* at, Problem* y) noexcept nogil:
    """Set what acts on single dofs; return whether it is finite."""
    cdef const double* q = at.q
    cdef double h = at.h
    cdef int n = x.model.num_velocities
    cdef double below, above, beyond, share, inertia
    cdef int i
    y.effort_lower, y.effort_upper = x.effort_lower, x.effort_upper
    y.effort_limit, y.dofs = x.effort_limits, x.servo_dofs
    for i in range(n):
        y.linear[i] = linear_slope(x, h, i)
    add_hinges(x, q, at.v, h, y.linear, y.friction)
    for i in range(n):
        inertia = y.inertia[i] if y.inertia[i] > 0.0 else y.linear[i]
        below, above = x.lower[i] - q[x.position_of[i]], q[x.position_of[i]] - x.upper[i]
        beyond = positive(below) - positive(above)
        # Within the limits of velocities.
        y.lower[i] = clip(-positive(-below)/h, x.slowest[i], x.fastest[i])
        y.upper[i] = clip(positive(-above)/h, x.slowest[i], x.fastest[i])
        y.back[i] = clip(beyond/(h + RETURN), x.slowest[i], x.fastest[i])
        y.pull[i] = h*inertia*fabs(beyond)/(PULL*PULL)*x.free[i]
        y.limit_slope[i] = inertia/RIGID*x.free[i]
        y.friction[i] *= x.free[i]
        y.friction_slope[i] = inertia/STICTION if y.friction[i] > 0.0 else 0.0
        y.given[i] = at.tau[i]*x.free[i]
    for i in range(x.num_servos):
        share = x.free[x.servo_dofs[i]]
        y.effort[i] = share*(x.kp[i]*(x.q_d[i] - q[x.servo_positions[i]]) + x.kd[i]*x.v_d[i])
        y.effort_slope[i] = share*(x.kd[i] + h*x.kp[i])
        if isnan(y.effort[i]):  # An effort limit would hide it.
            return False
    return True


cdef inline Py_ssize_t count_told(const Terms* x) noexcept nogil:
    """Return how many numbers `tell` writes."""
    return 1 + 4*x.model.num_velocities + x.model.num_equations + 3*x.num_points


cdef inline void tell(
    const Terms* x, const Problem* y, const double* v0, const double* v, double* out
) noexcept nogil:
    """Write the accelerations and forces of a step from v0 to v.

    The length of the step, the acceleration, the velocity without forces, the forces of position limits, of dry
    friction, of constraints, and at points in contact along the axes of the plane.
    """
    cdef int n = y.n
    cdef int i, j
    cdef double force
    out[0] = y.h
    out += 1
    for i in range(n):
        out[i] = (v[i] - v0[i])/y.h
        out[n + i] = y.carried[i]
        out[2*n + i] = -limit_impulse(y[0], i, v[i])/y.h
        out[3*n + i] = -friction_impulse(y[0], i, v[i])/y.h
    for i in range(y.num_rows - y.num_sided, y.num_rows):
        force = row_impulse(y[0], i, y.u[i])/y.h
        for j in range(n):
            out[2*n + j] += force*y.J[<Py_ssize_t>n*i + j]
    out += 4*n
    for i in range(x.model.num_equations):
        out[i] = row_impulse(y[0], i, y.u[i])/y.h
    out += x.model.num_equations
    for i in range(x.num_points):
        calc_touch(y[0], i, y.u + y.num_rows + 3*i, out + 3*i)
        for j in range(3):
            out[3*i + j] /= y.h
