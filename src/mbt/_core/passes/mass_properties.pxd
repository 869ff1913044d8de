"""Mass, centre of mass and momentum of all bodies but World; with masses set to zero, of a part of them."""

from mbt._core.algebra.spatial cimport rotate4, set_zero
from mbt._core.algebra.vectors cimport (
    Force, Motion, Pose, RigidInertia, Vec3, add_shifted, cross, inertia_of_body, motion_at, numbers, pose_at,
    position_at, put, rotated, vector_at,
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
    cdef T total = <T>0.0
    cdef Vec3[T] c, sum
    set_zero(numbers(sum), 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(c))
        total = total + mass[b]
        sum = sum + (c + position_at(X_WB + 16*b))*mass[b]
    total_mass[0] = total
    put(sum, moment)


cdef inline Force[T] momentum_about_world_origin(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
) noexcept nogil:
    """L_WWo, the sum over bodies of [I w + m c × v + p_WoBo × l; l], with l = m (v + w × c)."""
    cdef int b
    cdef Force[T] L, L_Bo
    set_zero(numbers(L), 6)
    for b in range(1, model.num_bodies):
        L_Bo = inertia_in_world(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_WB + 16*b)*motion_at(V_WB + 6*b)
        L.t = L.t + L_Bo.t + cross(position_at(X_WB + 16*b), L_Bo.f)
        L.f = L.f + L_Bo.f
    return L


cdef inline RigidInertia[T] inertia_in_world(
    T mass, const T* p_BoBcm_B, const T* I_BBo_B, const T* X_WB
) noexcept nogil:
    """Inertia of a body about Bo."""
    return rotated(pose_at(X_WB).R, inertia_of_body(mass, p_BoBcm_B, I_BBo_B))


cdef inline Vec3[T] mass_acceleration(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* A_WB,         # (num_bodies, 6)     [rad/s^2, m/s^2]
) noexcept nogil:
    """Sum over bodies of m (a + alpha × c + w × (w × c)), c = p_BoBcm_W."""
    cdef int b
    cdef Vec3[T] c, w, wc, sum
    cdef Motion[T] A
    set_zero(numbers(sum), 3)
    for b in range(1, model.num_bodies):
        rotate4(X_WB + 16*b, p_BoBcm_B + 3*b, numbers(c))
        A = motion_at(A_WB + 6*b)
        w = vector_at(V_WB + 6*b)
        wc = cross(w, c)
        sum = sum + (A.v + cross(A.w, c) + cross(w, wc))*mass[b]
    return sum


cdef inline RigidInertia[T] composite_inertia(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const Pose[T]& X_FW,   # [1, m]
) noexcept nogil:
    """The inertia of all bodies in their present poses, as one rigid body: about Fo, in F."""
    cdef int b
    cdef Pose[T] X_FB
    cdef RigidInertia[T] I_B, sum
    set_zero(numbers(sum), 10)
    for b in range(1, model.num_bodies):
        X_FB = X_FW*pose_at(X_WB + 16*b)
        I_B = inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b)
        add_shifted(rotated(X_FB.R, I_B), X_FB.p, &sum)
    return sum
