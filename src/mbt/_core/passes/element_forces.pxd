"""Forces, energies and powers of the force elements, gravity and joint damping included, from kinematics in World.

`weightless` marks the bodies exempt from gravity, (num_bodies,); NULL if there are none.
"""

from mbt._core.algebra.records cimport Ends
from mbt._core.algebra.spatial cimport multiply_poses4, rotate4, set_zero
from mbt._core.algebra.vectors cimport (
    Force, Motion, Pose, Vec3, cross, dot, motion_at, numbers, pose_at, position_at, shifted, vector_at,
)
from mbt._core.forces.elements_on_dof cimport (
    calc_joint_conservative_force, calc_joint_dissipative_force, calc_joint_potential_energy,
)
from mbt._core.forces.force_elements cimport (
    acts_on_joint, calc_forces_on_ends, calc_potential_energy_between, calc_power_between,
)
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.scalars cimport T


cdef inline int acts_on_bodies(const Model* model, const int* weightless) noexcept nogil:
    """1 if any force acts besides those on single dofs and gravity on all bodies."""
    return 1 if model.num_elements_between or weightless != NULL else 0


cdef inline void add_joint_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const T* damping,          # (nv,)  [N m s/rad, N s/m]
    const T* constants,        # (all constants of all force elements,)  [SI]
    # In:
    const T* q,                # (nq,)  [rad, m]
    const T* v,                # (nv,)  [rad/s, m/s]
    int subtract,
    # Out:
    T* tau,                    # (nv,)  [N m, N]
) noexcept nogil:
    """tau += forces of the elements on one dof - damping v; or `subtract` them."""
    cdef int i, k
    cdef const ForceElement* e
    cdef T force
    for k in range(model.num_velocities):
        # Not a product with a sign, which would turn exact numbers into floats.
        if subtract:
            tau[k] = tau[k] + damping[k]*v[k]
        else:
            tau[k] = tau[k] - damping[k]*v[k]
    for i in range(model.num_force_elements):
        e = &model.force_elements[i]
        if acts_on_joint(e.type):
            force = calc_joint_force(e, constants, q, v)
            if subtract:
                tau[e.b] = tau[e.b] - force
            else:
                tau[e.b] = tau[e.b] + force


cdef inline T calc_joint_force(const ForceElement* e, const T* constants, const T* q, const T* v) noexcept nogil:
    cdef T conservative = calc_joint_conservative_force(e.type, constants + e.start, q[e.a])
    return conservative + calc_joint_dissipative_force(e.type, constants + e.start, v[e.b])


cdef inline void add_gravity_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const int* weightless,     # (num_bodies,) or NULL
    const T* mass,             # (num_bodies,)       [kg]
    const T* p_BoBcm_B,        # (num_bodies, 3)     [m]
    const T* gravity,          # (3,)                [m/s^2]
    # In:
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* F_Bo_W,                 # (num_bodies, 6)     [N m, N]  added to
) noexcept nogil:
    """F_Bo_W += [p_BoBcm × m g; m g]; World has no weight."""
    cdef int b
    cdef Vec3[T] weight, p_BoBcm_W
    cdef Force[T]* F
    for b in range(1, model.num_bodies):
        if weightless != NULL and weightless[b]:
            continue
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(p_BoBcm_W))
        weight = vector_at(gravity)*mass[b]
        F = <Force[T]*>(F_Bo_W + 6*b)
        F.t = F.t + cross(p_BoBcm_W, weight)
        F.f = F.f + weight


cdef inline void add_forces_between(
    # Topology:
    const Model* model,
    # Parameters:
    const T* constants,        # (all constants of all force elements,)  [SI]
    const T* X_BF,             # (num_frames, 4, 4)  [1, m]
    # In:
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,             # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* F_Bo_W,                 # (num_bodies, 6)     [N m, N]  added to
) noexcept nogil:
    """F_Bo_W += forces of the elements between two frames."""
    cdef int i
    cdef const ForceElement* e
    cdef Ends[T] ends
    for i in range(model.num_force_elements):
        e = &model.force_elements[i]
        if not acts_on_joint(e.type):
            set_ends(model, e, X_BF, X_WB, V_WB, &ends)
            calc_forces_on_ends(e, constants + e.start, &ends)
            add_forces_on_ends(model, e, X_WB, &ends, F_Bo_W)


cdef inline void set_ends(
    # Topology:
    const Model* model,
    const ForceElement* e,
    # Parameters:
    const T* X_BF,             # (num_frames, 4, 4)  [1, m]
    # In:
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,             # (num_bodies, 6)     [rad/s, m/s]  or NULL for frames at rest
    # Out:
    Ends[T]* ends,
) noexcept nogil:
    """Poses and velocities of the frames that an element acts between."""
    set_end(model.frame_node[e.a], X_BF + 16*e.a, X_WB, V_WB, &ends.X_WA, &ends.V_WA)
    set_end(model.frame_node[e.b], X_BF + 16*e.b, X_WB, V_WB, &ends.X_WC, &ends.V_WC)


cdef inline void set_end(
    int body, const T* X_BF, const T* X_WB, const T* V_WB, Pose[T]* X_WF, Motion[T]* V_WF
) noexcept nogil:
    cdef T[16] X
    multiply_poses4(X_WB + 16*body, X_BF, X)
    X_WF[0] = pose_at(&X[0])
    if V_WB == NULL:
        set_zero(numbers(V_WF[0]), 6)
    else:
        V_WF[0] = shifted(motion_at(V_WB + 6*body), X_WF.p - position_at(X_WB + 16*body))


cdef inline void add_forces_on_ends(
    const Model* model, const ForceElement* e, const T* X_WB, const Ends[T]* ends, T* F_Bo_W
) noexcept nogil:
    add_force_on_end(model.frame_node[e.a], X_WB, ends.X_WA.p, ends.F_A, F_Bo_W)
    add_force_on_end(model.frame_node[e.b], X_WB, ends.X_WC.p, ends.F_C, F_Bo_W)


cdef inline void add_force_on_end(
    int body, const T* X_WB, const Vec3[T]& p_WF, const Force[T]& F, T* F_Bo_W
) noexcept nogil:
    cdef Vec3[T] p = p_WF - position_at(X_WB + 16*body)
    cdef Force[T]* F_Bo = <Force[T]*>(F_Bo_W + 6*body)
    F_Bo.t = F_Bo.t + F.t + cross(p, F.f)
    F_Bo.f = F_Bo.f + F.f


# Energy and power -----------------------------------------------------------------------------------------------

cdef inline T calc_gravity_potential_energy(
    # Topology:
    const Model* model,
    # Parameters:
    const int* weightless,     # (num_bodies,) or NULL
    const T* mass,             # (num_bodies,)       [kg]
    const T* p_BoBcm_B,        # (num_bodies, 3)     [m]
    const T* gravity,          # (3,)                [m/s^2]
    # In:
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
) noexcept nogil:
    """-sum over bodies of m g·p_WBcm: zero at the World origin."""
    cdef int b
    cdef T total = <T>0.0
    cdef Vec3[T] p_BoBcm_W
    for b in range(1, model.num_bodies):
        if weightless != NULL and weightless[b]:
            continue
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(p_BoBcm_W))
        total = total - dot(vector_at(gravity)*mass[b], p_BoBcm_W + position_at(X_WB + 16*b))
    return total


cdef inline T calc_gravity_power(
    # Topology:
    const Model* model,
    # Parameters:
    const int* weightless,     # (num_bodies,) or NULL
    const T* mass,             # (num_bodies,)       [kg]
    const T* p_BoBcm_B,        # (num_bodies, 3)     [m]
    const T* gravity,          # (3,)                [m/s^2]
    # In:
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,             # (num_bodies, 6)     [rad/s, m/s]
) noexcept nogil:
    """Sum over bodies of m g·v_WBcm."""
    cdef int b
    cdef T total = <T>0.0
    cdef Vec3[T] p_BoBcm_W
    for b in range(1, model.num_bodies):
        if weightless != NULL and weightless[b]:
            continue
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(p_BoBcm_W))
        total = total + dot(vector_at(gravity)*mass[b], shifted(motion_at(V_WB + 6*b), p_BoBcm_W).v)
    return total


cdef inline T calc_damping_power(const Model* model, const T* damping, const T* v) noexcept nogil:
    """-sum of damping v^2."""
    cdef int k
    cdef T total = <T>0.0
    for k in range(model.num_velocities):
        total = total - damping[k]*v[k]*v[k]
    return total


# Of one element. `ends` are set by `set_ends` where it acts between two frames.

cdef inline T calc_element_potential_energy(
    const ForceElement* e, const T* constants, const T* q, const Ends[T]* ends
) noexcept nogil:
    if acts_on_joint(e.type):
        return calc_joint_potential_energy(e.type, constants + e.start, q[e.a])
    return calc_potential_energy_between(e, constants + e.start, ends)


cdef inline T calc_element_power(
    # Topology:
    const ForceElement* e,
    # Parameters:
    const T* constants,        # (all constants of all force elements,)  [SI]
    # In:
    const T* q,                # (nq,)  [rad, m]
    const T* v,                # (nv,)  [rad/s, m/s]
    const Ends[T]* ends,
    bint is_conservative,
) noexcept nogil:
    """Minus the rate of the potential energy; or the rest of the power of the force."""
    if not acts_on_joint(e.type):
        return calc_power_between(e, constants + e.start, ends, is_conservative)
    if is_conservative:
        return v[e.b]*calc_joint_conservative_force(e.type, constants + e.start, q[e.a])
    return v[e.b]*calc_joint_dissipative_force(e.type, constants + e.start, v[e.b])
