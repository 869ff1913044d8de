from mbt._core cimport algorithms
from mbt._core.force_elements cimport acts_on_joint, calc_singularity_between
from mbt._core.mobilizers cimport calc_v
from mbt._core.model cimport ForceElement, Model, Switches
from mbt._core.passes.acceleration_kinematics cimport calc_acceleration_kinematics
from mbt._core.passes.body_forces cimport calc_reaction_forces
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.passes cimport (
    element_forces, jacobian, mass_properties, momentum_matrix, position_kinematics, qdot_maps, relative_motion,
)
from mbt._core.passes.mass_matrix_of_chains cimport calc_mass_matrix_of_chains, stride_of_axes
from mbt._core.passes.mass_properties cimport calc_mass_moment, calc_momentum_about_world_origin
from mbt._core.passes.position_kinematics cimport calc_spatial_inertias_in_world
from mbt._core.passes.qdot cimport map_qdot_to_velocity, map_velocity_to_qdot
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.records cimport ArticulatedDof, CompositeInWorld, Ends, Parameters


cdef extern from "arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)


cdef double* get_work(const Model* model, Py_ssize_t more) except NULL nogil:
    """Working memory for any algorithm, and `more` doubles behind it.

    Valid until the next call in this thread: take it right before the kernel, with no Python code between.
    """
    cdef double* memory = arena_doubles(algorithms.count_work(model) + more)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef Py_ssize_t work_size(const Model* model) noexcept nogil:
    """Doubles in front of those that `get_work` was asked for on top."""
    return algorithms.count_work(model)


cdef void inverse_dynamics(
    const Model* model, const Parameters[double]* p, const double* gravity,
    const double* q, const double* v, const double* vdot, double* memory, double* tau
) noexcept nogil:
    algorithms.run_inverse_dynamics[double](model, p, gravity, q, v, vdot, memory, tau)


cdef void subtract_body_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    double* memory, double* tau
) noexcept nogil:
    """What `run_inverse_dynamics_with_elements` does last, and seldom. Needs nv more doubles of memory."""
    algorithms.subtract_body_forces[double](model, p, weightless, q, v, memory, tau)


cdef void gravity_generalized_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, double* memory,
    double* tau
) noexcept nogil:
    algorithms.run_gravity_forces[double](model, p, weightless, q, memory, tau)


cdef void add_joint_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, int subtract, double* tau
) noexcept nogil:
    algorithms.add_joint_forces[double](model, p, q, v, subtract, tau)


cdef void add_body_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, const double* V_WB,
    double* F_Bo_W
) noexcept nogil:
    algorithms.add_body_forces[double](model, p, weightless, X_WB, V_WB, F_Bo_W)


cdef void add_forces_between(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, double* F_Bo_W
) noexcept nogil:
    element_forces.add_forces_between[double](model, p.force_elements, p.X_BF, X_WB, V_WB, F_Bo_W)


cdef int find_singular_element(
    const Model* model, const Parameters[double]* p, const double* X_WB, int element
) noexcept nogil:
    """The first element whose force is undefined, or -1: of all, or of the one asked for.

    NaN is not singular: it propagates.
    """
    cdef int first = 0 if element < 0 else element
    cdef int end = model.num_force_elements if element < 0 else element + 1
    cdef int i
    cdef const ForceElement* e
    cdef Ends[double] ends
    for i in range(first, end):
        e = &model.force_elements[i]
        if not acts_on_joint(e.type):
            element_forces.set_ends[double](model, e, p.X_BF, X_WB, NULL, &ends)
            if calc_singularity_between(e.type, p.force_elements + e.start, &ends) <= 0.0:
                return i
    return -1


cdef int find_singular_element_at(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, int element
) noexcept nogil:
    """The same, straight from q."""
    cdef double* X_WB = memory
    body_poses(model, p, q, memory + 16*model.num_bodies, X_WB)
    return find_singular_element(model, p, X_WB, element)


cdef int forward_dynamics(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* tau, double* memory, double* vdot
) noexcept nogil:
    """Of tau and gravity on all bodies. Returns -1, or the last dof that no mass resists."""
    cdef double[3] zero
    cdef const double* gravity = algorithms.gravity_acceleration[double](p, switches.weightless, zero)
    return find_massless_dof(model, switches.locked, algorithms.run_forward_dynamics[double](
        model, p, gravity, switches.locked, q, v, tau, memory, vdot
    ))


cdef int forward_dynamics_with_elements(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* tau, double* memory, double* vdot
) noexcept nogil:
    """Needs 2 nv more doubles of memory. Returns -1, or the last dof that no mass resists."""
    return find_massless_dof(model, switches.locked, algorithms.run_forward_dynamics_with_elements[double](
        model, p, switches, q, v, tau, memory, vdot
    ))


cdef int find_massless_dof(const Model* model, const int* locked, const ArticulatedDof[double]* dofs) noexcept nogil:
    cdef int k
    # The farthest from World first: what a pivot of zero leaves inboard means nothing.
    for k in range(model.num_velocities - 1, -1, -1):
        # 64 roundings. NaN is not singular: it propagates.
        if dofs[k].D <= 1.4e-14*dofs[k].scale and not (locked != NULL and locked[k]):
            return k
    return -1


cdef void mass_matrix(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M
) noexcept nogil:
    if model.has_long_branches:
        mass_matrix_of_chains(model, p, q, memory, M)
    else:
        algorithms.run_mass_matrix[double](model, p, q, memory, M)


cdef void mass_matrix_of_chains(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M
) noexcept nogil:
    # Rows first whose lengths are multiples of a vector's: they stay aligned.
    cdef CompositeInWorld* work = <CompositeInWorld*>memory
    cdef double* X_ON = <double*>(work + model.num_mobods)
    cdef double* H = X_ON + 16*model.num_mobods
    cdef double* sin_q = H + 6*stride_of_axes(model)
    cdef double* cos_q = sin_q + model.angle_stride
    cdef double* F = cos_q + model.angle_stride
    calc_mass_matrix_of_chains(model, p.mobods, p.reflected_inertia, q, sin_q, cos_q, H, X_ON, work, F, M)


cdef void body_poses(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* X_WB
) noexcept nogil:
    algorithms.run_body_poses[double](model, p, q, memory, X_WB)


cdef void frame_pose(
    const Model* model, const Parameters[double]* p, int frame, const double* q, double* memory, int* path,
    double* X_WF
) noexcept nogil:
    algorithms.run_frame_pose[double](model, p, frame, q, memory, path, X_WF)


cdef void frame_jacobian(
    const Model* model, const Parameters[double]* p, int frame, int frame_E, const double* q, const double* p_FoP_F,
    double* memory, int* path, double* J
) noexcept nogil:
    algorithms.run_frame_jacobian[double](model, p, frame, frame_E, q, p_FoP_F, memory, path, J)


cdef void center_of_mass(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* total_mass,
    double* p_WCcm
) noexcept nogil:
    algorithms.run_center_of_mass[double](model, p, q, memory, total_mass, p_WCcm)


cdef void add_jacobian(
    const Model* model, int node, const double* X_WB, const double* H_PB_W, const double* p_WoBp_W, double sign,
    double* J
) noexcept nogil:
    jacobian.add_spatial_velocity_jacobian[double](model, node, X_WB, H_PB_W, p_WoBp_W, sign, J)


cdef void express_jacobian(int num_rows, Py_ssize_t nv, const double* X_WE, double* J) noexcept nogil:
    jacobian.express_jacobian[double](num_rows, nv, X_WE, J)


cdef void multiply_by_Nplus(
    const Model* model, const double* q, int num_rows, const double* J_v, double* J_qdot
) noexcept nogil:
    jacobian.multiply_by_Nplus[double](model, q, num_rows, J_v, J_qdot)


cdef void complete_position_kinematics(
    const Model* model, const Parameters[double]* p, const double* q, const double* X_WB, double* memory,
    double* X_FM, double* X_PB, double* H_FM, double* H_PB_W
) noexcept nogil:
    position_kinematics.complete_position_kinematics[double](
        model, p.X_BF, q, X_WB, memory, memory + model.angle_stride, X_FM, X_PB, H_FM, H_PB_W
    )


cdef void spatial_inertias(
    const Model* model, const Parameters[double]* p, const double* X_WB, double* p_BoBcm_W, double* M_Bo_W
) noexcept nogil:
    calc_spatial_inertias_in_world[double](model, p.mass, p.p_BoBcm_B, p.I_BBo_B, X_WB, p_BoBcm_W, M_Bo_W)


cdef void velocity_kinematics(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* v, double* V_PB_W, double* V_PB,
    double* V_WB
) noexcept nogil:
    calc_velocity_kinematics[double](model, X_WB, H_PB_W, v, V_PB_W, V_PB, V_WB)


cdef void acceleration_kinematics(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, const double* vdot,
    const double* X_WB, const double* H_PB_W, const double* V_PB_W, const double* V_WB, double* A_WB
) noexcept nogil:
    calc_acceleration_kinematics[double](model, p.X_BF, q, v, vdot, X_WB, H_PB_W, V_PB_W, V_WB, A_WB)


cdef void gravity_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, double* F_Bo_W
) noexcept nogil:
    element_forces.add_gravity_forces[double](model, weightless, p.mass, p.p_BoBcm_B, p.gravity, X_WB, F_Bo_W)


cdef void reaction_forces(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, const double* A_WB,
    const double* F_applied, double* memory, double* F_BMo_W
) noexcept nogil:
    calc_reaction_forces[double](
        model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.X_BF, X_WB, V_WB, A_WB, F_applied, memory, F_BMo_W
    )


cdef void generalized_forces(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* F_Bo_W, double* memory, double* tau
) noexcept nogil:
    algorithms.run_generalized_forces[double](model, X_WB, H_PB_W, F_Bo_W, memory, tau)


cdef void stateless_generalized_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* F_Bo_W, double* memory,
    double* tau
) noexcept nogil:
    algorithms.run_stateless_generalized_forces[double](model, p, q, F_Bo_W, memory, tau)


cdef void coriolis_matrix(
    const Model* model, const Parameters[double]* p, const double* q, const double* v,
    const double* X_WB, const double* H_FM, const double* V_WB, double* memory, int* base, double* C
) noexcept nogil:
    algorithms.run_coriolis_matrix[double](model, p, q, v, X_WB, H_FM, V_WB, memory, base, C)


cdef void kinetic_energy(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, const double* v,
    double* energy
) noexcept nogil:
    calc_kinetic_energy[double](model, p.mass, p.p_BoBcm_B, p.I_BBo_B, p.reflected_inertia, X_WB, V_WB, v, energy)


cdef double element_potential_energy(
    const Model* model, const Parameters[double]* p, int element, const double* q, const double* X_WB
) noexcept nogil:
    return algorithms.run_element_potential_energy[double](model, p, element, q, X_WB)


cdef double element_power(
    const Model* model, const Parameters[double]* p, int element, bint conservative, const double* q, const double* v,
    const double* X_WB, const double* V_WB
) noexcept nogil:
    return algorithms.run_element_power[double](model, p, element, conservative, q, v, X_WB, V_WB)


cdef void add_element_force(
    const Model* model, const Parameters[double]* p, int element, const double* q, const double* v,
    const double* X_WB, const double* V_WB, double* F_Bo_W, double* tau
) noexcept nogil:
    algorithms.run_element_force[double](model, p, element, q, v, X_WB, V_WB, F_Bo_W, tau)


cdef double gravity_potential_energy(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB
) noexcept nogil:
    return element_forces.calc_gravity_potential_energy[double](
        model, weightless, p.mass, p.p_BoBcm_B, p.gravity, X_WB
    )


cdef double gravity_power(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, const double* V_WB
) noexcept nogil:
    return element_forces.calc_gravity_power[double](
        model, weightless, p.mass, p.p_BoBcm_B, p.gravity, X_WB, V_WB
    )


cdef double potential_energy(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* X_WB
) noexcept nogil:
    return algorithms.run_potential_energy[double](model, p, weightless, q, X_WB)


cdef double conservative_power(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    const double* X_WB, const double* V_WB
) noexcept nogil:
    return algorithms.run_conservative_power[double](model, p, weightless, q, v, X_WB, V_WB)


cdef double non_conservative_power(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, const double* X_WB,
    const double* V_WB
) noexcept nogil:
    return algorithms.run_non_conservative_power[double](model, p, q, v, X_WB, V_WB)


cdef void mass_moment(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, double* total_mass,
    double* moment
) noexcept nogil:
    calc_mass_moment[double](model, mass, p_BoBcm_B, X_WB, total_mass, moment)


cdef void momentum(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* I_BBo_B, const double* X_WB,
    const double* V_WB, double* L_WWo_W
) noexcept nogil:
    calc_momentum_about_world_origin[double](model, mass, p_BoBcm_B, I_BBo_B, X_WB, V_WB, L_WWo_W)


cdef void velocity_to_qdot(const Model* model, const double* q, const double* v, double* qdot) noexcept nogil:
    map_velocity_to_qdot[double](model, q, v, qdot)


cdef void qdot_to_velocity(const Model* model, const double* q, const double* qdot, double* v) noexcept nogil:
    map_qdot_to_velocity[double](model, q, qdot, v)


# Kinematics and mass of frames, points and sets of bodies --------------------------------------------------------

cdef void add_angular_jacobian(
    const Model* model, int node, const double* H_PB_W, double sign, double* J
) noexcept nogil:
    jacobian.add_angular_velocity_jacobian[double](model, node, H_PB_W, sign, J)


cdef void add_translational_jacobian(
    const Model* model, int node, const double* X_WB, const double* H_PB_W, const double* p_WoBp_W, double sign,
    double* J
) noexcept nogil:
    jacobian.add_translational_velocity_jacobian[double](model, node, X_WB, H_PB_W, p_WoBp_W, sign, J)


cdef void relative_velocity(
    int a, int b, const double* X_WB, const double* V_WB, const double* p_WoBp_W, const double* X_WE, double* V_ABp_E
) noexcept nogil:
    """Velocity of a point fixed to body b, in body a, expressed in E."""
    cdef double[6] V_WBp
    cdef double[6] V_ABp
    relative_motion.calc_velocity_of_point[double](X_WB + 16*b, V_WB + 6*b, p_WoBp_W, V_WBp)
    relative_motion.calc_relative_velocity[double](X_WB + 16*a, V_WB + 6*a, p_WoBp_W, V_WBp, V_ABp)
    relative_motion.express_spatial[double](X_WE, V_ABp, V_ABp_E)


cdef void relative_acceleration(
    int a, int b, const double* X_WB, const double* V_WB, const double* A_WB, const double* p_WoBp_W,
    const double* X_WE, double* A_ABp_E
) noexcept nogil:
    """Acceleration of a point fixed to body b, in body a, expressed in E."""
    cdef double[6] V_WBp
    cdef double[6] A_WBp
    relative_motion.calc_velocity_of_point[double](X_WB + 16*b, V_WB + 6*b, p_WoBp_W, V_WBp)
    relative_motion.calc_acceleration_of_point[double](X_WB + 16*b, V_WB + 6*b, A_WB + 6*b, p_WoBp_W, A_WBp)
    relative_acceleration_of_point(a, X_WB, V_WB, A_WB, p_WoBp_W, V_WBp, A_WBp, X_WE, A_ABp_E)


cdef void relative_acceleration_of_point(
    int a, const double* X_WB, const double* V_WB, const double* A_WB, const double* p_WoBp_W, const double* V_WBp,
    const double* A_WBp, const double* X_WE, double* A_ABp_E
) noexcept nogil:
    """Acceleration of a point that moves as V_WBp and A_WBp say, in body a, expressed in E."""
    cdef double[6] A_ABp
    relative_motion.calc_relative_acceleration[double](
        X_WB + 16*a, V_WB + 6*a, A_WB + 6*a, p_WoBp_W, V_WBp, A_WBp, A_ABp
    )
    relative_motion.express_spatial[double](X_WE, A_ABp, A_ABp_E)


cdef void mass_acceleration(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, const double* V_WB,
    const double* A_WB, double* force
) noexcept nogil:
    mass_properties.calc_mass_acceleration[double](model, mass, p_BoBcm_B, X_WB, V_WB, A_WB, force)


cdef void composite_inertia(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* I_BBo_B, const double* X_WB,
    const double* X_FW, double* total_mass, double* moment, double* inertia
) noexcept nogil:
    mass_properties.calc_composite_inertia[double](
        model, mass, p_BoBcm_B, I_BBo_B, X_WB, X_FW, total_mass, moment, inertia
    )


cdef void momentum_matrix_about(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* H_PB_W, const double* p_WP,
    double* memory, double* A_P
) noexcept nogil:
    momentum_matrix.calc_momentum_matrix[double](
        model, p.mass, p.p_BoBcm_B, p.I_BBo_B, X_WB, H_PB_W, p_WP, memory, A_P
    )


cdef void linear_momentum_matrix(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, const double* H_PB_W,
    double* memory, double* P
) noexcept nogil:
    momentum_matrix.calc_linear_momentum_matrix[double](model, mass, p_BoBcm_B, X_WB, H_PB_W, memory, P)


cdef int mass_matrix_inverse(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* more, double* M_inverse
) noexcept nogil:
    """Returns -1, or the first dof that no mass resists."""
    return find_massless_dof(
        model, NULL, algorithms.run_mass_matrix_inverse[double](model, p, q, memory, more, M_inverse)
    )


cdef void N_matrix(const Model* model, const double* q, double* N) noexcept nogil:
    qdot_maps.calc_N[double](model, q, N)


cdef void Nplus_matrix(const Model* model, const double* q, double* Nplus) noexcept nogil:
    qdot_maps.calc_Nplus[double](model, q, Nplus)


cdef void velocities_of_mobilizer(
    int type, const double* constants, const double* q, const double* qdot, double* v
) noexcept nogil:
    calc_v[double](type, constants, q, qdot, v)


cdef void acceleration_to_qddot(
    const Model* model, const double* q, const double* v, const double* vdot, double* qddot
) noexcept nogil:
    qdot_maps.map_acceleration_to_qddot[double](model, q, v, vdot, qddot)


cdef void qddot_to_acceleration(
    const Model* model, const double* q, const double* v, const double* qddot, double* vdot
) noexcept nogil:
    qdot_maps.map_qddot_to_acceleration[double](model, q, v, qddot, vdot)


cdef void vdot_of_steady_qdot(const Model* model, const double* q, const double* v, double* vdot) noexcept nogil:
    qdot_maps.calc_vdot_of_steady_qdot[double](model, q, v, vdot)
