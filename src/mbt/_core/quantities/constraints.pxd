"""Constraint quantities of a state, from kinematics in World."""

from mbt._core.algebra.records cimport FrameMotion, Kinematics, Parameters
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, Mat3, Motion, Pose, Vec3, cross, motion_at, numbers, position_at, put, shifted, vector_at,
)
from mbt._core.forces.constraints cimport (
    COUPLER, DISTANCE, WELD, calc_axes_and_points, calc_constraint_accelerations, calc_constraint_errors,
    calc_constraint_rates, num_equations_of,
)
from mbt._core.model.structs cimport Constraint, Model
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.frames cimport frame_in_world
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T, make_small


cdef inline void register_constraints(Functions[T]* functions) noexcept:
    functions.set(CONSTRAINT_ERRORS, calc_errors[T], count_memory)
    functions.set(CONSTRAINT_JACOBIAN, calc_jacobian[T], count_memory)
    functions.set(CONSTRAINT_BIAS, calc_bias[T], count_memory)
    functions.set(CONSTRAINT_FORCES, calc_forces[T], count_memory)


cdef inline const Constraint* next_constraint(
    Call[T]* c, int* i, FrameMotion[T]* A, FrameMotion[T]* B
) noexcept nogil:
    """The first enabled constraint from index i on, with its frames at rest; NULL if there is none.

    `i` becomes the index after it.
    """
    cdef const Constraint* x
    while i[0] < c.model.num_constraints:
        x = &c.model.constraints[i[0]]
        i[0] += 1
        if c.switches.disabled == NULL or not c.switches.disabled[i[0] - 1]:
            if x.type != COUPLER:
                set_frame(frame_in_world(c.model, c.p, &c.k, x.a), A)
                set_frame(frame_in_world(c.model, c.p, &c.k, x.b), B)
            return x
    return NULL


cdef inline void calc_errors(Call[T]* c) noexcept nogil:
    """Zero for disabled constraints, like everything below."""
    make_small()
    cdef const Constraint* x
    cdef FrameMotion[T] A
    cdef FrameMotion[T] B
    cdef int i = 0
    set_zero(c.out, c.model.num_equations)
    while True:
        x = next_constraint(c, &i, &A, &B)
        if x == NULL:
            return
        calc_constraint_errors(x, c.p.constraints + x.start, c.q, &A, &B, c.out + x.row)


cdef inline void calc_jacobian(Call[T]* c) noexcept nogil:
    make_small()
    cdef const Constraint* x
    cdef FrameMotion[T] A
    cdef FrameMotion[T] B
    cdef int i = 0
    set_zero(c.out, <Py_ssize_t>c.model.num_equations*c.model.num_velocities)
    while True:
        x = next_constraint(c, &i, &A, &B)
        if x == NULL:
            return
        add_columns(c.model, x, c.p, &c.k, &A, &B, c.out + x.row*c.model.num_velocities)


cdef inline void calc_bias(Call[T]* c) noexcept nogil:
    """Jdot v."""
    make_small()
    cdef const Constraint* x
    cdef T* vdot = c.k.rest
    cdef T* A_WB = c.k.rest + c.model.num_velocities
    cdef FrameMotion[T] A
    cdef FrameMotion[T] B
    cdef int i = 0
    set_zero(c.out, c.model.num_equations)
    set_zero(vdot, c.model.num_velocities)
    calc_acceleration_kinematics(
        c.model, c.p.X_BF, c.q, c.v, vdot, c.k.X_WB, c.k.H_PB_W, c.k.V_PB_W, c.k.V_WB, A_WB
    )
    while True:
        x = next_constraint(c, &i, &A, &B)
        if x == NULL:
            return
        if x.type != COUPLER:
            move_frame(c.model, c.k.X_WB, c.k.V_WB, A_WB, x.a, &A)
            move_frame(c.model, c.k.X_WB, c.k.V_WB, A_WB, x.b, &B)
        calc_constraint_accelerations(x, c.p.constraints + x.start, vdot, &A, &B, c.out + x.row)


cdef inline void calc_forces(Call[T]* c) noexcept nogil:
    """F_Bo_W and tau due to multipliers."""
    make_small()
    cdef const Constraint* x
    cdef Py_ssize_t nb = c.model.num_bodies
    cdef FrameMotion[T] A
    cdef FrameMotion[T] B
    cdef int i = 0
    set_zero(c.out, 6*nb + c.model.num_velocities)
    while True:
        x = next_constraint(c, &i, &A, &B)
        if x == NULL:
            return
        add_forces(c.model, x, c.p, c.k.X_WB, c.x + x.row, &A, &B, c.out, c.out + 6*nb)


cdef inline void set_frame(const Pose[T]& X_WF, FrameMotion[T]* F) noexcept nogil:
    """A frame in World, at rest."""
    F.R, F.p = X_WF.R, X_WF.p
    set_zero(numbers(F.w), 3)
    set_zero(numbers(F.v), 3)
    set_zero(numbers(F.alpha), 3)
    set_zero(numbers(F.a), 3)


cdef inline void move_frame(
    const Model* model, const T* X_WB, const T* V_WB, const T* A_WB, int frame, FrameMotion[T]* F
) noexcept nogil:
    """Velocity and acceleration, from those of its body."""
    cdef int b = model.frame_node[frame]
    cdef Motion[T] V = motion_at(V_WB + 6*b)
    cdef Motion[T] A = motion_at(A_WB + 6*b)
    cdef Vec3[T] p_BF = F.p - position_at(X_WB + 16*b)
    cdef Vec3[T] v = cross(V.w, p_BF)
    F.w = V.w
    F.v = V.v + v
    F.alpha = A.w
    F.a = A.v + cross(A.w, p_BF) + cross(V.w, v)


cdef inline void add_columns(
    # Topology:
    const Model* model,
    const Constraint* x,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Kinematics[T]* k,
    # Work:
    FrameMotion[T]* A,  # (1,)
    FrameMotion[T]* B,  # (1,)
    # Out:
    T* J,               # (num_equations_of, nv)  [1, m]
) noexcept nogil:
    """The rows of one constraint."""
    if x.type == COUPLER:
        J[x.dof_a] = <T>1.0
        J[x.dof_b] = -p.constraints[x.start + 2]
    else:
        add_columns_of_end(model, x, p, k, model.frame_node[x.a], model.frame_node[x.b], A, B, A, J)
        add_columns_of_end(model, x, p, k, model.frame_node[x.b], model.frame_node[x.a], A, B, B, J)


cdef inline void add_columns_of_end(
    # Topology:
    const Model* model,
    const Constraint* x,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const Kinematics[T]* k,
    int node,             # that of the end
    int other,            # and that of the other end
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Work:
    FrameMotion[T]* end,  # (1,)                    A or B
    # Out:
    T* J,                 # (num_equations_of, nv)  [1, m]
) noexcept nogil:
    """Each dof between a node and where the paths of both ends meet moves one frame, `end`, but not the other."""
    cdef const T* X_WB = k.X_WB
    cdef const T* H = k.H_PB_W
    cdef Motion[T] V
    cdef T[6] rates
    cdef int i, l
    while True:
        while other > node:
            other = model.parent[other]
        if other == node:
            break
        for l in range(model.v_start[node], model.v_start[node + 1]):
            V = shifted(motion_at(H + 6*l), end.p - position_at(X_WB + 16*node))
            end.w, end.v = V.w, V.v
            calc_constraint_rates(x, p.constraints + x.start, <const T*>NULL, A, B, rates)
            for i in range(num_equations_of(x.type)):
                J[i*model.num_velocities + l] = J[i*model.num_velocities + l] + rates[i]
        node = model.parent[node]
    set_zero(numbers(end.w), 3)
    set_zero(numbers(end.v), 3)


cdef inline void add_forces(
    # Topology:
    const Model* model,
    const Constraint* x,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)   [1, m]
    const T* multipliers,  # (num_equations_of,)  [N m, N]
    const FrameMotion[T]* A,
    const FrameMotion[T]* B,
    # Out:
    T* F_Bo_W,             # (num_bodies, 6)      [N m, N]  added to
    T* tau,                # (nv,)                [N m, N]  added to
) noexcept nogil:
    """Effect of these multipliers: forces on two bodies, or on two dofs."""
    cdef Mat3[T] axes
    cdef Vec3[T] u, p_A, p_B
    cdef Force[T] F
    cdef T unit = multipliers[0]
    if x.type == COUPLER:
        tau[x.dof_a] = tau[x.dof_a] + unit
        tau[x.dof_b] = tau[x.dof_b] - p.constraints[x.start + 2]*unit
        return
    calc_axes_and_points(x, p.constraints + x.start, A, B, &axes, &u, &p_A, &p_B)
    set_zero(numbers(F), 6)
    if x.type == DISTANCE:
        F.f = u*unit
    else:
        F.f = axes*vector_at(multipliers + num_equations_of(x.type) - 3)
        if x.type == WELD:
            F.t = axes*vector_at(multipliers)
    add_force(X_WB + 16*model.frame_node[x.a], -F, p_A, F_Bo_W + 6*model.frame_node[x.a])
    add_force(X_WB + 16*model.frame_node[x.b], F, p_B, F_Bo_W + 6*model.frame_node[x.b])


cdef inline void add_force(const T* X_WB, const Force[T]& F_P, const Vec3[T]& p_WP, T* F_Bo_W) noexcept nogil:
    """Add a force at P."""
    cdef Vec3[T] p_BP = p_WP - position_at(X_WB)
    put(vector_at(F_Bo_W) + F_P.t + cross(p_BP, F_P.f), F_Bo_W)
    put(vector_at(F_Bo_W + 3) + F_P.f, F_Bo_W + 3)
