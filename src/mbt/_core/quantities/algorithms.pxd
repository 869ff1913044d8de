"""All computations of a tree, over the fused scalar: passes combined on one block of working memory.

`memory` holds at least `count_work(model)` scalars. Gravity, where it is an argument, may differ from the model's:
zero for the bias term.
"""

from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, Composite, Kinematics, MotionForce, MotionForceRows, Parameters, Weight,
)
from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.model.structs cimport Model, Switches
from mbt._core.passes cimport element_forces
from mbt._core.passes.body_forces cimport calc_generalized_forces
from mbt._core.passes.body_poses cimport calc_body_poses
from mbt._core.passes.center_of_mass cimport calc_center_of_mass
from mbt._core.passes.constrained_dynamics cimport calc_constrained_accelerations
from mbt._core.passes.element_forces cimport acts_on_bodies, add_forces_between, add_gravity_forces
from mbt._core.passes.forward_dynamics cimport calc_forward_dynamics
from mbt._core.passes.forward_dynamics_in_parents cimport calc_forward_dynamics_in_parents
from mbt._core.passes.gravity_forces cimport calc_gravity_generalized_forces
from mbt._core.passes.inverse_dynamics cimport calc_inverse_dynamics
from mbt._core.passes.inverse_dynamics_in_rows cimport calc_inverse_dynamics_in_rows
from mbt._core.passes.mass_matrix cimport calc_mass_matrix
from mbt._core.passes.paths cimport calc_frame_pose
from mbt._core.passes.position_kinematics cimport calc_position_kinematics
from mbt._core.passes.velocity_kinematics cimport calc_velocities_in_world
from mbt._core.scalars cimport MBT_W, PyScalar, T, select_lt


cdef extern from *:
    """
    // Squared fraction of a guess that remains if constraints give a dof a thousand times its fictive inertia.
    [[maybe_unused]] static constexpr double kSquaredGain = 1e-6;
    """
    const double SQUARED_GAIN "kSquaredGain"
    bint unlikely(bint) noexcept nogil


cdef extern from "scalars/config.hpp":
    bint seldom "MBT_SELDOM"(bint) noexcept nogil


cdef enum:
    # Each iteration reduces the error of the forces that cancel fictive inertias by a factor of a thousand or far more.
    NUM_TIMES_OF_MASSLESS = 4


cdef inline Py_ssize_t count_work(const Model* model) noexcept nogil:
    """Scalars of working memory that any algorithm needs: O(n), and O(n m + m^2) with m constraint equations."""
    return (
        160*<Py_ssize_t>model.num_bodies + 40*<Py_ssize_t>model.num_velocities + 2*model.angle_stride
        + model.constraint_work
    )


cdef inline Py_ssize_t count_dynamics_work(const Model* model) noexcept nogil:
    """The same for dynamics as a quantity."""
    return count_work(model) + 7*model.num_velocities


cdef inline void run_positions(
    bint with_mobilizers, const Model* model, const Parameters[T]* p, const T* q, T* memory, Kinematics[T]* x
) noexcept nogil:
    """Position kinematics in `memory`, directly from q; the other arrays of `x` are also placed there.

    X_FM and X_PB are included only `with_mobilizers`, because they are large and rarely read.
    """
    x.X_FM = memory
    x.X_PB = x.X_FM + 16*model.num_bodies
    x.X_WB = x.X_PB + 16*model.num_bodies
    x.H_FM = x.X_WB + 16*model.num_bodies
    x.H_PB_W = x.H_FM + 6*model.num_velocities
    x.V_PB_W = x.H_PB_W + 6*model.num_velocities
    x.V_PB = x.V_PB_W + 6*model.num_bodies
    x.V_WB = x.V_PB + 6*model.num_bodies
    x.F_Bo_W = x.V_WB + 6*model.num_bodies
    x.rest = x.F_Bo_W + 6*model.num_bodies
    calc_position_kinematics(
        model, p.X_BF, q, x.rest, x.rest + model.angle_stride, x.X_FM if with_mobilizers else NULL,
        x.X_PB if with_mobilizers else NULL, x.X_WB, x.H_FM, x.H_PB_W
    )


cdef inline void run_velocities(const Model* model, const T* v, Kinematics[T]* x) noexcept nogil:
    """V_PB_W and V_WB, after `run_positions`."""
    calc_velocities_in_world(model, x.X_WB, x.H_PB_W, v, x.V_PB_W, x.V_WB)


cdef inline void run_inverse_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const T* gravity,  # (3,)   [m/s^2]  in World
    # In:
    const T* q,        # (nq,)  [rad, m]
    const T* v,        # (nv,)  [rad/s, m/s]
    const T* vdot,     # (nv,)  [rad/s^2, m/s^2]
    # Work:
    T* memory,         # (count_work(model),)
    # Out:
    T* tau,            # (nv,)  [N m, N]
) noexcept nogil:
    """tau = M vdot + C v - tau_g."""
    cdef T* sin_q = memory
    cdef T* cos_q = sin_q + model.angle_stride
    cdef MotionForceRows[T]* work = <MotionForceRows[T]*>(cos_q + model.angle_stride)  # as large as a MotionForce
    cdef T* H_N = <T*>(work + model.num_mobods)
    if T is double:
        if MBT_W >= 4:  # where a row fits in one register
            calc_inverse_dynamics_in_rows(
                model, p.mobods, p.reflected_inertia, gravity, q, v, vdot, work, H_N, sin_q, cos_q, tau
            )
            return
    calc_inverse_dynamics(
        model, p.mobods, p.reflected_inertia, gravity, q, v, vdot, <MotionForce[T]*>work, H_N, sin_q, cos_q, tau
    )


cdef inline void widen_scales(const Model* model, Py_ssize_t stride, T* scale) noexcept nogil:
    """Raise the scales of pivots that, like I_A there, are rounding errors in every attitude."""
    cdef int k
    if T is not PyScalar:  # objects have no order
        if unlikely(model.least_scale != NULL):
            for k in range(model.num_velocities):
                scale[stride*k] = select_lt(
                    scale[stride*k], <T>model.least_scale[k], <T>model.least_scale[k], scale[stride*k]
                )


cdef inline ArticulatedDof[T]* run_forward_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const T* reflected_inertia,  # (nv,)  [kg m^2, kg]
    const T* gravity,            # (3,)   [m/s^2]  in World
    const int* locked,           # (nv,)  1 where a dof cannot move; NULL where all can
    # In:
    const T* q,                  # (nq,)  [rad, m]
    const T* v,                  # (nv,)  [rad/s, m/s]
    const T* tau,                # (nv,)  [N m, N]
    # Work:
    T* memory,                   # (count_work(model),)
    # Out:
    T* vdot,                     # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = M^-1 (tau + tau_g - C v). Returns the pivots, in `memory`."""
    cdef Articulated[T]* work = <Articulated[T]*>memory
    cdef T* H_N = <T*>(work + model.num_mobods)
    cdef T* sin_q = H_N + 6*model.num_velocities
    cdef T* cos_q = sin_q + model.angle_stride
    cdef ArticulatedDof[T]* dofs = <ArticulatedDof[T]*>(cos_q + model.angle_stride)
    if T is double:
        calc_forward_dynamics_in_parents(
            model, p.mobods, reflected_inertia, gravity, locked, q, v, tau, work, H_N, sin_q, cos_q, dofs, vdot
        )
    else:
        calc_forward_dynamics(
            model, p.mobods, reflected_inertia, gravity, locked, q, v, tau, work, H_N, sin_q, cos_q, dofs, vdot
        )
    widen_scales(model, sizeof(ArticulatedDof[T])//sizeof(T), &dofs.scale)
    return dofs


cdef inline T* multipliers_in(const Model* model, T* memory) noexcept nogil:
    """Where forward dynamics leaves the multipliers of constraints."""
    cdef T* H_N = <T*>(<Articulated[T]*>memory + model.num_mobods)
    cdef T* dofs = H_N + 6*model.num_velocities + 2*model.angle_stride
    return <T*>(<ArticulatedDof[T]*>dofs + model.num_velocities)


cdef inline ArticulatedDof[T]* solve_constrained_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const T* reflected_inertia,  # (nv,)  [kg m^2, kg]
    const T* gravity,            # (3,)   [m/s^2]  in World
    const Switches* switches,
    # In:
    const T* q,                  # (nq,)  [rad, m]
    const T* v,                  # (nv,)  [rad/s, m/s]
    const T* jump,               # (nv,)  [rad/s, m/s]  or NULL: see `calc_constrained_accelerations`
    const T* tau,                # (nv,)  [N m, N]
    # Work:
    T* memory,                   # (count_work(model),)
    # Out:
    T* vdot,                     # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    cdef Articulated[T]* work = <Articulated[T]*>memory
    cdef T* H_N = <T*>(work + model.num_mobods)
    cdef T* sin_q = H_N + 6*model.num_velocities
    cdef T* cos_q = sin_q + model.angle_stride
    cdef ArticulatedDof[T]* dofs = <ArticulatedDof[T]*>(cos_q + model.angle_stride)
    cdef T* multipliers = multipliers_in(model, memory)
    if model.num_constraints == 0:
        return run_forward_dynamics(
            model, p, reflected_inertia, gravity, switches.locked, q, v, tau, memory, vdot
        )
    calc_constrained_accelerations(
        model, switches, p, reflected_inertia, gravity, q, v, jump, tau, work, H_N, sin_q, cos_q,
        multipliers + model.num_equations, dofs, vdot, multipliers
    )
    widen_scales(model, sizeof(ArticulatedDof[T])//sizeof(T), &dofs.scale)
    return dofs


cdef inline ArticulatedDof[T]* run_constrained_dynamics(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const T* gravity,  # (3,)   [m/s^2]  in World
    const Switches* switches,
    # In:
    const T* q,        # (nq,)  [rad, m]
    const T* v,        # (nv,)  [rad/s, m/s]
    const T* jump,     # (nv,)  [rad/s, m/s]  or NULL: see `calc_constrained_accelerations`
    const T* tau,      # (nv,)  [N m, N]
    # Work:
    T* memory,         # (count_work(model),)
    # Out:
    T* vdot,           # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """The same with constraints: M vdot = tau + J' lambda + tau_g - C v. See `multipliers_in` for lambda.

    Massless dofs in constraints get a fictive inertia, and a force that cancels it, found by iteration, which converges
    the faster the larger the inertia that constraints give them. Its effect on a guess shows whether it converges.
    """
    cdef ArticulatedDof[T]* dofs = NULL
    cdef const double* fictive = model.fictive_inertia
    cdef int nv = model.num_velocities, times = 0, k
    cdef const T* reflected_inertia = p.reflected_inertia
    cdef const T* all_forces = tau
    cdef T* reflected = multipliers_in(model, memory) + model.constraint_work - 3*nv
    cdef T* forces = reflected + nv
    cdef T* gain = forces + nv
    if T is double:
        if not unlikely(fictive != NULL):  # without the loop below, whose variables take registers
            return solve_constrained_dynamics(
                model, p, p.reflected_inertia, gravity, switches, q, v, jump, tau, memory, vdot
            )
    if unlikely(fictive != NULL):
        reflected_inertia, all_forces = reflected, forces
        for k in range(nv):
            reflected[k] = p.reflected_inertia[k] + <T>fictive[k]
            vdot[k] = <T>(1.0 + 0.25*(k % 7))  # a guess unlike any motion
            gain[k] = vdot[k]
    while True:  # once where all dofs have mass
        if unlikely(fictive != NULL):
            for k in range(nv):
                forces[k] = tau[k] + <T>fictive[k]*vdot[k]
        dofs = solve_constrained_dynamics(
            model, p, reflected_inertia, gravity, switches, q, v, jump, all_forces, memory, vdot
        )
        if not unlikely(fictive != NULL):
            return dofs
        for k in range(nv):
            if times == 0:  # first for the guess, then for zero
                gain[k] = vdot[k]
                vdot[k] = <T>0.0
            elif times == 1:
                gain[k] = gain[k] - vdot[k]
        times += 1
        if times == NUM_TIMES_OF_MASSLESS:
            break
    if T is not PyScalar:  # objects have no order
        for k in range(nv):
            if fictive[k] > 0.0:
                dofs[k].D = select_lt(gain[k]*gain[k], <T>SQUARED_GAIN, dofs[k].D, <T>0.0)
    return dofs


cdef inline void add_joint_forces(
    const Model* model, const Parameters[T]* p, const T* q, const T* v, int subtract, T* tau
) noexcept nogil:
    """tau += joint damping and the elements on one dof; or `subtract` them."""
    element_forces.add_joint_forces(model, p.damping, p.force_elements, q, v, subtract, tau)


cdef inline void add_body_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,  # (num_bodies,) or NULL
    # In:
    const T* X_WB,          # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,          # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* F_Bo_W,              # (num_bodies, 6)     [N m, N]  added to
) noexcept nogil:
    """F_Bo_W += elements between two frames, and gravity if it is not an acceleration of World."""
    add_forces_between(model, p.force_elements, p.X_BF, X_WB, V_WB, F_Bo_W)
    if weightless != NULL:
        add_gravity_forces(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, X_WB, F_Bo_W)


cdef inline const T* gravity_acceleration(const Parameters[T]* p, const int* weightless, T* zero) noexcept nogil:
    """Gravity on all bodies is an acceleration of World; if some have none, it is a force on the others.

    Not copied: a vector read right after three writes waits for them, 5 ns per call (benchmarks/compare.py, inverse
    dynamics of chain2). `zero` has space for three.
    """
    if weightless == NULL:
        return p.gravity
    set_zero(zero, 3)
    return zero


cdef inline void run_body_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,  # (num_bodies,) or NULL
    # In:
    const T* q,             # (nq,)  [rad, m]
    const T* v,             # (nv,)  [rad/s, m/s]
    # Work:
    T* memory,              # (count_work(model),)
    # Out:
    T* tau,                 # (nv,)  [N m, N]
) noexcept nogil:
    """tau = J' F of `add_body_forces`, directly from q and v."""
    cdef Kinematics[T] x
    run_positions(False, model, p, q, memory, &x)
    run_velocities(model, v, &x)
    set_zero(x.F_Bo_W, 6*model.num_bodies)
    add_body_forces(model, p, weightless, x.X_WB, x.V_WB, x.F_Bo_W)
    calc_generalized_forces(model, x.X_WB, x.H_PB_W, x.F_Bo_W, tau)


cdef inline void subtract_body_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,  # (num_bodies,) or NULL
    # In:
    const T* q,             # (nq,)  [rad, m]
    const T* v,             # (nv,)  [rad/s, m/s]
    # Work:
    T* memory,              # (count_work(model) + nv,)
    # Out:
    T* tau,                 # (nv,)  [N m, N]
) noexcept nogil:
    """tau -= J' F of `add_body_forces`. Needs nv more scalars of memory."""
    cdef T* tau_of_bodies = memory + count_work(model)
    cdef int k
    run_body_forces(model, p, weightless, q, v, memory, tau_of_bodies)
    for k in range(model.num_velocities):
        tau[k] = tau[k] - tau_of_bodies[k]


cdef inline ArticulatedDof[T]* run_forward_dynamics_with_elements(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const Switches* switches,
    # In:
    const T* q,    # (nq,)  [rad, m]
    const T* v,    # (nv,)  [rad/s, m/s]
    const T* tau,  # (nv,)  [N m, N]
    # Work:
    T* memory,     # (count_work(model) + 2 nv,)
    # Out:
    T* vdot,       # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """Accelerations due to tau, gravity, joint damping, force elements and constraints.

    Needs 2 nv more scalars of memory. Returns the pivots, in `memory`.
    """
    cdef T[3] zero
    cdef T* total = memory + count_work(model)
    cdef T* tau_of_bodies = total + model.num_velocities
    cdef int k
    copy(tau, model.num_velocities, total)
    add_joint_forces(model, p, q, v, 0, total)
    if acts_on_bodies(model, switches.weightless):
        run_body_forces(model, p, switches.weightless, q, v, memory, tau_of_bodies)
        for k in range(model.num_velocities):
            total[k] = total[k] + tau_of_bodies[k]
    return run_constrained_dynamics(
        model, p, gravity_acceleration(p, switches.weightless, zero), switches, q, v, <const T*>NULL, total, memory,
        vdot
    )


cdef inline void run_gravity_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    const int* weightless,  # (num_bodies,) or NULL
    # In:
    const T* q,             # (nq,)  [rad, m]
    # Work:
    T* memory,              # (count_work(model),)
    # Out:
    T* tau_g,               # (nv,)  [N m, N]
) noexcept nogil:
    """Generalized forces of gravity."""
    cdef Weight[T]* work = <Weight[T]*>memory
    cdef T* H_N = <T*>(work + model.num_mobods)
    cdef T* sin_q = H_N + 6*model.num_velocities
    cdef Kinematics[T] x
    if seldom(weightless != NULL):
        run_positions(False, model, p, q, memory, &x)
        set_zero(x.F_Bo_W, 6*model.num_bodies)
        add_gravity_forces(model, weightless, p.mass, p.p_BoBcm_B, p.gravity, x.X_WB, x.F_Bo_W)
        calc_generalized_forces(model, x.X_WB, x.H_PB_W, x.F_Bo_W, tau_g)
    else:
        calc_gravity_generalized_forces(
            model, p.mobods, p.gravity, q, work, H_N, sin_q, sin_q + model.angle_stride, tau_g
        )


cdef inline void run_mass_matrix(
    const Model* model, const Parameters[T]* p, const T* q, T* memory, T* M
) noexcept nogil:
    cdef Composite[T]* work = <Composite[T]*>memory
    cdef T* H_N = <T*>(work + model.num_mobods)
    cdef T* sin_q = H_N + 6*model.num_velocities
    cdef T* cos_q = sin_q + model.angle_stride
    cdef T* momenta = cos_q + model.angle_stride
    cdef T* row = momenta + 6*model.num_velocities
    calc_mass_matrix(model, p.mobods, p.reflected_inertia, q, work, H_N, sin_q, cos_q, momenta, row, M)


cdef inline void run_body_poses(
    const Model* model, const Parameters[T]* p, const T* q, T* memory, T* X_WB
) noexcept nogil:
    cdef T* sin_q = memory + 16*model.num_mobods
    calc_body_poses(model, p.mobods, p.X_NB, q, sin_q, sin_q + model.angle_stride, memory, X_WB)


cdef inline void run_frame_pose(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    int frame,
    const T* q,  # (nq,)   [rad, m]
    # Work:
    T* memory,   # (count_work(model),)
    int* path,   # (num_bodies,)
    # Out:
    T* X_WF,     # (4, 4)  [1, m]
) noexcept nogil:
    """Pose of one frame, directly from q."""
    cdef T* sin_q = memory + 16*model.num_mobods
    cdef T* cos_q = sin_q + model.angle_stride
    calc_frame_pose(model, frame, p.mobods, p.X_NB, p.X_BF, q, path, sin_q, cos_q, memory, X_WF)


cdef inline void run_center_of_mass(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,     # (nq,)  [rad, m]
    # Work:
    T* memory,      # (count_work(model),)
    # Out:
    T* total_mass,  # (1,)   [kg]
    T* p_WCcm,      # (3,)   [m]
) noexcept nogil:
    cdef T* sin_q = memory
    cdef T* cos_q = sin_q + model.angle_stride
    calc_center_of_mass(
        model, p.mobods, q, sin_q, cos_q, <Weight[T]*>(cos_q + model.angle_stride), total_mass, p_WCcm
    )


cdef inline void run_stateless_generalized_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,       # (nq,)            [rad, m]
    const T* F_Bo_W,  # (num_bodies, 6)  [N m, N]
    # Work:
    T* memory,        # (count_work(model),)
    # Out:
    T* tau,           # (nv,)            [N m, N]
) noexcept nogil:
    """tau = sum of J_WB' F_Bo_W, directly from q."""
    cdef Kinematics[T] x
    run_positions(False, model, p, q, memory, &x)
    copy(F_Bo_W, 6*model.num_bodies, x.F_Bo_W)
    calc_generalized_forces(model, x.X_WB, x.H_PB_W, x.F_Bo_W, tau)
