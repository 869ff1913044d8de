"""Implicit steps of one state of doubles: the terms of the convex problem, and its solution.

What each term means, and why, is in docs/implicit_steps.md. In NumPy: tests/support/convex_steps.py.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, in2, is_array1, new1, new2
from mbt._core.engines cimport double_engine
from mbt._core.engines.context cimport ContextCore, check_positions
from mbt._core.engines.leading_axes cimport check_elements
from mbt._core.forces.force_elements cimport JOINT_FRICTION, POINT_CONTACT
from mbt._core.forces.point_contact cimport NUM_CONTACT_CONSTANTS
from mbt._core.model.structs cimport ForceElement, Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport (
    CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN, CORIOLIS_MATRIX, GENERALIZED_FORCES, INTEGRATED_POSITIONS, POINT_POSITIONS,
    TRANSLATIONAL_JACOBIAN,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# Compliance of what would be rigid, beside the inertia that it moves; and of what sticks.
cdef double RIGID = 1e-6
cdef double STICTION = 1e-5
# Time in which a joint beyond its limit, or a constraint that is open, comes back [s].
cdef double RECOVERY = 0.02


# So many steps are made between looks for Ctrl-C.
cdef enum:
    STEPS_A_CHECK = 1024


cdef extern from "solvers/convex_step.hpp" namespace "mbt_convex" nogil:
    cdef cppclass Problem:
        int n, num_servos, num_rows, num_points
        double h
        double* M
        double* p
        double* linear
        double* lower
        double* upper
        double* limit_slope
        double* friction
        double* friction_slope
        double* given
        const double* effort_lower
        const double* effort_upper
        const int* dofs
        double* effort
        double* effort_slope
        const double* effort_limit
        double* J
        double* target
        double* row_slope
        double* points
        double* stiffness
        double* dissipation
        double* depth
        double* point_friction
        double* point_slope
        double* total
    Py_ssize_t count_memory(int n, int num_rows, int num_points)
    void set_memory(Problem& x, double* memory)
    double dot(int n, const double* a, const double* b)
    void multiply(int rows, int n, const double* A, const double* x, double* y)
    bint factorize(int n, double* A)
    void solve_lower(int n, const double* U, double* x)
    void solve_general(int n, double* A, double* b)
    void add_drives(const Problem& x, const double* v, double* total, double* steepness)
    int minimize(Problem& x, double* v, double* residual)


# What a step comes to.
cdef enum:
    DONE
    NOT_FINITE
    SINGULAR


def derived_of(ContextCore context not None):
    """Return what kernels read of the parameters of one state of doubles."""
    return context.derived()


cdef void set_call(
    Call[double]* c, const Model* m, const Switches* switches, const Parameters[double]* p, const double* q,
    const double* v, double* work
) noexcept nogil:
    """What quantities are asked for at a state: its kinematics are computed once. Memory as of `evaluate_state_in`."""
    cdef Py_ssize_t nb = m.num_bodies
    cdef Py_ssize_t nv = m.num_velocities
    c.functions = &kernels.of_doubles
    c.model, c.switches, c.p, c.q, c.v = m, switches, p, q, v
    c.gravity = NULL
    c.k.X_WB = work
    c.k.X_FM = c.k.X_WB + 16*nb
    c.k.X_PB = c.k.X_FM + 16*nb
    c.k.H_FM = c.k.X_PB + 16*nb
    c.k.H_PB_W = c.k.H_FM + 6*nv
    c.k.V_PB_W = c.k.H_PB_W + 6*nv
    c.k.V_PB = c.k.V_PB_W + 6*nb
    c.k.V_WB = c.k.V_PB + 6*nb
    c.memory = c.k.V_WB + 6*nb
    c.k.F_Bo_W = c.memory
    c.k.rest = c.memory + 6*nb
    kernels.body_poses(m, p, q, c.memory, c.k.X_WB)
    kernels.complete_position_kinematics(m, p, q, c.k.X_WB, c.memory, c.k.X_FM, c.k.X_PB, c.k.H_FM, c.k.H_PB_W)
    kernels.velocity_kinematics(m, c.k.X_WB, c.k.H_PB_W, v, c.k.V_PB_W, c.k.V_PB, c.k.V_WB)


cdef void call(int quantity, const int* integers, Call[double]* c, const double* x, double* out) noexcept nogil:
    """One that divides by nothing and leaves its input as it is."""
    c.integers, c.x, c.out = integers, <double*>x, out
    c.pivots.D = NULL
    c.base = <int*>(c.memory + kernels.work_size(c.model) + c.functions.count_memory(quantity, integers, c.model))
    kernels.of_doubles.call(quantity, c)


cdef class ImplicitCore:
    """Implicit steps with the parameters of a Context.

    Parameters
    ----------
    context : Context
        One state of doubles, with the locks and the other switches.
    given, own : Derived
        The parameters; and the same without the stiffness of contact and without friction of joints.
    constants : dict of str to ndarray
        ``free``, ``damping``, ``stiffness``, ``lower``, ``upper`` (num_velocities,); ``position_of`` (num_velocities,)
        of int; ``effort_lower``, ``effort_upper`` (num_velocities,); of servos ``servo_dofs``, ``servo_positions`` of
        int, ``kp``, ``kd``, ``q_d``, ``v_d``, ``effort_limits``; ``body_forces`` (num_bodies, 6) and
        ``generalized_forces`` (num_velocities,), or None.
    """
    # Not the Contexts: they hold the tree, which may hold this.
    cdef Derived own_parameters, given_parameters
    cdef CompiledModel compiled
    cdef Switches switches
    cdef tuple switched                      # keeps what they show alive
    cdef dict arrays                         # and the other pointers
    cdef const double* free
    cdef const double* damping
    cdef const double* stiffness
    cdef const double* lower
    cdef const double* upper
    cdef const int* position_of
    cdef const double* effort_lower
    cdef const double* effort_upper
    cdef const int* servo_dofs
    cdef const int* servo_positions
    cdef const double* kp
    cdef const double* kd
    cdef const double* q_d
    cdef const double* v_d
    cdef const double* effort_limits
    cdef const double* body_forces           # NULL: none
    cdef const double* generalized_forces
    cdef int num_servos, num_points
    cdef bint has_locks
    cdef Py_ssize_t num_work

    def __cinit__(
        self, ContextCore context not None, Derived given not None, Derived own not None, dict constants not None
    ):
        cdef Model* m = &context.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef int i
        self.compiled, self.switches = context.compiled, context.switches
        self.switched = context._locked, context._weightless, context._disabled
        self.given_parameters, self.own_parameters = given, own
        self.arrays = {name: None if array is None else np.ascontiguousarray(
            array, np.intc if name in ("position_of", "servo_dofs", "servo_positions") else np.float64
        ) for name, array in constants.items()}
        self.num_servos = <int>len(self.arrays["servo_dofs"])
        self.free, self.damping = self.numbers("free", nv), self.numbers("damping", nv)
        self.stiffness = self.numbers("stiffness", nv)
        self.lower, self.upper = self.numbers("lower", nv), self.numbers("upper", nv)
        self.effort_lower, self.effort_upper = self.numbers("effort_lower", nv), self.numbers("effort_upper", nv)
        self.kp, self.kd = self.numbers("kp", self.num_servos), self.numbers("kd", self.num_servos)
        self.q_d, self.v_d = self.numbers("q_d", self.num_servos), self.numbers("v_d", self.num_servos)
        self.effort_limits = self.numbers("effort_limits", self.num_servos)
        self.body_forces = self.generalized_forces = NULL
        if self.arrays["body_forces"] is not None:
            self.body_forces = self.numbers("body_forces", 6*m.num_bodies)
            self.generalized_forces = self.numbers("generalized_forces", nv)
        self.position_of = <const int*>self.whole_numbers("position_of", nv)
        self.servo_dofs = <const int*>self.whole_numbers("servo_dofs", self.num_servos)
        self.servo_positions = <const int*>self.whole_numbers("servo_positions", self.num_servos)
        self.has_locks = not self.arrays["free"].all()
        self.num_points = 0
        for i in range(m.num_force_elements):
            self.num_points += m.force_elements[i].num_points
        self.num_work = self.count_work(m)

    cdef const double* numbers(self, str name, Py_ssize_t count) except? NULL:
        array = self.arrays[name]
        if array.size != count:
            raise ValueError(name)
        return data(array)

    cdef const void* whole_numbers(self, str name, Py_ssize_t count) except? NULL:
        array = self.arrays[name]
        if array.size != count:
            raise ValueError(name)
        return <const void*>data(array)

    cdef Py_ssize_t count_work(self, const Model* m):
        """Doubles that any quantity needs which a step asks for."""
        cdef int[5] points = [0, 0, 0, 0, 0]
        cdef Py_ssize_t most = double_engine.count_state_memory(CORIOLIS_MATRIX, points, m)
        cdef int i
        for quantity in (CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN, GENERALIZED_FORCES, INTEGRATED_POSITIONS):
            most = max(most, double_engine.count_state_memory(quantity, points, m))
        for i in range(m.num_force_elements):
            points[4] = points[2] = m.force_elements[i].num_points
            most = max(most, double_engine.count_state_memory(POINT_POSITIONS, points, m))
            points[2] = 0
            most = max(most, double_engine.count_state_memory(TRANSLATIONAL_JACOBIAN, points, m))
        return most

    cdef Py_ssize_t count_scratch(self) noexcept nogil:
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t n = m.num_velocities
        cdef Py_ssize_t rows = m.num_equations
        cdef Py_ssize_t points = self.num_points
        return (
            4*n*n + 14*n + 3 + m.num_positions + 2*self.num_servos + rows*(n + 3) + points*(3*n + 12)
            + count_memory(<int>n, <int>rows, <int>points)
        )

    cdef int move(
        self, const double* q, const double* v, const double* tau, const double* bias, double h, double* q1, double* v1,
        Problem* x, int* iterations, double* residual
    ) except -1 nogil:
        """One step. `bias` are the forces of inverse dynamics without acceleration, where Python has computed them."""
        cdef const Model* m = &self.compiled.model
        cdef double* work = kernels.get_work(m, self.num_work + self.count_scratch() - kernels.work_size(m))
        return self.move_in(work, q, v, tau, bias, h, q1, v1, x, iterations, residual)

    cdef int move_in(
        self, double* work, const double* q, const double* v, const double* tau, const double* bias, double h,
        double* q1, double* v1, Problem* x, int* iterations, double* residual
    ) noexcept nogil:
        cdef const Model* m = &self.compiled.model
        cdef const Parameters[double]* p = &self.own_parameters.parameters
        cdef int n = m.num_velocities
        cdef Py_ssize_t square = <Py_ssize_t>n*n
        cdef Call[double] whole
        cdef Call[double]* c = &whole
        cdef double* M = work + self.num_work
        cdef double* U = M + square          # M = U' U
        cdef double* M0 = U + square
        cdef double* C = M0 + square
        cdef double* f = C + square
        cdef double* v0 = f + n
        cdef double* step = v0 + n           # what integrates positions
        cdef double* before = step + n + 1
        cdef double* rest = before + m.num_positions
        cdef int[5] integers = [0, 0, 0, 0, 0]
        cdef double bad = h
        cdef double limit, share
        cdef int i, j
        iterations[0], residual[0] = 0, 0.0
        for i in range(n):
            bad += v[i] + tau[i]
        if not isfinite(bad):
            return NOT_FINITE
        x.n, x.h, x.num_servos, x.num_rows, x.num_points = n, h, self.num_servos, m.num_equations, self.num_points
        set_call(c, m, &self.switches, p, q, v, work)
        kernels.mass_matrix(m, p, q, c.memory, M)
        self.hold(n, M, 1.0)
        memcpy(U, M, square*sizeof(double))
        if not factorize(n, U):
            bad = 0.0
            for i in range(<int>square):
                bad += M[i]
            return SINGULAR if isfinite(bad) else NOT_FINITE
        call(CORIOLIS_MATRIX, integers, c, NULL, C)
        memcpy(step, v, n*sizeof(double))
        step[n] = -h
        call(INTEGRATED_POSITIONS, integers, c, step, before)
        kernels.mass_matrix(m, p, before, c.memory, M0)
        # Forces: C v is part of inverse dynamics, and taken out of it.
        multiply(n, n, C, v, v0)
        if bias == NULL:
            memset(step, 0, n*sizeof(double))
            kernels.inverse_dynamics_with_elements(m, p, self.switches.weightless, q, v, step, c.memory, f)
            for i in range(n):
                f[i] = v0[i] - f[i] + self.damping[i]*v[i]
            if self.body_forces != NULL:
                call(GENERALIZED_FORCES, integers, c, self.body_forces, step)
                for i in range(n):
                    f[i] += step[i] + self.generalized_forces[i]
        else:
            for i in range(n):
                f[i] = v0[i] - bias[i] + self.damping[i]*v[i]
        # v0: (M0 + M)/2 v0 + h S v0 = M0 v.
        self.hold(n, M0, 1.0)
        multiply(n, n, M0, v, v0)
        for i in range(n):
            for j in range(n):
                M0[n*i + j] = (
                    0.5*(M0[n*i + j] + M[n*i + j])
                    + 0.5*h*(C[n*i + j] - C[n*j + i])*self.free[i]*self.free[j]
                )
        solve_general(n, M0, v0)
        # The terms.
        x.M = M
        x.p = rest
        x.linear = x.p + n
        x.lower = x.linear + n
        x.upper = x.lower + n
        x.limit_slope = x.upper + n
        x.friction = x.limit_slope + n
        x.friction_slope = x.friction + n
        x.given = x.friction_slope + n
        x.effort = x.given + n
        x.effort_slope = x.effort + self.num_servos
        rest = x.effort_slope + self.num_servos
        x.effort_lower, x.effort_upper = self.effort_lower, self.effort_upper
        x.effort_limit, x.dofs = self.effort_limits, self.servo_dofs
        self.set_friction(v, h, x.friction)
        multiply(n, n, M, v0, x.p)
        bad = 0.0
        for i in range(n):
            x.p[i] += h*f[i]*self.free[i]
            bad += x.p[i]
            x.linear[i] = (h*self.damping[i] + h*h*self.stiffness[i])*self.free[i]
            limit = q[self.position_of[i]] - self.lower[i]
            x.lower[i] = -limit/(h if limit > 0.0 else h + RECOVERY)
            limit = self.upper[i] - q[self.position_of[i]]
            x.upper[i] = limit/(h if limit > 0.0 else h + RECOVERY)
            x.limit_slope[i] = M[n*i + i]/RIGID*self.free[i]
            x.friction[i] *= self.free[i]
            x.friction_slope[i] = M[n*i + i]/STICTION if x.friction[i] > 0.0 else 0.0
            x.given[i] = tau[i]*self.free[i]
        if not isfinite(bad):
            return NOT_FINITE
        for i in range(self.num_servos):
            share = self.free[self.servo_dofs[i]]
            x.effort[i] = share*(
                self.kp[i]*(self.q_d[i] - q[self.servo_positions[i]]) + self.kd[i]*self.v_d[i]
            )
            x.effort_slope[i] = share*(self.kd[i] + h*self.kp[i])
        rest = self.set_constraints(c, U, h, x, rest, step)
        rest = self.set_contacts(c, U, h, x, rest)
        set_memory(x[0], rest)
        iterations[0] = minimize(x[0], v0, residual)
        for i in range(n):
            v1[i] = v0[i]*self.free[i] + 0.0
        memcpy(step, v1, n*sizeof(double))
        step[n] = h
        call(INTEGRATED_POSITIONS, integers, c, step, q1)
        return DONE

    cdef void hold(self, int n, double* A, double diagonal) noexcept nogil:
        """Dofs that cannot move have nothing to do with the others."""
        cdef int i, j
        if not self.has_locks:
            return
        for i in range(n):
            for j in range(n):
                if self.free[i] == 0.0 or self.free[j] == 0.0:
                    A[n*i + j] = diagonal if i == j else 0.0

    cdef void set_friction(self, const double* v, double h, double* friction) noexcept nogil:
        cdef const Model* m = &self.compiled.model
        cdef const ForceElement* e
        cdef const double* c
        cdef double ratio
        cdef int i
        memset(friction, 0, m.num_velocities*sizeof(double))
        for i in range(m.num_force_elements):
            e = &m.force_elements[i]
            if e.type == JOINT_FRICTION:
                c = self.given_parameters.parameters.force_elements + e.start
                ratio = v[e.b]/c[2]
                friction[e.b] += h*(c[0] + (c[1] - c[0])/(1.0 + ratio*ratio))

    cdef double* set_constraints(
        self, Call[double]* c, const double* U, double h, Problem* x, double* memory, double* column
    ) noexcept nogil:
        cdef const Model* m = &self.compiled.model
        cdef int n = m.num_velocities
        cdef int[5] integers = [0, 0, 0, 0, 0]
        cdef double share
        cdef int k
        x.J = memory
        x.target = x.J + <Py_ssize_t>n*m.num_equations
        x.row_slope = x.target + m.num_equations
        if not m.num_equations:
            return x.row_slope
        call(CONSTRAINT_JACOBIAN, integers, c, NULL, x.J)
        call(CONSTRAINT_ERRORS, integers, c, NULL, x.target)
        for k in range(m.num_equations):
            share = self.mask(n, x.J + <Py_ssize_t>n*k, U, column)
            x.row_slope[k] = 1.0/(RIGID*share) if share > 0.0 else 0.0
            x.target[k] = -x.target[k]/(h + RECOVERY)
        return x.row_slope + m.num_equations

    cdef double mask(self, int n, double* row, const double* U, double* column) noexcept nogil:
        """Take dofs that cannot move out of a row J, and return J M^-1 J'."""
        cdef int i
        for i in range(n):
            row[i] *= self.free[i]
            column[i] = row[i]
        solve_lower(n, U, column)
        return dot(n, column, column)

    cdef double* set_contacts(
        self, Call[double]* c, const double* U, double h, Problem* x, double* memory
    ) noexcept nogil:
        cdef const Model* m = &self.compiled.model
        cdef const ForceElement* e
        cdef const double* a                 # the numbers of an element
        cdef int n = m.num_velocities
        cdef int[5] integers
        cdef double[3] u
        cdef double* rows
        cdef double* p_CP                    # as columns, then in A
        cdef double* column
        cdef double speed, r, mu, normal, share
        cdef int i, j, k, count, first = 0
        x.points = memory
        x.stiffness = x.points + 3*<Py_ssize_t>n*self.num_points
        x.dissipation = x.stiffness + self.num_points
        x.depth = x.dissipation + self.num_points
        x.point_friction = x.depth + self.num_points
        x.point_slope = x.point_friction + self.num_points
        p_CP = x.point_slope + self.num_points
        column = p_CP + 6*self.num_points
        for i in range(m.num_force_elements):
            e = &m.force_elements[i]
            if e.type != POINT_CONTACT:
                continue
            a = self.given_parameters.parameters.force_elements + e.start
            count = e.num_points
            for j in range(3):
                for k in range(count):
                    p_CP[count*j + k] = a[NUM_CONTACT_CONSTANTS + 3*k + j]
            integers = [e.b, e.a, count, 0, 0]
            call(POINT_POSITIONS, integers, c, p_CP, p_CP + 3*count)
            for k in range(count):
                x.depth[first + k] = -p_CP[3*count + 2*count + k]
            integers = [e.b, e.a, e.a, 0, count]
            rows = x.points + 3*<Py_ssize_t>n*first
            call(TRANSLATIONAL_JACOBIAN, integers, c, p_CP, rows)
            for _ in range(count):
                multiply(3, n, rows, c.v, u)
                x.stiffness[first], x.dissipation[first] = a[0], a[1]
                speed = sqrt(u[0]*u[0] + u[1]*u[1])
                r = 0.5*(speed/a[4] - 1.0)
                r = 0.0 if r < 0.0 else 1.0 if r > 1.0 else r
                mu = a[2] + (a[3] - a[2])*r*r*r*(10.0 + r*(6.0*r - 15.0))
                normal = a[0]*fmax(x.depth[first], 0.0)*fmax(1.0 - a[1]*u[2], 0.0)
                share = self.mask(n, rows, U, column) + self.mask(n, rows + n, U, column)
                for j in range(n):
                    rows[2*n + j] *= self.free[j]
                x.point_friction[first] = h*mu*normal
                x.point_slope[first] = 2.0/(STICTION*share) if share > 0.0 and normal > 0.0 else 0.0
                rows += 3*n
                first += 1
        return column + n

    # What Python calls.

    def step(self, tree, q, v, tau, double dt):
        """Return the state one step later, NaN where the present one is not finite.

        None where the arrays are not those of one state, or the mass matrix is singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef Problem x
        cdef int iterations
        cdef double residual
        if not (is_array1(q, m.num_positions) and is_array1(v, m.num_velocities) and is_array1(tau, m.num_velocities)):
            return None
        if m.num_checked:
            check_positions(tree, self.compiled, data(q))
        if m.num_elements_between:
            check_elements(tree, self.compiled, data(q))
        q1, v1 = new1(m.num_positions), new1(m.num_velocities)
        cdef int state = self.move(
            data(q), data(v), data(tau), NULL, dt, data(q1), data(v1), &x, &iterations, &residual
        )
        if state == SINGULAR:
            return None
        if state == NOT_FINITE:
            self.fill(data(q1), data(v1))
        return q1, v1

    def take(
        self, q0, v0, tau, bias, double dt, q, v, iterations, residual, at_limit, saturated, is_clipped, drive
    ):
        """Fill arrays with the states behind steps with the forces `tau`, (T, num_velocities), and what the solver did.

        All have T rows: number of iterations; residual; which position limits push; which servos are at their limits;
        which forces of inputs and servos are clipped; and these forces. False where the mass matrix of the first state
        is singular. From a state that is not finite on all are NaN.
        """
        cdef const Model* m = &self.compiled.model
        cdef int nq = m.num_positions
        cdef int n = m.num_velocities
        cdef int ns = self.num_servos
        cdef Py_ssize_t i, count = len(tau)
        cdef int k, state = DONE
        cdef Problem x
        q0, v0 = in1(q0, "q0", nq), in1(v0, "v0", n)
        tau, q, v = in2(tau, "tau", count, n), in2(q, "q", count, nq), in2(v, "v", count, n)
        cdef const double* here_q = data(q0)
        cdef const double* here_v = data(v0)
        cdef const double* force = data(tau)
        cdef const double* forces = NULL
        cdef double* to_q = data(q)
        cdef double* to_v = data(v)
        cdef double* to_residual = data(residual)
        cdef double* to_drive = data(drive)
        cdef cnp.npy_intp* to_iterations = <cnp.npy_intp*>data(iterations)
        cdef char* limits = <char*>data(at_limit)
        cdef char* full = <char*>data(saturated)
        cdef char* clipped = <char*>data(is_clipped)
        cdef int number = 0
        if bias is not None:
            bias = in1(bias, "bias", n)
            forces = data(bias)
        with nogil:
            for i in range(count):
                to_residual[i] = 0.0
                number = 0
                if state == DONE:
                    state = self.move(here_q, here_v, force, forces, dt, to_q, to_v, &x, &number, to_residual + i)
                to_iterations[i] = number
                if state == DONE:
                    add_drives(x, to_v, x.total, NULL)
                    for k in range(n):
                        limits[k] = to_v[k] < x.lower[k] or to_v[k] > x.upper[k]
                        clipped[k] = x.total[k] < x.effort_lower[k] or x.total[k] > x.effort_upper[k]
                        to_drive[k] = fmax(fmin(x.total[k], x.effort_upper[k]), x.effort_lower[k])
                    for k in range(ns):
                        full[k] = fabs(x.effort[k] - x.effort_slope[k]*to_v[x.dofs[k]]) > x.effort_limit[k]
                else:
                    self.fill(to_q, to_v)
                    memcpy(to_drive, force, n*sizeof(double))
                    memset(limits, 0, n)
                    memset(clipped, 0, n)
                    memset(full, 0, ns)
                here_q, here_v = to_q, to_v
                force, to_q, to_v, to_drive = force + n, to_q + nq, to_v + n, to_drive + n
                limits, clipped, full = limits + n, clipped + n, full + ns
        return not (state == SINGULAR and count == 1)

    def roll_out(self, q0, v0, tau, double dt, int kept, int every, q, v):
        """Fill rows (kept + 1, ...) of q and v with the first state, and those after every so many steps.

        `tau` has a row of each step, or one for all. False where the mass matrix of the first state is singular.
        """
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t nq = m.num_positions
        cdef Py_ssize_t nv = m.num_velocities
        cdef Py_ssize_t stride = nv if len(tau) > 1 else 0
        cdef const double* force = data(tau)
        cdef double* to_q = data(q)
        cdef double* to_v = data(v)
        cdef Problem x
        cdef int iterations, state = DONE
        cdef double residual
        cdef Py_ssize_t i
        here = new2(2, nq + nv)
        cdef double* a = data(here)
        cdef double* b = a + nq + nv
        memcpy(a, data(q0), nq*sizeof(double))
        memcpy(a + nq, data(v0), nv*sizeof(double))
        memcpy(to_q, a, nq*sizeof(double))
        memcpy(to_v, a + nq, nv*sizeof(double))
        with nogil:
            for i in range(<Py_ssize_t>kept*every):
                if i % STEPS_A_CHECK == STEPS_A_CHECK - 1:
                    with gil:
                        PyErr_CheckSignals()
                if state == DONE:
                    state = self.move(a, a + nq, force, NULL, dt, b, b + nq, &x, &iterations, &residual)
                    if state == DONE:
                        a, b = b, a
                    else:
                        if state == SINGULAR and i == 0:
                            break
                        self.fill(a, a + nq)
                force += stride
                if (i + 1) % every == 0:
                    to_q += nq
                    to_v += nv
                    memcpy(to_q, a, nq*sizeof(double))
                    memcpy(to_v, a + nq, nv*sizeof(double))
        return not (state == SINGULAR and i == 0)

    cdef void fill(self, double* q, double* v) noexcept nogil:
        """A state that does not exist."""
        cdef int i
        for i in range(self.compiled.model.num_positions):
            q[i] = NAN
        for i in range(self.compiled.model.num_velocities):
            v[i] = NAN
