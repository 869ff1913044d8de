"""Errors of each task of inverse kinematics and the Jacobians that reduce them, with a state in each lane."""

from mbt._core.algebra.records cimport Parameters, Pose
from mbt._core.algebra.spatial cimport compose_pose4, cross, multiply_rotations, rotate4, set_pose4
from mbt._core.algebra.vectors cimport numbers, put, vector_at
from mbt._core.joints.mobilizers cimport REVOLUTE_Z
from mbt._core.model.structs cimport MobodJoint, Model, Switches
from mbt._core.passes.jacobian cimport set_columns
from mbt._core.passes.position_kinematics cimport calc_position_kinematics
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.constraints cimport calc_errors, calc_jacobian
from mbt._core.scalars cimport Lanes, select_lt
from mbt._core.solvers.inverse_layout cimport POSITION, Tables, Task


cdef extern from "solvers/pose_errors.hpp" namespace "MBT_NS" nogil:
    void pose_error[S](const S* R, const S* p, S* e, S* A, S* B, S* angle)
    void set_pose_column[S](
        const S* z, const S* u, const S* A, const S* B, int rotation_row, int distance_row, S* J)


cdef extern from "solvers/inverse_goals.hpp" namespace "MBT_NS" nogil:
    cdef cppclass InverseProblem:
        const void* owner
        int nq, num_columns, num_rows, num_goal, num_blocks
        const int* position
        const double* lower
        const double* upper
        const double* center
        const double* spread
        const double* turn
        const double* lowest
        const double* highest
        int num_errors
        double rotation_tolerance, distance_tolerance, constraint_tolerance
        double posture_weight
        bint is_secondary
        int max_steps
        Py_ssize_t num_work
        Lanes (*evaluate)(
            const InverseProblem* x, const Lanes* q, const Lanes* goal, const Lanes* secondary, Lanes* work, Lanes* e,
            Lanes* J, Lanes* z) noexcept nogil
        void (*move)(const InverseProblem* x, const Lanes* q, const Lanes* d, Lanes* y) noexcept nogil
        double (*distance)(const InverseProblem* x, const double* a, const double* b) noexcept nogil
    cdef cppclass InverseSolver:
        @staticmethod
        Py_ssize_t count_memory(const InverseProblem* x)
        InverseSolver(const InverseProblem* x, Lanes* memory)
        void try_starts(
            Py_ssize_t begin, Py_ssize_t end, const double* goals, Py_ssize_t goal_stride, const double* starts,
            Py_ssize_t start_stride, double* q, unsigned char* met, int* steps,
            double* errors)
        void verify_all(
            Py_ssize_t begin, Py_ssize_t end, const double* goals, Py_ssize_t goal_stride, const double* q,
            unsigned char* met, double* errors)
        bint search(
            const double* goal, const double* start, Py_ssize_t seeds, unsigned long long key, double* q, int* steps,
            double* errors)
        void begin_search(const double* start, double* q, int* steps)
        bint search_on(
            const double* goal, const double* start, Py_ssize_t seeds, unsigned long long key, int most, double* q,
            int* steps)
        bint end_search(const double* goal, const double* start, double* q, int* steps, double* errors)
        void try_all(
            const double* goal, const double* start, Py_ssize_t begin, Py_ssize_t end, unsigned long long key,
            double* q, unsigned char* met)


cdef struct Owner:
    const Model* model
    const Switches* switches
    const Parameters[Lanes]* p
    const Pose[Lanes]* X_NF      # (num_tasks, 2) frames and bases on their mobods
    Tables t


cdef struct Search:
    # One evaluation, with a state in each lane.
    const InverseProblem* problem
    const Owner* owner
    const Model* model
    const Lanes* q
    const Lanes* second          # factor of the weights of secondary tasks
    Lanes* X_WN                  # (num_mobods, 4, 4)
    Lanes* masses                # (num_mobods, 4)   mass and first moment, with all that is outboard
    Lanes* sines
    Lanes* cosines
    Lanes* G                     # (6, nv)           columns of joints not revolute about z
    Lanes* e                     # (num_rows,)       errors
    Lanes* J                     # (num_columns, num_rows)  decrease of errors per velocity, or NULL


cdef inline void calc_frame_on_mobod(
    const Model* model, const Parameters[Lanes]* p, int frame, Pose[Lanes]* X_NF
) noexcept nogil:
    """X_NF = X_NB X_BF."""
    cdef const Lanes* X_BF = p.X_BF + 16*frame
    cdef const Pose[Lanes]* X_NB = &p.X_NB[model.frame_node[frame]]
    cdef Lanes[9] R_BF
    cdef Lanes[3] p_BF
    cdef int i, j
    for i in range(3):
        for j in range(3):
            R_BF[3*i + j] = X_BF[4*i + j]
        p_BF[i] = X_BF[4*i + 3]
    multiply_rotations(numbers(X_NB.R), R_BF, numbers(X_NF.R))
    put(X_NB.p + X_NB.R*vector_at(&p_BF[0]), numbers(X_NF.p))


cdef inline void calc_frame_pose(
    const Model* model, int frame, const Pose[Lanes]* X_NF, const Lanes* X_WN, Lanes* X_WF
) noexcept nogil:
    """X_WF = X_WN X_NF."""
    cdef int mobod = model.mobod[model.frame_node[frame]]
    if mobod == 0:
        set_pose4(numbers(X_NF.R), numbers(X_NF.p), X_WF)
    else:
        compose_pose4(X_WN + 16*mobod, numbers(X_NF.R), numbers(X_NF.p), X_WF)


cdef inline void get_motion(
    const Search* s, int i, int dof, const Lanes* p_WF, Lanes* z, Lanes* u
) noexcept nogil:
    """Compute the angular and linear velocity of F per rate of a dof of mobod i."""
    cdef const Model* model = s.model
    cdef const Lanes* X = s.X_WN + 16*i
    cdef Lanes[3] r
    cdef int j
    if model.joints[i].kind == REVOLUTE_Z:
        for j in range(3):
            z[j] = X[4*j + 2]
            r[j] = p_WF[j] - X[4*j + 3]
        cross(z, r, u)
    else:
        for j in range(3):
            z[j] = s.G[model.num_velocities*j + dof]
            u[j] = s.G[model.num_velocities*(3 + j) + dof]


cdef inline Lanes larger(Lanes a, Lanes b) noexcept nogil:
    """Return the larger one; NaN where either is NaN."""
    return select_lt(a, b, b, a) + Lanes(0.0)*b


cdef inline void set_row(const Search* s, int row, int column, Lanes value) noexcept nogil:
    s.J[s.problem.num_rows*column + row] = value


cdef inline Lanes evaluate_pose(
    const Search* s, const Task* task, const Pose[Lanes]* X_NF, const Lanes* goal
) noexcept nogil:
    cdef const InverseProblem* x = s.problem
    cdef const Owner* o = s.owner
    cdef const Model* model = s.model
    cdef Lanes* e = s.e
    cdef Lanes* J = s.J
    cdef Lanes[16] X_WF, X_WA, X_WG
    cdef Lanes[9] R
    cdef Lanes[3] p
    cdef Lanes[6] error
    cdef Lanes[9] A, B
    cdef Lanes[3] p_WF, z, u
    cdef Lanes angle, a, b
    cdef Lanes worst = Lanes(0.0)
    cdef Lanes* column
    cdef bint is_weighted
    cdef int i, j, k, l, m, c
    cdef const MobodJoint* joint
    calc_frame_pose(model, task.frame, X_NF, s.X_WN, X_WF)
    for i in range(3):
        for j in range(4):
            X_WG[4*i + j] = goal[4*i + j]
    if task.base != 0:
        calc_frame_pose(model, task.base, X_NF + 1, s.X_WN, X_WA)
        for i in range(3):
            for j in range(3):
                R[3*i + j] = goal[4*i + j]
            p[i] = goal[4*i + 3]
        compose_pose4(X_WA, R, p, X_WG)
    # In the axes of World; of F if the caller asks for errors. Neither length nor steps depend on the axes.
    for i in range(3):
        p[i] = X_WG[4*i + 3] - X_WF[4*i + 3]
        p_WF[i] = X_WF[4*i + 3]
        for j in range(3):
            R[3*i + j] = X_WG[4*i]*X_WF[4*j] + X_WG[4*i + 1]*X_WF[4*j + 1] + X_WG[4*i + 2]*X_WF[4*j + 2]
    pose_error[Lanes](R, p, error, A, B, &angle)
    a = Lanes(task.rotation_weight if J != NULL else 1.0)
    if task.rotation_second:
        a = a*s.second[0]
    elif task.rotation_row >= 0:
        worst = angle*angle*(1.0/(x.rotation_tolerance*x.rotation_tolerance))
    b = Lanes(task.distance_weight if J != NULL else 1.0)
    if task.distance_second:
        b = b*s.second[0]
    elif task.distance_row >= 0:
        worst = larger(
            worst, (p[0]*p[0] + p[1]*p[1] + p[2]*p[2])*(1.0/(x.distance_tolerance*x.distance_tolerance))
        )
    if J == NULL:
        for i in range(3):
            z[i] = X_WF[i]*error[0] + X_WF[4 + i]*error[1] + X_WF[8 + i]*error[2]
            u[i] = X_WF[i]*error[3] + X_WF[4 + i]*error[4] + X_WF[8 + i]*error[5]
        for i in range(3):
            error[i] = z[i]
            error[3 + i] = u[i]
    for i in range(3):
        if task.rotation_row >= 0:
            e[task.rotation_row + i] = error[i]*a
        if task.distance_row >= 0:
            e[task.distance_row + i] = error[3 + i]*b
    if J == NULL:
        return worst
    is_weighted = (
        task.rotation_second or task.distance_second or task.rotation_weight != 1.0 or task.distance_weight != 1.0
    )
    for k in range(task.path, task.path_end):
        m = o.t.path_mobod[k]
        joint = &model.joints[m]
        if joint.kind != REVOLUTE_Z:
            set_columns(model, m, o.p.mobods, s.q, s.X_WN, p_WF, s.G)
        for l in range(joint.v_start, joint.v_start + joint.nv):
            c = o.t.column[l]
            if c < 0:
                continue
            get_motion(s, m, l, p_WF, z, u)
            if o.t.path_sign[k] < 0.0:
                for i in range(3):
                    z[i] = -z[i]
                    u[i] = -u[i]
            column = J + x.num_rows*c
            set_pose_column(z, u, A, B, task.rotation_row, task.distance_row, column)
            if is_weighted:
                for i in range(3):
                    if task.rotation_row >= 0:
                        column[task.rotation_row + i] = column[task.rotation_row + i]*a
                    if task.distance_row >= 0:
                        column[task.distance_row + i] = column[task.distance_row + i]*b
    return worst


cdef inline Lanes evaluate_vector(
    const Search* s, const Task* task, const Pose[Lanes]* X_NF, const Lanes* goal
) noexcept nogil:
    """Evaluate the task of a point, or of a direction, whose error is the chord between two unit vectors."""
    cdef const InverseProblem* x = s.problem
    cdef const Owner* o = s.owner
    cdef const Model* model = s.model
    cdef Lanes* e = s.e
    cdef Lanes* J = s.J
    cdef Lanes[16] X_WF
    cdef Lanes[3] r, z, u
    cdef Lanes w
    cdef Lanes size = Lanes(0.0)
    cdef bint is_point = task.kind == POSITION
    cdef int row = task.distance_row if is_point else task.rotation_row
    cdef int i, k, l, m, c
    cdef const MobodJoint* joint
    calc_frame_pose(model, task.frame, X_NF, s.X_WN, X_WF)
    w = Lanes(1.0 if J == NULL else task.distance_weight if is_point else task.rotation_weight)
    if task.distance_second if is_point else task.rotation_second:
        w = w*s.second[0]
    for i in range(3):
        r[i] = X_WF[4*i]*task.point[0] + X_WF[4*i + 1]*task.point[1] + X_WF[4*i + 2]*task.point[2]
        if is_point:
            r[i] = r[i] + X_WF[4*i + 3]
        e[row + i] = (goal[i] - r[i])*w
        size = size + (goal[i] - r[i])*(goal[i] - r[i])
    for k in range(task.path, task.path_end if J != NULL else task.path):
        m = o.t.path_mobod[k]
        joint = &model.joints[m]
        if joint.kind != REVOLUTE_Z:
            set_columns(model, m, o.p.mobods, s.q, s.X_WN, r, s.G)
        for l in range(joint.v_start, joint.v_start + joint.nv):
            c = o.t.column[l]
            if c < 0:
                continue
            get_motion(s, m, l, r, z, u)
            if not is_point:
                cross(z, r, u)
            for i in range(3):
                set_row(s, row + i, c, u[i]*w)
    if task.distance_second if is_point else task.rotation_second:
        return Lanes(0.0)
    if is_point:
        return size*(1.0/(x.distance_tolerance*x.distance_tolerance))
    return size*(1.0/(x.rotation_tolerance*x.rotation_tolerance))


cdef inline void calc_composite_masses(const Owner* o, const Lanes* X_WN, Lanes* masses) noexcept nogil:
    """Compute the mass of each mobod with all outboard of it, and its first moment about the origin of World."""
    cdef const Model* model = o.model
    cdef Lanes[3] h
    cdef int i, j, k
    for i in range(model.num_mobods):
        masses[4*i] = o.p.mobods[i].I.mass
        if i == 0:
            put(o.p.mobods[0].I.h, masses + 1)
        else:
            rotate4(X_WN + 16*i, numbers(o.p.mobods[i].I.h), h)
            for j in range(3):
                masses[4*i + 1 + j] = h[j] + X_WN[16*i + 4*j + 3]*o.p.mobods[i].I.mass
    for i in range(model.num_mobods - 1, 0, -1):
        k = model.joints[i].parent
        for j in range(4):
            masses[4*k + j] = masses[4*k + j] + masses[4*i + j]


cdef inline Lanes evaluate_center(const Search* s, const Task* task, const Lanes* goal) noexcept nogil:
    cdef const InverseProblem* x = s.problem
    cdef const Owner* o = s.owner
    cdef const Model* model = s.model
    cdef const Lanes* masses = s.masses
    cdef Lanes* e = s.e
    cdef Lanes* J = s.J
    cdef Lanes[3] center
    cdef Lanes share, w, y, inverse
    cdef Lanes size = Lanes(0.0)
    cdef Py_ssize_t nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef int i, j, k, l, c
    w = Lanes(task.distance_weight if J != NULL else 1.0)
    if task.distance_second:
        w = w*s.second[0]
    inverse = Lanes(1.0)/masses[0]
    for i in range(task.num_rows):
        y = goal[i] - masses[1 + task.axes[i]]*inverse
        e[task.distance_row + i] = y*w
        size = size + y*y
    for k in range(1, model.num_mobods if J != NULL else 1):
        joint = &model.joints[k]
        # A part without mass moves no center of mass: any divisor will do.
        share = Lanes(1.0)/select_lt(Lanes(0.0), masses[4*k], masses[4*k], Lanes(1.0))
        for j in range(3):
            center[j] = masses[4*k + 1 + j]*share
        set_columns(model, k, o.p.mobods, s.q, s.X_WN, center, s.G)
        for l in range(joint.v_start, joint.v_start + joint.nv):
            c = o.t.column[l]
            if c >= 0:
                for i in range(task.num_rows):
                    set_row(
                        s, task.distance_row + i, c, s.G[(3 + task.axes[i])*nv + l]*w*masses[4*k]*inverse
                    )
    if task.distance_second:
        return Lanes(0.0)
    return size*(1.0/(x.distance_tolerance*x.distance_tolerance))


cdef inline Lanes evaluate_constraints(const Search* s, Lanes* memory) noexcept nogil:
    cdef const InverseProblem* x = s.problem
    cdef const Owner* o = s.owner
    cdef const Model* model = s.model
    cdef Call[Lanes] call
    cdef Lanes worst = Lanes(0.0)
    cdef Lanes* out
    cdef int i, l
    call.model, call.switches, call.p, call.q = model, o.switches, o.p, s.q
    call.k.X_FM = memory
    call.k.X_PB = call.k.X_FM + 16*model.num_bodies
    call.k.X_WB = call.k.X_PB + 16*model.num_bodies
    call.k.H_FM = call.k.X_WB + 16*model.num_bodies
    call.k.H_PB_W = call.k.H_FM + 6*model.num_velocities
    out = call.k.H_PB_W + 6*model.num_velocities
    calc_position_kinematics(
        model, o.p.X_BF, s.q, s.sines, s.cosines, <Lanes*>NULL, <Lanes*>NULL, call.k.X_WB, call.k.H_FM, call.k.H_PB_W
    )
    call.out = out
    calc_errors(&call)
    for i in range(model.num_equations):
        s.e[o.t.constraint_row + i] = -out[i]
        worst = larger(worst, out[i]*out[i])
    if s.J == NULL:
        return worst*(1.0/(x.constraint_tolerance*x.constraint_tolerance))
    calc_jacobian(&call)
    for i in range(model.num_equations):
        for l in range(model.num_velocities):
            if o.t.column[l] >= 0:
                set_row(s, o.t.constraint_row + i, o.t.column[l], out[model.num_velocities*i + l])
    return worst*(1.0/(x.constraint_tolerance*x.constraint_tolerance))
