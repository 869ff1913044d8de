"""Mass, centre of mass and momentum of all bodies but World; with masses set to zero, of a part of them."""

from mbt._core.algebra.spatial cimport copy, multiply_poses4, rotate4, set_zero
from mbt._core.algebra.vectors cimport (
    Force, Motion, Pose, RigidInertia, Vec3, add_shifted, cross, inertia_of_body, motion_at, numbers, pose_at,
    position_at, rotated, vector_at,
)
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_mass_moment(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    # Out:
    T* total_mass,         # (1,)                [kg]
    T* moment,             # (3,)                [kg m]  sum of m p_WBcm
) noexcept nogil:
    cdef int b
    cdef Vec3[T] c
    cdef Vec3[T]* sum = <Vec3[T]*>moment
    total_mass[0] = <T>0.0
    set_zero(moment, 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(c))
        total_mass[0] = total_mass[0] + mass[b]
        sum[0] = sum[0] + (c + position_at(X_WB + 16*b))*mass[b]


cdef inline void calc_momentum_about_world_origin(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    # Out:
    T* L_WWo_W,            # (6,)                [kg m^2/s, kg m/s]
) noexcept nogil:
    """Sum over bodies of [I w + m c × v + p_WoBo × l; l], with l = m (v + w × c)."""
    cdef int b
    cdef Force[T]* L = <Force[T]*>L_WWo_W
    cdef Force[T] L_Bo
    set_zero(L_WWo_W, 6)
    for b in range(1, model.num_bodies):
        L_Bo = inertia_in_world(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_WB + 16*b)*motion_at(V_WB + 6*b)
        L.t = L.t + L_Bo.t + cross(position_at(X_WB + 16*b), L_Bo.f)
        L.f = L.f + L_Bo.f


cdef inline RigidInertia[T] inertia_in_world(
    T mass, const T* p_BoBcm_B, const T* I_BBo_B, const T* X_WB
) noexcept nogil:
    """Inertia of a body about Bo."""
    return rotated(pose_at(X_WB).R, inertia_of_body(mass, p_BoBcm_B, I_BBo_B))


cdef inline void calc_mass_acceleration(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* A_WB,         # (num_bodies, 6)     [rad/s^2, m/s^2]
    # Out:
    T* force,              # (3,)                [N]  sum of m a_WBcm
) noexcept nogil:
    """Sum over bodies of m (a + alpha × c + w × (w × c)), c = p_BoBcm_W."""
    cdef int b
    cdef Vec3[T] c, w, wc
    cdef Motion[T] A
    cdef Vec3[T]* sum = <Vec3[T]*>force
    set_zero(force, 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(c))
        A = motion_at(A_WB + 6*b)
        w = vector_at(V_WB + 6*b)
        wc = cross(w, c)
        sum[0] = sum[0] + (A.v + cross(A.w, c) + cross(w, wc))*mass[b]


cdef inline void calc_composite_inertia(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* X_FW,         # (4, 4)              [1, m]
    # Out:
    T* total_mass,         # (1,)                [kg]
    T* moment,             # (3,)                [kg m]  sum of m p_FoBcm_F
    T* inertia,            # (6,)                [kg m^2]  about Fo in F: xx xy xz yy yz zz
) noexcept nogil:
    """The inertia of all bodies in their present poses, as one rigid body."""
    cdef int b
    cdef T[16] X_FB
    cdef Pose[T] X
    cdef RigidInertia[T] sum
    set_zero(<T*>&sum, 10)
    for b in range(1, model.num_bodies):
        multiply_poses4(X_FW, X_WB + 16*b, X_FB)
        X = pose_at(&X_FB[0])
        add_shifted(rotated(X.R, inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b)), X.p, &sum)
    total_mass[0] = sum.mass
    copy(numbers(sum.h), 3, moment)
    copy(numbers(sum.J), 6, inertia)
