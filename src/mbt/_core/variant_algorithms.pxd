"""Everything that a tree computes, by number, over the fused scalar."""

from mbt._core cimport algorithms, derivative_algorithms
from mbt._core.mobilizers cimport apply_Ndot, apply_Nplusdot, calc_across_Hdot
from mbt._core.model cimport Model, Switches
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.body_forces cimport calc_generalized_forces, calc_reaction_forces
from mbt._core.passes.configuration cimport difference_positions, integrate_positions, normalize_positions
from mbt._core.passes.element_forces cimport (
    add_forces_between, add_gravity_forces, calc_gravity_potential_energy, calc_gravity_power,
)
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.passes.jacobian cimport add_angular_velocity_jacobian, add_translational_velocity_jacobian
from mbt._core.passes.mass_properties cimport (
    calc_composite_inertia, calc_mass_acceleration, calc_mass_moment, calc_momentum_about_world_origin,
)
from mbt._core.passes.momentum_matrix cimport calc_linear_momentum_matrix, calc_momentum_matrix
from mbt._core.passes.position_kinematics cimport calc_spatial_inertias_in_world
from mbt._core.passes.qdot cimport map_qdot_to_velocity, map_velocity_to_qdot
from mbt._core.passes.qdot_maps cimport (
    calc_N, calc_Nplus, calc_vdot_of_steady_qdot, map_acceleration_to_qddot, map_qddot_to_acceleration,
)
from mbt._core.passes.regressor cimport (
    calc_inverse_dynamics_regressor, calc_kinetic_energy_regressor, calc_potential_energy_regressor,
)
from mbt._core.records cimport ArticulatedDof, Kinematics, Parameters, Pivots
from mbt._core.scalars cimport T
from mbt._core.spatial cimport copy, set_zero
from mbt._core.variants cimport (
    MOTION_FORCES, INVERSE_DYNAMICS, FORWARD_DYNAMICS, MASS_MATRIX, MASS_MATRIX_INVERSE,
    GRAVITY_GENERALIZED_FORCES, BODY_POSES, FRAME_POSE_IN_WORLD, FRAME_JACOBIAN, CENTER_OF_MASS, QDOT, VELOCITY, QDDOT,
    ACCELERATION,
    STEADY_ACCELERATION, N_MATRIX, NPLUS_MATRIX, NDOT_MATRIX, NPLUSDOT_MATRIX, HINGE_BIAS, INTEGRATED_POSITIONS,
    POSITION_DIFFERENCE, NORMALIZED_POSITIONS, FRAME_POSES, POSITION_KINEMATICS, SPATIAL_INERTIAS,
    VELOCITY_KINEMATICS, ACCELERATION_KINEMATICS, GENERALIZED_FORCES, REACTION_FORCES, CORIOLIS_MATRIX,
    KINETIC_ENERGY, POTENTIAL_ENERGY, CONSERVATIVE_POWER, NON_CONSERVATIVE_POWER, ELEMENT_FORCES,
    GRAVITY_FORCES, GRAVITY_POTENTIAL_ENERGY, GRAVITY_POWER, ELEMENT_FORCE, ELEMENT_POTENTIAL_ENERGY,
    ELEMENT_CONSERVATIVE_POWER, ELEMENT_NON_CONSERVATIVE_POWER, ANGULAR_JACOBIAN, TRANSLATIONAL_JACOBIAN,
    MASS_MOMENT, MOMENTUM, LINEAR_MOMENTUM_MATRIX, MASS_ACCELERATION, COMPOSITE_INERTIA, MOMENTUM_MATRIX,
    INVERSE_DYNAMICS_REGRESSOR, KINETIC_ENERGY_REGRESSOR, POTENTIAL_ENERGY_REGRESSOR, MOTION_FORCES_DERIVATIVES,
    INVERSE_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES,
)


cdef inline Py_ssize_t count_work_of(int quantity, const Model* model) noexcept nogil:
    """Scalars of working memory."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t size = algorithms.count_work(model) + 2*nv
    if quantity >= MOTION_FORCES_DERIVATIVES:
        return derivative_algorithms.count_forward_derivative_work(model)
    if quantity == MASS_MATRIX_INVERSE:
        return size + 6*nv*(model.num_mobods + 1) + nv
    if quantity >= POSITION_KINEMATICS:
        return size + 96*nb + 14*nv
    return size


cdef inline Pivots[T] calc_quantity(
    int quantity,
    int index,
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,            # (nq,)
    const T* v,            # (nv,)
    const T* x,            # (count_input,)
    # Work:
    T* memory,             # (count_work_of,)
    int* base,             # (num_bodies,)
    # Out:
    T* out,                # (count_result,)
) noexcept nogil:
    """Returns the pivots of what divides by them, in `memory`; none for all else."""
    cdef Pivots[T] pivots
    pivots.D = NULL
    if quantity == INVERSE_DYNAMICS:
        algorithms.run_inverse_dynamics_with_elements(model, p, switches.weightless, q, v, x, memory, out)
    elif quantity == FORWARD_DYNAMICS:
        pivots = pivots_of(
            algorithms.run_forward_dynamics_with_elements(model, p, switches, q, v, x, memory, out), switches.locked
        )
    elif quantity == MASS_MATRIX:
        algorithms.run_mass_matrix(model, p, q, memory, out)
    elif quantity == GRAVITY_GENERALIZED_FORCES:
        algorithms.run_gravity_forces(model, p, switches.weightless, q, memory, out)
    elif quantity == BODY_POSES:
        algorithms.run_body_poses(model, p, q, memory, out)
    else:
        pivots = calc_other_quantity(quantity, index, model, switches, p, q, v, x, memory, base, out)
    return pivots


cdef inline Pivots[T] calc_other_quantity(
    int quantity,
    int index,
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,            # (nq,)
    const T* v,            # (nv,)
    const T* x,            # (count_input,)
    # Work:
    T* memory,             # (count_work_of,)
    int* base,             # (num_bodies,)
    # Out:
    T* out,                # (count_result,)
) noexcept nogil:
    """All but what lanes have functions of their own for."""
    cdef T no_gravity[3]
    cdef T total_mass
    cdef Pivots[T] pivots
    pivots.D = NULL
    if quantity == MOTION_FORCES:
        set_zero(no_gravity, 3)
        algorithms.run_inverse_dynamics(model, p, no_gravity, q, v, x, memory, out)
    elif quantity == MASS_MATRIX_INVERSE:
        pivots = pivots_of(
            algorithms.run_mass_matrix_inverse(model, p, q, memory, memory + algorithms.count_work(model), out),
            NULL,
        )
    elif quantity == FRAME_POSE_IN_WORLD:
        algorithms.run_frame_pose(model, p, index, q, memory, base, out)
    elif quantity == FRAME_JACOBIAN:
        algorithms.run_frame_jacobian(
            model, p, index % model.num_frames, index // model.num_frames, q, <const T*>NULL, memory, base, out
        )
    elif quantity == CENTER_OF_MASS:
        algorithms.run_center_of_mass(model, p, q, memory, &total_mass, out)
    elif quantity >= MOTION_FORCES_DERIVATIVES:
        pivots = calc_derivatives(quantity, index, model, switches, p, q, v, x, memory, out)
    elif quantity <= FRAME_POSES:
        calc_map(quantity, model, p, q, v, x, out)
    else:
        calc_in_world(quantity, index, model, switches.weightless, p, q, v, x, memory, base, out)
    return pivots


cdef inline Pivots[T] calc_derivatives(
    int quantity, int index, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, T* out
) noexcept nogil:
    """Of the dynamics, along each degree of freedom."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef const T* F_Bo_W = x + nv if index == 1 else <const T*>NULL
    cdef T* by_v = out + nv*nv
    cdef T* by_x = out + 2*nv*nv
    cdef const T* matrices
    cdef Pivots[T] pivots
    pivots.D = NULL
    if quantity == FORWARD_DYNAMICS_DERIVATIVES:
        matrices = derivative_algorithms.run_mass_matrix_inverse_with_rates(
            model, p, switches, q, v, x, F_Bo_W, memory
        )
        derivative_algorithms.multiply_by_mass_matrix_inverse(model, matrices, out, by_v, by_x)
        pivots.D = derivative_algorithms.pivots_of(model, matrices)
        pivots.scale = pivots.D + nv
        pivots.stride = 1
        pivots.locked = switches.locked
    else:
        derivative_algorithms.run_inverse_dynamics_derivatives(
            model, p, switches.weightless, quantity == INVERSE_DYNAMICS_DERIVATIVES, q, v, x, F_Bo_W, memory, out,
            by_v, by_x
        )
    return pivots


cdef inline Pivots[T] pivots_of(const ArticulatedDof[T]* dofs, const int* locked) noexcept nogil:
    cdef Pivots[T] pivots
    pivots.D = &dofs.D
    pivots.scale = &dofs.scale
    pivots.stride = sizeof(ArticulatedDof[T])//sizeof(T)
    pivots.locked = locked
    return pivots


cdef inline void calc_map(
    int quantity, const Model* model, const Parameters[T]* p, const T* q, const T* v, const T* x, T* out
) noexcept nogil:
    """Between v and qdot, one mobilizer for itself."""
    if quantity == QDOT:
        map_velocity_to_qdot(model, q, x, out)
    elif quantity == VELOCITY:
        map_qdot_to_velocity(model, q, x, out)
    elif quantity == QDDOT:
        map_acceleration_to_qddot(model, q, v, x, out)
    elif quantity == ACCELERATION:
        map_qddot_to_acceleration(model, q, v, x, out)
    elif quantity == STEADY_ACCELERATION:
        calc_vdot_of_steady_qdot(model, q, v, out)
    elif quantity == N_MATRIX:
        calc_N(model, q, out)
    elif quantity == NPLUS_MATRIX:
        calc_Nplus(model, q, out)
    elif quantity == NDOT_MATRIX or quantity == NPLUSDOT_MATRIX:
        calc_rate_of_map(quantity, model, q, v, out)
    elif quantity == HINGE_BIAS:
        calc_hinge_bias(model, q, v, out)
    elif quantity == INTEGRATED_POSITIONS:
        integrate_positions(model, q, x, x[model.num_velocities], out)
    elif quantity == POSITION_DIFFERENCE:
        difference_positions(model, q, x, out)
    elif quantity == NORMALIZED_POSITIONS:
        normalize_positions(model, q, out)
    else:
        copy(p.X_BF, 16*model.num_frames, out)


cdef inline void calc_rate_of_map(int quantity, const Model* model, const T* q, const T* v, T* out) noexcept nogil:
    """The rate of N (nq, nv), or of N+ (nv, nq)."""
    cdef bint of_N = quantity == NDOT_MATRIX
    cdef const int* columns = model.v_start if of_N else model.q_start
    cdef const int* rows = model.q_start if of_N else model.v_start
    cdef Py_ssize_t stride = columns[model.num_bodies]
    cdef int b, i, k
    cdef T unit[7]
    cdef T column[7]
    set_zero(out, model.num_positions*<Py_ssize_t>model.num_velocities)
    for b in range(1, model.num_bodies):
        for k in range(columns[b], columns[b + 1]):
            set_zero(unit, 7)
            unit[k - columns[b]] = <T>1.0
            if of_N:
                apply_Ndot(
                    model.type[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], unit, column
                )
            else:
                apply_Nplusdot(
                    model.type[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], unit, column
                )
            for i in range(rows[b], rows[b + 1]):
                out[stride*i + k] = column[i - rows[b]]


cdef inline void calc_hinge_bias(const Model* model, const T* q, const T* v, T* out) noexcept nogil:
    """Hdot v of each mobilizer."""
    cdef int b, i, k
    cdef T Hdot[36]
    set_zero(out, 6*model.num_bodies)
    for b in range(1, model.num_bodies):
        calc_across_Hdot(
            model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot
        )
        for k in range(model.v_start[b], model.v_start[b + 1]):
            for i in range(6):
                out[6*b + i] = out[6*b + i] + Hdot[6*(k - model.v_start[b]) + i]*v[k]


cdef inline void calc_in_world(
    int quantity, int index, const Model* model, const int* weightless, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, int* base, T* out
) noexcept nogil:
    """What needs the kinematics of the caches."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Kinematics[T] k
    algorithms.run_positions(model, p, q, memory, &k)
    if quantity == POSITION_KINEMATICS:
        copy(k.X_FM, 48*nb + 12*nv, out)
    elif quantity == SPATIAL_INERTIAS:
        calc_spatial_inertias_in_world(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, k.X_WB, out, out + 3*nb)
    elif quantity == GENERALIZED_FORCES:
        copy(x, 6*nb, k.F_Bo_W)
        calc_generalized_forces(model, k.X_WB, k.H_PB_W, k.F_Bo_W, out)
    elif quantity == POTENTIAL_ENERGY:
        out[0] = algorithms.run_potential_energy(model, p, weightless, q, k.X_WB)
    elif quantity == GRAVITY_FORCES:
        set_zero(out, 6*nb)
        add_gravity_forces(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, out)
    elif quantity == GRAVITY_POTENTIAL_ENERGY:
        out[0] = calc_gravity_potential_energy(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB)
    elif quantity == ELEMENT_POTENTIAL_ENERGY:
        out[0] = algorithms.run_element_potential_energy(model, p, index, q, k.X_WB)
    elif quantity == ANGULAR_JACOBIAN:
        set_zero(out, 3*nv)
        add_angular_velocity_jacobian(model, index, k.H_PB_W, 1.0, out)
    elif quantity == TRANSLATIONAL_JACOBIAN:
        set_zero(out, 3*nv)
        add_translational_velocity_jacobian(model, index, k.X_WB, k.H_PB_W, x, 1.0, out)
    elif quantity == MASS_MOMENT:
        calc_mass_moment(model, x, p.p_BoBcm_B, k.X_WB, out, out + 1)
    elif quantity == LINEAR_MOMENTUM_MATRIX:
        calc_linear_momentum_matrix(model, x, p.p_BoBcm_B, k.X_WB, k.H_PB_W, k.rest, out)
    elif quantity == COMPOSITE_INERTIA:
        calc_composite_inertia(model, x, p.p_BoBcm_B, x + nb, k.X_WB, x + 7*nb, out, out + 1, out + 4)
    elif quantity == MOMENTUM_MATRIX:
        calc_momentum_matrix(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, k.X_WB, k.H_PB_W, x, k.rest, out)
    elif quantity == POTENTIAL_ENERGY_REGRESSOR:
        calc_potential_energy_regressor(model, weightless, p.gravity, k.X_WB, out)
    else:
        algorithms.run_velocities(model, v, &k)
        calc_with_velocities(quantity, index, model, weightless, p, q, v, x, &k, base, out)


cdef inline void calc_with_velocities(
    int quantity, int index, const Model* model, const int* weightless, const Parameters[T]* p, const T* q,
    const T* v, const T* x, const Kinematics[T]* k, int* base, T* out
) noexcept nogil:
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef T* A_WB = k.rest
    if quantity == VELOCITY_KINEMATICS:
        copy(k.V_PB_W, 18*nb, out)
    elif quantity == ACCELERATION_KINEMATICS:
        calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, out)
    elif quantity == REACTION_FORCES:
        calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, A_WB)
        calc_reaction_forces(
            model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.X_BF, k.X_WB, k.V_WB, A_WB, x + nv, A_WB + 6*nb, out
        )
    elif quantity == CORIOLIS_MATRIX:
        algorithms.run_coriolis_matrix(model, p, q, v, k.X_WB, k.H_FM, k.V_WB, k.rest, base, out)
    elif quantity == KINETIC_ENERGY:
        calc_kinetic_energy(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.reflected_inertia, k.X_WB, k.V_WB, v, out)
    elif quantity == CONSERVATIVE_POWER:
        out[0] = algorithms.run_conservative_power(model, p, weightless, q, v, k.X_WB, k.V_WB)
    elif quantity == NON_CONSERVATIVE_POWER:
        out[0] = algorithms.run_non_conservative_power(model, p, q, v, k.X_WB, k.V_WB)
    elif quantity == GRAVITY_POWER:
        out[0] = calc_gravity_power(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, k.V_WB)
    elif quantity == ELEMENT_FORCES:
        set_zero(out, 6*nb + nv)
        add_gravity_forces(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, k.X_WB, out)
        add_forces_between(model, p.force_elements, p.X_BF, k.X_WB, k.V_WB, out)
        algorithms.add_joint_forces(model, p, q, v, 0, out + 6*nb)
    elif quantity == ELEMENT_FORCE:
        set_zero(out, 6*nb + nv)
        algorithms.run_element_force(model, p, index, q, v, k.X_WB, k.V_WB, out, out + 6*nb)
    elif quantity == ELEMENT_CONSERVATIVE_POWER:
        out[0] = algorithms.run_element_power(model, p, index, 1, q, v, k.X_WB, k.V_WB)
    elif quantity == ELEMENT_NON_CONSERVATIVE_POWER:
        out[0] = algorithms.run_element_power(model, p, index, 0, q, v, k.X_WB, k.V_WB)
    elif quantity == MOMENTUM:
        calc_momentum_about_world_origin(model, x, p.p_BoBcm_B, x + nb, k.X_WB, k.V_WB, out)
    elif quantity == MASS_ACCELERATION:
        calc_mass_acceleration(model, x, p.p_BoBcm_B, k.X_WB, k.V_WB, x + nb, out)
    elif quantity == KINETIC_ENERGY_REGRESSOR:
        calc_kinetic_energy_regressor(model, k.X_WB, k.V_WB, out)
    elif quantity == INVERSE_DYNAMICS_REGRESSOR:
        calc_acceleration_kinematics(model, p.X_BF, q, v, x, k.X_WB, k.H_PB_W, k.V_PB_W, k.V_WB, A_WB)
        calc_inverse_dynamics_regressor(model, weightless, p.gravity, k.X_WB, k.H_PB_W, k.V_WB, A_WB, out)
