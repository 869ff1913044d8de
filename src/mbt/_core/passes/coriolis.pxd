"""Coriolis matrix C(q, v): C v is the bias term, and Mdot - 2 C is skew-symmetric. O(n depth).

Velocities of one tree of bodies are taken at a common point O, fixed in World where the origin of its base body is
now: there the motion axes h of a dof are the same for every body outboard of it, and composites are plain sums.
With F = M A + B V for each body and B + B' = Mdot,

    C[k, l] = sum over bodies outboard of k and l of h_k' (M hdot_l + B h_l).

S. Echeandia, P. M. Wensing, "Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for
Rigid-Body Systems", J. Comput. Nonlinear Dynam. 16 (2021).

In NumPy: tests/support/textbook.py, body_coriolis_matrices, coriolis_matrix.
"""

from mbt._core.algebra.records cimport CoriolisComposite
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Force, JointAxes, Mat3, Motion, RigidInertia, Vec3, add_shifted, cross, dot, full, half, inertia_of_body, less,
    matrix_at, motion_at, numbers, plus_identity, pose_at, position_at, rotated, skew, times_transposed, transpose,
    vector_at,
)
from mbt._core.joints.mobilizers cimport calc_across_Hdot
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_p_MoBo_W
from mbt._core.scalars cimport T


cdef inline void calc_coriolis_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,         # (num_bodies,)       [kg]
    const T* p_BoBcm_B,    # (num_bodies, 3)     [m]
    const T* I_BBo_B,      # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_FM,         # (nv, 6)             [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    # Work:
    int* base,             # (num_bodies,)       body at whose origin O lies
    CoriolisComposite[T]* work,  # (num_bodies,)
    Motion[T]* h,          # (nv,)               [1, m]  motion axes at O, in World
    Motion[T]* hdot,       # (nv,)               [1/s, m/s]
    # Out:
    T* C,                  # (nv, nv)            [kg m^2/s, kg m/s, kg/s]
) noexcept nogil:
    cdef int b, j, k, l
    cdef Py_ssize_t nv = model.num_velocities
    cdef Force[T] Mhdot_Bh, Mh
    cdef Vec3[T] Bth
    cdef CoriolisComposite[T]* x
    cdef CoriolisComposite[T]* parent

    set_zero(C, nv*nv)
    base[0] = 0
    for b in range(1, model.num_bodies):
        base[b] = b if model.parent[b] == 0 else base[model.parent[b]]
        calc_body_matrices(
            mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_WB + 16*b, motion_at(V_WB + 6*b), X_WB + 16*base[b], &work[b]
        )
        calc_axes_at_point(model, b, X_BF, q, v, X_WB, H_FM, V_WB, X_WB + 16*base[b], h, hdot)

    for b in range(model.num_bodies - 1, 0, -1):
        x = &work[b]
        for k in range(model.v_start[b], model.v_start[b + 1]):
            Mhdot_Bh = x.I*hdot[k]
            Mhdot_Bh.t = Mhdot_Bh.t + x.B*h[k].w
            Mhdot_Bh.f = Mhdot_Bh.f + cross(h[k].w, x.l)
            Mh = x.I*h[k]
            Bth = times_transposed(x.B, h[k].w) + cross(x.l, h[k].v)
            j = b
            while j != 0:
                for l in range(model.v_start[j], model.v_start[j + 1]):
                    C[nv*l + k] = dot(Mhdot_Bh, h[l])
                    if j != b:
                        C[nv*k + l] = dot(Mh, hdot[l]) + dot(Bth, h[l].w)
                j = model.parent[j]
        if model.parent[b] != 0:
            parent = &work[model.parent[b]]
            parent.I = parent.I + x.I
            parent.B = parent.B + x.B
            parent.l = parent.l + x.l


cdef inline void calc_axes_at_point(
    # Topology:
    const Model* model,
    int b,
    # Parameters:
    const T* X_BF,         # (num_frames, 4, 4)  [1, m]
    # In:
    const T* q,            # (nq,)               [rad, m]
    const T* v,            # (nv,)               [rad/s, m/s]
    const T* X_WB,         # (num_bodies, 4, 4)  [1, m]
    const T* H_FM,         # (nv, 6)             [1, m]
    const T* V_WB,         # (num_bodies, 6)     [rad/s, m/s]
    const T* X_WO,         # (4, 4)              [1, m]
    # Out:
    Motion[T]* h,          # (nv,)               [1, m]  the rows of body b
    Motion[T]* hdot,       # (nv,)               [1/s, m/s]  the rows of body b
) noexcept nogil:
    """h = [e; u - e × p_OMo], hdot its derivative in World, for the dofs of body b."""
    cdef JointAxes[T] Hdot
    cdef Vec3[T] p_MoBo, p, v_Mo
    cdef Vec3[T] w_WP = vector_at(V_WB + 6*model.parent[b])
    cdef Mat3[T] R_WF
    cdef Motion[T] H_W, rate
    cdef int k
    if model.v_start[b + 1] == model.v_start[b]:
        return
    R_WF = matrix_at(X_WB + 16*model.parent[b], 4)*matrix_at(X_BF + 16*model.inboard_frame[b], 4)
    calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], numbers(p_MoBo))
    p = position_at(X_WB + 16*b) - position_at(X_WO) - p_MoBo
    v_Mo = vector_at(V_WB + 6*b + 3) - cross(vector_at(V_WB + 6*b), p_MoBo)
    calc_across_Hdot(
        model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot.dof
    )
    for k in range(model.v_start[b], model.v_start[b + 1]):
        # In World about Mo: e and u turn with F, and change in it by Hdot.
        H_W = R_WF*motion_at(H_FM + 6*k)
        rate = R_WF*Hdot.dof[k - model.v_start[b]]
        h[k].w = H_W.w
        hdot[k].w = rate.w + cross(w_WP, H_W.w)
        # At O.
        h[k].v = H_W.v + cross(p, h[k].w)
        hdot[k].v = rate.v + cross(w_WP, H_W.v) + cross(p, hdot[k].w) + cross(v_Mo, h[k].w)


cdef inline void calc_body_matrices(
    # Parameters:
    T mass,
    const T* p_BoBcm_B,    # (3,)    [m]
    const T* I_BBo_B,      # (6,)    [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const Motion[T]& V,    # [rad/s, m/s]
    const T* X_WO,         # (4, 4)  [1, m]
    # Out:
    CoriolisComposite[T]* x,
) noexcept nogil:
    """M at O, and B at O from B at Bo: with Phi = [1, 0; -[p]x, 1] taking velocities from O to Bo, p = p_OBo,

    M_O = Phi' M Phi, B_O = Phi' (M Phidot + B Phi), B = [([w]x J - J [w]x - [J w]x) / 2, 0; -[w × h]x, 0]

    and so B_O = [B_11 - [h]x [v]x - [p]x [l]x, 0; -[l]x, 0], with l = m v + w × h.
    """
    cdef RigidInertia[T] I = rotated(pose_at(X_WB).R, inertia_of_body(mass, p_BoBcm_B, I_BBo_B))
    cdef Mat3[T] J = full(I.J)
    cdef Mat3[T] wJ
    cdef Vec3[T] p = position_at(X_WB) - position_at(X_WO)
    set_zero(<T*>&x.I, 10)
    add_shifted(I, p, &x.I)
    x.l = V.v*mass + cross(V.w, I.h)
    # J is symmetric: ([w]x J)' has the rows w × J_i, and J [w]x = -([w]x J)'.
    wJ.x = cross(V.w, J.x)
    wJ.y = cross(V.w, J.y)
    wJ.z = cross(V.w, J.z)
    x.B = skew(-half(J*V.w)) + half(wJ + transpose(wJ))
    # [a]x [b]x = b a' - a·b 1
    x.B = plus_identity(less(less(x.B, V.v, I.h), x.l, p), dot(I.h, V.v) + dot(p, x.l))
