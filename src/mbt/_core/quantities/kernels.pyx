from mbt._core.algebra.records cimport (
    NUM_FURTHER, PIVOT_TOLERANCE, UNSOLVED, ArticulatedDof, CompositeInWorld, Ends, Parameters,
)
from mbt._core.forces.force_elements cimport acts_on_joint, calc_singularity_between
from mbt._core.joints.mobilizers cimport calc_v
from mbt._core.model.structs cimport ForceElement, Model, Switches
from mbt._core.passes cimport element_forces, jacobian, position_kinematics
from mbt._core.passes.mass_matrix_of_chains cimport calc_mass_matrix_of_chains, stride_of_axes
from mbt._core.passes.position_kinematics cimport calc_spatial_inertias_in_world
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.motion cimport calc_rollout, count_rollout_work


cdef extern from "quantities/arena.hpp" namespace "MBT_NS" nogil:
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
    """What `inverse_dynamics_with_elements` does last, and seldom. Needs nv more doubles of memory."""
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
            if calc_singularity_between(e, p.force_elements + e.start, &ends) <= 0.0:
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
    return find_massless_dof(model, switches.locked, algorithms.run_constrained_dynamics[double](
        model, p, gravity, switches, q, v, tau, memory, vdot
    ))


cdef const double* multipliers_in(const Model* model, double* memory) noexcept nogil:
    """Where forward dynamics has left the multipliers of constraints."""
    return algorithms.multipliers_in[double](model, memory)


cdef int forward_dynamics_with_elements(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* tau, double* memory, double* vdot
) noexcept nogil:
    """Needs 2 nv more doubles of memory. Returns -1, or the last dof that no mass resists."""
    return find_massless_dof(model, switches.locked, algorithms.run_forward_dynamics_with_elements[double](
        model, p, switches, q, v, tau, memory, vdot
    ))


cdef int impulse_dynamics(
    const Model* model, const Parameters[double]* p, const Switches* switches,
    const double* q, const double* v, const double* restitution, double* memory, double* out
) noexcept nogil:
    """Velocities and impulses, (nv + m,). Needs nv more doubles of memory. The same is returned."""
    return find_massless_dof(model, switches.locked, algorithms.run_impulse_dynamics[double](
        model, p, switches, q, v, restitution, memory, out, out + model.num_velocities
    ))


cdef int find_massless_dof(const Model* model, const int* locked, const ArticulatedDof[double]* dofs) noexcept nogil:
    cdef int k
    # The farthest from World first: what a pivot of zero leaves inboard means nothing.
    for k in range(model.num_velocities - 1, -1, -1):
        if dofs[k].D == UNSOLVED:
            return model.num_velocities + NUM_FURTHER
        # NaN is not singular: it propagates.
        if dofs[k].D <= PIVOT_TOLERANCE*dofs[k].scale and not (locked != NULL and locked[k]):
            return k
    return -1


cdef Py_ssize_t rollout_work_size(const Model* model) noexcept nogil:
    """Doubles that `rollout` needs behind those of any algorithm."""
    return count_rollout_work(model)


cdef void rollout(
    const int* integers, const Model* model, const Switches* switches, const Parameters[double]* p, const double* q,
    const double* v, const double* x, double* memory, double* out
) noexcept nogil:
    calc_rollout[double](integers, model, switches, p, q, v, x, memory, out)


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


cdef void generalized_forces(
    const Model* model, const double* X_WB, const double* H_PB_W, const double* F_Bo_W, double* memory, double* tau
) noexcept nogil:
    algorithms.run_generalized_forces[double](model, X_WB, H_PB_W, F_Bo_W, memory, tau)


cdef void stateless_generalized_forces(
    const Model* model, const Parameters[double]* p, const double* q, const double* F_Bo_W, double* memory,
    double* tau
) noexcept nogil:
    algorithms.run_stateless_generalized_forces[double](model, p, q, F_Bo_W, memory, tau)


# Kinematics and mass of frames, points and sets of bodies --------------------------------------------------------

cdef int mass_matrix_inverse(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* more, double* M_inverse
) noexcept nogil:
    """Returns -1, or the first dof that no mass resists."""
    return find_massless_dof(
        model, NULL, algorithms.run_mass_matrix_inverse[double](model, p, q, memory, more, M_inverse)
    )


cdef void velocities_of_mobilizer(
    int type, const double* constants, const double* q, const double* qdot, double* v
) noexcept nogil:
    calc_v[double](type, constants, q, qdot, v)
