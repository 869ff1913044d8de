"""Any computation by number, over the fused scalar, straight from flat arrays of parameters, q, v and a third input.

This is how the scalars other than double run: one entry, so that a new algorithm is one more case here.
"""

from mbt._core cimport algorithms, derivative_algorithms
from mbt._core.model cimport Model, ParameterLayout, Switches
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.body_forces cimport calc_generalized_forces, calc_reaction_forces
from mbt._core.passes.element_forces cimport add_gravity_forces
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.passes.mass_properties cimport calc_mass_moment, calc_momentum_about_world_origin
from mbt._core.passes.node_parameters cimport calc_mobods, calc_reflected_inertia, calc_X_BF
from mbt._core.passes.position_kinematics cimport calc_position_kinematics, calc_spatial_inertias_in_world
from mbt._core.passes.qdot cimport map_qdot_to_velocity, map_velocity_to_qdot
from mbt._core.passes.regressor cimport (
    calc_inverse_dynamics_regressor, calc_kinetic_energy_regressor, calc_potential_energy_regressor,
)
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.records cimport Kinematics, Mobod, Parameters, Pose
from mbt._core.scalars cimport T
from mbt._core.spatial cimport set_zero


cpdef enum Function:
    # With force elements and damping, as `mbt.functional`; the third input is vdot, or tau.
    INVERSE_DYNAMICS
    FORWARD_DYNAMICS
    # Of q and v.
    MASS_MATRIX
    GRAVITY_GENERALIZED_FORCES
    CORIOLIS_MATRIX
    BODY_POSES
    FRAME_JACOBIAN                # of the last frame
    KINETIC_ENERGY
    POTENTIAL_ENERGY
    CONSERVATIVE_POWER
    NON_CONSERVATIVE_POWER
    MASS_MOMENT
    MOMENTUM
    QDOT                          # N v
    # World passes, laid end to end; the third input is vdot.
    POSITION_KINEMATICS           # X_FM, X_PB, X_WB, H_FM, H_PB_W
    SPATIAL_INERTIAS              # com_W, M_Bo_W
    VELOCITY_KINEMATICS           # V_PB_W, V_PB, V_WB
    ACCELERATION_KINEMATICS
    REACTION_FORCES               # F_BMo_W under gravity
    GENERALIZED_FORCES            # J' F of gravity
    INVERSE_DYNAMICS_REGRESSOR
    KINETIC_ENERGY_REGRESSOR
    POTENTIAL_ENERGY_REGRESSOR
    # With force elements and damping; the third input is vdot, or tau.
    INVERSE_DYNAMICS_DERIVATIVES  # dtau_dq, dtau_dv, M
    FORWARD_DYNAMICS_DERIVATIVES  # dvdot_dq, dvdot_dv, M_inverse
    # Of q; the third input is qdot.
    VELOCITY


cdef inline Py_ssize_t count_output(int function, const Model* model) noexcept nogil:
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    if function == MASS_MATRIX or function == CORIOLIS_MATRIX:
        return nv*nv
    if function == INVERSE_DYNAMICS_DERIVATIVES or function == FORWARD_DYNAMICS_DERIVATIVES:
        return 3*nv*nv
    if function == BODY_POSES:
        return 16*nb
    if function == FRAME_JACOBIAN:
        return 6*nv
    if KINETIC_ENERGY <= function <= NON_CONSERVATIVE_POWER:
        return 1
    if function == MASS_MOMENT:
        return 4
    if function == MOMENTUM:
        return 6
    if function == QDOT:
        return model.num_positions
    if function == POSITION_KINEMATICS:
        return 48*nb + 12*nv
    if function == SPATIAL_INERTIAS:
        return 39*nb
    if function == VELOCITY_KINEMATICS:
        return 18*nb
    if function == ACCELERATION_KINEMATICS or function == REACTION_FORCES:
        return 6*nb
    if function == INVERSE_DYNAMICS_REGRESSOR:
        return 10*nv*(nb - 1)
    if function == KINETIC_ENERGY_REGRESSOR or function == POTENTIAL_ENERGY_REGRESSOR:
        return 10*(nb - 1)
    return nv


cdef inline Py_ssize_t count_memory(const Model* model) noexcept nogil:
    """Scalars of `memory` for `evaluate`."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t derived = 22*model.num_mobods + 12*nb + 16*model.num_frames + nv
    cdef Py_ssize_t kinematics = 84*nb + 14*nv
    cdef Py_ssize_t derivatives = derivative_algorithms.count_forward_derivative_work(model)
    return derived + kinematics + algorithms.count_work(model) + 2*nv + derivatives


cdef inline void evaluate(
    int function,
    # Topology:
    const Model* model,
    const ParameterLayout* layout,
    const Switches* switches,
    # Parameters:
    const T* parameters,   # (layout.size,)
    # In:
    const T* q,            # (nq,)
    const T* v,            # (nv,)
    const T* x,            # (nv,) vdot or tau; (nq,) for VELOCITY
    # Work:
    T* memory,             # (count_memory,)
    int* base,             # (num_bodies,)
    # Out:
    T* out,                # (count_output,)
) noexcept nogil:
    cdef Parameters[T] p
    cdef Mobod[T]* mobods = <Mobod[T]*>memory
    cdef Pose[T]* X_NB = <Pose[T]*>(mobods + model.num_mobods)
    cdef T* X_BF = <T*>(X_NB + model.num_bodies)
    cdef T* reflected_inertia = X_BF + 16*model.num_frames
    cdef T* rest = reflected_inertia + model.num_velocities
    cdef Py_ssize_t nv = model.num_velocities
    cdef const T* matrices
    calc_X_BF(model, parameters + layout.frame_pose, X_BF)
    calc_reflected_inertia(model, parameters + layout.rotor_inertia, parameters + layout.gear_ratio, reflected_inertia)
    calc_mobods(
        model, X_BF, parameters + layout.mass, parameters + layout.com, parameters + layout.unit_inertia, mobods, X_NB
    )
    p.mobods = mobods
    p.X_NB = X_NB
    p.X_BF = X_BF
    p.reflected_inertia = reflected_inertia
    p.mass = parameters + layout.mass
    p.p_BoBcm_B = parameters + layout.com
    p.G_BBo_B = parameters + layout.unit_inertia
    p.gravity = parameters + layout.gravity
    p.damping = parameters + layout.damping
    p.force_elements = parameters + layout.force_element

    if function == INVERSE_DYNAMICS:
        algorithms.run_inverse_dynamics_with_elements(model, &p, switches.weightless, q, v, x, rest, out)
    elif function == FORWARD_DYNAMICS:
        algorithms.run_forward_dynamics_with_elements(model, &p, switches, q, v, x, rest, out)
    elif function == MASS_MATRIX:
        algorithms.run_mass_matrix(model, &p, q, rest, out)
    elif function == GRAVITY_GENERALIZED_FORCES:
        algorithms.run_gravity_forces(model, &p, switches.weightless, q, rest, out)
    elif function == BODY_POSES:
        algorithms.run_body_poses(model, &p, q, rest, out)
    elif function == FRAME_JACOBIAN:
        algorithms.run_frame_jacobian(model, &p, model.num_frames - 1, q, rest, out)
    elif function == INVERSE_DYNAMICS_DERIVATIVES:
        derivative_algorithms.run_inverse_dynamics_derivatives(
            model, &p, switches.weightless, True, q, v, x, <const T*>NULL, rest, out, out + nv*nv, out + 2*nv*nv
        )
    elif function == FORWARD_DYNAMICS_DERIVATIVES:
        matrices = derivative_algorithms.run_mass_matrix_inverse_with_rates(
            model, &p, switches, q, v, x, <const T*>NULL, rest
        )
        derivative_algorithms.multiply_by_mass_matrix_inverse(
            model, matrices, out, out + nv*nv, out + 2*nv*nv
        )
    elif function == QDOT:
        map_velocity_to_qdot(model, q, v, out)
    elif function == VELOCITY:
        map_qdot_to_velocity(model, q, x, out)
    else:
        evaluate_in_world(function, model, &p, switches.weightless, q, v, x, rest, base, out)


cdef inline void evaluate_in_world(
    int function, const Model* model, const Parameters[T]* p, const int* weightless, const T* q, const T* v,
    const T* vdot, T* memory, int* base, T* out
) noexcept nogil:
    """What needs the kinematics of the caches."""
    cdef int nb = model.num_bodies
    cdef int nv = model.num_velocities
    cdef Kinematics[T] x
    cdef T* A_WB
    cdef int i
    algorithms.run_positions(model, p, q, memory, &x)
    algorithms.run_velocities(model, v, &x)
    A_WB = x.rest
    x.rest = A_WB + 6*nb
    if function == POSITION_KINEMATICS:
        for i in range(48*nb + 12*nv):
            out[i] = x.X_FM[i]
    elif function == VELOCITY_KINEMATICS:
        for i in range(18*nb):
            out[i] = x.V_PB_W[i]
    elif function == SPATIAL_INERTIAS:
        calc_spatial_inertias_in_world(model, p.mass, p.p_BoBcm_B, p.G_BBo_B, x.X_WB, out, out + 3*nb)
    elif function == CORIOLIS_MATRIX:
        algorithms.run_coriolis_matrix(model, p, q, v, x.X_WB, x.H_FM, x.V_WB, x.rest, base, out)
    elif function == KINETIC_ENERGY:
        calc_kinetic_energy(model, p.mass, p.p_BoBcm_B, p.G_BBo_B, p.reflected_inertia, x.X_WB, x.V_WB, v, out)
    elif function == POTENTIAL_ENERGY:
        out[0] = algorithms.run_potential_energy(model, p, weightless, q, x.X_WB)
    elif function == CONSERVATIVE_POWER:
        out[0] = algorithms.run_conservative_power(model, p, weightless, q, v, x.X_WB, x.V_WB)
    elif function == NON_CONSERVATIVE_POWER:
        out[0] = algorithms.run_non_conservative_power(model, p, q, v, x.X_WB, x.V_WB)
    elif function == MASS_MOMENT:
        calc_mass_moment(model, p.mass, p.p_BoBcm_B, x.X_WB, out, out + 1)
    elif function == MOMENTUM:
        calc_momentum_about_world_origin(model, p.mass, p.p_BoBcm_B, p.G_BBo_B, x.X_WB, x.V_WB, out)
    elif function == KINETIC_ENERGY_REGRESSOR:
        calc_kinetic_energy_regressor(model, x.X_WB, x.V_WB, out)
    elif function == POTENTIAL_ENERGY_REGRESSOR:
        calc_potential_energy_regressor(model, weightless, p.gravity, x.X_WB, out)
    else:
        calc_acceleration_kinematics(model, p.X_BF, q, v, vdot, x.X_WB, x.H_PB_W, x.V_PB_W, x.V_WB, A_WB)
        set_zero(x.F_Bo_W, 6*nb)
        add_gravity_forces(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, x.X_WB, x.F_Bo_W)
        if function == ACCELERATION_KINEMATICS:
            for i in range(6*nb):
                out[i] = A_WB[i]
        elif function == REACTION_FORCES:
            calc_reaction_forces(
                model, p.mass, p.p_BoBcm_B, p.G_BBo_B, p.X_BF, x.X_WB, x.V_WB, A_WB, x.F_Bo_W, x.rest, out
            )
        elif function == GENERALIZED_FORCES:
            calc_generalized_forces(model, x.X_WB, x.H_PB_W, x.F_Bo_W, out)
        elif function == INVERSE_DYNAMICS_REGRESSOR:
            calc_inverse_dynamics_regressor(
                model, weightless, p.gravity, x.X_WB, x.H_PB_W, x.V_WB, A_WB, out
            )
