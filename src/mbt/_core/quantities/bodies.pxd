"""Kinematics of all bodies, forces on them, and regressors: from the kinematics in World."""

from mbt._core.algebra.records cimport Contact, CoriolisComposite, Ends
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport Force, Motion, Pose, Vec3, cross, force_at, put, times_transposed
from mbt._core.forces.force_elements cimport acts_on_joint, calc_forces_on_ends
from mbt._core.forces.numbers cimport ContactNumbers
from mbt._core.forces.point_contact cimport calc_contact
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.body_forces cimport calc_generalized_forces, calc_reaction_forces
from mbt._core.passes.coriolis cimport calc_coriolis_matrix
from mbt._core.passes.element_forces cimport (
    add_forces_between, add_forces_on_ends, add_gravity_forces, calc_joint_force, set_ends,
)
from mbt._core.passes.position_kinematics cimport calc_spatial_inertias_in_world
from mbt._core.passes.regressor cimport (
    calc_inverse_dynamics_regressor, calc_kinetic_energy_regressor, calc_momentum_regressor,
    calc_potential_energy_regressor,
)
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call, Functions, element_of, flags_of
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.frames cimport frame_in_world
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T, make_small


cdef inline void register_bodies(Functions[T]* functions) noexcept:
    functions.set(FRAME_POSES, calc_frame_poses[T], count_memory)
    functions.set(POSITION_KINEMATICS, calc_position_kinematics[T], count_memory)
    functions.set(SPATIAL_INERTIAS, calc_spatial_inertias[T], count_memory)
    functions.set(VELOCITY_KINEMATICS, calc_velocity_kinematics[T], count_memory)
    functions.set(ACCELERATION_KINEMATICS, calc_accelerations[T], count_memory)
    functions.set(GENERALIZED_FORCES, calc_forces_of_bodies[T], count_memory)
    functions.set(REACTION_FORCES, calc_mobilizer_reactions[T], count_memory)
    functions.set(JOINT_REACTIONS, calc_joint_reactions[T], count_memory)
    functions.set(CORIOLIS_MATRIX, calc_coriolis[T], count_memory)
    functions.set(ELEMENT_FORCES, calc_element_forces[T], count_memory)
    functions.set(GRAVITY_FORCES, calc_gravity_forces[T], count_memory)
    functions.set(ELEMENT_FORCE, calc_element_force[T], count_memory)
    functions.set(CONTACT_FORCES, calc_contact_forces[T], count_memory)
    functions.set(INVERSE_DYNAMICS_REGRESSOR, calc_dynamics_regressor[T], count_memory)
    functions.set(KINETIC_ENERGY_REGRESSOR, calc_kinetic_regressor[T], count_memory)
    functions.set(POTENTIAL_ENERGY_REGRESSOR, calc_potential_regressor[T], count_memory)
    functions.set(MOMENTUM_REGRESSOR, calc_regressor_of_momentum[T], count_memory)


# Kinematics -----------------------------------------------------------------------------------------------------

cdef inline void calc_frame_poses(Call[T]* c) noexcept nogil:
    """X_BF."""
    copy(c.p.X_BF, 16*c.model.num_frames, c.out)


cdef inline void calc_position_kinematics(Call[T]* c) noexcept nogil:
    cdef Py_ssize_t nb = c.model.num_bodies
    cdef Py_ssize_t nv = c.model.num_velocities
    copy(c.k.X_FM, 16*nb, c.out)
    copy(c.k.X_PB, 16*nb, c.out + 16*nb)
    copy(c.k.X_WB, 16*nb, c.out + 32*nb)
    copy(c.k.H_FM, 6*nv, c.out + 48*nb)
    copy(c.k.H_PB_W, 6*nv, c.out + 48*nb + 6*nv)


cdef inline void calc_spatial_inertias(Call[T]* c) noexcept nogil:
    make_small()
    calc_spatial_inertias_in_world(
        c.model, c.p.mass, c.p.p_BoBcm_B, c.p.I_BBo_B, c.k.X_WB, c.out, c.out + 3*c.model.num_bodies
    )


cdef inline void calc_velocity_kinematics(Call[T]* c) noexcept nogil:
    cdef Py_ssize_t nb = c.model.num_bodies
    copy(c.k.V_PB_W, 6*nb, c.out)
    copy(c.k.V_PB, 6*nb, c.out + 6*nb)
    copy(c.k.V_WB, 6*nb, c.out + 12*nb)


cdef inline void calc_accelerations(Call[T]* c) noexcept nogil:
    run_accelerations(c, c.out)


cdef inline void run_accelerations(Call[T]* c, T* A_WB) noexcept nogil:
    """Accelerations due to vdot, the first part of the input."""
    calc_acceleration_kinematics(
        c.model, c.p.X_BF, c.q, c.v, c.x, c.k.X_WB, c.k.H_PB_W, c.k.V_PB_W, c.k.V_WB, A_WB
    )


# Forces ---------------------------------------------------------------------------------------------------------

cdef inline void calc_forces_of_bodies(Call[T]* c) noexcept nogil:
    copy(c.x, 6*c.model.num_bodies, c.k.F_Bo_W)
    calc_generalized_forces(c.model, c.k.X_WB, c.k.H_PB_W, c.k.F_Bo_W, c.out)


cdef inline void calc_mobilizer_reactions(Call[T]* c) noexcept nogil:
    """Integers are WITH_ELEMENTS and GIVEN."""
    cdef bint with_elements = c.integers[0], given = c.integers[1]
    run_reactions(c, with_elements, given, c.out)


cdef inline void run_reactions(Call[T]* c, bint with_elements, bint with_forces, T* F_BMo_W) noexcept nogil:
    """Reactions for vdot and forces on bodies."""
    make_small()
    cdef T* A_WB = c.k.rest
    if with_forces:
        copy(c.x + c.model.num_velocities, 6*c.model.num_bodies, c.k.F_Bo_W)
    else:
        set_zero(c.k.F_Bo_W, 6*c.model.num_bodies)
    if with_elements:
        add_element_forces(c, c.k.F_Bo_W)
    run_accelerations(c, A_WB)
    calc_reaction_forces(
        c.model, c.p.mass, c.p.p_BoBcm_B, c.p.I_BBo_B, c.p.X_BF, c.k.X_WB, c.k.V_WB, A_WB, c.k.F_Bo_W,
        A_WB + 6*c.model.num_bodies, F_BMo_W
    )


cdef inline void add_element_forces(Call[T]* c, T* F_Bo_W) noexcept nogil:
    """Add gravity and elements between two frames."""
    add_gravity_forces(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB, F_Bo_W
    )
    add_forces_between(c.model, c.p.force_elements, c.p.X_BF, c.k.X_WB, c.k.V_WB, F_Bo_W)


cdef inline void calc_joint_reactions(Call[T]* c) noexcept nogil:
    """Reaction on the child of each joint, at the origin of the joint's frame on it, expressed in that frame."""
    cdef const Model* model = c.model
    cdef T* F_BMo_W = c.k.rest + 12*model.num_bodies
    cdef Pose[T] X_WJc
    cdef Vec3[T] p_JcMo
    cdef Force[T] F
    cdef int j, frame, node
    run_reactions(c, True, flags_of(c).given, F_BMo_W)
    for j in range(model.num_joints):
        frame = model.joint_frame[j]
        node = model.joint_node[j]
        X_WJc = frame_in_world(model, c.p, &c.k, frame)
        p_JcMo = frame_in_world(model, c.p, &c.k, model.outboard_frame[node]).p - X_WJc.p
        # The force through the mobilizer, or its reaction if Jc is on the other body.
        F = force_at(F_BMo_W + 6*node)
        F.t = F.t + cross(p_JcMo, F.f)
        if model.frame_node[frame] != node:
            F = -F
        put(times_transposed(X_WJc.R, F.t), c.out + 6*j)
        put(times_transposed(X_WJc.R, F.f), c.out + 6*j + 3)


cdef inline void calc_coriolis(Call[T]* c) noexcept nogil:
    make_small()
    cdef CoriolisComposite[T]* work = <CoriolisComposite[T]*>c.k.rest
    cdef Motion[T]* h = <Motion[T]*>(work + c.model.num_bodies)
    cdef Motion[T]* hdot = h + c.model.num_velocities
    calc_coriolis_matrix(
        c.model, c.p.mass, c.p.p_BoBcm_B, c.p.I_BBo_B, c.p.X_BF, c.q, c.v, c.k.X_WB, c.k.H_FM, c.k.V_WB, c.base, work,
        h, hdot, c.out
    )


cdef inline void calc_element_forces(Call[T]* c) noexcept nogil:
    """Forces of gravity, damping and all elements: F_Bo_W, tau."""
    cdef Py_ssize_t nb = c.model.num_bodies
    set_zero(c.out, 6*nb + c.model.num_velocities)
    add_element_forces(c, c.out)
    algorithms.add_joint_forces(c.model, c.p, c.q, c.v, 0, c.out + 6*nb)


cdef inline void calc_gravity_forces(Call[T]* c) noexcept nogil:
    set_zero(c.out, 6*<Py_ssize_t>c.model.num_bodies)
    add_gravity_forces(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB, c.out
    )


cdef inline void calc_element_force(Call[T]* c) noexcept nogil:
    """Forces of one element: F_Bo_W, tau."""
    cdef Py_ssize_t nb = c.model.num_bodies
    cdef const ForceElement* e = &c.model.force_elements[element_of(c)]
    cdef Ends[T] ends
    set_zero(c.out, 6*nb + c.model.num_velocities)
    if acts_on_joint(e.type):
        c.out[6*nb + e.b] = c.out[6*nb + e.b] + calc_joint_force(e, c.p.force_elements, c.q, c.v)
    else:
        set_ends(c.model, e, c.p.X_BF, c.k.X_WB, c.k.V_WB, &ends)
        calc_forces_on_ends(e, c.p.force_elements + e.start, &ends)
        add_forces_on_ends(c.model, e, c.k.X_WB, &ends, c.out)


cdef inline void calc_contact_forces(Call[T]* c) noexcept nogil:
    """Force in World on each point of one element, and its depth."""
    cdef const ForceElement* e = &c.model.force_elements[element_of(c)]
    cdef Ends[T] ends
    cdef Contact[T] contact
    set_ends(c.model, e, c.p.X_BF, c.k.X_WB, c.k.V_WB, &ends)
    calc_contact(<const ContactNumbers[T]*>(c.p.force_elements + e.start), e.num_points, &ends, &contact, c.out)


# Regressors: quantities linear in the inertial parameters ---------------------------------------------------------

cdef inline void calc_dynamics_regressor(Call[T]* c) noexcept nogil:
    make_small()
    cdef T* A_WB = c.k.rest
    run_accelerations(c, A_WB)
    calc_inverse_dynamics_regressor(
        c.model, c.switches.weightless, c.p.gravity, c.k.X_WB, c.k.H_PB_W, c.k.V_WB, A_WB, c.out
    )


cdef inline void calc_kinetic_regressor(Call[T]* c) noexcept nogil:
    make_small()
    calc_kinetic_energy_regressor(c.model, c.k.X_WB, c.k.V_WB, c.out)


cdef inline void calc_potential_regressor(Call[T]* c) noexcept nogil:
    make_small()
    calc_potential_energy_regressor(c.model, c.switches.weightless, c.p.gravity, c.k.X_WB, c.out)


cdef inline void calc_regressor_of_momentum(Call[T]* c) noexcept nogil:
    make_small()
    calc_momentum_regressor(c.model, c.k.X_WB, c.k.V_WB, c.x, c.out)
