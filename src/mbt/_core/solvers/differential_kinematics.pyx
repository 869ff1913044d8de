"""One step of differential kinematics: velocities that bring frames nearer to their goals, within limits."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, is_array1, is_array2, is_writeable, new1, overlap
from mbt._core.engines.pool cimport Pool, get_pool
from mbt._core.engines.section cimport Section
from mbt._core.forces.constraints cimport COUPLER
from mbt._core.joints.mobilizers cimport PLAIN, QUATERNION, RPY, orientation_of
from mbt._core.model.structs cimport Model, Switches
from mbt._core.solvers.distance_rows cimport AngleLimit, PairRows, choose_rows, follow, set_angle_rows, set_wanted
from mbt._core.solvers.differential_step cimport (
    CENTER, POSE, BoundedProblem, BoundedSolver, Options, Problem, State, VelocityColumn, VelocityTask, count_doubles,
    solve_bounded, solve_state,
)
from mbt._core.solvers.velocity_job cimport PARTS_PER_RUN, SAMPLES_PER_PART, Job, check_goal, run_part

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class VelocityCore:
    """Tasks on the model of a tree with one set of parameters, ready to be solved for velocities.

    Parameters
    ----------
    compiled : CompiledModel
    vector : ndarray
        Parameters.
    tasks : list of tuple
        (kind, frame, base, rotation weight, distance weight, the point or axis as three numbers, axes).
    limits : tuple of six ndarray
        Of positions, velocities and accelerations, lower and upper.
    locked, disabled : sequence of int
        The Context's locked dofs and disabled constraints.
    posture : (ndarray, float) or None
        Positions and weight.
    distances : tuple
        A list of (DistanceCore, least distance, number of pairs); the largest number of rows at the state itself, that
        at the states to which velocities lead, and how often the latter are added.
    """
    cdef CompiledModel compiled
    cdef Derived derived
    cdef list held
    cdef Switches switches
    cdef Problem problem
    cdef double* memory
    cdef double* goal
    cdef list scenes
    cdef AngleLimit* angles      # of roll, pitch and yaw where they move
    cdef int num_angles
    cdef int num_distances
    cdef int num_pairs           # num_distances + num_angles
    cdef int most_rows
    cdef int more_rows
    cdef int rounds
    cdef tuple work              # for one state; None while a call has it
    cdef readonly int num_goal
    cdef readonly int num_columns

    def __cinit__(
        self, CompiledModel compiled not None, vector, list tasks not None, tuple limits not None, locked, disabled,
        posture, tuple distances not None
    ):
        cdef const Model* m = &compiled.model
        cdef Problem* x = &self.problem
        self.compiled = compiled
        self.held = []
        vector = in1(vector, "vector", compiled.layout.size)
        self.held.append(vector)
        self.derived = compiled.defaults if vector is compiled.default_parameters else Derived(compiled, vector)
        self.switches = m.switches
        self.switches.disabled = self.keep_ints(disabled)
        x.model, x.switches, x.p = m, &self.switches, &self.derived.parameters
        x.locked = self.keep_ints(locked)
        x.q_limits = self.keep_doubles(np.stack(limits[:2], -1).reshape(-1))
        x.v_limits = self.keep_doubles(np.stack(limits[2:4], -1).reshape(-1))
        x.vdot_limits = self.keep_doubles(np.stack(limits[4:], -1).reshape(-1))
        if posture is not None:
            x.posture, x.posture_weight = self.keep_doubles(posture[0]), posture[1]
        self.scenes, most, more, self.rounds = distances
        self.num_distances = sum([pairs for _, _, pairs in self.scenes])
        self.set_up(tasks, posture is not None or self.num_distances > 0)
        self.set_angles()
        self.num_pairs = self.num_distances + self.num_angles
        self.most_rows = min(self.num_distances, most) + self.num_angles
        self.more_rows = min(self.num_distances, more) + self.num_angles
        x.num_distances = self.most_rows + self.rounds*self.more_rows
        self.memory = <double*>malloc((count_doubles(x) + x.num_goal)*sizeof(double))
        if self.memory == NULL:
            raise MemoryError
        self.goal = self.memory + count_doubles(x)
        self.work = self.make_work(1) if self.num_pairs else None

    def __dealloc__(self):
        free(self.memory)

    cdef int* keep_ints(self, numbers) except NULL:
        array = np.array([*numbers, 0], dtype=np.intc)
        self.held.append(array)
        return <int*>cnp.PyArray_DATA(array)

    cdef double* keep_doubles(self, numbers) except NULL:
        array = np.array([*numbers, 0.0], dtype=np.float64)
        self.held.append(array)
        return <double*>cnp.PyArray_DATA(array)

    cdef list way(self, int frame):
        """Return the bodies on the path from that of a frame to a child of World."""
        cdef const Model* m = &self.compiled.model
        cdef int b = m.frame_node[frame]
        cdef list found = []
        while b > 0:
            found.append(b)
            b = m.parent[b]
        return found

    cdef set_up(self, list tasks, bint all_move):
        cdef const Model* m = &self.compiled.model
        cdef Problem* x = &self.problem
        cdef VelocityTask* task
        cdef VelocityColumn* column
        cdef int i, k, b, kind, place, goal = 0, row
        cdef list moves = [], unknowns
        cdef set moving = set(range(1, m.num_bodies)) if all_move else set()
        for i in range(m.num_constraints):
            if m.constraints[i].type == COUPLER:
                for k in (m.constraints[i].dof_a, m.constraints[i].dof_b):
                    moving.add(m.joints[m.dof_mobod[k]].node)
            else:
                moving.update(self.way(m.constraints[i].a), self.way(m.constraints[i].b))
        for kind, frame, base, _, _, _, _ in tasks:
            if kind == CENTER:
                move = [(b, 1.0) for b in range(1, m.num_bodies)]
            else:
                there, here = self.way(frame), self.way(base)
                move = [(b, 1.0) for b in there if b not in here] + [(b, -1.0) for b in here if b not in there]
            moves.append(move)
            moving.update([b for b, _ in move])
        unknowns = [
            k for b in sorted(moving) for k in range(m.v_start[b], m.v_start[b + 1]) if not x.locked[k]
        ]
        columns = [-1]*m.num_velocities
        for i, k in enumerate(unknowns):
            columns[k] = i
        x.n = self.num_columns = len(unknowns)
        x.column = self.keep_ints(columns)
        self.set_positions()
        # Rows of tasks: first those of weights from 1 on, then the secondary ones.
        x.first_primary = row = m.num_equations
        rows = {}
        for second in (False, True):
            if second:
                x.first_secondary = row
            for i, (_, _, _, rotation_weight, distance_weight, _, axes) in enumerate(tasks):
                for k, weight in enumerate((rotation_weight, distance_weight)):
                    if weight > 0.0 and (weight < 1.0) == second:
                        rows[i, k] = row
                        row += len(axes)
        x.num_rows = row
        weights = [weight for entry in tasks for weight in entry[3:5]]
        x.primary_weight = max([0.0] + [w for w in weights if w >= 1.0])
        x.secondary_weight = max([x.posture_weight] + [w for w in weights if w < 1.0])
        entries = [
            [(columns[k], k, b, sign) for b, sign in move for k in range(m.v_start[b], m.v_start[b + 1])
             if columns[k] >= 0]
            for move in moves
        ]
        memory = np.zeros(len(tasks)*sizeof(VelocityTask) + 1, dtype=np.uint8)
        column_memory = np.zeros(sum(map(len, entries))*sizeof(VelocityColumn) + 1, dtype=np.uint8)
        self.held += [memory, column_memory]
        x.tasks = task = <VelocityTask*>cnp.PyArray_DATA(memory)
        x.columns = column = <VelocityColumn*>cnp.PyArray_DATA(column_memory)
        x.num_tasks, place = len(tasks), 0
        for i, (kind, frame, base, rotation_weight, distance_weight, point, axes) in enumerate(tasks):
            task.kind, task.frame, task.base, task.goal = kind, frame, base, goal
            goal += 16 if kind == POSE else len(axes)
            task.rotation_weight, task.distance_weight = rotation_weight, distance_weight
            task.rotation_row, task.distance_row = rows.get((i, 0), -1), rows.get((i, 1), -1)
            task.num_axes = len(axes)
            for k in range(len(axes)):
                task.axes[k] = axes[k]
            for k in range(3):
                task.point[k] = point[k]
            task.first_column = place
            for entry in entries[i]:
                column.column, column.dof, column.node, column.sign = entry
                column += 1
                place += 1
            task.end_column = place
            x.needs_masses = x.needs_masses or kind == CENTER
            task += 1
        self.num_goal = x.num_goal = goal

    cdef set_positions(self):
        """Find for each dof the coordinate whose rate it is."""
        cdef const Model* m = &self.compiled.model
        cdef int b, k, first
        cdef list found = [-1]*m.num_velocities
        for b in range(1, m.num_bodies):
            orientation = orientation_of(m.type[b])
            first = 0 if orientation == PLAIN else 3
            for k in range(first, m.v_start[b + 1] - m.v_start[b]):
                found[m.v_start[b] + k] = m.q_start[b] + k + (1 if orientation == QUATERNION else 0)
        self.problem.position = self.keep_ints(found)

    cdef set_angles(self):
        """List the finite limits of roll, pitch and yaw angles that the unknowns move."""
        cdef const Model* m = &self.compiled.model
        cdef const Problem* x = &self.problem
        cdef int b, k, side
        cdef double limit
        cdef list found = []
        for b in range(1, m.num_bodies):
            if orientation_of(m.type[b]) != RPY or x.column[m.v_start[b]] < 0:
                continue
            for k in range(3):
                for side in range(2):
                    limit = x.q_limits[2*(m.q_start[b] + k) + side]
                    if fabs(limit) < INFINITY:
                        found.append((b, k, -1.0 if side else 1.0, limit))
        memory = np.zeros(len(found)*sizeof(AngleLimit) + 1, dtype=np.uint8)
        self.held.append(memory)
        self.angles, self.num_angles = <AngleLimit*>cnp.PyArray_DATA(memory), len(found)
        for k in range(self.num_angles):
            self.angles[k].node, self.angles[k].axis, self.angles[k].sign, self.angles[k].limit = found[k]

    def step(self, q, list goals, double dt, double gain, double damping, bint velocity_limits, last, out):
        """Return the velocities of one state; None unless all arrays are exact and the goals valid."""
        cdef Problem* x = &self.problem
        cdef State state
        cdef Options options
        cdef Job job
        cdef const VelocityTask* task
        cdef int i, j
        cdef Section alone
        cdef Py_ssize_t nv = x.model.num_velocities
        if not is_array1(q, x.model.num_positions) or len(goals) != x.num_tasks:
            return None
        if last is not None and not is_array1(last, nv):
            return None
        if out is not None and not (is_array1(out, nv) and is_writeable(out)):
            return None
        alone.enter(self)
        for i in range(x.num_tasks):
            task = &x.tasks[i]
            goal = goals[i]
            if task.kind != POSE:
                if not is_array1(goal, task.num_axes):
                    return None
                memcpy(self.goal + task.goal, data(goal), task.num_axes*sizeof(double))
            elif is_array2(goal, 4, 4):
                memcpy(self.goal + task.goal, data(goal), 16*sizeof(double))
            elif is_array2(goal, 3, 3) and task.distance_weight == 0.0:
                for j in range(3):
                    memcpy(self.goal + task.goal + 4*j, data(goal) + 3*j, 3*sizeof(double))
                    self.goal[task.goal + 4*j + 3] = self.goal[task.goal + 12 + j] = 0.0
                self.goal[task.goal + 15] = 1.0
            else:
                return None
            if not check_goal(task, self.goal + task.goal):
                return None
        options.dt, options.gain, options.damping, options.velocity_limits = dt, gain, damping, velocity_limits
        if out is None:
            out = new1(nv)
        elif overlap(out, q):
            q = q.copy()
        if last is not None and overlap(last, out):
            last = last.copy()
        if self.num_pairs:
            # Other threads may call this while distances are computed.
            work, self.work = self.work, None
            if work is None:
                work = self.make_work(1)
            job.problem, job.options = x, &options
            job.goals, job.q, job.v = data(work[0]), data(q), data(out)
            memcpy(data(work[0]), self.goal, x.num_goal*sizeof(double))
            job.last = <const double*>NULL if last is None else data(last)
            job.goal_stride = job.q_stride = job.last_stride = 0
            self.run_apart(&job, 1, 1, 0.0, work)
            self.work = work
            return out
        state.q, state.goal = data(q), self.goal
        state.last = <const double*>NULL if last is None else data(last)
        state.num_distances = 0
        state.distance_rows = state.distance_least = NULL
        solve_state(x, &options, &state, self.memory, data(out))
        return out

    def find_bad_goal(self, goals):
        """Return the first task with an invalid goal, or -1.

        Parameters
        ----------
        goals : ndarray, shape (count, num_goal)
            Its directions are normalized.
        """
        cdef Py_ssize_t i, count = goals.shape[0]
        cdef double* g = data(goals)
        cdef int t
        for i in range(count):
            for t in range(self.problem.num_tasks):
                if not check_goal(&self.problem.tasks[t], g + self.num_goal*i + self.problem.tasks[t].goal):
                    return t
        return -1

    def run(
        self, goals, q, last, double dt, double gain, double damping, bint velocity_limits, double spare,
        int num_threads, v
    ):
        """Fill `v`, (count, nv), with the velocities of all samples.

        Parameters
        ----------
        goals : ndarray, shape (1 or count, num_goal)
        q : ndarray, shape (1 or count, nq)
        last : ndarray, shape (1 or count, nv), or None
        dt, gain, damping : float
        velocity_limits : bool
        spare : float
            The room that distances approach.
        num_threads : int
        v : ndarray, shape (count, nv)
        """
        cdef Options options
        cdef Job job
        cdef Py_ssize_t count = v.shape[0]
        options.dt, options.gain, options.damping, options.velocity_limits = dt, gain, damping, velocity_limits
        job.problem, job.options = &self.problem, &options
        job.goals, job.goal_stride = data(goals), self.num_goal if goals.shape[0] > 1 else 0
        job.q, job.q_stride = data(q), self.problem.model.num_positions if q.shape[0] > 1 else 0
        job.last, job.last_stride = <const double*>NULL, 0
        if last is not None:
            job.last, job.last_stride = data(last), self.problem.model.num_velocities if last.shape[0] > 1 else 0
        job.v = data(v)
        if self.num_pairs:
            self.run_apart(&job, count, num_threads, spare, self.make_work(count))
        else:
            job.num_distances, job.distance_stride = 0, 0
            job.distance_rows = job.distance_least = <const double*>NULL
            self.run_all(&job, count, num_threads)

    cdef tuple make_work(self, Py_ssize_t count):
        """Return arrays: a goal and memory for one state; for all samples the positions, the wanted room of each pair,
        rows of motions, their least values, the room of each pair and its Jacobian; and the parts of each scene.
        """
        cdef Py_ssize_t nv = self.problem.model.num_velocities
        cdef list parts = [
            (core, at_least, np.empty((count, pairs)), np.empty((count, pairs, nv)))
            for core, at_least, pairs in self.scenes
        ]
        return (
            np.empty(self.num_goal + 1), np.empty(count_doubles(&self.problem) if count == 1 else 0),
            np.empty((count, self.problem.model.num_positions)), np.empty((count, self.num_pairs)),
            np.empty((count, self.problem.num_distances, nv)), np.empty((count, self.problem.num_distances)),
            np.empty((count, self.num_pairs)),
            parts[0][3] if len(parts) == 1 and not self.num_angles else np.empty((count, self.num_pairs, nv)), parts,
        )

    cdef int run_apart(
        self, Job* job, Py_ssize_t count, int num_threads, double spare, tuple work
    ) except -1:
        """Compute velocities of all samples that shrink distances by no more than is allowed.

        A distance has kinks where other points become the nearest, and angles depend nonlinearly on velocities: so rows
        at the states to which the velocities lead are added, `rounds` times.
        """
        cdef const Model* m = self.problem.model
        cdef Py_ssize_t nq = m.num_positions, nv = m.num_velocities, i, first, pairs
        cdef int num_pairs = self.num_pairs, at = 0, most, turn, k
        cdef double dt = job.options.dt
        cdef double least_distance
        cdef double* room_of_scene
        cdef double* v
        _, memory, there, all_wanted, all_rows, all_least, all_room, all_J, parts = work
        cdef double* q = data(there)
        cdef double* wanted = data(all_wanted)
        cdef double* rows = data(all_rows)
        cdef double* least = data(all_least)
        cdef double* room = data(all_room)
        cdef double* J = data(all_J)
        cdef Py_ssize_t num_rows = self.problem.num_distances
        cdef PairRows found
        cdef State state
        found.num_pairs, found.nv = num_pairs, <int>nv
        job.distance_rows, job.distance_least, job.distance_stride = rows, least, num_rows
        for i in range(count):
            memcpy(q + nq*i, job.q + job.q_stride*i, nq*sizeof(double))
        for turn in range(1 + self.rounds):
            first = 0
            for core, at_least, d, J_of_scene in parts:
                core.run(there, num_threads, d, None, None, None, J_of_scene, None, 0.0)
                room_of_scene, least_distance, pairs = data(d), at_least, d.shape[1]
                for i in range(count):
                    for k in range(<int>pairs):
                        room[num_pairs*i + first + k] = room_of_scene[pairs*i + k] - least_distance
                    if all_J is not J_of_scene:
                        memcpy(
                            J + nv*(num_pairs*i + first), data(J_of_scene) + nv*pairs*i, nv*pairs*sizeof(double)
                        )
                first += pairs
            most = self.more_rows if turn else self.most_rows
            for i in range(count):
                set_angle_rows(
                    m, self.angles, self.num_angles, q + nq*i, room + num_pairs*i + first,
                    J + nv*(num_pairs*i + first)
                )
                if turn == 0:
                    set_wanted(
                        room + num_pairs*i, num_pairs, self.num_distances, job.options.gain, spare,
                        wanted + num_pairs*i
                    )
                v = job.v + nv*i if turn else NULL
                found.room, found.wanted = room + num_pairs*i, wanted + num_pairs*i
                found.J = J + nv*num_pairs*i
                choose_rows(&found, v, dt, most, rows + nv*(num_rows*i + at), least + num_rows*i + at)
            at += most
            job.num_distances = at
            if count == 1:
                state.q, state.goal, state.last = job.q, job.goals, job.last
                state.num_distances, state.distance_rows, state.distance_least = at, rows, least
                solve_state(job.problem, job.options, &state, data(memory), job.v)
            else:
                self.run_all(job, count, num_threads)
            if turn < self.rounds:
                for i in range(count):
                    follow(m, job.q + job.q_stride*i, job.v + nv*i, dt, q + nq*i)
        return 0

    cdef int run_all(self, Job* job, Py_ssize_t count, int num_threads) except -1:
        cdef Py_ssize_t at = 0
        cdef Pool* pool
        cdef int error, parts
        while at < count:
            job.begin, job.end = at, min(count, at + SAMPLES_PER_PART*PARTS_PER_RUN*num_threads)
            parts = min(num_threads, <int>((job.end - at + SAMPLES_PER_PART - 1)//SAMPLES_PER_PART))
            pool = get_pool() if parts > 1 else NULL
            job.num_parts = parts if pool != NULL else 1
            with nogil:
                error = run_part(job, 0) if pool == NULL else pool.run(run_part, job, parts)
            if error:
                raise MemoryError
            at = job.end
            if at < count:
                PyErr_CheckSignals()
        return 0


def solve_bounded_least_squares(A, b, double damping, center, E, lower, upper, x):
    """Minimise ``|A x - b|^2 + damping |x - center|^2`` where ``E x = E x_0`` and ``lower <= x <= upper``, in place.

    Returns the number of steps, or -1 if there were too many. All arguments are arrays of doubles; `x` holds x_0.
    """
    cdef BoundedProblem problem
    cdef Py_ssize_t n = x.shape[0]
    problem.n, problem.num_rows, problem.num_equations = n, A.shape[0], E.shape[0]
    problem.A, problem.b, problem.damping, problem.center = data(A), data(b), damping, data(center)
    problem.num_damped = n
    problem.E, problem.lower, problem.upper = data(E), data(lower), data(upper)
    memory = np.empty(BoundedSolver.count_memory(n, E.shape[0]))
    return solve_bounded(problem, data(memory), data(x))
