"""The algorithms for one state of doubles, each compiled once, and the working memory of the calling thread."""

from mbt._core.model cimport Model, Switches
from mbt._core.records cimport Parameters

cdef double* get_work(const Model* model, Py_ssize_t more) except NULL nogil
cdef Py_ssize_t work_size(const Model* model) noexcept nogil

cdef void inverse_dynamics(
    const Model* model, const Parameters[double]* p, const double* gravity,
    const double* q, const double* v, const double* vdot, double* memory, double* tau) noexcept nogil
cdef void subtract_body_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    double* memory, double* tau
) noexcept nogil
cdef void gravity_generalized_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, double* memory,
    double* tau) noexcept nogil
cdef void add_joint_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, int subtract, double* tau
) noexcept nogil
cdef inline void inverse_dynamics_with_elements(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    const double* vdot, double* memory, double* tau
) noexcept nogil:
    """`run_inverse_dynamics_with_elements` in three calls: in one, the rare third makes the others 10 % slower."""
    cdef double[3] zero = [0.0, 0.0, 0.0]
    inverse_dynamics(model, p, p.gravity if weightless == NULL else zero, q, v, vdot, memory, tau)
    add_joint_forces(model, p, q, v, 1, tau)
    if model.num_elements_between or weightless != NULL:
        subtract_body_forces(model, p, weightless, q, v, memory, tau)

cdef void add_body_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, const double* V_WB,
    double* F_Bo_W) noexcept nogil
cdef void add_forces_between(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, double* F_Bo_W
) noexcept nogil
cdef int find_singular_element_at(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, int element) noexcept nogil
cdef int find_singular_element(
    const Model* model, const Parameters[double]* p, const double* X_WB, int element) noexcept nogil
cdef int forward_dynamics(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* tau, double* memory, double* vdot) noexcept nogil
cdef int forward_dynamics_with_elements(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* tau, double* memory, double* vdot) noexcept nogil
cdef void mass_matrix(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M) noexcept nogil
cdef void body_poses(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* X_WB) noexcept nogil
cdef void frame_pose(
    const Model* model, const Parameters[double]* p, int frame, const double* q, double* memory, int* path,
    double* X_WF) noexcept nogil
cdef void frame_jacobian(
    const Model* model, const Parameters[double]* p, int frame, int frame_E, const double* q, const double* p_FoP_F,
    double* memory, int* path, double* J) noexcept nogil
cdef void center_of_mass(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* total_mass,
    double* p_WCcm) noexcept nogil
cdef void add_jacobian(
    const Model* model, int node, const double* X_WB, const double* H_PB_W, const double* p_WoBp_W, double sign,
    double* J) noexcept nogil
cdef void express_jacobian(int num_rows, Py_ssize_t nv, const double* X_WE, double* J) noexcept nogil
cdef void multiply_by_Nplus(
    const Model* model, const double* q, int num_rows, const double* J_v, double* J_qdot) noexcept nogil
cdef void complete_position_kinematics(
    const Model* model, const Parameters[double]* p, const double* q, const double* X_WB, double* memory,
    double* X_FM, double* X_PB, double* H_FM, double* H_PB_W) noexcept nogil
cdef void spatial_inertias(
    const Model* model, const Parameters[double]* p, const double* X_WB, double* p_BoBcm_W, double* M_Bo_W
) noexcept nogil
cdef void velocity_kinematics(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* v, double* V_PB_W, double* V_PB,
    double* V_WB
) noexcept nogil
cdef void acceleration_kinematics(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, const double* vdot,
    const double* X_WB, const double* H_PB_W, const double* V_PB_W, const double* V_WB, double* A_WB
) noexcept nogil
cdef void gravity_forces(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, double* F_Bo_W
) noexcept nogil
cdef void reaction_forces(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, const double* A_WB,
    const double* F_applied, double* memory, double* F_BMo_W) noexcept nogil
cdef void generalized_forces(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* F_Bo_W, double* memory, double* tau
) noexcept nogil
cdef void stateless_generalized_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* F_Bo_W, double* memory,
    double* tau) noexcept nogil
cdef void coriolis_matrix(
    const Model* model, const Parameters[double]* p, const double* q, const double* v,
    const double* X_WB, const double* H_FM, const double* V_WB, double* memory, int* base, double* C) noexcept nogil
cdef void kinetic_energy(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* V_WB, const double* v,
    double* energy) noexcept nogil
cdef double element_potential_energy(
    const Model* model, const Parameters[double]* p, int element, const double* q, const double* X_WB
) noexcept nogil
cdef double element_power(
    const Model* model, const Parameters[double]* p, int element, bint conservative, const double* q, const double* v,
    const double* X_WB, const double* V_WB) noexcept nogil
cdef void add_element_force(
    const Model* model, const Parameters[double]* p, int element, const double* q, const double* v,
    const double* X_WB, const double* V_WB, double* F_Bo_W, double* tau) noexcept nogil
cdef double gravity_potential_energy(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB) noexcept nogil
cdef double gravity_power(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, const double* V_WB
) noexcept nogil
cdef double potential_energy(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* X_WB
) noexcept nogil
cdef double conservative_power(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    const double* X_WB, const double* V_WB) noexcept nogil
cdef double non_conservative_power(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, const double* X_WB,
    const double* V_WB) noexcept nogil
cdef void mass_moment(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, double* total_mass,
    double* moment) noexcept nogil
cdef void momentum(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* I_BBo_B, const double* X_WB,
    const double* V_WB, double* L_WWo_W) noexcept nogil
cdef void velocity_to_qdot(const Model* model, const double* q, const double* v, double* qdot) noexcept nogil
cdef void qdot_to_velocity(const Model* model, const double* q, const double* qdot, double* v) noexcept nogil

cdef void add_angular_jacobian(
    const Model* model, int node, const double* H_PB_W, double sign, double* J) noexcept nogil
cdef void add_translational_jacobian(
    const Model* model, int node, const double* X_WB, const double* H_PB_W, const double* p_WoBp_W, double sign,
    double* J) noexcept nogil
cdef void relative_velocity(
    int a, int b, const double* X_WB, const double* V_WB, const double* p_WoBp_W, const double* X_WE, double* V_ABp_E
) noexcept nogil
cdef void relative_acceleration(
    int a, int b, const double* X_WB, const double* V_WB, const double* A_WB, const double* p_WoBp_W,
    const double* X_WE, double* A_ABp_E) noexcept nogil
cdef void relative_acceleration_of_point(
    int a, const double* X_WB, const double* V_WB, const double* A_WB, const double* p_WoBp_W, const double* V_WBp,
    const double* A_WBp, const double* X_WE, double* A_ABp_E) noexcept nogil
cdef void mass_acceleration(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, const double* V_WB,
    const double* A_WB, double* force) noexcept nogil
cdef void composite_inertia(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* I_BBo_B, const double* X_WB,
    const double* X_FW, double* total_mass, double* moment, double* inertia) noexcept nogil
cdef void momentum_matrix_about(
    const Model* model, const Parameters[double]* p, const double* X_WB, const double* H_PB_W, const double* p_WP,
    double* memory, double* A_P) noexcept nogil
cdef void linear_momentum_matrix(
    const Model* model, const double* mass, const double* p_BoBcm_B, const double* X_WB, const double* H_PB_W,
    double* memory, double* P) noexcept nogil
cdef int mass_matrix_inverse(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* more, double* M_inverse
) noexcept nogil
cdef void N_matrix(const Model* model, const double* q, double* N) noexcept nogil
cdef void Nplus_matrix(const Model* model, const double* q, double* Nplus) noexcept nogil
cdef void velocities_of_mobilizer(
    int type, const double* constants, const double* q, const double* qdot, double* v) noexcept nogil
cdef void acceleration_to_qddot(
    const Model* model, const double* q, const double* v, const double* vdot, double* qddot) noexcept nogil
cdef void qddot_to_acceleration(
    const Model* model, const double* q, const double* v, const double* qddot, double* vdot) noexcept nogil
cdef void vdot_of_steady_qdot(const Model* model, const double* q, const double* v, double* vdot) noexcept nogil
