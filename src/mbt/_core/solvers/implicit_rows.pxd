"""What acts in an implicit step of one state of doubles, and the rows of constraints and points in contact.

What each term means, and why, is in docs/implicit_steps.md. In NumPy: tests/support/convex_steps.py.
"""

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS

from mbt._core.algebra.records cimport CompliantWork, Parameters
from mbt._core.engines cimport double_engine
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.forces.force_elements cimport POINT_CONTACT
from mbt._core.model.structs cimport Constraint, ForceElement, Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport (
    CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN, INTEGRATED_POSITIONS, N_MATRIX, POINT_POSITIONS, TRANSLATIONAL_JACOBIAN,
)
from mbt._core.solvers.shape_contact cimport TouchPoint, ContactTables


cdef extern from "solvers/carried_momenta.hpp" namespace "mbt_convex" nogil:
    cdef cppclass Principal:
        pass
    Principal find_principal(double mass, const double* com, const double* inertia)
    void add_momenta "mbt_convex::add_momenta<double>"(
        int num_bodies, const Principal* bodies, const double* gravity, const double* X_WB, const double* X0_WB,
        const double* V0_WB, double h, double* F)

cdef extern from "solvers/convex_step.hpp" namespace "mbt_convex" nogil:
    const double RIGID "mbt_convex::kRigid"
    const double LITTLE "MBT_NS::kLittle"
    const double LEAST "MBT_NS::kLeast"
    const double NOTHING "MBT_NS::kNothing"
    const double STICTION "mbt_convex::kStiction"
    const double CLOSING "mbt_convex::kClosing"
    const double RETURN "mbt_convex::kReturn"
    const double PULL "mbt_convex::kPull"
    cdef cppclass Sweeps:
        void* self
        void (*calc_momenta_and_rates)(void* self, const double* v, double* Mv, double* u) noexcept nogil
        void (*add_impulses)(void* self, const double* impulses, double* gradient, double* size) noexcept nogil
        bint (*solve)(void* self, const double* slopes, double* x) noexcept nogil
    cdef cppclass Problem:
        int n, num_servos, num_rows, num_sided, num_points
        double h
        const Sweeps* sweeps
        double* M
        double* inertia
        double* p
        double* linear
        double* lower
        double* upper
        double* limit_slope
        double* back
        double* pull
        double* friction
        double* friction_slope
        double* given
        double* carried
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
        double* Mv
        double* total
        double* u
        const double* H
        const int* columns
    double clip(double x, double lower, double upper)
    double positive(double x)
    void take_out_little(
        int count, int n, double most, double* columns, double* S, double* J, double* target)
    Py_ssize_t count_memory(bint has_sweeps, int n, int num_rows, int num_points)
    void set_memory(Problem& x, double* memory)
    double dot(int n, const double* a, const double* b)
    void subtract(int n, double factor, const double* x, double* y)
    void multiply(int rows, int n, const double* A, const double* x, double* y)
    bint factorize(int n, double* A, int* columns)
    void solve_outer(int n, const double* L, const int* columns, double* x)
    void solve_inner(int n, const double* L, const int* columns, double* x)
    void add_drives(const Problem& x, const double* v, double* total, double* steepness)
    double limit_impulse(const Problem& x, int i, double v)
    double friction_impulse(const Problem& x, int i, double v)
    double row_impulse(const Problem& x, int k, double u)
    void calc_touch(const Problem& x, int i, const double* u, double* impulse)
    int minimize(Problem& x, double* v, const double* other, double* residual)


cdef struct Terms:
    # What acts in the steps of one Context.
    const Model* model
    Switches switches
    const double* elements                   # parameters of the force elements
    const Parameters[double]* own            # without contact stiffness and joint friction
    const double* free                       # (num_velocities,) 0.0 for a dof that cannot move, else 1.0
    const double* damping
    const double* stiffness
    const double* lower
    const double* upper
    const double* slowest                    # velocity limits
    const double* fastest
    const int* position_of
    # Limits of positions that are not integrals of velocities: the side, and the dof that stands for each.
    const int* angle_positions
    const int* angle_dofs
    const double* angle_signs
    const double* angle_limits
    const double* effort_lower
    const double* effort_upper
    const int* servo_dofs
    const int* servo_positions
    const double* kp
    const double* kd
    const double* q_d
    const double* v_d
    const double* effort_limits
    const double* body_forces                # NULL: none
    const double* generalized_forces
    const Principal* bodies
    int num_servos
    int num_points                           # of force elements
    const ContactTables* shapes              # NULL: none
    int num_spots                            # most points of shapes
    Py_ssize_t num_contact_work              # doubles needed to find them
    int num_angles
    int num_rows
    bint has_locks
    bint has_sweeps                          # through the tree, in place of matrices
    Py_ssize_t num_work                      # doubles that any quantity of a step needs


cdef struct StepInput:
    # The input of one step.
    const double* q
    const double* v
    const double* tau
    const double* bias                       # NULL, or the forces of inverse dynamics without acceleration
    double h


cdef struct SweptTree:
    # What the sweeps of a step work on.
    const Terms* terms
    CompliantWork[double] w
    Sweeps sweeps


cdef struct MassFactor:
    # M = L' L, and room for one of its columns.
    const double* L
    const int* columns
    double* column


cdef inline double linear_slope(const Terms* x, double h, int i) noexcept nogil:
    """Impulse against a velocity, per velocity, of damping and a spring at a dof."""
    return (h*x.damping[i] + h*h*x.stiffness[i])*x.free[i]


cdef inline Py_ssize_t count_work(const Model* m) noexcept:
    cdef int[5] points = [0, 0, 0, 0, 0]
    cdef Py_ssize_t most = double_engine.count_state_memory(CONSTRAINT_ERRORS, points, m)
    cdef int i
    most = max(most, double_engine.count_state_memory(CONSTRAINT_JACOBIAN, points, m))
    most = max(most, double_engine.count_state_memory(INTEGRATED_POSITIONS, points, m))
    most = max(most, double_engine.count_state_memory(N_MATRIX, points, m))
    for i in range(m.num_force_elements):
        points[4] = points[2] = m.force_elements[i].num_points
        most = max(most, double_engine.count_state_memory(POINT_POSITIONS, points, m))
        points[2] = 0
        most = max(most, double_engine.count_state_memory(TRANSLATIONAL_JACOBIAN, points, m))
    return most


cdef inline Py_ssize_t count_scratch(const Terms* x) noexcept nogil:
    """Return the doubles that a step needs beside `num_work`."""
    cdef const Model* m = x.model
    cdef Py_ssize_t n = m.num_velocities
    cdef Py_ssize_t num_points = x.num_points + x.num_spots
    cdef Py_ssize_t common = (
        17*n + 3 + m.num_positions + 34*m.num_bodies + 2*x.num_servos + 3*x.num_rows + 5*num_points
        + count_memory(x.has_sweeps, <int>n, x.num_rows, <int>num_points)
    )
    if x.has_sweeps:
        return common + num_points + kernels.sweeps.count_compliant_work(m) + sizeof(SweptTree)//sizeof(double)
    return (
        common + 3*n*n + n*x.num_rows + (n*m.num_positions if x.num_angles else 0)
        + num_points*(3*n + 7) + x.num_spots*(sizeof(TouchPoint)//sizeof(double))
        + x.num_contact_work
    )


cdef inline TouchPoint* spots_of(const Terms* x, const Problem* y) noexcept nogil:
    """Return where the points of shapes are stored: behind the arrays of all points, with room for the most."""
    return <TouchPoint*>(y.point_slope + x.num_points + x.num_spots)


cdef inline void set_call(const Terms* x, double* work, Call[double]* c) noexcept nogil:
    """Point a call to its inputs in `work`, which is laid out as for `evaluate_state_in`."""
    cdef Py_ssize_t nb = x.model.num_bodies
    cdef Py_ssize_t nv = x.model.num_velocities
    c.functions = &kernels.of_doubles
    c.model, c.switches, c.p = x.model, &x.switches, x.own
    c.gravity = NULL
    c.k.X_WB = work
    c.k.H_FM = c.k.X_WB + 16*nb
    c.k.H_PB_W = c.k.H_FM + 6*nv
    c.k.V_PB_W = c.k.H_PB_W + 6*nv
    c.k.V_WB = c.k.V_PB_W + 6*nb
    c.k.X_FM = c.k.X_PB = c.k.V_PB = NULL  # not read by these quantities
    c.memory = c.k.V_WB + 6*nb
    c.k.F_Bo_W = c.memory
    c.k.rest = c.memory + 6*nb


cdef inline void go_to(Call[double]* c, const double* q, const double* v) noexcept nogil:
    """Compute the kinematics of a state."""
    c.q, c.v = q, v
    kernels.body_poses(c.model, c.p, q, c.memory, c.k.X_WB)
    kernels.motion_axes(c.model, c.p, q, c.k.X_WB, c.k.H_FM, c.k.H_PB_W)
    kernels.velocities_in_world(c.model, c.k.X_WB, c.k.H_PB_W, v, c.k.V_PB_W, c.k.V_WB)


cdef inline void call(int quantity, const int* integers, Call[double]* c, const double* x, double* out) noexcept nogil:
    """Compute a quantity that has no pivots and leaves its input unchanged."""
    c.integers, c.x, c.out = integers, <double*>x, out
    c.pivots.D = NULL
    c.base = <int*>(c.memory + kernels.work_size(c.model) + c.functions.count_memory(quantity, integers, c.model))
    kernels.of_doubles.call(quantity, c)


cdef inline void integrate(
    Call[double]* c, const double* v, double h, double* step, double* q
) noexcept nogil:
    """Integrate the positions of a call with v over h; `step` is working memory, (num_velocities + 1,)."""
    cdef int[5] integers = [0, 0, 0, 0, 0]
    cdef int n = c.model.num_velocities
    memcpy(step, v, n*sizeof(double))
    step[n] = h
    call(INTEGRATED_POSITIONS, integers, c, step, q)


cdef inline double* set_constraints(
    const Terms* x, Call[double]* c, const MassFactor* factor, Problem* y, double* memory
) noexcept nogil:
    """Set the rows of constraints, which precede those of `implicit_elements.pxd`; return the memory behind them."""
    cdef const Model* m = x.model
    cdef int n = m.num_velocities
    cdef int[5] integers = [0, 0, 0, 0, 0]
    cdef const Constraint* x_c
    cdef double most, largest
    cdef double[9] S
    cdef double* columns       # of three equations, as `mask` leaves them
    cdef int i, j, k, l, end, count
    y.J = memory
    y.target = y.J + <Py_ssize_t>n*x.num_rows
    y.row_slope = y.target + x.num_rows
    columns = y.row_slope + x.num_rows
    if not m.num_equations:
        return columns
    call(CONSTRAINT_JACOBIAN, integers, c, NULL, y.J)
    call(CONSTRAINT_ERRORS, integers, c, NULL, y.target)
    for k in range(m.num_equations):
        y.target[k] = -y.target[k]/(y.h + CLOSING)
    # Three equations belong to three axes. With one compliance for all three the choice of axes does not matter, a
    # constraint that cannot close ends at the least gap, and a dependent equation is more than rounding.
    for i in range(m.num_constraints):
        x_c = &m.constraints[i]
        end = x_c.row + num_equations_of(x_c.type)
        for k in range(x_c.row, end, 3):
            count = min(3, end - k)
            most = largest = 0.0
            for j in range(count):
                S[4*j] = mask(x, factor, y.J + <Py_ssize_t>n*(k + j))
                most = max(most, S[4*j])
                largest = max(largest, largest_entry(n, y.J + <Py_ssize_t>n*(k + j)))
                memcpy(columns + <Py_ssize_t>n*j, factor.column, n*sizeof(double))
                for l in range(j):
                    S[3*j + l] = S[3*l + j] = dot(n, columns + <Py_ssize_t>n*j, columns + <Py_ssize_t>n*l)
            for j in range(count):
                y.row_slope[k + j] = 1.0/(RIGID*most) if largest > LEAST else 0.0
            take_out_little(count, n, most, columns, S, y.J + <Py_ssize_t>n*k, y.target + k)
    return columns


cdef inline double largest_entry(int n, const double* row) noexcept nogil:
    cdef double most = 0.0
    cdef int i
    for i in range(n):
        most = max(most, fabs(row[i]))
    return most


cdef inline double mask(const Terms* x, const MassFactor* factor, double* row) noexcept nogil:
    """Take dofs that cannot move out of a row J, and return J M^-1 J'."""
    cdef int n = x.model.num_velocities
    cdef int i
    for i in range(n):
        row[i] *= x.free[i]
        factor.column[i] = row[i]
    solve_outer(n, factor.L, factor.columns, factor.column)
    return dot(n, factor.column, factor.column)


cdef inline double* reserve_points(const Terms* x, Problem* y, double* memory) noexcept nogil:
    """Set where the numbers of points are stored, with room for the most; return the memory behind them."""
    cdef int most = x.num_points + x.num_spots
    y.stiffness = memory
    y.dissipation = y.stiffness + most
    y.depth = y.dissipation + most
    y.point_friction = y.depth + most
    y.point_slope = y.point_friction + most
    return y.point_slope + most


cdef inline void set_point(Problem* y, int i, const double* a, const double* u, double share) noexcept nogil:
    """Set the numbers of a point of depth `y.depth[i]` and velocity u from the parameters of its element.

    `share` is the sum of J M^-1 J' along the two axes of the plane.
    """
    cdef double speed = sqrt(u[0]*u[0] + u[1]*u[1])
    cdef double r = 0.5*(speed/a[4] - 1.0)
    cdef double mu, normal
    r = 0.0 if r < 0.0 else 1.0 if r > 1.0 else r
    mu = a[2] + (a[3] - a[2])*r*r*r*(10.0 + r*(6.0*r - 15.0))
    normal = a[0]*positive(y.depth[i])*positive(1.0 - a[1]*u[2])
    y.stiffness[i], y.dissipation[i] = a[0], a[1]
    y.point_friction[i] = y.h*mu*normal
    y.point_slope[i] = 2.0/(STICTION*share) if share > 0.0 and normal > 0.0 else 0.0


cdef inline double* set_contacts(
    const Terms* x, Call[double]* c, const MassFactor* factor, Problem* y, double* memory
) noexcept nogil:
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef const double* a                     # the parameters of an element
    cdef int n = m.num_velocities
    cdef int[5] integers
    cdef double[3] u
    cdef double* rows
    cdef double* p_CP                        # as columns, then in A
    cdef double share
    cdef int i, j, k, count, first = 0
    y.points = memory
    reserve_points(x, y, y.points + 3*<Py_ssize_t>n*(x.num_points + x.num_spots))
    p_CP = <double*>(spots_of(x, y) + x.num_spots)
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type != POINT_CONTACT:
            continue
        a = x.elements + e.start
        count = e.num_points
        for j in range(3):
            for k in range(count):
                p_CP[count*j + k] = a[NUM_CONTACT_CONSTANTS + 3*k + j]
        integers = [e.b, e.a, count, 0, 0]
        call(POINT_POSITIONS, integers, c, p_CP, p_CP + 3*count)
        for k in range(count):
            y.depth[first + k] = -p_CP[3*count + 2*count + k]
        integers = [e.b, e.a, e.a, 0, count]
        rows = y.points + 3*<Py_ssize_t>n*first
        call(TRANSLATIONAL_JACOBIAN, integers, c, p_CP, rows)
        for _ in range(count):
            multiply(3, n, rows, c.v, u)
            share = mask(x, factor, rows) + mask(x, factor, rows + n)
            for j in range(n):
                rows[2*n + j] *= x.free[j]
            set_point(y, first, a, u, share)
            rows += 3*n
            first += 1
    # Only the Jacobians are needed from here on.
    return p_CP
