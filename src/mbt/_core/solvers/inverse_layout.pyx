"""Tables that the solver of inverse kinematics reads, built once; and checked goals and starts."""

cimport numpy as cnp
from libc.math cimport fabs, sqrt

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, data, new2
from mbt._core.forces.constraints cimport COUPLER
from mbt._core.joints.mobilizers cimport (
    CYLINDRICAL, PLAIN, QUATERNION, REVOLUTE, SCREW, UNIVERSAL, orientation_of,
)
from mbt._core.model.structs cimport Constraint, Model

import numpy as np

from mbt.errors import ArgumentValueError, SingularityError
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef double ROTATION_TOLERANCE = 1e-6   # how far from a rotation a goal may be
cdef double DIRECTION_TOLERANCE = 1e-6  # the shortest length of a direction

# By the error that `take_goal` returns, minus one.
_EXPECTED = (
    "rotation matrices; R R' differs from 1, or det R is -1",
    "poses with [0, 0, 0, 1] as their last row",
    "a direction, got a vector of length zero",
)


cdef int normalize_quaternions(const Model* model, double* q) noexcept nogil:
    """Normalize quaternions; return the first position of one that is zero, or -1."""
    cdef double size
    cdef int node, i, first
    for node in range(1, model.num_bodies):
        if orientation_of(model.type[node]) == QUATERNION:
            first = model.q_start[node]
            size = sqrt(q[first]**2 + q[first + 1]**2 + q[first + 2]**2 + q[first + 3]**2)
            if not size > 0.0:
                return first
            for i in range(first, first + 4):
                q[i] /= size
    return -1


cdef int take_goal(const Task* task, int n, const double* g, double* to) noexcept nogil:
    """Copy a goal of n numbers in the solver's layout; return 0, or what is wrong with it. NaN passes."""
    cdef double[9] R
    cdef double size = 0.0
    cdef int i, j, k, columns
    if task.kind != POSE:
        for i in range(n):
            to[i] = g[i]
            size += g[i]*g[i]
        if task.kind == DIRECTION:
            if size < DIRECTION_TOLERANCE*DIRECTION_TOLERANCE:
                return 3
            for i in range(n):
                to[i] /= sqrt(size)
        return 0
    columns = 4 if n == 16 else 3
    for i in range(3):
        for j in range(3):
            R[3*i + j] = to[4*i + j] = g[columns*i + j]
        to[4*i + 3] = g[4*i + 3] if n == 16 else 0.0
        to[12 + i] = 0.0
    to[15] = 1.0
    for i in range(3):
        for j in range(i, 3):
            size = -1.0 if i == j else 0.0
            for k in range(3):
                size += R[3*i + k]*R[3*j + k]
            if fabs(size) > ROTATION_TOLERANCE:
                return 1
    if (
        R[0]*(R[4]*R[8] - R[5]*R[7]) + R[1]*(R[5]*R[6] - R[3]*R[8]) + R[2]*(R[3]*R[7] - R[4]*R[6])
    ) < 0.0:
        return 1
    if n == 16:
        for i in range(4):
            if fabs(g[12 + i] - to[12 + i]) > ROTATION_TOLERANCE:
                return 2
    return 0


cdef class InverseLayout:
    """Tasks on the model of a tree: which dofs move, within which limits.

    Parameters
    ----------
    compiled : CompiledModel
    tasks : list of tuple
        (kind, frame, base, rotation weight, distance weight, the point or axis as three numbers, axes).
    lower, upper : ndarray, shape (num_positions,)
        Limits.
    locked : sequence of int, or None
        For each dof whether a Context locks it.
    posture : (ndarray, float) or None
        Positions and weight.
    """

    def __cinit__(self, CompiledModel compiled not None, list tasks not None, lower, upper, locked, posture):
        self.compiled = compiled
        self.held = []
        fixed = set() if locked is None else {k for k, flag in enumerate(locked) if flag}
        self.set_up(tasks, lower, upper, fixed, posture)

    @property
    def num_errors(self):
        """The number of errors of all tasks."""
        return self.tables.num_errors

    @property
    def num_columns(self):
        """The number of dofs that move."""
        return self.tables.num_columns

    cdef int* keep_ints(self, numbers) except NULL:
        array = np.array([*numbers, 0], dtype=np.intc)
        self.held.append(array)
        return <int*>cnp.PyArray_DATA(array)

    cdef double* keep_doubles(self, numbers) except NULL:
        array = np.array([*numbers, 0.0], dtype=np.float64)
        self.held.append(array)
        return <double*>cnp.PyArray_DATA(array)

    cdef list way(self, int frame):
        """Return the mobods on the path from a child of World to that of a frame."""
        cdef const Model* m = &self.compiled.model
        cdef int i = m.mobod[m.frame_node[frame]]
        cdef list found = []
        while i > 0:
            found.append(i)
            i = m.joints[i].parent
        return found[::-1]

    cdef set_up(self, list tasks, lower, upper, set locked, posture):
        cdef const Model* m = &self.compiled.model
        cdef Task* task
        cdef int i, kind, row = 0, goal = 0
        cdef list path_mobod = [], path_sign = [], mobods = []
        cdef set moving = set(), seen = set()
        cdef const Constraint* constraint
        memory = np.zeros(max(1, len(tasks))*sizeof(Task), dtype=np.uint8)
        self.held.append(memory)
        self.tables.tasks = task = <Task*>cnp.PyArray_DATA(memory)
        self.tables.num_tasks = len(tasks)
        self.tables.num_errors = 0
        for kind, frame, base, rotation_weight, distance_weight, point, axes in tasks:
            task.kind, task.goal, task.frame, task.base = kind, goal, frame, base
            task.rotation_weight, task.distance_weight = rotation_weight, distance_weight
            task.rotation_second, task.distance_second = rotation_weight < 1.0, distance_weight < 1.0
            task.rotation_row = task.distance_row = -1
            task.num_rows = len(axes)
            for i in range(3):
                task.point[i] = point[i]
            for i in range(len(axes)):
                task.axes[i] = axes[i]
            for name in ("rotation", "distance"):
                if (rotation_weight if name == "rotation" else distance_weight) != 0.0:
                    if name == "rotation":
                        task.rotation_row = row
                    else:
                        task.distance_row = row
                    row += len(axes)
                    self.tables.num_errors += len(axes)
            goal += 16 if kind == POSE else len(axes)
            task.path = len(path_mobod)
            if kind == CENTER:
                moving.update(range(1, m.num_mobods))
                seen.update(range(1, m.num_mobods))
                self.tables.needs_masses = True
            else:
                there, here = self.way(frame), self.way(base)
                seen.update(there)
                seen.update(here)
                for i in there:
                    if i not in here:
                        path_mobod.append(i)
                        path_sign.append(1.0)
                for i in here:
                    if i not in there:
                        path_mobod.append(i)
                        path_sign.append(-1.0)
                moving.update(path_mobod[task.path:])
            task.path_end = len(path_mobod)
            task += 1
        self.tables.num_goal = goal
        self.tables.constraint_row = -1
        if m.num_constraints:
            self.tables.constraint_row = row
            row += m.num_equations
            for i in range(m.num_constraints):
                constraint = &m.constraints[i]
                if constraint.type == COUPLER:
                    moving.add(m.dof_mobod[constraint.dof_a])
                    moving.add(m.dof_mobod[constraint.dof_b])
                else:
                    moving.update(self.way(constraint.a))
                    moving.update(self.way(constraint.b))
        self.tables.num_rows = (row + 2)//3*3
        if posture is not None:
            self.tables.posture = self.keep_doubles(posture[0])
            normalize_quaternions(m, <double*>self.tables.posture)
            self.tables.posture_weight = posture[1]
            moving.update(range(1, m.num_mobods))
        mobods = sorted(seen)
        self.tables.mobods, self.tables.num_mobods = self.keep_ints(mobods), len(mobods)
        self.tables.path_mobod, self.tables.path_sign = self.keep_ints(path_mobod), self.keep_doubles(path_sign)
        self.tables.is_secondary = posture is not None or any(
            [0.0 < w < 1.0 for task_ in tasks for w in task_[3:5]]
        )
        self.set_columns(sorted(moving), lower, upper, locked)

    cdef set_columns(self, list moving, lower, upper, set locked):
        cdef const Model* m = &self.compiled.model
        cdef int i, k, node, type, first_q, first_v, position
        cdef list column = [-1]*m.num_velocities
        cdef list positions = [], blocks = [], clamped = [], clamps = []
        cdef list lowest = [], highest = [], centers = [], spreads = [], turns = [], nodes = []
        cdef set coupled = set()
        for i in range(m.num_constraints):
            if m.constraints[i].type == COUPLER:
                coupled.update((m.constraints[i].a, m.constraints[i].b))
        for i in moving:
            node = m.joints[i].node
            type = m.type[node]
            first_q, first_v = m.q_start[node], m.v_start[node]
            nodes.append(node)
            is_plain = orientation_of(type) == PLAIN
            dofs = [k for k in range(m.joints[i].nv) if first_v + k not in locked]
            if not dofs:
                continue
            if not is_plain:
                blocks.append(node)
                for position in range(first_q, m.q_start[node + 1]):
                    if lower[position] > -np.inf or upper[position] < np.inf:
                        clamped.append(position)
                        clamps += [lower[position], upper[position]]
            for k in dofs:
                column[first_v + k] = len(positions)
                turns_here = (
                    type == REVOLUTE or type == UNIVERSAL or type == CYLINDRICAL and k == 0
                    or is_plain and m.joints[i].nv == 3 and k == 2
                )
                if not is_plain:
                    positions.append(-1)
                    lowest.append(-np.inf)
                    highest.append(np.inf)
                    centers.append(np.nan)
                    spreads.append(1.0 if k < 3 else 0.3)
                    turns.append(0.0)
                    continue
                position = first_q + k
                low, high = lower[position], upper[position]
                half = np.pi if turns_here or type == SCREW else 1.0
                positions.append(position)
                lowest.append(low)
                highest.append(high)
                if low > -np.inf and high < np.inf:
                    centers.append(0.5*(low + high))
                    spreads.append(0.5*(high - low))
                elif low > -np.inf or high < np.inf:
                    centers.append(low + half if low > -np.inf else high - half)
                    spreads.append(half)
                else:
                    centers.append(np.nan)
                    spreads.append(half)
                turns.append(2.0*np.pi if turns_here and position not in coupled else 0.0)
        self.tables.num_columns = len(positions)
        self.tables.num_blocks = len(blocks)
        self.tables.position = self.keep_ints(positions)
        self.tables.low, self.tables.high = self.keep_doubles(lowest), self.keep_doubles(highest)
        self.tables.center, self.tables.spread = self.keep_doubles(centers), self.keep_doubles(spreads)
        self.tables.turn = self.keep_doubles(turns)
        self.tables.column, self.tables.blocks = self.keep_ints(column), self.keep_ints(blocks)
        self.tables.num_clamped, self.tables.clamped = len(clamped), self.keep_ints(clamped)
        self.tables.clamps = self.keep_doubles(clamps)
        highest_of_all, lowest_of_all = list(upper), list(lower)
        for node in range(m.num_bodies):
            if m.v_start[node] in locked and m.v_start[node + 1] > m.v_start[node]:
                for position in range(m.q_start[node], m.q_start[node + 1]):
                    lowest_of_all[position], highest_of_all[position] = -np.inf, np.inf
        self.tables.lower, self.tables.upper = self.keep_doubles(lowest_of_all), self.keep_doubles(highest_of_all)
        if self.tables.posture_weight != 0.0:
            self.tables.num_posture_nodes, self.tables.posture_nodes = len(nodes), self.keep_ints(nodes)

    def take_goals(self, list parts, Py_ssize_t count):
        """Return goals in the solver's layout, (count, num_goal).

        Parameters
        ----------
        parts : list of ndarray, shape (count or 1, n)
            For each task: poses (n = 16), rotations (9), or vectors.
        count : int

        Raises
        ------
        ArgumentValueError
            If a pose, a rotation or a direction is invalid. NaN is left as it is.
        """
        cdef const Task* task = self.tables.tasks
        cdef const double* g
        cdef Py_ssize_t i, t, step
        cdef int n, error
        rows = new2(count, self.tables.num_goal)
        for t in range(self.tables.num_tasks):
            part = parts[t]
            n = part.shape[1]
            g = data(part)
            step = n if part.shape[0] > 1 else 0
            for i in range(count):
                error = take_goal(&task[t], n, g + step*i, data(rows) + self.tables.num_goal*i + task[t].goal)
                if error:
                    raise ArgumentValueError(f"goals[{t}]: expected {_EXPECTED[error - 1]}")
        return rows

    def take_starts(self, starts):
        """Return positions, (count, nq), within limits and with unit quaternions; and which were beyond limits.

        Raises
        ------
        SingularityError
            If a quaternion is zero.
        """
        cdef const Model* m = &self.compiled.model
        cdef const Tables* o = &self.tables
        cdef Py_ssize_t k, count = starts.shape[0]
        cdef double* q
        cdef int i
        taken = starts.copy()
        moved = np.zeros(count, np.bool_)
        cdef unsigned char* is_moved = <unsigned char*>cnp.PyArray_DATA(moved)
        for k in range(count):
            q = data(taken) + m.num_positions*k
            i = normalize_quaternions(m, q)
            if i >= 0:
                raise SingularityError(f"start: the quaternion at positions {i} to {i + 3} is zero")
            for i in range(m.num_positions):
                if q[i] < o.lower[i]:
                    q[i] = o.lower[i]
                    is_moved[k] = True
                elif q[i] > o.upper[i]:
                    q[i] = o.upper[i]
                    is_moved[k] = True
        return taken, moved
