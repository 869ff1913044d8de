"""Errors of all tasks of inverse kinematics, with a state in each lane; and steps from state to state."""

from libc.math cimport fabs

from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.joints.mobilizers cimport QUATERNION, difference_position, integrate_position, orientation_of
from mbt._core.model.structs cimport Model
from mbt._core.passes.body_poses cimport calc_node_pose
from mbt._core.passes.paths cimport calc_sines_on_path
from mbt._core.scalars cimport Lanes, select_lt
from mbt._core.solvers.inverse_layout cimport CENTER, POSE, Task
from mbt._core.solvers.inverse_tasks cimport (
    InverseProblem, Owner, Search, calc_composite_masses, evaluate_center, evaluate_constraints, evaluate_pose,
    evaluate_vector, larger,
)

cdef inline Py_ssize_t count_system_memory(const Model* model) noexcept nogil:
    """Return the Lanes of working memory that `evaluate` needs."""
    return (
        20*model.num_mobods + 2*model.angle_stride + 6*model.num_velocities + 96*model.num_bodies
        + 14*model.num_velocities + model.num_equations*(model.num_velocities + 1) + model.num_velocities + 64
    )


cdef inline void calc_way_to_posture(const InverseProblem* x, const Lanes* q, Lanes* z) noexcept nogil:
    cdef const Owner* o = <const Owner*>x.owner
    cdef const Model* model = o.model
    cdef Lanes[8] there
    cdef Lanes[6] d
    cdef int i, k, b, c, nq
    for i in range(o.t.num_posture_nodes):
        b = o.t.posture_nodes[i]
        nq = model.q_start[b + 1] - model.q_start[b]
        for k in range(nq):
            there[k] = Lanes(o.t.posture[model.q_start[b] + k])
        difference_position(model.type[b], q + model.q_start[b], there, d)
        for k in range(model.v_start[b + 1] - model.v_start[b]):
            c = o.t.column[model.v_start[b] + k]
            if c >= 0:
                z[c] = d[k]


cdef inline Lanes evaluate(
    # Topology:
    const InverseProblem* x,
    # In:
    const Lanes* q,       # (nq,)        [rad, m]
    const Lanes* goal,    # (num_goal,)  [rad, m]
    const Lanes* second,  # (1,)         [1]
    # Work:
    Lanes* work,          # (count_system_memory,)
    # Out:
    Lanes* e,             # (num_rows,)  [rad, m]              weighted
    Lanes* J,             # (num_columns, num_rows)  [1, m]    or NULL
    Lanes* z,             # (num_columns,)  [rad, m]           way to the posture, or NULL
) noexcept nogil:
    """Compute errors and derivatives of all tasks and constraints; see `inverse_search.hpp`."""
    cdef const Owner* o = <const Owner*>x.owner
    cdef const Model* model = o.model
    cdef Lanes worst = Lanes(0.0)
    cdef const Task* task
    cdef Search s
    cdef int i
    s.problem, s.owner, s.model, s.q, s.second, s.e, s.J = x, o, model, q, second, e, J
    s.X_WN = work
    s.masses = s.X_WN + 16*model.num_mobods
    s.sines = s.masses + 4*model.num_mobods
    s.cosines = s.sines + model.angle_stride
    s.G = s.cosines + model.angle_stride
    calc_sines_on_path(model, o.t.mobods, o.t.num_mobods, q, s.sines, s.cosines)
    for i in range(o.t.num_mobods):
        calc_node_pose(model, o.t.mobods[i], o.p.mobods, q, s.sines, s.cosines, s.X_WN)
    if o.t.needs_masses:
        calc_composite_masses(o, s.X_WN, s.masses)
    for i in range(o.t.num_tasks):
        task = &o.t.tasks[i]
        if task.kind == POSE:
            worst = larger(worst, evaluate_pose(&s, task, o.X_NF + 2*i, goal + task.goal))
        elif task.kind == CENTER:
            worst = larger(worst, evaluate_center(&s, task, goal + task.goal))
        else:
            worst = larger(worst, evaluate_vector(&s, task, o.X_NF + 2*i, goal + task.goal))
    if o.t.constraint_row >= 0:
        worst = larger(worst, evaluate_constraints(&s, s.G + 6*model.num_velocities))
    if z != NULL:
        set_zero(z, x.num_columns)
        calc_way_to_posture(x, q, z)
    return worst


cdef inline void move(const InverseProblem* x, const Lanes* q, const Lanes* d, Lanes* y) noexcept nogil:
    """Move q along d, as velocities for one second, within limits."""
    cdef const Owner* o = <const Owner*>x.owner
    cdef const Model* model = o.model
    cdef Lanes[6] rates
    cdef Lanes there
    cdef int i, k, b, c
    if x.num_columns != x.nq:
        copy(q, x.nq, y)
    for k in range(x.num_columns):
        i = x.position[k]
        if i >= 0:
            there = q[i] + d[k]
            there = select_lt(there, Lanes(x.lower[k]), Lanes(x.lower[k]), there)
            y[i] = select_lt(Lanes(x.upper[k]), there, Lanes(x.upper[k]), there)
    for k in range(o.t.num_blocks):
        b = o.t.blocks[k]
        for i in range(model.v_start[b + 1] - model.v_start[b]):
            c = o.t.column[model.v_start[b] + i]
            rates[i] = d[c] if c >= 0 else Lanes(0.0)
        integrate_position(model.type[b], q + model.q_start[b], rates, Lanes(1.0), y + model.q_start[b])
    for k in range(o.t.num_clamped):
        i = o.t.clamped[k]
        y[i] = select_lt(y[i], Lanes(o.t.clamps[2*k]), Lanes(o.t.clamps[2*k]), y[i])
        y[i] = select_lt(Lanes(o.t.clamps[2*k + 1]), y[i], Lanes(o.t.clamps[2*k + 1]), y[i])


cdef inline double distance(const InverseProblem* x, const double* a, const double* b) noexcept nogil:
    """Return the sum of squared differences of coordinates; for quaternions about the square of the angle."""
    cdef const Owner* o = <const Owner*>x.owner
    cdef const Model* model = o.model
    cdef double sum = 0.0, dot, difference
    cdef int i, k, node, first
    for k in range(x.num_columns):
        i = x.position[k]
        if i >= 0:
            difference = a[i] - b[i]
            sum += difference*difference
    for k in range(o.t.num_blocks):
        node = o.t.blocks[k]
        first = model.q_start[node]
        if orientation_of(model.type[node]) == QUATERNION:
            # 8 (1 - cos(angle/2)) is angle^2 up to the fourth order.
            dot = 0.0
            for i in range(first, first + 4):
                dot += a[i]*b[i]
            sum += 8.0*(1.0 - fabs(dot))
            first += 4
        for i in range(first, model.q_start[node + 1]):
            difference = a[i] - b[i]
            sum += difference*difference
    return sum
