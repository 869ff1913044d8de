"""Velocities that bring the frames of one state nearer to their goals, within limits."""

from libc.math cimport INFINITY, NAN, fabs, sqrt
from libc.string cimport memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.algebra.spatial cimport copy, multiply_poses4
from mbt._core.joints.mobilizers cimport difference_position
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN


cdef extern from "solvers/bounded_least_squares.hpp" namespace "MBT_NS" nogil:
    cdef cppclass BoundedProblem:
        int n, num_rows, num_equations
        const double* A
        const double* b
        double damping
        int num_damped
        const double* center
        const double* E
        const double* lower
        const double* upper
    cdef cppclass BoundedSolver:
        @staticmethod
        Py_ssize_t count_memory(Py_ssize_t n, Py_ssize_t num_equations)
    int solve_bounded(const BoundedProblem& problem, double* memory, double* x)

cdef extern from "solvers/velocity_rows.hpp" namespace "MBT_NS" nogil:
    cdef struct VelocityColumn:
        int column
        int dof
        int node
        double sign
    cdef struct VelocityTask:
        int kind
        int frame
        int base
        int goal
        int rotation_row
        int distance_row
        double rotation_weight
        double distance_weight
        double[3] point
        int[3] axes
        int num_axes
        int first_column
        int end_column
    void set_pose_rows(
        const VelocityTask* task, const VelocityColumn* columns, const double* X_WF, const double* X_WA,
        const double* X_AG, const double* X_WB, const double* H_PB_W, int n, double* e, double* J)
    void set_vector_rows(
        const VelocityTask* task, const VelocityColumn* columns, bint is_point, const double* X_WF, const double* goal,
        const double* X_WB, const double* H_PB_W, int n, double* e, double* J)
    void set_center_rows(
        const VelocityTask* task, const VelocityColumn* columns, const double* masses, const double* goal,
        const double* X_WB, const double* H_PB_W, int n, double* e, double* J)

# Kinds of tasks, as `mbt.kinematics.tasks` numbers them.
cdef enum:
    POSE = 0
    POSITION = 1
    DIRECTION = 2
    CENTER = 3


cdef struct Problem:
    const Model* model
    const Switches* switches
    const Parameters[double]* p
    int num_tasks
    const VelocityTask* tasks
    const VelocityColumn* columns
    int n                        # unknowns
    int num_distances            # the most rows whose motions have least values, computed by the caller
    int num_goal
    int first_primary            # rows: constraints, then primary ones, then secondary ones
    int first_secondary
    int num_rows
    bint needs_masses
    double primary_weight        # the largest
    double secondary_weight
    double posture_weight        # 0: none
    const double* posture        # (nq,)
    const int* column            # (nv,)  -1: not an unknown
    const int* locked            # (nv,)
    const int* position          # (nv,)  coordinate whose rate the dof is, -1: none
    const double* q_limits       # (nq, 2)
    const double* v_limits       # (nv, 2)
    const double* vdot_limits    # (nv, 2)


cdef struct Options:
    double dt
    double gain
    double damping
    bint velocity_limits


cdef struct State:
    # The inputs for the velocities of one state.
    const double* q
    const double* goal
    const double* last            # (nv,) velocities of the step before, or NULL
    int num_distances
    const double* distance_rows   # (num_distances, nv)
    const double* distance_least  # (num_distances,) least values of their motions


cdef struct Unknowns:
    # Motions during a step: of dofs, then of distances.
    double* d
    double* low
    double* high
    double* center               # toward which damping draws them


# Rows ---------------------------------------------------------------------------------------------------------------

cdef inline void set_rows(
    const Problem* x, const State* s, double* memory, double* e, double* J
) noexcept nogil:
    """Compute the weighted errors of tasks, minus the errors of constraints, and the Jacobian that reduces them."""
    cdef const Model* m = x.model
    cdef const double* q = s.q
    cdef const double* goal = s.goal
    cdef Py_ssize_t nb = m.num_bodies
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* X_WB = memory
    cdef double* H_PB_W = X_WB + 16*nb
    cdef double* masses = H_PB_W + 6*nv
    cdef double* H_FM = masses + 4*nb
    cdef double* out = H_FM + 6*nv
    cdef double* work = out + m.num_equations*nv
    cdef double[16] X_WF
    cdef double[16] X_WA
    cdef const VelocityTask* task
    cdef Call[double] call
    cdef int i, k
    memset(J, 0, x.num_rows*x.n*sizeof(double))
    kernels.body_poses(m, x.p, q, work, X_WB)
    kernels.motion_axes(m, x.p, q, X_WB, H_FM, H_PB_W)
    if x.first_primary > 0:
        call.functions = &kernels.of_doubles
        call.model, call.switches, call.p, call.q = m, x.switches, x.p, q
        call.k.X_WB, call.k.H_FM, call.k.H_PB_W = X_WB, H_FM, H_PB_W
        call.k.F_Bo_W = work
        call.k.rest = work + 6*nb
        call.memory = work
        call.out = out
        kernels.of_doubles.call(CONSTRAINT_ERRORS, &call)
        for i in range(m.num_equations):
            e[i] = -out[i]
        kernels.of_doubles.call(CONSTRAINT_JACOBIAN, &call)
        for i in range(m.num_equations):
            for k in range(nv):
                if x.column[k] >= 0:
                    J[x.n*i + x.column[k]] = out[nv*i + k]
    if x.needs_masses:
        calc_masses(m, x.p, X_WB, masses)
    for i in range(x.num_tasks):
        task = &x.tasks[i]
        if task.kind == CENTER:
            set_center_rows(task, x.columns, masses, goal + task.goal, X_WB, H_PB_W, x.n, e, J)
            continue
        calc_pose(m, x.p, task.frame, X_WB, X_WF)
        if task.kind == POSE:
            calc_pose(m, x.p, task.base, X_WB, X_WA)
            set_pose_rows(task, x.columns, X_WF, X_WA, goal + task.goal, X_WB, H_PB_W, x.n, e, J)
        else:
            set_vector_rows(
                task, x.columns, task.kind == POSITION, X_WF, goal + task.goal, X_WB, H_PB_W, x.n, e, J
            )


cdef inline void calc_pose(
    const Model* m, const Parameters[double]* p, int frame, const double* X_WB, double* X_WF
) noexcept nogil:
    if frame == 0:
        copy[double](X_WB, 16, X_WF)
    else:
        multiply_poses4[double](X_WB + 16*m.frame_node[frame], p.X_BF + 16*frame, X_WF)


cdef inline void calc_masses(
    const Model* m, const Parameters[double]* p, const double* X_WB, double* masses
) noexcept nogil:
    """Compute the mass of each body with all outboard of it, and its first moment about the origin of World."""
    cdef const double* X
    cdef const double* c
    cdef int b, i
    for b in range(m.num_bodies):
        X, c = X_WB + 16*b, p.p_BoBcm_B + 3*b
        masses[4*b] = p.mass[b]
        for i in range(3):
            masses[4*b + 1 + i] = p.mass[b]*(
                X[4*i + 3] + X[4*i]*c[0] + X[4*i + 1]*c[1] + X[4*i + 2]*c[2]
            )
    # The mass of World does not count.
    masses[0] = masses[1] = masses[2] = masses[3] = 0.0
    for b in range(m.num_bodies - 1, 0, -1):
        for i in range(4):
            masses[4*m.parent[b] + i] += masses[4*b + i]


cdef inline Py_ssize_t count_rows_memory(const Model* m) noexcept nogil:
    """Return the doubles of working memory that `set_rows` needs."""
    return (
        20*<Py_ssize_t>m.num_bodies + (m.num_equations + 12)*<Py_ssize_t>m.num_velocities + m.num_equations
        + 6*<Py_ssize_t>m.num_bodies + kernels.work_size(m)
        + kernels.of_doubles.count_memory(CONSTRAINT_JACOBIAN, NULL, m)
    )


# Limits -------------------------------------------------------------------------------------------------------------

cdef inline double to_stop(double room, double most, double dt) noexcept nogil:
    """Return the velocity from which a dof, after a step, stops within `room` if it decelerates by `most`.

    v dt + v^2/(2 most) = room.
    """
    if most == INFINITY:
        return room/dt
    return 2.0*room/(dt + sqrt(dt*dt + 2.0*room/most))


cdef inline void set_box(
    const Problem* x, const Options* options, const State* s, double* lower, double* upper
) noexcept nogil:
    """Compute each dof's least and largest velocity: position limits take precedence, then velocity, acceleration."""
    cdef const double* q = s.q
    cdef const double* last = s.last
    cdef int k, i
    cdef double low, high, slowest, fastest, down, up
    cdef double dt = options.dt
    for k in range(x.model.num_velocities):
        if x.locked[k]:
            lower[k] = upper[k] = 0.0
            continue
        low, high = -INFINITY, INFINITY
        if options.velocity_limits:
            low, high = x.v_limits[2*k], x.v_limits[2*k + 1]
        slowest, fastest = -INFINITY, INFINITY
        if last != NULL:
            slowest = last[k] + x.vdot_limits[2*k]*dt
            fastest = last[k] + x.vdot_limits[2*k + 1]*dt
        i = x.position[k]
        if i >= 0:
            down, up = x.q_limits[2*i] - q[i], x.q_limits[2*i + 1] - q[i]
            if up >= 0.0:
                up = to_stop(up, INFINITY if last == NULL else -x.vdot_limits[2*k], dt)
            else:
                # Return from beyond the limit, no faster than the other limits allow.
                up = max(max(options.gain*up/dt, low), slowest)
            if down <= 0.0:
                down = -to_stop(-down, INFINITY if last == NULL else x.vdot_limits[2*k + 1], dt)
            else:
                down = min(min(options.gain*down/dt, high), fastest)
            low, high = within(low, down, up), within(high, down, up)
        lower[k], upper[k] = within(slowest, low, high), within(fastest, low, high)


cdef inline double within(double a, double low, double high) noexcept nogil:
    return low if a < low else high if a > high else a


# One state ----------------------------------------------------------------------------------------------------------

cdef inline Py_ssize_t count_doubles(const Problem* x) noexcept nogil:
    cdef const Model* m = x.model
    cdef Py_ssize_t n = x.n
    cdef Py_ssize_t more = x.num_distances
    return (
        2*m.num_velocities + 4*(n + more) + x.num_rows*(n + 1) + (x.num_rows + more)*(n + more)
        + BoundedSolver.count_memory(n + more, x.first_secondary + more) + count_rows_memory(m) + 1
    )


cdef inline void widen(const Problem* x, const State* s, const double* J, double* wide) noexcept nogil:
    """Widen the rows of constraints, distances and tasks by a column for each distance: ``row d - s = 0``."""
    cdef int num_distances = s.num_distances
    cdef int size = x.n + num_distances
    cdef int i, k, to
    memset(wide, 0, (x.num_rows + num_distances)*size*sizeof(double))
    for i in range(x.num_rows):
        to = i if i < x.first_primary else i + num_distances
        for k in range(x.n):
            wide[size*to + k] = J[x.n*i + k]
    for i in range(num_distances):
        to = x.first_primary + i
        for k in range(x.model.num_velocities):
            if x.column[k] >= 0:
                wide[size*to + x.column[k]] = s.distance_rows[x.model.num_velocities*i + k]
        wide[size*to + x.n + i] = -1.0


cdef inline double calc_motion(
    const Problem* x, const BoundedProblem* problem, int i, const double* d
) noexcept nogil:
    """Return the change of a distance by a motion."""
    cdef const double* row = problem.E + problem.n*(x.first_primary + i)
    cdef double total = 0.0
    cdef int k
    for k in range(x.n):
        total += row[k]*d[k]
    return total


cdef inline void keep_apart(
    const Problem* x, const State* s, BoundedProblem* problem, const Unknowns* u, double* work
) noexcept nogil:
    """Set the motions of distances as unknowns, not below their least values, or as near to these as limits allow."""
    cdef int n = x.n
    cdef int i
    cdef bint is_short = False
    cdef double motion
    cdef const double* least = s.distance_least
    for i in range(s.num_distances):
        u.low[n + i], u.high[n + i] = least[i], INFINITY
        motion = calc_motion(x, problem, i, u.d)
        u.d[n + i] = max(motion, least[i])
        is_short = is_short or motion < least[i]
    if is_short:
        problem.num_equations, problem.num_rows = x.first_primary, s.num_distances
        problem.A, problem.b, problem.damping = problem.E + problem.n*x.first_primary, u.center, 0.0
        memset(u.center, 0, problem.n*sizeof(double))
        solve_bounded(problem[0], work, u.d)
    for i in range(s.num_distances):
        u.d[n + i] = calc_motion(x, problem, i, u.d)
        u.low[n + i] = min(least[i], u.d[n + i])


cdef inline void solve_state(
    const Problem* x, const Options* options, const State* s, double* memory, double* v
) noexcept nogil:
    """Compute the velocities of one state."""
    cdef const Model* m = x.model
    cdef const double* q = s.q
    cdef const double* last = s.last
    cdef int n = x.n
    cdef int more = s.num_distances
    cdef int size = n + more
    cdef int nv = m.num_velocities
    cdef double* lower = memory
    cdef double* upper = lower + nv
    cdef double* d = upper + nv
    cdef Unknowns u
    u.d, u.low, u.high, u.center = d, d + size, d + 2*size, d + 3*size
    cdef double* e = d + 4*size
    cdef double* J = e + x.num_rows
    cdef double* wide = J + x.num_rows*n
    cdef double* work = wide + (x.num_rows + more)*size
    cdef double* rest = work + BoundedSolver.count_memory(size, x.first_secondary + more)
    cdef double dt = options.dt
    cdef double posture = x.posture_weight*x.posture_weight
    cdef double check = 0.0
    cdef double squared = 0.0
    cdef BoundedProblem problem
    cdef int i, k, c
    set_rows(x, s, rest, e, J)
    for i in range(m.num_positions):
        check += q[i]*0.0
    for i in range(x.num_goal):
        check += s.goal[i]*0.0
    for i in range(x.num_rows):
        e[i] *= options.gain
        squared += e[i]*e[i]
    check += squared*0.0
    if last != NULL:
        for k in range(nv):
            check += last[k]*0.0
    for i in range(more*nv):
        check += s.distance_rows[i]*0.0
    for i in range(more):
        check += 0.0 if s.distance_least[i] == s.distance_least[i] else NAN
    if check != 0.0:  # NaN, or infinite
        for k in range(nv):
            v[k] = NAN
        return
    set_box(x, options, s, lower, upper)
    for k in range(nv):
        c = x.column[k]
        v[k] = within(0.0, lower[k], upper[k])
        if c >= 0:
            u.low[c], u.high[c] = lower[k]*dt, upper[k]*dt
            d[c] = v[k]*dt
    problem.n, problem.lower, problem.upper, problem.E, problem.center = n, u.low, u.high, J, <const double*>NULL
    problem.num_damped = n
    # Constraints first; tasks use the freedom that these leave.
    problem.num_equations, problem.num_rows, problem.A, problem.b = 0, x.first_primary, J, e
    problem.damping = 0.0
    if problem.num_rows:
        solve_bounded(problem, work, d)
    if more:
        # Then distances.
        widen(x, s, J, wide)
        problem.n, problem.E = size, wide
        keep_apart(x, s, &problem, &u, work)
        J = wide
    problem.num_equations, problem.num_rows = x.first_primary + more, x.first_secondary - x.first_primary
    problem.A, problem.b = J + size*problem.num_equations, e + x.first_primary
    problem.damping = calc_damping(options, x.primary_weight, &problem)
    if problem.num_rows:
        solve_bounded(problem, work, d)
    # Secondary rows use the freedom that the tasks leave.
    if x.num_rows > x.first_secondary or posture != 0.0:
        problem.num_equations, problem.num_rows = x.first_secondary + more, x.num_rows - x.first_secondary
        problem.A, problem.b = J + size*problem.num_equations, e + x.first_secondary
        problem.damping = calc_damping(options, x.secondary_weight, &problem) + posture
        if posture != 0.0:
            set_way_to_posture(x, q, options.gain*posture/problem.damping, u.center)
            problem.center = u.center
        solve_bounded(problem, work, d)
    for k in range(nv):
        c = x.column[k]
        if c >= 0:
            v[k] = within(d[c]/dt, lower[k], upper[k])
        keep_in(x, options, k, q, v)


cdef inline double calc_damping(const Options* options, double weight, const BoundedProblem* problem) noexcept nogil:
    """Return damping in proportion to the errors of the rows, as the curvature of the path counts times the error."""
    cdef double squared = 0.0
    cdef int i
    for i in range(problem.num_rows):
        squared += problem.b[i]*problem.b[i]
    return options.damping*weight*(sqrt(squared) + 1e-6*weight)


cdef inline void keep_in(const Problem* x, const Options* options, int k, const double* q, double* v) noexcept nogil:
    """Keep q + v dt from exceeding a limit by rounding."""
    cdef int i = x.position[k]
    cdef double there, spare
    if i < 0 or x.locked[k]:
        return
    there = q[i] + v[k]*options.dt
    spare = 2.5e-16*(fabs(q[i]) + fabs(there))/options.dt
    if v[k] > 0.0 and q[i] <= x.q_limits[2*i + 1] < there:
        v[k] = max(v[k] - spare, 0.0)
    elif v[k] < 0.0 and q[i] >= x.q_limits[2*i] > there:
        v[k] = min(v[k] + spare, 0.0)


cdef inline void set_way_to_posture(const Problem* x, const double* q, double scale, double* center) noexcept nogil:
    cdef const Model* m = x.model
    cdef double[6] d
    cdef int b, k, c
    for b in range(1, m.num_bodies):
        if m.v_start[b] == m.v_start[b + 1]:
            continue
        difference_position[double](m.type[b], q + m.q_start[b], x.posture + m.q_start[b], d)
        for k in range(m.v_start[b + 1] - m.v_start[b]):
            c = x.column[m.v_start[b] + k]
            if c >= 0:
                center[c] = scale*d[k]
