"""Inverse kinematics: positions at which frames are where they should be, from many starts at once."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport uint64_t

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.door.exact_arrays cimport adopt, data, in1
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport CONSTRAINT_ERRORS
from mbt._core.scalars cimport Lanes
from mbt._core.solvers.inverse_layout cimport (
    CENTER, DIRECTION, POSE, POSITION, InverseLayout, Tables, Task,
)
from mbt._core.solvers.inverse_system cimport (
    InverseProblem, InverseSolver, Owner, count_system_memory, distance, evaluate, move, pose_error,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "engines/pool.hpp" namespace "MBT_NS" nogil:
    ctypedef int (*PoolTask)(const void* job, int part) noexcept nogil
    cdef cppclass Pool:
        int run(PoolTask task, const void* job, int count)
    Pool* get_pool()

cdef enum:
    GOALS_PER_PART = 64
    PARTS_PER_RUN = 16       # between two looks at signals


cdef struct Job:
    const InverseProblem* problem
    const double* goals
    Py_ssize_t goal_stride
    const double* starts
    Py_ssize_t start_stride
    Py_ssize_t seeds
    uint64_t key
    double* q
    unsigned char* met
    int* steps
    double* errors
    int num_errors
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts
    bint every               # seed of one goal


cdef double calc_errors(
    const InverseProblem* x, const double* q, const double* goal, double* memory, double* errors
) noexcept nogil:
    """Errors of all tasks without weights, by `frame_pose`; returns the largest in tolerances, squared."""
    cdef const Owner* o = <const Owner*>x.owner
    cdef const Model* model = o.model
    cdef int* path = <int*>(memory + kernels.work_size(model))
    cdef double[16] X_WF
    cdef double[16] X_WA
    cdef double[9] R
    cdef double[3] p
    cdef double[6] e
    cdef double[9] A
    cdef double[9] B
    cdef double[3] r
    cdef double[3] center
    cdef double angle, size, mass, worst = 0.0
    cdef const Task* task
    cdef const double* g
    cdef int t, i, j, n = 0
    for t in range(o.t.num_tasks):
        task = &o.t.tasks[t]
        g = goal + task.goal
        if task.kind != CENTER:
            kernels.frame_pose(model, o.numbers, task.frame, q, memory, path, X_WF)
        if task.kind == POSE:
            # X_AF, and from it X_FG.
            if task.base != 0:
                kernels.frame_pose(model, o.numbers, task.base, q, memory, path, X_WA)
                for i in range(3):
                    for j in range(3):
                        R[3*i + j] = X_WA[i]*X_WF[j] + X_WA[4 + i]*X_WF[4 + j] + X_WA[8 + i]*X_WF[8 + j]
                    p[i] = (
                        X_WA[i]*(X_WF[3] - X_WA[3]) + X_WA[4 + i]*(X_WF[7] - X_WA[7])
                        + X_WA[8 + i]*(X_WF[11] - X_WA[11])
                    )
                for i in range(3):
                    for j in range(3):
                        X_WF[4*i + j] = R[3*i + j]
                    X_WF[4*i + 3] = p[i]
            for i in range(3):
                for j in range(3):
                    R[3*i + j] = X_WF[i]*g[j] + X_WF[4 + i]*g[4 + j] + X_WF[8 + i]*g[8 + j]
                p[i] = X_WF[i]*(g[3] - X_WF[3]) + X_WF[4 + i]*(g[7] - X_WF[7]) + X_WF[8 + i]*(g[11] - X_WF[11])
            pose_error[double](R, p, e, A, B, &angle)
            if task.rotation_row >= 0:
                for i in range(3):
                    errors[n + i] = e[i]
                n += 3
                if not task.rotation_second:
                    worst = larger(worst, angle/x.rotation_tolerance)
            if task.distance_row >= 0:
                for i in range(3):
                    errors[n + i] = e[3 + i]
                n += 3
                if not task.distance_second:
                    size = p[0]*p[0] + p[1]*p[1] + p[2]*p[2]
                    worst = larger(worst, sqrt(size)/x.distance_tolerance)
            continue
        if task.kind == CENTER:
            kernels.center_of_mass(model, o.numbers, q, memory, &mass, center)
            for i in range(task.num_rows):
                r[i] = center[task.axes[i]]
        else:
            for i in range(3):
                r[i] = (
                    X_WF[4*i]*task.point[0] + X_WF[4*i + 1]*task.point[1] + X_WF[4*i + 2]*task.point[2]
                    + (X_WF[4*i + 3] if task.kind == POSITION else 0.0)
                )
        size = 0.0
        for i in range(task.num_rows):
            errors[n + i] = g[i] - r[i]
            size += errors[n + i]*errors[n + i]
        n += task.num_rows
        if task.kind == DIRECTION and not task.rotation_second:
            worst = larger(worst, sqrt(size)/x.rotation_tolerance)
        elif task.kind != DIRECTION and not task.distance_second:
            worst = larger(worst, sqrt(size)/x.distance_tolerance)
    return worst


cdef inline double larger(double a, double b) noexcept nogil:
    """The larger one, and NaN where one is."""
    return a if a >= b or a != a else b


cdef bint meets(
    const InverseProblem* x, const double* q, const double* goal, void* memory, double* errors
) noexcept nogil:
    cdef const Owner* o = <const Owner*>x.owner
    cdef double* work = <double*>memory
    cdef int i
    for i in range(x.nq):
        if not (o.t.lower[i] <= q[i] <= o.t.upper[i]):
            return False
    if not calc_errors(x, q, goal, work, errors) <= 1.0:
        return False
    return o.t.constraint_row < 0 or calc_largest_constraint_error(o, q, work) <= x.constraint_tolerance


cdef double calc_largest_constraint_error(const Owner* o, const double* q, double* memory) noexcept nogil:
    cdef const Model* model = o.model
    cdef double* X_WB = memory + kernels.work_size(model)
    cdef double worst = 0.0
    cdef Call[double] call
    cdef int i
    kernels.body_poses(model, o.numbers, q, memory, X_WB)
    call.model, call.switches, call.p, call.q = model, o.switches, o.numbers, q
    call.k.X_WB = X_WB
    call.out = X_WB + 16*model.num_bodies
    kernels.of_doubles.call(CONSTRAINT_ERRORS, &call)
    for i in range(model.num_equations):
        worst = larger(worst, fabs(call.out[i]))
    return worst


cdef inline Py_ssize_t count_check_memory(const Model* model) noexcept nogil:
    return kernels.work_size(model) + 17*model.num_bodies + model.num_equations + 1


cdef int run_part(const void* shared, int part) noexcept nogil:
    """Every `num_parts`-th stretch of the goals from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef const InverseProblem* x = job.problem
    cdef const Model* model = (<const Owner*>x.owner).model
    cdef Py_ssize_t size = InverseSolver.count_memory(x)*sizeof(Lanes)
    cdef char* memory = <char*>allocate_aligned(
        size + (count_check_memory(model) + job.num_errors + 1)*<Py_ssize_t>sizeof(double)
    )
    if memory == NULL:
        return 1
    cdef double* check = <double*>(memory + size)
    cdef InverseSolver* solver = new InverseSolver(x, <Lanes*>memory, check, check + count_check_memory(model))
    cdef Py_ssize_t i, end, at = job.begin + GOALS_PER_PART*part
    if job.every:
        solver.try_all(job.goals, job.starts, job.begin, job.end, job.key, job.q, job.met)
        at = job.end
    while at < job.end:
        end = min(job.end, at + GOALS_PER_PART)
        if end - at > 1 or job.seeds == 1:
            solver.try_starts(
                at, end, job.goals, job.goal_stride, job.starts, job.start_stride, job.q, job.met, job.steps,
                job.errors, job.num_errors
            )
        else:
            job.met[at] = False
        for i in range(at, end):
            if not job.met[i]:
                job.met[i] = solver.search(
                    job.goals + job.goal_stride*i, job.starts + job.start_stride*i, job.seeds, job.key,
                    job.q + x.nq*i, job.steps + i
                )
                calc_errors(x, job.q + x.nq*i, job.goals + job.goal_stride*i, check, job.errors + job.num_errors*i)
        at += GOALS_PER_PART*job.num_parts
    del solver
    free_aligned(memory)
    return 0


cdef class InverseCore:
    """Tasks with one set of parameters, ready for the solver.

    Parameters
    ----------
    layout : InverseLayout
    vector : ndarray
        Parameters.
    disabled : sequence of int, or None
        Constraints of a Context that are off.
    """
    cdef readonly InverseLayout layout
    cdef Derived derived
    cdef object vector
    cdef object disabled
    cdef Lanes* memory
    cdef Parameters[Lanes] parameters
    cdef Switches switches
    cdef InverseProblem problem
    cdef Owner owner

    def __cinit__(self, InverseLayout layout not None, vector, disabled):
        cdef CompiledModel compiled = layout.compiled
        cdef const Model* m = &compiled.model
        cdef const Tables* t = &layout.tables
        cdef InverseProblem* x = &self.problem
        cdef Py_ssize_t i, n = compiled.layout.size
        self.layout = layout
        self.vector = vector = in1(vector, "vector", n)
        self.derived = compiled.defaults if vector is compiled.default_parameters else Derived(compiled, vector)
        self.memory = <Lanes*>allocate_aligned((n + count_derived(m) + 1)*sizeof(Lanes))
        if self.memory == NULL:
            raise MemoryError
        for i in range(n):
            self.memory[i] = <Lanes>data(vector)[i]
        derive_parameters[Lanes](m, &compiled.layout, EVERYTHING, self.memory, self.memory + n, &self.parameters)
        self.owner.model = m
        self.owner.switches = &self.switches
        self.owner.p = &self.parameters
        self.owner.numbers = &self.derived.parameters
        self.owner.t = t[0]
        self.switches = m.switches
        if disabled is not None:
            self.disabled = np.array([*disabled, 0], dtype=np.intc)
            self.switches.disabled = <int*>cnp.PyArray_DATA(self.disabled)
        x.owner = &self.owner
        x.nq, x.num_columns, x.num_rows, x.num_goal = m.num_positions, t.num_columns, t.num_rows, t.num_goal
        x.num_blocks, x.position, x.lower, x.upper = t.num_blocks, t.position, t.low, t.high
        x.center, x.spread, x.turn = t.center, t.spread, t.turn
        x.posture_weight, x.is_secondary = t.posture_weight, t.is_secondary
        x.constraint_tolerance = 1e-8
        x.num_work = count_system_memory(m)
        x.evaluate, x.move, x.meets, x.distance = evaluate, move, meets, distance

    def __dealloc__(self):
        free_aligned(self.memory)

    def solve(
        self, goals, starts, Py_ssize_t seeds, key, double rotation_tolerance, double distance_tolerance, int max_steps,
        int num_threads, Py_ssize_t count, q, met, steps, errors
    ):
        """Solve for all goals, into the last four.

        Parameters
        ----------
        goals : ndarray, shape (1 or count, num_goal)
        starts : ndarray, shape (1 or count, nq)
            Within limits.
        seeds : int
            Attempts a goal at the most.
        key : int
            Of the random numbers.
        rotation_tolerance, distance_tolerance : float
        max_steps : int
            Of an attempt.
        num_threads : int
        count : int
        q : ndarray, shape (..., nq)
        met : ndarray of bool, shape (...,)
        steps : ndarray of int32, shape (...,)
        errors : ndarray, shape (..., num_errors)
        """
        cdef InverseProblem problem = self.problem
        cdef Job job
        cdef Py_ssize_t at = 0
        cdef Pool* pool
        cdef int error, parts
        self.set_job(&job, &problem, goals, starts, key, rotation_tolerance, distance_tolerance, max_steps, q, met)
        job.seeds = seeds
        job.steps = <int*>cnp.PyArray_DATA(steps)
        job.errors = data(errors)
        job.every = False
        while at < count:
            job.begin, job.end = at, min(count, at + GOALS_PER_PART*PARTS_PER_RUN*num_threads)
            parts = min(num_threads, <int>((job.end - at + GOALS_PER_PART - 1)//GOALS_PER_PART))
            pool = get_pool() if parts > 1 else NULL
            job.num_parts = parts if pool != NULL else 1
            with nogil:
                error = run_part(&job, 0) if pool == NULL else pool.run(run_part, &job, parts)
            if error:
                raise MemoryError
            at = job.end
            if at < count:
                PyErr_CheckSignals()

    def try_all(
        self, goal, start, Py_ssize_t seeds, key, double rotation_tolerance, double distance_tolerance, int max_steps,
        q, met
    ):
        """Make an attempt from every seed: positions (seeds, nq), and which meet the goal, into the last two."""
        cdef InverseProblem problem = self.problem
        cdef Job job
        cdef Py_ssize_t at = 0
        cdef int error = 0
        self.set_job(&job, &problem, goal, start, key, rotation_tolerance, distance_tolerance, max_steps, q, met)
        job.every, job.num_parts = True, 1
        while at < seeds:
            job.begin, job.end = at, min(seeds, at + GOALS_PER_PART*PARTS_PER_RUN)
            with nogil:
                error = run_part(&job, 0)
            if error:
                raise MemoryError
            at = job.end
            PyErr_CheckSignals()

    cdef int set_job(
        self, Job* job, InverseProblem* problem, goals, starts, key, double rotation_tolerance,
        double distance_tolerance, int max_steps, q, met
    ) except -1:
        problem.rotation_tolerance, problem.distance_tolerance = rotation_tolerance, distance_tolerance
        problem.max_steps = max_steps
        job.problem = problem
        job.goals, job.goal_stride = data(goals), self.problem.num_goal if goals.shape[0] > 1 else 0
        job.starts, job.start_stride = data(starts), self.problem.nq if starts.shape[0] > 1 else 0
        job.key = key
        job.q = data(q)
        job.met = <unsigned char*>cnp.PyArray_DATA(met)
        job.num_errors = self.layout.tables.num_errors
        return 0
