"""The algorithms for one state of doubles, each compiled once, and the working memory of the calling thread."""

from mbt._core.algebra.records cimport CompliantWork, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.names cimport FRAME_JACOBIAN

cdef Functions[double] of_doubles
cdef double* get_work(const Model* model, Py_ssize_t more) except NULL nogil
cdef Py_ssize_t work_size(const Model* model) noexcept nogil

cdef void (*inverse_dynamics)(
    const Model* model, const Parameters[double]* p, const double* gravity,
    const double* q, const double* v, const double* vdot, double* memory, double* tau) noexcept nogil
cdef void (*gravity_generalized_forces)(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, double* memory,
    double* tau) noexcept nogil
cdef void (*add_joint_forces)(
    const Model* model, const Parameters[double]* p, const double* q, const double* v, int subtract, double* tau
) noexcept nogil
cdef void (*subtract_body_forces)(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* q, const double* v,
    double* memory, double* tau
) noexcept nogil
cdef inline void inverse_dynamics_with_elements(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const int* weightless,  # (num_bodies,) or NULL
    # In:
    const double* q,        # (nq,)  [rad, m]
    const double* v,        # (nv,)  [rad/s, m/s]
    const double* vdot,     # (nv,)  [rad/s^2, m/s^2]
    # Work:
    double* memory,         # (count_work(model),)
    # Out:
    double* tau,            # (nv,)  [N m, N]
) noexcept nogil:
    """Three calls: in one function the rare third makes the others 10 % slower (benchmarks/instruction_counts.py)."""
    cdef double[3] zero = [0.0, 0.0, 0.0]
    inverse_dynamics(model, p, p.gravity if weightless == NULL else zero, q, v, vdot, memory, tau)
    add_joint_forces(model, p, q, v, 1, tau)
    if model.num_elements_between or weightless != NULL:
        subtract_body_forces(model, p, weightless, q, v, memory, tau)

cdef void (*add_body_forces)(
    const Model* model, const Parameters[double]* p, const int* weightless, const double* X_WB, const double* V_WB,
    double* F_Bo_W) noexcept nogil
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
# The linear system of implicit steps, see compliant_dynamics. As one variable: to export each function takes time at
# import.
cdef struct SweepFunctions:
    Py_ssize_t (*count_compliant_work)(const Model* model) noexcept nogil
    void (*place_tree)(
        const Model* model, const Switches* switches, const Parameters[double]* p, const double* q, double* memory,
        CompliantWork[double]* x, double* inertia) noexcept nogil
    int (*solve_with_compliance)(
        const Model* model, const Switches* switches, const Parameters[double]* p, bint with_rows,
        const double* slopes, CompliantWork[double]* x, double* y) noexcept nogil
    void (*calc_slopes_and_shares)(
        const Model* model, const Switches* switches, const Parameters[double]* p, double rigid,
        CompliantWork[double]* x, double* target, double* slopes, double* shares) noexcept nogil
    void (*calc_momenta_and_rates)(
        const Model* model, const Switches* switches, const Parameters[double]* p, const double* v,
        CompliantWork[double]* x, double* Mv, double* u) noexcept nogil
    void (*add_impulses)(
        const Model* model, const Switches* switches, const double* impulses, CompliantWork[double]* x,
        double* gradient, double* size) noexcept nogil

cdef SweepFunctions sweeps

cdef Py_ssize_t rollout_work_size(const Model* model) noexcept nogil
cdef void rollout(
    const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p, const double* q,
    const double* v, double* x, double* memory, double* out) noexcept nogil
cdef const double* multipliers_in(const Model* model, double* memory) noexcept nogil
cdef inline bint any_is_nan(const double* x, Py_ssize_t count, Py_ssize_t stride) noexcept nogil:
    cdef double sum = 0.0
    cdef Py_ssize_t i
    for i in range(count):
        sum += x[stride*i]
    return sum != sum
cdef void mass_matrix(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M) noexcept nogil
cdef void (*body_poses)(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* X_WB) noexcept nogil
cdef void (*frame_pose)(
    const Model* model, const Parameters[double]* p, int frame, const double* q, double* memory, int* path,
    double* X_WF) noexcept nogil
cdef inline void frame_jacobian(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    # In:
    int frame,
    int frame_E,
    const double* q,        # (nq,)    [rad, m]
    const double* p_FoP_F,  # (3,)     [m]  or NULL
    # Work:
    double* memory,         # (count_work(model),)
    int* path,              # (num_bodies,)
    # Out:
    double* J,              # (6, nv)  [1, m]
) noexcept nogil:
    """Jacobian of a frame, or of a point fixed to it if given, with respect to v."""
    cdef int[4] integers = [frame, frame_E, 0, p_FoP_F != NULL]
    cdef Call[double] c
    c.integers, c.model, c.p, c.q, c.x = integers, model, p, q, <double*>p_FoP_F
    c.memory, c.base, c.out = memory, path, J
    of_doubles.call(FRAME_JACOBIAN, &c)

cdef void (*center_of_mass)(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* total_mass,
    double* p_WCcm) noexcept nogil
cdef void (*multiply_by_Nplus)(
    const Model* model, const double* q, int num_rows, const double* J_v, double* J_qdot) noexcept nogil
cdef void motion_axes(
    const Model* model, const Parameters[double]* p, const double* q, const double* X_WB, double* H_FM, double* H_PB_W
) noexcept nogil
cdef void complete_position_kinematics(
    const Model* model, const Parameters[double]* p, const double* q, const double* X_WB, double* memory,
    double* X_FM, double* X_PB, double* H_FM, double* H_PB_W) noexcept nogil
cdef void spatial_inertias(
    const Model* model, const Parameters[double]* p, const double* X_WB, double* p_BoBcm_W, double* M_Bo_W
) noexcept nogil
cdef void (*velocity_kinematics)(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* v, double* V_PB_W, double* V_PB,
    double* V_WB
) noexcept nogil
cdef void (*velocities_in_world)(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* v, double* V_PB_W, double* V_WB
) noexcept nogil
cdef void generalized_forces(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* F_Bo_W, double* memory, double* tau
) noexcept nogil

cdef void (*velocities_of_mobilizer)(
    int type, const double* constants, const double* q, const double* qdot, double* v) noexcept nogil
