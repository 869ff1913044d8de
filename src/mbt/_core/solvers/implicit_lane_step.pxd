"""One implicit step of MBT_W states at once, of trees whose contacts couple no branches.

The order of operations is that of implicit_step.pxd, which explains it; the convex problem is that of convex_lanes.hpp.
"""

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS

from mbt._core.algebra.records cimport Composite, Parameters, Pose
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.forces.force_elements cimport JOINT_FRICTION, JOINT_SPRING, POINT_CONTACT
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.passes.body_forces cimport calc_generalized_forces
from mbt._core.passes.configuration cimport integrate_positions
from mbt._core.passes.packed_mass_matrix cimport calc_packed_mass_matrix
from mbt._core.passes.position_kinematics cimport calc_position_kinematics
from mbt._core.passes.velocity_kinematics cimport calc_velocities_in_world
from mbt._core.scalars cimport Lanes, select_lt, sqrt_
from mbt._core.solvers.implicit_rows cimport PULL, RETURN, RIGID, STICTION


cdef extern from "solvers/carried_momenta.hpp" namespace "mbt_convex" nogil:
    cdef cppclass PrincipalOf[S]:
        S mass
        S com[3]
        S axes[9]
        S roots[3]
        S turns[3]
    void add_momenta[S](
        int num_bodies, const PrincipalOf[S]* bodies, const S* gravity, const S* X_WB, const S* X0_WB,
        const S* V0_WB, double h, S* F)

cdef extern from "solvers/convex_lanes.hpp" namespace "MBT_NS" nogil:
    bint is_anywhere(const Lanes& x)  # not zero
    cdef cppclass Branches:
        int n
        const int* row
        const int* length
        const int* dofs
    cdef cppclass LaneProblem:
        Branches tree
        int num_servos, num_points
        double h
        Lanes* M
        Lanes* p
        Lanes* linear
        Lanes* lower
        Lanes* upper
        Lanes* limit_slope
        Lanes* back
        Lanes* pull_slope
        Lanes* least_pull
        Lanes* most_pull
        Lanes* friction
        Lanes* friction_slope
        Lanes* given
        const Lanes* effort_lower
        const Lanes* effort_upper
        const int* servo_dofs
        Lanes* effort
        Lanes* effort_slope
        const Lanes* effort_limit
        const int* point_dofs
        Lanes* points
        const Lanes* stiffness
        const Lanes* dissipation
        Lanes* depth
        Lanes* point_friction
        Lanes* point_slope
        Lanes* v
    cdef cppclass LaneSolver:
        @staticmethod
        Py_ssize_t count_memory(int n, int packed, int num_points)

        @staticmethod
        void set_memory(LaneProblem& x, int packed, Lanes* memory)
    void factorize_lanes(const Branches& t, Lanes* A, Lanes* diagonal, Lanes* good)
    void solve_outer_lanes(const Branches& t, const Lanes* L, Lanes* x)
    void solve_inner_lanes(const Branches& t, const Lanes* L, Lanes* x)
    Lanes measure_rows(const Branches& t, const Lanes* L, int dof, Lanes* x, Lanes* y)
    void minimize_lanes(const LaneProblem& x, const Lanes* other, Lanes& good)
    Lanes clip_lanes(const Lanes& x, const Lanes& lower, const Lanes& upper)
    Lanes positive_lanes(const Lanes& x)
    Lanes abs_(const Lanes& x)


# What acts in the steps of MBT_W samples: see Terms.
cdef struct LaneTerms:
    const Model* model
    Parameters[Lanes] p                      # only what the functions below read
    const Lanes* elements                    # the parameters of all force elements
    const PrincipalOf[Lanes]* bodies
    const Lanes* free
    const Lanes* damping
    const Lanes* stiffness
    const Lanes* lower
    const Lanes* upper
    const Lanes* slowest
    const Lanes* fastest
    const Lanes* effort_lower
    const Lanes* effort_upper
    const Lanes* kp
    const Lanes* kd
    const Lanes* q_d
    const Lanes* v_d
    const Lanes* effort_limits
    const Lanes* body_forces                 # NULL: none
    const Lanes* generalized_forces
    const int* position_of
    const int* servo_dofs
    const int* servo_positions
    int num_servos
    int num_points
    bint has_locks
    Branches tree
    int packed                               # entries of a packed matrix
    const int* point_dofs


# Poses and axes at one step.
cdef struct LaneKinematics:
    Lanes* X_WB
    Lanes* H_PB_W


# One step, in place.
cdef struct LaneStep:
    LaneKinematics before                    # one step back, if `is_known`
    LaneKinematics now                       # computed at q
    bint is_known
    const Lanes* tau
    double h
    Lanes* q
    Lanes* v


cdef inline Py_ssize_t count_kinematics(const Model* m) noexcept nogil:
    return 16*<Py_ssize_t>m.num_bodies + 6*<Py_ssize_t>m.num_velocities


cdef inline Py_ssize_t count_lanes_of_step(const LaneTerms* x) noexcept nogil:
    """Return the Lanes of working memory that `take_lane_step` needs."""
    cdef const Model* m = x.model
    cdef Py_ssize_t n = m.num_velocities
    cdef Py_ssize_t nb = m.num_bodies
    return (
        count_work_of_passes(m) + 18*nb + m.num_positions + 2*x.packed + 16*n + 2*x.num_servos
        + x.num_points*(3*n + 5) + LaneSolver.count_memory(<int>n, x.packed, x.num_points)
    )


cdef inline Py_ssize_t count_work_of_passes(const Model* m) noexcept nogil:
    cdef Py_ssize_t composite = sizeof(Composite[Lanes])//sizeof(Lanes)
    cdef Py_ssize_t pose = sizeof(Pose[Lanes])//sizeof(Lanes)
    return (
        (composite + pose)*m.num_mobods + 12*<Py_ssize_t>m.num_velocities + 2*m.angle_stride
    )


cdef inline void go_to_positions(
    const LaneTerms* x, const Lanes* q, Lanes* work, const LaneKinematics* k
) noexcept nogil:
    cdef const Model* m = x.model
    calc_position_kinematics(
        m, x.p.X_BF, q, work, work + m.angle_stride, <Lanes*>NULL, <Lanes*>NULL, k.X_WB,
        work + 2*m.angle_stride, k.H_PB_W
    )


cdef inline Lanes take_lane_step(const LaneTerms* x, const LaneStep* s, Lanes* work) noexcept nogil:
    """Take one step; return zero in each lane where it could not be computed."""
    cdef const Model* m = x.model
    cdef Py_ssize_t n = m.num_velocities
    cdef Lanes* M = work + count_work_of_passes(m)
    cdef Lanes* L = M + x.packed
    cdef Lanes* rest = L + x.packed
    cdef Lanes good = <Lanes>1.0
    cdef Lanes sum = <Lanes>0.0
    cdef Lanes* q = s.q
    cdef Lanes* v = s.v
    cdef LaneProblem y
    cdef int i
    y.tree, y.h, y.num_servos, y.num_points, y.M = x.tree, s.h, x.num_servos, x.num_points, M
    rest = set_lane_momenta(x, s, work, &y, rest)
    calc_lane_mass_matrix(x, q, work, M)
    if x.has_locks:
        hold_lanes(x, M)
    copy(M, x.packed, L)
    factorize_lanes(x.tree, L, work, &good)
    for i in range(n):
        sum = sum + abs_(v[i]) + abs_(s.tau[i]) + abs_(y.p[i])
    rest = set_lane_dofs(x, s, &y, rest)
    for i in range(x.num_servos):
        sum = sum + abs_(y.effort[i])
    # Zero where numbers are not finite.
    good = select_lt(sum, <Lanes>1e300, good, <Lanes>0.0)
    rest = set_lane_contacts(x, s, &y, rest, work)
    LaneSolver.set_memory(y, x.packed, rest)
    for i in range(n):
        y.v[i] = y.p[i]
    solve_outer_lanes(x.tree, L, y.v)
    solve_inner_lanes(x.tree, L, y.v)
    for i in range(n):
        v[i] = v[i]*x.free[i]
    minimize_lanes(y, v, good)
    for i in range(n):
        v[i] = y.v[i]*x.free[i] + <Lanes>0.0
    integrate_positions(m, <const Lanes*>copy_of(q, m.num_positions, work), <const Lanes*>v, <Lanes>s.h, q)
    return good


cdef inline Lanes* copy_of(const Lanes* x, Py_ssize_t count, Lanes* to) noexcept nogil:
    copy(x, count, to)
    return to


cdef inline Lanes* set_lane_momenta(
    const LaneTerms* x, const LaneStep* s, Lanes* work, LaneProblem* y, Lanes* memory
) noexcept nogil:
    """See `set_momenta`."""
    cdef const Model* m = x.model
    cdef int n = m.num_velocities
    cdef Py_ssize_t nb = m.num_bodies
    cdef Lanes* F = memory
    cdef Lanes* V_PB_W = F + 6*nb
    cdef Lanes* V0_WB = V_PB_W + 6*nb
    cdef Lanes* q0 = V0_WB + 6*nb
    cdef const LaneKinematics* before = &s.before
    cdef const LaneKinematics* now = &s.now
    cdef const Lanes* q = s.q
    cdef const Lanes* v = s.v
    cdef double h = s.h
    cdef const ForceElement* e
    cdef const Lanes* a
    cdef int i
    y.p = q0 + m.num_positions
    if not s.is_known:
        integrate_positions(m, q, v, <Lanes>(-h), q0)
        go_to_positions(x, q0, work, before)
    calc_velocities_in_world(m, <const Lanes*>before.X_WB, <const Lanes*>before.H_PB_W, v, V_PB_W, V0_WB)
    go_to_positions(x, q, work, now)
    if x.body_forces != NULL:
        copy(x.body_forces, 6*nb, F)
    else:
        set_zero(F, 6*nb)
    add_momenta(
        <int>nb, x.bodies, x.p.gravity, <const Lanes*>now.X_WB, <const Lanes*>before.X_WB, <const Lanes*>V0_WB, h, F
    )
    calc_generalized_forces(m, <const Lanes*>now.X_WB, <const Lanes*>now.H_PB_W, F, y.p)
    for i in range(n):
        y.p[i] = y.p[i] + x.p.reflected_inertia[i]*v[i]
        if x.body_forces != NULL:
            y.p[i] = y.p[i] + h*x.generalized_forces[i]
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type == JOINT_SPRING:
            a = x.elements + e.start
            y.p[e.b] = y.p[e.b] + h*((a[0] - q[e.a])*a[1])
    for i in range(n):
        y.p[i] = y.p[i]*x.free[i]
    return y.p + n


cdef inline void calc_lane_mass_matrix(const LaneTerms* x, const Lanes* q, Lanes* work, Lanes* M) noexcept nogil:
    cdef const Model* m = x.model
    cdef Pose[Lanes]* turned = <Pose[Lanes]*>(<Composite[Lanes]*>work + m.num_mobods)
    cdef Lanes* H_N = <Lanes*>(turned + m.num_mobods)
    cdef Lanes* H_B = H_N + 6*m.num_velocities
    cdef Lanes* sin_q = H_B + 6*m.num_velocities
    calc_packed_mass_matrix(
        m, x.p.mobods, x.p.reflected_inertia, q, <Composite[Lanes]*>work, H_N, sin_q, sin_q + m.angle_stride, H_B,
        turned, M
    )


cdef inline void hold_lanes(const LaneTerms* x, Lanes* M) noexcept nogil:
    """Decouple dofs that cannot move from the others."""
    cdef int i, k, at
    for k in range(x.tree.n):
        at = x.tree.row[k]
        M[at] = M[at]*x.free[k] + (<Lanes>1.0 - x.free[k])
        for i in range(1, x.tree.length[k]):
            M[at + i] = M[at + i]*(x.free[k]*x.free[x.tree.dofs[at + i]])


cdef inline Lanes* set_lane_dofs(
    const LaneTerms* x, const LaneStep* s, LaneProblem* y, Lanes* memory
) noexcept nogil:
    """See `set_dofs`."""
    cdef const Lanes* q = s.q
    cdef double h = s.h
    cdef const Model* m = x.model
    cdef int n = m.num_velocities
    cdef const ForceElement* e
    cdef const Lanes* a
    cdef Lanes zero = <Lanes>0.0
    cdef Lanes below, above, beyond, inertia, ratio, size, back
    cdef int i
    y.linear = memory
    y.lower = y.linear + n
    y.upper = y.lower + n
    y.limit_slope = y.upper + n
    y.back = y.limit_slope + n
    y.pull_slope = y.back + n
    y.least_pull = y.pull_slope + n
    y.most_pull = y.least_pull + n
    y.friction = y.most_pull + n
    y.friction_slope = y.friction + n
    y.given = y.friction_slope + n
    y.effort = y.given + n
    y.effort_slope = y.effort + x.num_servos
    y.effort_lower, y.effort_upper = x.effort_lower, x.effort_upper
    y.effort_limit, y.servo_dofs = x.effort_limits, x.servo_dofs
    set_zero(y.friction, n)
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type == JOINT_FRICTION:
            a = x.elements + e.start
            ratio = s.v[e.b]/a[2]
            y.friction[e.b] = y.friction[e.b] + h*(a[0] + (a[1] - a[0])/(<Lanes>1.0 + ratio*ratio))
    for i in range(n):
        y.linear[i] = (h*x.damping[i] + (h*h)*x.stiffness[i])*x.free[i]
        inertia = y.M[x.tree.row[i]]
        inertia = select_lt(zero, inertia, inertia, y.linear[i])
        below, above = x.lower[i] - q[x.position_of[i]], q[x.position_of[i]] - x.upper[i]
        y.lower[i] = clip_lanes(-positive_lanes(-below)*(1.0/h), x.slowest[i], x.fastest[i])
        y.upper[i] = clip_lanes(positive_lanes(-above)*(1.0/h), x.slowest[i], x.fastest[i])
        beyond = positive_lanes(below) - positive_lanes(above)
        back = clip_lanes(beyond*(1.0/(h + RETURN)), x.slowest[i], x.fastest[i])
        size = (h/(PULL*PULL))*inertia*abs_(beyond)*x.free[i]
        y.back[i], y.pull_slope[i] = back, zero
        if is_anywhere(back):
            y.pull_slope[i] = select_lt(
                zero, abs_(back), size/select_lt(zero, abs_(back), abs_(back), <Lanes>1.0), zero
            )
        y.least_pull[i] = select_lt(zero, back, -size, zero)
        y.most_pull[i] = select_lt(zero, back, zero, size)
        y.limit_slope[i] = (1.0/RIGID)*inertia*x.free[i]
        y.friction[i] = y.friction[i]*x.free[i]
        y.friction_slope[i] = select_lt(zero, y.friction[i], (1.0/STICTION)*inertia, zero)
        y.given[i] = s.tau[i]*x.free[i]
    for i in range(x.num_servos):
        ratio = x.free[x.servo_dofs[i]]
        y.effort[i] = ratio*(x.kp[i]*(x.q_d[i] - q[x.servo_positions[i]]) + x.kd[i]*x.v_d[i])
        y.effort_slope[i] = ratio*(x.kd[i] + h*x.kp[i])
    return y.effort_slope + x.num_servos


cdef inline Lanes* set_lane_contacts(
    const LaneTerms* x, const LaneStep* s, LaneProblem* y, Lanes* memory, Lanes* columns
) noexcept nogil:
    """See `set_contacts`."""
    cdef const LaneKinematics* k = &s.now
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef const Lanes* a
    cdef Lanes[12] X_WA, X_WC
    cdef Lanes[3] p
    cdef Lanes* rows
    cdef int i, j, l, point = 0, n = m.num_velocities
    y.points = memory
    y.depth = y.points + 3*<Py_ssize_t>n*x.num_points
    y.point_friction = y.depth + x.num_points
    y.point_slope = y.point_friction + x.num_points
    y.point_dofs = x.point_dofs
    cdef Lanes* stiffness = y.point_slope + x.num_points
    cdef Lanes* dissipation = stiffness + x.num_points
    y.stiffness, y.dissipation = stiffness, dissipation
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type != POINT_CONTACT:
            continue
        a = x.elements + e.start
        calc_pose_of_frame(x, e.a, k, X_WA)
        calc_pose_of_frame(x, e.b, k, X_WC)
        for j in range(e.num_points):
            for l in range(3):
                p[l] = (
                    X_WC[4*l]*a[NUM_CONTACT_CONSTANTS + 3*j] + X_WC[4*l + 1]*a[NUM_CONTACT_CONSTANTS + 3*j + 1]
                    + X_WC[4*l + 2]*a[NUM_CONTACT_CONSTANTS + 3*j + 2] + X_WC[4*l + 3]
                )
            stiffness[point], dissipation[point] = a[0], a[1]
            y.depth[point] = (
                X_WA[2]*(X_WA[3] - p[0]) + X_WA[6]*(X_WA[7] - p[1]) + X_WA[10]*(X_WA[11] - p[2])
            )
            rows = y.points + 3*<Py_ssize_t>n*point
            set_point_rows(x, x.point_dofs[point], k, X_WA, p, rows)
            set_point_friction(x, point, a, s.v, y, columns)
            point += 1
    return dissipation + x.num_points


cdef inline void calc_pose_of_frame(
    const LaneTerms* x, int frame, const LaneKinematics* k, Lanes* X_WF
) noexcept nogil:
    """X_WF = X_WB X_BF, its first three rows."""
    cdef const Lanes* X_WB = k.X_WB + 16*x.model.frame_node[frame]
    cdef const Lanes* X_BF = x.p.X_BF + 16*frame
    cdef int i, j
    for i in range(3):
        for j in range(4):
            X_WF[4*i + j] = X_WB[4*i]*X_BF[j] + X_WB[4*i + 1]*X_BF[4 + j] + X_WB[4*i + 2]*X_BF[8 + j]
        X_WF[4*i + 3] = X_WF[4*i + 3] + X_WB[4*i + 3]


cdef inline void set_point_rows(
    const LaneTerms* x, int dof, const LaneKinematics* k, const Lanes* X_WA, const Lanes* p, Lanes* rows
) noexcept nogil:
    """Set the Jacobian (3, n) of a point, along the axes of A, with a column for each dof on its path."""
    cdef const Model* m = x.model
    cdef const Lanes* X_WB
    cdef const Lanes* H
    cdef Lanes[3] r, u
    cdef int i, j, l, body, last = -1, n = m.num_velocities
    set_zero(r, 3)
    for i in range(x.tree.length[dof] if dof >= 0 else 0):
        l = x.tree.dofs[x.tree.row[dof] + i]
        H = k.H_PB_W + 6*l
        body = m.joints[m.dof_mobod[l]].node
        if body != last:
            X_WB = k.X_WB + 16*body
            for j in range(3):
                r[j] = p[j] - X_WB[4*j + 3]
            last = body
        u[0] = H[3] + H[1]*r[2] - H[2]*r[1]
        u[1] = H[4] + H[2]*r[0] - H[0]*r[2]
        u[2] = H[5] + H[0]*r[1] - H[1]*r[0]
        for j in range(3):
            rows[n*j + i] = (X_WA[j]*u[0] + X_WA[4 + j]*u[1] + X_WA[8 + j]*u[2])*x.free[l]


cdef inline void set_point_friction(
    const LaneTerms* x, int point, const Lanes* a, const Lanes* v, LaneProblem* y, Lanes* columns
) noexcept nogil:
    """Set the friction of the normal force at the beginning, and its slope where the point sticks.

    The factor of the mass matrix must be stored behind the matrix.
    """
    cdef Lanes[3] u
    cdef Lanes zero = <Lanes>0.0
    cdef Lanes one = <Lanes>1.0
    cdef Lanes r, mu, normal
    cdef Lanes share = zero
    cdef int i, j, n = x.tree.n, dof = x.point_dofs[point]
    cdef int length = x.tree.length[dof] if dof >= 0 else 0
    cdef const Lanes* rows = y.points + 3*<Py_ssize_t>n*point
    for j in range(3):
        u[j] = zero
        for i in range(length):
            u[j] = u[j] + rows[n*j + i]*v[x.tree.dofs[x.tree.row[dof] + i]]
    r = 0.5*(sqrt_(u[0]*u[0] + u[1]*u[1])/a[4] - one)
    r = clip_lanes(r, zero, one)
    mu = a[2] + (a[3] - a[2])*r*r*r*(<Lanes>10.0 + r*(6.0*r - <Lanes>15.0))
    normal = a[0]*positive_lanes(y.depth[point])*positive_lanes(one - a[1]*u[2])
    if dof >= 0:
        copy(rows, length, columns)
        copy(rows + n, length, columns + n)
        share = measure_rows(x.tree, y.M + x.packed, dof, columns, columns + n)
    y.point_friction[point] = y.h*mu*normal
    y.point_slope[point] = <Lanes>(2.0/STICTION)/select_lt(zero, share, share, one)
    y.point_slope[point] = select_lt(zero, share, select_lt(zero, normal, y.point_slope[point], zero), zero)
