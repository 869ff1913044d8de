"""Inverse kinematics: positions at which frames are where they should be, from many starts at once."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.stdint cimport uint64_t

from mbt._core.algebra.records cimport Parameters, Pose
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.door.exact_arrays cimport adopt, data, in1
from mbt._core.engines.pool cimport Pool, get_pool, next_run, seconds
from mbt._core.model.structs cimport Model, Switches
from mbt._core.scalars cimport Lanes
from mbt._core.solvers.inverse_layout cimport InverseLayout, Tables
from mbt._core.solvers.inverse_system cimport count_system_memory, distance, evaluate, move
from mbt._core.solvers.inverse_tasks cimport InverseProblem, InverseSolver, Owner, calc_frame_on_mobod

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)


cdef enum:
    GOALS_PER_PART = 64      # with up to 64 seeds each; fewer with more seeds
    SEEDS_PER_RUN = 1024     # between two checks for signals
    ROUNDS_PER_RUN = 1024
    MANY_SEEDS = 65536       # a goal may take seconds


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
    Py_ssize_t begin
    Py_ssize_t end
    Py_ssize_t stretch       # goals of a part in a row
    int num_parts
    bint every               # seed of one goal


cdef int run_part(const void* shared, int part) noexcept nogil:
    """Solve every `num_parts`-th stretch of the goals, from number `part` on."""
    cdef const Job* job = <const Job*>shared
    cdef const InverseProblem* x = job.problem
    cdef Lanes* memory = <Lanes*>allocate_aligned(InverseSolver.count_memory(x)*sizeof(Lanes))
    if memory == NULL:
        return 1
    cdef InverseSolver* solver = new InverseSolver(x, memory)
    cdef Py_ssize_t i, end, at = job.begin + job.stretch*part
    if job.every:
        solver.try_all(job.goals, job.starts, job.begin, job.end, job.key, job.q, job.met)
        at = job.end
    while at < job.end:
        end = min(job.end, at + job.stretch)
        if end - at > 1 or job.seeds == 1:
            solver.try_starts(
                at, end, job.goals, job.goal_stride, job.starts, job.start_stride, job.q, job.met, job.steps,
                job.errors
            )
        else:
            job.met[at] = False
        for i in range(at, end):
            if not job.met[i]:
                job.met[i] = solver.search(
                    job.goals + job.goal_stride*i, job.starts + job.start_stride*i, job.seeds, job.key,
                    job.q + x.nq*i, job.steps + i, job.errors + x.num_errors*i
                )
        at += job.stretch*job.num_parts
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
        Disabled constraints of a Context.
    """
    cdef readonly InverseLayout layout
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
        cdef Py_ssize_t i, n = compiled.layout.size, derived = n + count_derived(m)
        cdef Pose[Lanes]* X_NF
        self.layout = layout
        self.vector = vector = in1(vector, "vector", n)
        self.memory = <Lanes*>allocate_aligned((derived + 1)*sizeof(Lanes) + 2*t.num_tasks*sizeof(Pose[Lanes]))
        if self.memory == NULL:
            raise MemoryError
        for i in range(n):
            self.memory[i] = <Lanes>data(vector)[i]
        derive_parameters[Lanes](m, &compiled.layout, EVERYTHING, self.memory, self.memory + n, &self.parameters)
        self.owner.model = m
        self.owner.switches = &self.switches
        self.owner.p = &self.parameters
        self.owner.t = t[0]
        X_NF = <Pose[Lanes]*>(self.memory + derived)
        self.owner.X_NF = X_NF
        for i in range(t.num_tasks):
            calc_frame_on_mobod(m, &self.parameters, t.tasks[i].frame, &X_NF[2*i])
            calc_frame_on_mobod(m, &self.parameters, t.tasks[i].base, &X_NF[2*i + 1])
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
        x.lowest, x.highest, x.num_errors = t.lower, t.upper, t.num_errors
        x.evaluate, x.move, x.distance = evaluate, move, distance

    def __dealloc__(self):
        free_aligned(self.memory)

    def solve(
        self, goals, starts, Py_ssize_t seeds, key, double rotation_tolerance, double distance_tolerance, int max_steps,
        int num_threads, Py_ssize_t count, q, met, steps, errors
    ):
        """Solve for all goals, and write into the last four arguments.

        Parameters
        ----------
        goals : ndarray, shape (1 or count, num_goal)
        starts : ndarray, shape (1 or count, nq)
            Within limits.
        seeds : int
            The most attempts per goal.
        key : int
            The key of the random numbers.
        rotation_tolerance, distance_tolerance : float
        max_steps : int
            Per attempt.
        num_threads : int
        count : int
        q : ndarray, shape (..., nq)
        met : ndarray of bool, shape (...,)
        steps : ndarray of int32, shape (...,)
        errors : ndarray, shape (..., num_errors)
        """
        cdef InverseProblem problem = self.problem
        cdef Job job
        cdef Py_ssize_t run, at = 0
        cdef Pool* pool
        cdef double start
        cdef int error, parts
        self.set_job(&job, &problem, goals, starts, key, rotation_tolerance, distance_tolerance, max_steps, q, met)
        job.seeds = seeds
        job.steps = <int*>cnp.PyArray_DATA(steps)
        job.errors = data(errors)
        if seeds > 1 and (count == 1 or seeds > MANY_SEEDS):
            for at in range(count):
                self.search_one(&job, at)
            return
        job.every = False
        job.stretch = max(<Py_ssize_t>1, min(<Py_ssize_t>GOALS_PER_PART, GOALS_PER_PART*GOALS_PER_PART//seeds))
        run = job.stretch*num_threads
        while at < count:
            job.begin, job.end = at, min(count, at + run)
            parts = <int>min(<Py_ssize_t>num_threads, (job.end - at + job.stretch - 1)//job.stretch)
            pool = get_pool() if parts > 1 else NULL
            job.num_parts = parts if pool != NULL else 1
            with nogil:
                start = seconds()
                error = run_part(&job, 0) if pool == NULL else pool.run(run_part, &job, parts)
                run = next_run(job.end - at, seconds() - start, job.stretch)
            if error:
                raise MemoryError
            at = job.end
            if at < count:
                PyErr_CheckSignals()

    cdef int search_one(self, const Job* job, Py_ssize_t i) except -1:
        """Search from all seeds for one goal, with checks for signals."""
        cdef const InverseProblem* x = job.problem
        cdef const double* goal = job.goals + job.goal_stride*i
        cdef const double* start = job.starts + job.start_stride*i
        cdef double* q = job.q + x.nq*i
        cdef Lanes* memory = <Lanes*>allocate_aligned(InverseSolver.count_memory(x)*sizeof(Lanes))
        cdef InverseSolver* solver
        cdef bint is_over = False
        if memory == NULL:
            raise MemoryError
        solver = new InverseSolver(x, memory)
        try:
            solver.begin_search(start, q, job.steps + i)
            while not is_over:
                with nogil:
                    is_over = solver.search_on(goal, start, job.seeds, job.key, ROUNDS_PER_RUN, q, job.steps + i)
                if not is_over:
                    PyErr_CheckSignals()
            with nogil:
                job.met[i] = solver.end_search(goal, start, q, job.steps + i, job.errors + x.num_errors*i)
        finally:
            del solver
            free_aligned(memory)
        return 0

    def try_all(
        self, goal, start, Py_ssize_t seeds, key, double rotation_tolerance, double distance_tolerance, int max_steps,
        q, met
    ):
        """Make an attempt from every seed; write the positions (seeds, nq), and which meet the goal, into q and met."""
        cdef InverseProblem problem = self.problem
        cdef Job job
        cdef Py_ssize_t at = 0
        cdef int error = 0
        self.set_job(&job, &problem, goal, start, key, rotation_tolerance, distance_tolerance, max_steps, q, met)
        job.every, job.num_parts = True, 1
        while at < seeds:
            job.begin, job.end = at, min(seeds, at + SEEDS_PER_RUN)
            with nogil:
                error = run_part(&job, 0)
            if error:
                raise MemoryError
            at = job.end
            PyErr_CheckSignals()

    def verify(self, goal, double rotation_tolerance, double distance_tolerance, q, met, errors):
        """Find which positions (count, nq) meet one goal within all limits, and their errors; write both.

        No position changes.
        """
        cdef InverseProblem problem = self.problem
        cdef Py_ssize_t count = q.shape[0]
        cdef Job job
        cdef Lanes* memory
        cdef InverseSolver* solver
        self.set_job(&job, &problem, goal, q, 0, rotation_tolerance, distance_tolerance, 1, q, met)
        memory = <Lanes*>allocate_aligned(InverseSolver.count_memory(&problem)*sizeof(Lanes))
        if memory == NULL:
            raise MemoryError
        met[...] = True
        job.errors = data(errors)
        with nogil:
            solver = new InverseSolver(&problem, memory)
            solver.verify_all(0, count, job.goals, 0, job.q, job.met, job.errors)
            del solver
            free_aligned(memory)

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
        return 0
