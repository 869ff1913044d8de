"""Dynamics, and other quantities computed directly from q in mobod frames."""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof
from mbt._core.algebra.spatial cimport copy, invert_symmetric6, set_zero
from mbt._core.algebra.vectors cimport Mat3, Vec3, matrix_at, numbers, transpose
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes cimport jacobian, mass_matrix_inverse
from mbt._core.passes.element_forces cimport acts_on_bodies
from mbt._core.passes.forward_dynamics_in_parents cimport carry_first_dofs_to_parents
from mbt._core.passes.operational_space cimport calc_inverse_inertia_of_frame
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport (
    Call, FrameInWorld, Functions, flags_of, frame_of, set_pivots, set_pivots_in_row,
)
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T, make_small


cdef inline void register_dynamics(Functions[T]* functions) noexcept:
    """Register all except the mass matrix, which doubles and lanes compute in their own ways."""
    functions.set(MOTION_FORCES, calc_motion_forces[T], count_memory)
    functions.set(INVERSE_DYNAMICS, calc_inverse_dynamics[T], count_memory)
    functions.set(FORWARD_DYNAMICS, calc_forward_dynamics[T], count_memory)
    functions.set(MASS_MATRIX_INVERSE, calc_mass_matrix_inverse[T], count_inverse_memory)
    functions.set(MASS_MATRIX_BY_INVERSE_DYNAMICS, calc_mass_matrix_by_inverse_dynamics[T], count_memory)
    functions.set(GRAVITY_GENERALIZED_FORCES, calc_gravity_generalized_forces[T], count_memory)
    functions.set(BODY_POSES, calc_body_poses[T], count_memory)
    functions.set(FRAME_POSE_IN_WORLD, calc_frame_pose[T], count_memory)
    functions.set(FRAME_JACOBIAN, calc_frame_jacobian[T], count_memory)
    functions.set(CENTER_OF_MASS, calc_center_of_mass[T], count_memory)
    functions.set(
        OPERATIONAL_SPACE_INVERSE_INERTIA, calc_operational_space_inverse_inertia[T], count_operational_space_memory
    )
    functions.set(OPERATIONAL_SPACE_INERTIA, calc_operational_space_inertia[T], count_operational_space_memory)
    functions.set(CONSTRAINED_FORWARD_DYNAMICS, calc_constrained_forward_dynamics[T], count_memory)
    functions.set(IMPULSE_DYNAMICS, calc_impulse_dynamics[T], count_memory)


cdef inline void register_mass_matrix(Functions[T]* functions) noexcept:
    functions.set(MASS_MATRIX, calc_mass_matrix[T], count_memory)


cdef inline Py_ssize_t count_memory(const int* integers, const Model* model) noexcept nogil:
    return algorithms.count_dynamics_work(model)


cdef inline Py_ssize_t count_inverse_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory(integers, model) + 6*<Py_ssize_t>model.num_velocities*(model.num_mobods + 1)


cdef inline Py_ssize_t count_operational_space_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory(integers, model) + 12


# Inverse and forward dynamics -----------------------------------------------------------------------------------

cdef inline void calc_motion_forces(Call[T]* c) noexcept nogil:
    """M vdot + C v minus body forces, generalized forces, and the call's gravity if it has one."""
    cdef Vec3[T] no_gravity
    cdef const T* gravity = c.gravity
    if gravity == NULL:
        set_zero(numbers(no_gravity), 3)
        gravity = numbers(no_gravity)
    algorithms.run_inverse_dynamics(c.model, c.p, gravity, c.q, c.v, c.x, c.memory, c.out)
    subtract_given_forces(c)


cdef inline void calc_inverse_dynamics(Call[T]* c) noexcept nogil:
    """The same, also minus gravity, joint damping and force elements."""
    cdef Vec3[T] zero
    c.gravity = algorithms.gravity_acceleration(c.p, c.switches.weightless, numbers(zero))
    c.functions.call(MOTION_FORCES, c)
    c.gravity = NULL
    algorithms.add_joint_forces(c.model, c.p, c.q, c.v, 1, c.out)
    if acts_on_bodies(c.model, c.switches.weightless):
        algorithms.subtract_body_forces(c.model, c.p, c.switches.weightless, c.q, c.v, c.memory, c.out)


cdef inline void subtract_given_forces(Call[T]* c) noexcept nogil:
    """tau -= J' F of body forces, and the generalized forces after them. Needs nv more scalars of memory."""
    cdef Py_ssize_t nv = c.model.num_velocities
    cdef const T* tau_applied = c.x + nv + 6*c.model.num_bodies
    cdef T* tau_of_bodies = c.memory + algorithms.count_work(c.model)
    cdef Py_ssize_t k
    if flags_of(c).given:
        algorithms.run_stateless_generalized_forces(c.model, c.p, c.q, c.x + nv, c.memory, tau_of_bodies)
        for k in range(nv):
            c.out[k] = c.out[k] - (tau_applied[k] + tau_of_bodies[k])


cdef inline void calc_forward_dynamics(Call[T]* c) noexcept nogil:
    """Forward dynamics of tau, body forces and generalized forces; tau is overwritten with the sum."""
    cdef Py_ssize_t nv = c.model.num_velocities
    cdef const T* tau_applied = c.x + nv + 6*c.model.num_bodies
    cdef T* tau_of_bodies = c.memory + algorithms.count_work(c.model)
    cdef Py_ssize_t k
    if flags_of(c).given:
        algorithms.run_stateless_generalized_forces(c.model, c.p, c.q, c.x + nv, c.memory, tau_of_bodies)
        for k in range(nv):
            c.x[k] = c.x[k] + (tau_applied[k] + tau_of_bodies[k])
    set_pivots(
        c,
        algorithms.run_forward_dynamics_with_elements(c.model, c.p, c.switches, c.q, c.v, c.x, c.memory, c.out),
        c.switches.locked,
    )


cdef inline void calc_constrained_forward_dynamics(Call[T]* c) noexcept nogil:
    """vdot, followed by the multipliers."""
    cdef Switches stabilized = c.switches[0]
    cdef Call[T] unconstrained = c[0]
    stabilized.stabilized = flags_of(c).stabilized
    unconstrained.switches = &stabilized
    c.functions.call(FORWARD_DYNAMICS, &unconstrained)
    copy(algorithms.multipliers_in(c.model, c.memory), c.model.num_equations, c.out + c.model.num_velocities)
    c.pivots = unconstrained.pivots


cdef inline void calc_impulse_dynamics(Call[T]* c) noexcept nogil:
    """M (v1 - v) = J' impulses, J v1 = -restitution J v: v1, followed by the impulses."""
    cdef Py_ssize_t nv = c.model.num_velocities
    cdef T* zeros = c.memory + algorithms.count_work(c.model)
    cdef T* multipliers = algorithms.multipliers_in(c.model, c.memory)
    cdef Vec3[T] no_gravity
    cdef T factor = c.x[0] + <T>1.0
    cdef Switches at_rest = c.switches[0]
    cdef ArticulatedDof[T]* dofs
    cdef Py_ssize_t k
    at_rest.stabilized = 0
    set_zero(numbers(no_gravity), 3)
    set_zero(zeros, nv)
    dofs = algorithms.run_constrained_dynamics(
        c.model, c.p, numbers(no_gravity), &at_rest, c.q, zeros, c.v, zeros, c.memory, c.out
    )
    for k in range(nv):
        c.out[k] = c.v[k] + factor*c.out[k]
    for k in range(c.model.num_equations):
        c.out[nv + k] = factor*multipliers[k]
    set_pivots(c, dofs, c.switches.locked)


cdef inline void calc_gravity_generalized_forces(Call[T]* c) noexcept nogil:
    algorithms.run_gravity_forces(c.model, c.p, c.switches.weightless, c.q, c.memory, c.out)


# Mass matrices --------------------------------------------------------------------------------------------------

cdef inline void calc_mass_matrix(Call[T]* c) noexcept nogil:
    algorithms.run_mass_matrix(c.model, c.p, c.q, c.memory, c.out)


cdef inline void calc_mass_matrix_inverse(Call[T]* c) noexcept nogil:
    cdef Articulated[T]* work = <Articulated[T]*>c.memory
    cdef T* H_N = <T*>(work + c.model.num_mobods)
    cdef T* more = c.memory + algorithms.count_work(c.model)
    cdef T* row = more + 2*c.model.num_velocities
    cdef T* F = row + c.model.num_velocities
    cdef ArticulatedDof[T]* dofs = run_articulation(c, more)
    if T is not double:
        carry_first_dofs_to_parents(c.model, work, dofs)
    mass_matrix_inverse.calc_mass_matrix_inverse(
        c.model, work, H_N, dofs, F, F + 6*c.model.num_velocities, row, c.out
    )
    set_pivots(c, dofs, NULL)


cdef inline ArticulatedDof[T]* run_articulation(Call[T]* c, T* more) noexcept nogil:
    """Articulated bodies at rest and without forces, in `c.memory`. `more` holds 2 nv scalars. Returns the pivots."""
    cdef Vec3[T] no_gravity
    set_zero(numbers(no_gravity), 3)
    set_zero(more, c.model.num_velocities)
    return algorithms.run_forward_dynamics(
        c.model, c.p, c.p.reflected_inertia, numbers(no_gravity), NULL, c.q, more, more, c.memory,
        more + c.model.num_velocities
    )


cdef inline void calc_mass_matrix_by_inverse_dynamics(Call[T]* c) noexcept nogil:
    """Column k is the inverse dynamics of unit acceleration k at rest. Needs 3 nv more scalars of memory."""
    cdef Py_ssize_t k, l, nv = c.model.num_velocities
    cdef int nothing_given = 0
    cdef Call[T] column = c[0]
    column.integers = &nothing_given
    column.x = c.memory + algorithms.count_work(c.model)
    column.v = column.x + nv
    column.out = column.x + 2*nv
    set_zero(column.x, 2*nv)
    for k in range(nv):
        column.x[k] = <T>1.0
        c.functions.call(MOTION_FORCES, &column)
        column.x[k] = <T>0.0
        for l in range(nv):
            c.out[nv*l + k] = column.out[l]


cdef inline void calc_operational_space_inverse_inertia(Call[T]* c) noexcept nogil:
    """J M^-1 J' of frame F in frame E. The pivots are those of M^-1, with space for six more."""
    make_small()
    cdef const FrameInWorld* of = frame_of(c)
    cdef Py_ssize_t nv = c.model.num_velocities
    cdef T* D = c.memory + algorithms.count_work(c.model)
    cdef T* scale = D + nv + 6
    cdef Articulated[T]* work = <Articulated[T]*>c.memory
    cdef ArticulatedDof[T]* dofs
    cdef Mat3[T] R_FE = transpose(rotation_of_frame(c, of.F))
    cdef Py_ssize_t k
    if of.E != 0:
        R_FE = R_FE*rotation_of_frame(c, of.E)
    dofs = run_articulation(c, scale + nv + 6)
    calc_inverse_inertia_of_frame(
        c.model, of.F, c.p.X_NB, c.p.X_BF, numbers(R_FE), work, <T*>(work + c.model.num_mobods), dofs, c.out
    )
    for k in range(nv):
        D[k] = dofs[k].D
        scale[k] = dofs[k].scale
    set_pivots_in_row(c, D, scale, NULL, 0)


cdef inline void calc_operational_space_inertia(Call[T]* c) noexcept nogil:
    cdef Py_ssize_t nv = c.model.num_velocities
    c.functions.call(OPERATIONAL_SPACE_INVERSE_INERTIA, c)
    invert_symmetric6(c.out, <T*>c.pivots.D + nv, <T*>c.pivots.scale + nv)
    c.pivots.further = 6


# Poses ----------------------------------------------------------------------------------------------------------

cdef inline void calc_body_poses(Call[T]* c) noexcept nogil:
    algorithms.run_body_poses(c.model, c.p, c.q, c.memory, c.out)


cdef inline void calc_frame_pose(Call[T]* c) noexcept nogil:
    algorithms.run_frame_pose(c.model, c.p, frame_of(c).F, c.q, c.memory, c.base, c.out)


cdef inline Mat3[T] rotation_of_frame(Call[T]* c, int frame) noexcept nogil:
    """R_WF."""
    cdef T[16] X_WF
    algorithms.run_frame_pose(c.model, c.p, frame, c.q, c.memory, c.base, X_WF)
    return matrix_at(&X_WF[0], 4)


cdef inline void calc_frame_jacobian(Call[T]* c) noexcept nogil:
    """Jacobian of the spatial velocity in World, (6, nv) or (6, nq)."""
    cdef const FrameInWorld* of = frame_of(c)
    cdef const T* p_FoP_F = <const T*>c.x if of.points != 0 else <const T*>NULL
    cdef T* sin_q = c.memory + 16*c.model.num_mobods
    cdef T* cos_q = sin_q + c.model.angle_stride
    cdef T* J_v = c.memory + algorithms.count_work(c.model) if of.by_qdot else c.out
    jacobian.calc_frame_jacobian(
        c.model, of.F, c.p.mobods, c.p.X_NB, c.p.X_BF, c.q, p_FoP_F, c.base, sin_q, cos_q, c.memory, J_v
    )
    if of.E != 0:
        jacobian.express_jacobian(6, c.model.num_velocities, rotation_of_frame(c, of.E), J_v)
    if of.by_qdot:
        jacobian.multiply_by_Nplus(c.model, c.q, 6, J_v, c.out)


cdef inline void calc_center_of_mass(Call[T]* c) noexcept nogil:
    cdef T total_mass
    algorithms.run_center_of_mass(c.model, c.p, c.q, c.memory, &total_mass, c.out)
