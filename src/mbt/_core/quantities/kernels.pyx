from mbt._core.algebra.records cimport PIVOT_TOLERANCE, ArticulatedDof, CompliantWork, Ends, Parameters
from mbt._core.algebra.spatial cimport copy
from mbt._core.forces.force_elements cimport acts_on_joint, calc_singularity_between
from mbt._core.joints.mobilizers cimport calc_v
from mbt._core.model.structs cimport ForceElement, Model, Switches
from mbt._core.passes cimport compliant_dynamics, element_forces, jacobian
from mbt._core.passes.body_forces cimport calc_generalized_forces
from mbt._core.passes.mass_matrix_in_rows cimport calc_mass_matrix_in_rows, count_momenta
from mbt._core.passes.mass_matrix_of_chains cimport calc_mass_matrix_of_chains, stride_of_axes
from mbt._core.passes.position_kinematics cimport (
    calc_motion_axes_of_bodies, calc_spatial_inertias_in_world, complete_position_kinematics as complete,
)
from mbt._core.passes.velocity_kinematics cimport calc_velocities_in_world, calc_velocity_kinematics
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.dynamics cimport count_memory, register_dynamics
from mbt._core.quantities.motion cimport calc_rollout, count_rollout_work, register_motion
from mbt._core.quantities.names cimport MASS_MATRIX
from mbt._core.scalars cimport MBT_W


cdef extern from "quantities/arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)


inverse_dynamics = algorithms.run_inverse_dynamics[double]
subtract_body_forces = algorithms.subtract_body_forces[double]
gravity_generalized_forces = algorithms.run_gravity_forces[double]
add_joint_forces = algorithms.add_joint_forces[double]
add_body_forces = algorithms.add_body_forces[double]
body_poses = algorithms.run_body_poses[double]
frame_pose = algorithms.run_frame_pose[double]
center_of_mass = algorithms.run_center_of_mass[double]
multiply_by_Nplus = jacobian.multiply_by_Nplus[double]
velocity_kinematics = calc_velocity_kinematics[double]
velocities_in_world = calc_velocities_in_world[double]
velocities_of_mobilizer = calc_v[double]

sweeps.count_compliant_work = compliant_dynamics.count_compliant_work
sweeps.place_tree = compliant_dynamics.place_tree
sweeps.calc_slopes_and_shares = compliant_dynamics.calc_slopes_and_shares
sweeps.calc_momenta_and_rates = compliant_dynamics.calc_momenta_and_rates
sweeps.add_impulses = compliant_dynamics.add_impulses
sweeps.solve_with_compliance = solve_with_compliance

# Dynamics and motion are compiled here; other modules add their quantities.
register_dynamics[double](&of_doubles)
register_motion[double](&of_doubles)
of_doubles.set(MASS_MATRIX, calc_mass_matrix_of_doubles, count_memory)


cdef void calc_mass_matrix_of_doubles(Call[double]* c) noexcept nogil:
    mass_matrix(c.model, c.p, c.q, c.memory, c.out)


cdef double* get_work(const Model* model, Py_ssize_t more) except NULL nogil:
    """Working memory for any algorithm, followed by `more` doubles.

    Valid until the next call in this thread: call this directly before the kernel, with no Python code in between.
    """
    cdef double* memory = arena_doubles(algorithms.count_work(model) + more)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef Py_ssize_t work_size(const Model* model) noexcept nogil:
    """Number of doubles before the `more` doubles of `get_work`."""
    return algorithms.count_work(model)


cdef int find_singular_element(
    const Model* model, const Parameters[double]* p, const double* X_WB, int element
) noexcept nogil:
    """Return the first element whose force is undefined, or -1; check all, or only the one given.

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
    """The same, directly from q."""
    cdef double* X_WB = memory
    algorithms.run_body_poses[double](model, p, q, memory + 16*model.num_bodies, X_WB)
    return find_singular_element(model, p, X_WB, element)


cdef int forward_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const Switches* switches,
    # In:
    const double* q,    # (nq,)  [rad, m]
    const double* v,    # (nv,)  [rad/s, m/s]
    const double* tau,  # (nv,)  [N m, N]
    # Work:
    double* memory,     # (count_work(model),)
    # Out:
    double* vdot,       # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """Forward dynamics of tau and gravity on all bodies. Returns -1, or the last massless dof."""
    cdef double[3] zero
    cdef const double* gravity = algorithms.gravity_acceleration[double](p, switches.weightless, zero)
    return find_massless_dof(model, switches.locked, algorithms.run_constrained_dynamics[double](
        model, p, gravity, switches, q, v, <const double*>NULL, tau, memory, vdot
    ))


cdef int solve_with_compliance(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    bint with_rows,
    const double* slopes,    # (nv + num_equations + 4 num_points,) [kg m^2, kg]
    # Work:
    CompliantWork[double]* x,
    # Out:
    double* y,               # (nv,)            [rad/s, m/s]  in: [N m s, N s]
) noexcept nogil:
    """Solve the linear system of an implicit step, see `compliant_dynamics`.

    Returns -1, or the last dof that nothing resists; without rows, also one that only rounding resists.
    """
    cdef int k
    compliant_dynamics.solve_with_compliance(model, switches, p, with_rows, slopes, x, y)
    if not with_rows:
        return find_massless_dof(model, switches.locked, x.dofs)
    # Slopes of rows and points may be much larger than any inertia, which is no reason to give up.
    for k in range(model.num_velocities - 1, -1, -1):
        if not x.dofs[k].D > 0.0 and not (switches.locked != NULL and switches.locked[k]):
            return k
    return -1


cdef const double* multipliers_in(const Model* model, double* memory) noexcept nogil:
    """Return where forward dynamics left the multipliers of constraints."""
    return algorithms.multipliers_in[double](model, memory)


cdef int forward_dynamics_with_elements(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    const Switches* switches,
    # In:
    const double* q,    # (nq,)  [rad, m]
    const double* v,    # (nv,)  [rad/s, m/s]
    const double* tau,  # (nv,)  [N m, N]
    # Work:
    double* memory,     # (count_work(model) + 2 nv,)
    # Out:
    double* vdot,       # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """Forward dynamics of tau and all other forces. Needs 2 nv more doubles of memory.

    Returns -1, or the last massless dof.
    """
    return find_massless_dof(model, switches.locked, algorithms.run_forward_dynamics_with_elements[double](
        model, p, switches, q, v, tau, memory, vdot
    ))


cdef int find_massless_dof(const Model* model, const int* locked, const ArticulatedDof[double]* dofs) noexcept nogil:
    cdef int k
    # From the most outboard dof on: pivots inboard of a zero pivot are meaningless.
    for k in range(model.num_velocities - 1, -1, -1):
        # NaN is not singular: it propagates.
        if dofs[k].D <= PIVOT_TOLERANCE*dofs[k].scale and not (locked != NULL and locked[k]):
            return k
    return -1


cdef Py_ssize_t rollout_work_size(const Model* model) noexcept nogil:
    """Doubles that `rollout` needs after those of any algorithm."""
    return count_rollout_work(model)


cdef void rollout(
    # Topology:
    const int* integers,  # (num_integers,)
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,      # (nq,)                 [rad, m]
    const double* v,      # (nv,)                 [rad/s, m/s]
    # In, destroyed:
    double* x,            # (num_inputs,)         [SI]  see `calc_rollout`
    # Work:
    double* memory,       # (count_work(model) + count_rollout_work(model),)
    # Out:
    double* out,          # (num_steps, nq + nv)  [SI]
) noexcept nogil:
    cdef Call[double] c
    c.integers, c.model, c.switches, c.p = integers, model, switches, p
    c.q, c.v, c.x, c.memory, c.out = q, v, x, memory, out
    calc_rollout[double](&c)


cdef void mass_matrix(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M
) noexcept nogil:
    if model.has_long_branches:
        mass_matrix_of_chains(model, p, q, memory, M)
    elif MBT_W >= 4:  # where a row is in one register
        mass_matrix_in_rows(model, p, q, memory, M)
    else:
        algorithms.run_mass_matrix[double](model, p, q, memory, M)


cdef void mass_matrix_in_rows(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M
) noexcept nogil:
    # Blocks of whole registers come first, so that they stay aligned.
    cdef double* F = memory
    cdef double* left = F + count_momenta(model)
    cdef double* X_PN = left + count_momenta(model)
    cdef double* sums = X_PN + 16*model.num_mobods
    cdef double* sin_q = sums + 20*model.num_mobods
    cdef double* cos_q = sin_q + model.angle_stride
    cdef double* H_N = cos_q + model.angle_stride
    calc_mass_matrix_in_rows(
        model, p.mobods, p.reflected_inertia, q, X_PN, sums, H_N, sin_q, cos_q, F, left, M
    )


cdef void mass_matrix_of_chains(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* M
) noexcept nogil:
    # First the arrays whose row lengths are multiples of a SIMD vector, so that they stay aligned.
    cdef double* sums = memory
    cdef double* X_ON = sums + 20*model.num_mobods
    cdef double* H = X_ON + 16*model.num_mobods
    cdef double* sin_q = H + 6*stride_of_axes(model)
    cdef double* cos_q = sin_q + model.angle_stride
    cdef double* F = cos_q + model.angle_stride
    calc_mass_matrix_of_chains(model, p.mobods, p.reflected_inertia, q, sin_q, cos_q, H, X_ON, sums, F, M)


cdef void motion_axes(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,     # (nq,)               [rad, m]
    const double* X_WB,  # (num_bodies, 4, 4)  [1, m]
    # Out:
    double* H_FM,        # (nv, 6)             [1, m]
    double* H_PB_W,      # (nv, 6)             [1, m]
) noexcept nogil:
    calc_motion_axes_of_bodies[double](model, p.X_BF, q, X_WB, H_FM, H_PB_W)


cdef void complete_position_kinematics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,     # (nq,)               [rad, m]
    const double* X_WB,  # (num_bodies, 4, 4)  [1, m]
    # Work:
    double* memory,      # (count_work(model),)
    # Out:
    double* X_FM,        # (num_bodies, 4, 4)  [1, m]
    double* X_PB,        # (num_bodies, 4, 4)  [1, m]
    double* H_FM,        # (nv, 6)             [1, m]
    double* H_PB_W,      # (nv, 6)             [1, m]
) noexcept nogil:
    complete[double](
        model, p.X_BF, q, X_WB, memory, memory + model.angle_stride, X_FM, X_PB, H_FM, H_PB_W
    )


cdef void generalized_forces(
    # Topology:
    const Model* model,
    # In:
    const double* X_WB,    # (num_bodies, 4, 4)  [1, m]
    const double* H_PB_W,  # (nv, 6)             [1, m]
    const double* F_Bo_W,  # (num_bodies, 6)     [N m, N]
    # Work:
    double* memory,        # (count_work(model),)
    # Out:
    double* tau,           # (nv,)               [N m, N]
) noexcept nogil:
    """tau = sum of J_WB' F_Bo_W; F_Bo_W is not changed."""
    copy[double](F_Bo_W, 6*model.num_bodies, memory)
    calc_generalized_forces[double](model, X_WB, H_PB_W, memory, tau)


cdef void spatial_inertias(
    const Model* model, const Parameters[double]* p, const double* X_WB, double* p_BoBcm_W, double* M_Bo_W
) noexcept nogil:
    calc_spatial_inertias_in_world[double](model, p.mass, p.p_BoBcm_B, p.I_BBo_B, X_WB, p_BoBcm_W, M_Bo_W)


# Kinematics and mass of frames, points and sets of bodies --------------------------------------------------------
