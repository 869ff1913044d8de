"""Kinematics of all bodies, forces on them, energy and power, and regressors: from the kinematics in World."""

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.algebra.spatial cimport add_shifted_force, copy, rotate_inverse4, set_zero
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.body_forces cimport calc_generalized_forces, calc_reaction_forces
from mbt._core.passes.element_forces cimport (
    add_forces_between, add_gravity_forces, calc_gravity_potential_energy, calc_gravity_power,
)
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.passes.position_kinematics cimport calc_spatial_inertias_in_world
from mbt._core.passes.regressor cimport (
    calc_inverse_dynamics_regressor, calc_kinetic_energy_regressor, calc_momentum_regressor,
    calc_potential_energy_regressor,
)
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.frames cimport calc_X_WF, calc_p_WoFo
from mbt._core.quantities.table cimport (
    ACCELERATION_KINEMATICS, CONSERVATIVE_POWER, CORIOLIS_MATRIX, ELEMENT_CONSERVATIVE_POWER, ELEMENT_FORCE,
    ELEMENT_FORCES, ELEMENT_NON_CONSERVATIVE_POWER, ELEMENT_POTENTIAL_ENERGY, FRAME_POSES, GENERALIZED_FORCES,
    GRAVITY_FORCES, GRAVITY_POTENTIAL_ENERGY, GRAVITY_POWER, INVERSE_DYNAMICS_REGRESSOR, JOINT_REACTIONS,
    KINETIC_ENERGY, KINETIC_ENERGY_REGRESSOR, MOMENTUM_REGRESSOR, NON_CONSERVATIVE_POWER, POSITION_KINEMATICS,
    POTENTIAL_ENERGY, REACTION_FORCES, SPATIAL_INERTIAS, VELOCITY_KINEMATICS,
)
from mbt._core.scalars cimport T


cdef inline void calc_body_quantity(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, const Kinematics[T]* k, int* base, T* out
) noexcept nogil:
    """Kinematics and forces."""
    cdef Py_ssize_t nb = model.num_bodies
    if quantity == FRAME_POSES:
        copy(p.X_BF, 16*model.num_frames, out)
    elif quantity == POSITION_KINEMATICS:
        copy(k.X_FM, 16*nb, out)
        copy(k.X_PB, 16*nb, out + 16*nb)
        copy(k.X_WB, 16*nb, out + 32*nb)
        copy(k.H_FM, 6*model.num_velocities, out + 48*nb)
        copy(k.H_PB_W, 6*model.num_velocities, out + 48*nb + 6*model.num_velocities)
    elif quantity == SPATIAL_INERTIAS:
        calc_spatial_inertias_in_world(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, k.X_WB, out, out + 3*nb)
    elif quantity == VELOCITY_KINEMATICS:
        copy(k.V_PB_W, 6*nb, out)
        copy(k.V_PB, 6*nb, out + 6*nb)
        copy(k.V_WB, 6*nb, out + 12*nb)
    elif quantity == ACCELERATION_KINEMATICS:
        calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, out)
    elif quantity == GENERALIZED_FORCES:
        copy(x, 6*nb, k.F_Bo_W)
        calc_generalized_forces(model, k.X_WB, k.H_PB_W, k.F_Bo_W, out)
    elif quantity == REACTION_FORCES:
        calc_mobilizer_reactions(integers[0], integers[1], model, switches, p, q, v, x, k, out)
    elif quantity == JOINT_REACTIONS:
        calc_joint_reactions(integers[0], model, switches, p, q, v, x, k, out)
    elif quantity == CORIOLIS_MATRIX:
        algorithms.run_coriolis_matrix(model, p, q, v, k.X_WB, k.H_FM, k.V_WB, k.rest, base, out)
    elif quantity == ELEMENT_FORCES:
        set_zero(out, 6*nb + model.num_velocities)
        add_element_forces(model, switches, p, k, out)
        algorithms.add_joint_forces(model, p, q, v, 0, out + 6*nb)
    else:
        set_zero(out, 6*nb)
        add_gravity_forces(model, switches.weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, out)


cdef inline void add_element_forces(
    const Model* model, const Switches* switches, const Parameters[T]* p, const Kinematics[T]* k, T* F_Bo_W
) noexcept nogil:
    """Gravity, and elements between two frames."""
    add_gravity_forces(model, switches.weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, F_Bo_W)
    add_forces_between(model, p.force_elements, p.X_BF, k.X_WB, k.V_WB, F_Bo_W)


cdef inline void calc_mobilizer_reactions(
    bint with_elements, bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p,
    const T* q, const T* v, const T* x, const Kinematics[T]* k, T* F_BMo_W
) noexcept nogil:
    """Of vdot, and of forces on bodies."""
    cdef T* A_WB = k.rest
    if with_forces:
        copy(x + model.num_velocities, 6*model.num_bodies, k.F_Bo_W)
    else:
        set_zero(k.F_Bo_W, 6*model.num_bodies)
    if with_elements:
        add_element_forces(model, switches, p, k, k.F_Bo_W)
    calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, A_WB)
    calc_reaction_forces(
        model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.X_BF, k.X_WB, k.V_WB, A_WB, k.F_Bo_W,
        A_WB + 6*model.num_bodies, F_BMo_W
    )


cdef inline void calc_joint_reactions(
    bint with_forces, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q, const T* v,
    const T* x, const Kinematics[T]* k, T* F_CJc_Jc
) noexcept nogil:
    """On the child of each joint at the origin of the frame on it, in that frame."""
    cdef T* F_BMo_W = k.rest + 12*model.num_bodies
    cdef T X_WJc[16]
    cdef T p_WoMo[3]
    cdef T p_JcMo[3]
    cdef T F[6]
    cdef double sign
    cdef int i, j, frame, node
    calc_mobilizer_reactions(True, with_forces, model, switches, p, q, v, x, k, F_BMo_W)
    for j in range(model.num_joints):
        frame = model.joint_frame[j]
        node = model.joint_node[j]
        # The force through the mobilizer, or its reaction on the other body, where Jc is.
        sign = 1.0 if model.frame_node[frame] == node else -1.0
        calc_X_WF(model, p, k, frame, X_WJc)
        calc_p_WoFo(model, p, k, model.outboard_frame[node], p_WoMo)
        for i in range(3):
            p_JcMo[i] = p_WoMo[i] - X_WJc[4*i + 3]
        set_zero(F, 6)
        add_shifted_force(F_BMo_W + 6*node, p_JcMo, F)
        for i in range(6):
            F[i] = F[i]*sign
        rotate_inverse4(X_WJc, F, F_CJc_Jc + 6*j)
        rotate_inverse4(X_WJc, F + 3, F_CJc_Jc + 6*j + 3)


cdef inline void calc_element_force(
    int element, const Model* model, const Parameters[T]* p, const T* q, const T* v, const Kinematics[T]* k, T* out
) noexcept nogil:
    set_zero(out, 6*<Py_ssize_t>model.num_bodies + model.num_velocities)
    algorithms.run_element_force(model, p, element, q, v, k.X_WB, k.V_WB, out, out + 6*model.num_bodies)


cdef inline T calc_energy(
    int quantity, int element, const Model* model, const int* weightless, const Parameters[T]* p, const T* q,
    const T* v, const Kinematics[T]* k
) noexcept nogil:
    """An energy or a power, of all or of one element."""
    cdef T energy[1]
    if quantity == KINETIC_ENERGY:
        calc_kinetic_energy(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.reflected_inertia, k.X_WB, k.V_WB, v, energy)
        return energy[0]
    if quantity == POTENTIAL_ENERGY:
        return algorithms.run_potential_energy(model, p, weightless, q, k.X_WB)
    if quantity == CONSERVATIVE_POWER:
        return algorithms.run_conservative_power(model, p, weightless, q, v, k.X_WB, k.V_WB)
    if quantity == NON_CONSERVATIVE_POWER:
        return algorithms.run_non_conservative_power(model, p, q, v, k.X_WB, k.V_WB)
    if quantity == GRAVITY_POTENTIAL_ENERGY:
        return calc_gravity_potential_energy(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB)
    if quantity == GRAVITY_POWER:
        return calc_gravity_power(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, k.V_WB)
    if quantity == ELEMENT_POTENTIAL_ENERGY:
        return algorithms.run_element_potential_energy(model, p, element, q, k.X_WB)
    return algorithms.run_element_power(
        model, p, element, quantity == ELEMENT_CONSERVATIVE_POWER, q, v, k.X_WB, k.V_WB
    )


cdef inline void calc_regressor(
    int quantity, const Model* model, const int* weightless, const Parameters[T]* p, const T* q, const T* v, const T* x,
    const Kinematics[T]* k, T* out
) noexcept nogil:
    cdef T* A_WB = k.rest
    if quantity == INVERSE_DYNAMICS_REGRESSOR:
        calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, A_WB)
        calc_inverse_dynamics_regressor(model, weightless, p.gravity, k.X_WB, k.H_PB_W, k.V_WB, A_WB, out)
    elif quantity == KINETIC_ENERGY_REGRESSOR:
        calc_kinetic_energy_regressor(model, k.X_WB, k.V_WB, out)
    elif quantity == MOMENTUM_REGRESSOR:
        calc_momentum_regressor(model, k.X_WB, k.V_WB, x, out)
    else:
        calc_potential_energy_regressor(model, weightless, p.gravity, k.X_WB, out)
