"""Spatial forces on bodies, in World: their generalized forces, and the reactions that balance them."""

from mbt._core.algebra.spatial cimport add_shifted_force, copy, dot6, position_between4, set_zero, subtract_from
from mbt._core.algebra.vectors cimport (
    Motion, RigidInertia, Vec3, cross, inertia_of_body, motion_at, pose_at, put, rotated, vector_at,
)
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_p_MoBo_W
from mbt._core.scalars cimport T


cdef inline void calc_generalized_forces(
    # Topology:
    const Model* model,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_PB_W,       # (nv, 6)             [1, m]
    # In, destroyed:
    T* F_Bo_W,             # (num_bodies, 6)     [N m, N]
    # Out:
    T* tau,                # (nv,)               [N m, N]
) noexcept nogil:
    """tau = sum over bodies of J_WB' F_Bo_W, one sweep from tip to base.

    The inward half of R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 5.1.
    In NumPy: tests/support/textbook.py, generalized_forces.
    """
    cdef int b, k
    cdef T[3] p_PB_W
    for b in range(model.num_bodies - 1, 0, -1):
        for k in range(model.v_start[b], model.v_start[b + 1]):
            tau[k] = dot6(H_PB_W + 6*k, F_Bo_W + 6*b)
        position_between4(X_WB + 16*model.parent[b], X_WB + 16*b, p_PB_W)
        add_shifted_force(F_Bo_W + 6*b, p_PB_W, F_Bo_W + 6*model.parent[b])


cdef inline void calc_reaction_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* A_WB,         # (num_bodies, 6)     [rad/s^2, m/s^2]
    const T* F_applied,    # (num_bodies, 6)     [N m, N]  applied at Bo
    # Work:
    T* F_Bo_W,             # (num_bodies, 6)     [N m, N]
    # Out:
    T* F_BMo_W,            # (num_bodies, 6)     [N m, N]  through the mobilizer, at Mo; may be F_applied
) noexcept nogil:
    """F_B = M A_WB + b - F_applied + sum over children of shift(F_C, p_BoCo), then moved to Mo.

    R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 5.3.
    In NumPy: tests/support/textbook.py, reaction_forces.
    """
    cdef int b
    cdef T[3] p
    for b in range(model.num_bodies):
        calc_inertial_force(
            mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_WB + 16*b, V_WB + 6*b, A_WB + 6*b, F_Bo_W + 6*b
        )
        subtract6(F_applied + 6*b, F_Bo_W + 6*b)
    for b in range(model.num_bodies - 1, 0, -1):
        position_between4(X_WB + 16*model.parent[b], X_WB + 16*b, p)
        add_shifted_force(F_Bo_W + 6*b, p, F_Bo_W + 6*model.parent[b])
        calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], p)
        set_zero(F_BMo_W + 6*b, 6)
        add_shifted_force(F_Bo_W + 6*b, p, F_BMo_W + 6*b)
    copy(F_Bo_W, 6, F_BMo_W)


cdef inline void subtract6(const T* x, T* y) noexcept nogil:
    subtract_from(x, 6, y)


cdef inline void calc_inertial_force(
    # Parameters:
    T mass,
    const T* p_BoBcm_B,    # (3,)    [m]
    const T* I_BBo_B,      # (6,)    [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const T* V_WB,         # (6,)    [rad/s, m/s]
    const T* A_WB,         # (6,)    [rad/s^2, m/s^2]
    # Out:
    T* F_Bo_W,             # (6,)    [N m, N]
) noexcept nogil:
    """[I alpha + w × I w + m c × a; m a + alpha × m c + w × (w × m c)], c = p_BoBcm_W."""
    cdef RigidInertia[T] I = rotated(pose_at(X_WB).R, inertia_of_body(mass, p_BoBcm_B, I_BBo_B))
    cdef Motion[T] A = motion_at(A_WB)
    cdef Vec3[T] w = vector_at(V_WB)
    cdef Vec3[T] Jw = I.J*w
    cdef Vec3[T] wh = cross(w, I.h)
    put(I.J*A.w + cross(w, Jw) + cross(I.h, A.v), F_Bo_W)
    put(A.v*mass + cross(A.w, I.h) + cross(w, wh), F_Bo_W + 3)
