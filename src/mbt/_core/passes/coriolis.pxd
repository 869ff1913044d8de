"""Coriolis matrix C(q, v): C v is the bias term, and Mdot - 2 C is skew-symmetric. O(n depth).

Velocities of one tree of bodies are taken at a common point O, fixed in World where the origin of its base body is
now: there the motion axes h of a dof are the same for every body outboard of it, and composites are plain sums.
With F = M A + B V for each body and B + B' = Mdot,

    C[k, l] = sum over bodies outboard of k and l of h_k' (M hdot_l + B h_l).

S. Echeandia, P. M. Wensing, "Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for
Rigid-Body Systems", J. Comput. Nonlinear Dynam. 16 (2021).

In NumPy: tests/support/textbook.py, body_coriolis_matrices, coriolis_matrix.
"""

from mbt._core.algebra.records cimport Composite6
from mbt._core.algebra.spatial cimport (
    add_cross, add_to, cross, dot6, multiply_poses4, position_between4, rotate, rotate4, set_zero, subtract_from,
)
from mbt._core.joints.mobilizers cimport calc_across_Hdot
from mbt._core.model.structs cimport Model
from mbt._core.passes.position_kinematics cimport calc_inertia_in_world, calc_p_MoBo_W, set_spatial_inertia
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
    Composite6[T]* work,   # (num_bodies,)
    T* h,                  # (nv, 6)             [1, m]  motion axes at O, in World
    T* hdot,               # (nv, 6)             [1/s, m/s]
    # Out:
    T* C,                  # (nv, nv)            [kg m^2/s, kg m/s, kg/s]
) noexcept nogil:
    cdef int b, j, k, l
    cdef Py_ssize_t nv = model.num_velocities
    cdef T[6] Mhdot_Bh, Mh, Bth, y

    set_zero(C, nv*nv)
    base[0] = 0
    for b in range(1, model.num_bodies):
        base[b] = b if model.parent[b] == 0 else base[model.parent[b]]
        calc_body_matrices(
            mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, X_WB + 16*b, V_WB + 6*b, X_WB + 16*base[b], &work[b]
        )
        calc_axes_at_point(model, b, X_BF, q, v, X_WB, H_FM, V_WB, X_WB + 16*base[b], h, hdot)

    for b in range(model.num_bodies - 1, 0, -1):
        for k in range(model.v_start[b], model.v_start[b + 1]):
            multiply6(work[b].M, hdot + 6*k, Mhdot_Bh)
            multiply6(work[b].B, h + 6*k, y)
            add_to(y, 6, Mhdot_Bh)
            multiply6(work[b].M, h + 6*k, Mh)
            multiply_transposed6(work[b].B, h + 6*k, Bth)
            j = b
            while j != 0:
                for l in range(model.v_start[j], model.v_start[j + 1]):
                    C[nv*l + k] = dot6(h + 6*l, Mhdot_Bh)
                    if j != b:
                        C[nv*k + l] = dot6(Mh, hdot + 6*l) + dot6(Bth, h + 6*l)
                j = model.parent[j]
        if model.parent[b] != 0:
            add_to(work[b].M, 36, work[model.parent[b]].M)
            add_to(work[b].B, 36, work[model.parent[b]].B)


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
    T* h,                  # (nv, 6)             [1, m]  the rows of body b
    T* hdot,               # (nv, 6)             [1/s, m/s]  the rows of body b
) noexcept nogil:
    """h = [e; u - e × p_OMo], hdot its derivative in World, for the dofs of body b."""
    cdef T[16] X_WF
    cdef T[36] Hdot
    cdef T[3] p_OMo, p_MoBo, v_Mo, u, udot, y
    cdef const T* w_WP = V_WB + 6*model.parent[b]
    cdef int i, k
    if model.v_start[b + 1] == model.v_start[b]:
        return
    multiply_poses4(X_WB + 16*model.parent[b], X_BF + 16*model.inboard_frame[b], X_WF)
    calc_p_MoBo_W(X_WB + 16*b, X_BF + 16*model.outboard_frame[b], p_MoBo)
    position_between4(X_WO, X_WB + 16*b, p_OMo)
    for i in range(3):
        p_OMo[i] = p_OMo[i] - p_MoBo[i]
        v_Mo[i] = V_WB[6*b + 3 + i]
    # v_Mo = v_Bo - w × p_MoBo
    cross(V_WB + 6*b, p_MoBo, y)
    subtract_from(y, 3, v_Mo)
    calc_across_Hdot(
        model.type[b], model.reversed[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], Hdot
    )
    for k in range(model.v_start[b], model.v_start[b + 1]):
        # In World about Mo: e and u turn with F, and change in it by Hdot.
        rotate4(X_WF, H_FM + 6*k, h + 6*k)
        rotate4(X_WF, H_FM + 6*k + 3, u)
        rotate4(X_WF, Hdot + 6*(k - model.v_start[b]), hdot + 6*k)
        rotate4(X_WF, Hdot + 6*(k - model.v_start[b]) + 3, udot)
        add_cross(w_WP, h + 6*k, hdot + 6*k)
        add_cross(w_WP, u, udot)
        # At O.
        cross(p_OMo, h + 6*k, h + 6*k + 3)
        cross(p_OMo, hdot + 6*k, hdot + 6*k + 3)
        add_cross(v_Mo, h + 6*k, hdot + 6*k + 3)
        add_to(u, 3, h + 6*k + 3)
        add_to(udot, 3, hdot + 6*k + 3)


cdef inline void calc_body_matrices(
    # Parameters:
    T mass,
    const T* p_BoBcm_B,    # (3,)    [m]
    const T* I_BBo_B,      # (6,)    [kg m^2]  xx yy zz xy xz yz
    # In:
    const T* X_WB,         # (4, 4)  [1, m]
    const T* V_WB,         # (6,)    [rad/s, m/s]
    const T* X_WO,         # (4, 4)  [1, m]
    # Out:
    Composite6[T]* x,
) noexcept nogil:
    """M at O, and B at O from B at Bo: with Phi = [1, 0; -[p]x, 1] taking velocities from O to Bo, p = p_OBo,

    M_O = Phi' M Phi, B_O = Phi' (M Phidot + B Phi), B = [([w]x I - I [w]x - [I w]x) / 2, 0; -m [w × c]x, 0].
    """
    cdef T[36] M, MPhi, BPhi
    cdef T[9] J
    cdef T[3] c, wc, p
    cdef int i
    rotate4(X_WB, p_BoBcm_B, c)
    calc_inertia_in_world(I_BBo_B, X_WB, J)
    set_spatial_inertia(mass, c, J, M)
    position_between4(X_WO, X_WB, p)
    set_zero(BPhi, 36)
    calc_B11(J, V_WB, BPhi)
    cross(V_WB, c, wc)
    for i in range(3):
        wc[i] = -(mass*wc[i])
    set_cross_block(wc, BPhi, 3, 0)
    # B Phi = B: its right half is zero. M Phidot = M [0, 0; -[v_Bo]x, 0].
    add_right_times_cross(M, V_WB + 3, BPhi)
    for i in range(36):
        MPhi[i] = M[i]
    add_right_times_cross(M, p, MPhi)
    multiply_by_Phi_transposed(p, MPhi, x.M)
    multiply_by_Phi_transposed(p, BPhi, x.B)


cdef inline void calc_B11(const T* J, const T* w, T* B) noexcept nogil:
    """Upper left block of B: ([w]x J - J [w]x - [J w]x) / 2."""
    cdef T[3] Jw
    cdef T[9] wJ
    cdef int i, j
    rotate(J, w, Jw)
    for j in range(3):
        wJ[j] = w[1]*J[6 + j] - w[2]*J[3 + j]
        wJ[3 + j] = w[2]*J[j] - w[0]*J[6 + j]
        wJ[6 + j] = w[0]*J[3 + j] - w[1]*J[j]
    # J symmetric: J [w]x = -([w]x J)'
    for i in range(3):
        for j in range(3):
            B[6*i + j] = (wJ[3*i + j] + wJ[3*j + i])*0.5
    B[1] = B[1] + Jw[2]*0.5
    B[2] = B[2] - Jw[1]*0.5
    B[6] = B[6] - Jw[2]*0.5
    B[8] = B[8] + Jw[0]*0.5
    B[12] = B[12] + Jw[1]*0.5
    B[13] = B[13] - Jw[0]*0.5


cdef inline void set_cross_block(const T* x, T* M, int row, int column) noexcept nogil:
    """M[row:row + 3, column:column + 3] = [x]x, off the diagonal."""
    M[6*row + column + 1] = -x[2]
    M[6*row + column + 2] = x[1]
    M[6*(row + 1) + column] = x[2]
    M[6*(row + 1) + column + 2] = -x[0]
    M[6*(row + 2) + column] = -x[1]
    M[6*(row + 2) + column + 1] = x[0]


cdef inline void add_right_times_cross(const T* M, const T* x, T* y) noexcept nogil:
    """y[:, :3] -= M[:, 3:] [x]x, where (r [x]x) = r × x for a row r."""
    cdef int i
    cdef const T* r
    for i in range(6):
        r = M + 6*i + 3
        y[6*i] = y[6*i] - (r[1]*x[2] - r[2]*x[1])
        y[6*i + 1] = y[6*i + 1] - (r[2]*x[0] - r[0]*x[2])
        y[6*i + 2] = y[6*i + 2] - (r[0]*x[1] - r[1]*x[0])


cdef inline void multiply_by_Phi_transposed(const T* p, const T* y, T* z) noexcept nogil:
    """z = Phi' y = [1, [p]x; 0, 1] y."""
    cdef int j
    for j in range(6):
        z[j] = y[j] + p[1]*y[30 + j] - p[2]*y[24 + j]
        z[6 + j] = y[6 + j] + p[2]*y[18 + j] - p[0]*y[30 + j]
        z[12 + j] = y[12 + j] + p[0]*y[24 + j] - p[1]*y[18 + j]
        z[18 + j] = y[18 + j]
        z[24 + j] = y[24 + j]
        z[30 + j] = y[30 + j]


cdef inline void multiply6(const T* M, const T* x, T* y) noexcept nogil:
    cdef int i
    for i in range(6):
        y[i] = dot6(M + 6*i, x)


cdef inline void multiply_transposed6(const T* M, const T* x, T* y) noexcept nogil:
    cdef int i
    for i in range(6):
        y[i] = M[i]*x[0] + M[6 + i]*x[1] + M[12 + i]*x[2] + M[18 + i]*x[3] + M[24 + i]*x[4] + M[30 + i]*x[5]
