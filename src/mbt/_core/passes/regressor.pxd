"""Regressors: what each inertial parameter of each body does to inverse dynamics and to the energies.

Per node, from 1: mass, mass moment (3) and inertia xx xy yy xz yz zz about Bo, in B. `weightless` tells which bodies
gravity spares, (num_bodies,); NULL when it spares none.

C. G. Atkeson, C. H. An, J. M. Hollerbach, "Estimation of Inertial Parameters of Manipulator Loads and Links", Int. J.
Robotics Res. 5 (1986).
In NumPy: tests/support/textbook.py, inverse_dynamics_regressor.
"""

from mbt._core.algebra.spatial cimport (
    add_cross, cross, dot3, position_between4, rotate_inverse4, set_zero,
)
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport Lanes, T, store_rows


cdef inline void calc_inverse_dynamics_regressor(
    # Topology:
    const Model* model,
    # Parameters:
    const int* weightless,  # (num_bodies,) or NULL
    const T* gravity,       # (3,)                       [m/s^2]  in World
    # In:
    const T* X_WB,          # (num_bodies, 4, 4)         [1, m]
    const T* H_PB_W,        # (nv, 6)                    [1, m]
    const T* V_WB,          # (num_bodies, 6)            [rad/s, m/s]
    const T* A_WB,          # (num_bodies, 6)            [rad/s^2, m/s^2]  without gravity
    # Out:
    T* Y,                   # (nv, 10 (num_bodies - 1))  [N m, N] per [kg, kg m, kg m^2]; of lanes see below
) noexcept nogil:
    """Y pi = M vdot + C v - tau_g, but for rotors: a row meets the bodies outboard of its dof, O(n depth).

    Lanes get what these meet alone, ten numbers behind ten, where `set_regressor_places` says.
    """
    cdef Py_ssize_t columns = 10*<Py_ssize_t>(model.num_bodies - 1)
    cdef T* y = Y
    cdef int b, i, inboard, k
    cdef const T* X
    cdef T[3] w, alpha, a_W, a, p, h_W, h_w, h_v
    cdef T[9] W
    cdef T[18] K
    if T is not Lanes:
        set_zero(Y, columns*model.num_velocities)
    for b in range(1, model.num_bodies):
        if model.v_start[b + 1] == 0:
            continue  # no dof is inboard of it
        X = X_WB + 16*b
        for i in range(3):
            a_W[i] = A_WB[6*b + 3 + i]
            if weightless == NULL or not weightless[b]:
                a_W[i] = a_W[i] - gravity[i]
        rotate_inverse4(X, V_WB + 6*b, w)
        rotate_inverse4(X, A_WB + 6*b, alpha)
        rotate_inverse4(X, a_W, a)
        set_unit_forces(w, alpha, W, K)

        # Every dof inboard of the body moves it as shift(H_PB_W[k], p_PB), here in B.
        inboard = b
        while inboard > 0:
            position_between4(X_WB + 16*inboard, X, p)
            for k in range(model.v_start[inboard], model.v_start[inboard + 1]):
                for i in range(3):
                    h_W[i] = H_PB_W[6*k + 3 + i]
                add_cross(H_PB_W + 6*k, p, h_W)
                rotate_inverse4(X, H_PB_W + 6*k, h_w)
                rotate_inverse4(X, h_W, h_v)
                if T is not Lanes:
                    y = Y + columns*k + 10*(b - 1)
                calc_force_along_motion(a, W, K, h_w, h_v, y)
                y += 10
            inboard = model.parent[inboard]


cdef inline void set_regressor_places(const Model* model, int zero, int* places) noexcept nogil:
    """Where each entry, (nv, 10 (num_bodies - 1)), is among those that lanes get; `zero`: where a zero is."""
    cdef int columns = 10*(model.num_bodies - 1)
    cdef int place = 0
    cdef int b, i, inboard, k
    for i in range(model.num_velocities*columns):
        places[i] = zero
    for b in range(1, model.num_bodies):
        inboard = b
        while inboard > 0:
            for k in range(model.v_start[inboard], model.v_start[inboard + 1]):
                for i in range(10):
                    places[columns*k + 10*(b - 1) + i] = place + i
                place += 10
            inboard = model.parent[inboard]


cdef inline void set_unit_forces(
    # In:
    const T* w,        # (3,)   [rad/s]  angular velocity of B
    const T* alpha,    # (3,)   [rad/s^2]  its angular acceleration
    # Out:
    T* W,              # (3, 3)  [1/s^2]  force of a unit moment
    T* K,              # (6, 3)  [1/s^2]  torques of unit inertias
) noexcept nogil:
    """W = [alpha]x + [w]x [w]x; K[j] = L alpha + w × L w, with L the inertia that is 1 in its place j. All in B."""
    cdef T xx = w[0]*w[0]
    cdef T yy = w[1]*w[1]
    cdef T zz = w[2]*w[2]
    cdef T xy = w[0]*w[1]
    cdef T xz = w[0]*w[2]
    cdef T yz = w[1]*w[2]
    W[0], W[1], W[2] = -(yy + zz), xy - alpha[2], xz + alpha[1]
    W[3], W[4], W[5] = xy + alpha[2], -(xx + zz), yz - alpha[0]
    W[6], W[7], W[8] = xz - alpha[1], yz + alpha[0], -(xx + yy)
    K[0], K[1], K[2] = alpha[0], xz, -xy             # xx
    K[3], K[4], K[5] = -W[6], W[7], xx - yy          # xy
    K[6], K[7], K[8] = -yz, alpha[1], xy             # yy
    K[9], K[10], K[11] = W[3], zz - xx, -W[5]        # xz
    K[12], K[13], K[14] = yy - zz, -W[1], W[2]       # yz
    K[15], K[16], K[17] = yz, -xz, alpha[2]          # zz


cdef inline void calc_force_along_motion(
    # In:
    const T* a,        # (3,)    [m/s^2]  acceleration of Bo, less gravity
    const T* W,        # (3, 3)  [1/s^2]
    const T* K,        # (6, 3)  [1/s^2]
    const T* h_w,      # (3,)    [1]  the motion: rotation
    const T* h_v,      # (3,)    [m]  and velocity of Bo
    # Out:
    T* y,              # (10,)   [N m, N] per [kg, kg m, kg m^2]
) noexcept nogil:
    """h' F for unit parameters, F = [I alpha + w × I w + m c × a; m a + alpha × m c + w × (w × m c)]. All in B."""
    cdef int j
    # m: h_v·a
    y[0] = dot3(h_v, a)
    # m c: h_v·(W m c) + h_w·(m c × a)
    cross(a, h_w, y + 1)
    for j in range(3):
        y[1 + j] = y[1 + j] + h_v[0]*W[j] + h_v[1]*W[3 + j] + h_v[2]*W[6 + j]
    # I: h_w·K
    for j in range(6):
        y[4 + j] = dot3(h_w, K + 3*j)


cdef inline void calc_kinetic_energy_regressor(
    # Topology:
    const Model* model,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)      [1, m]
    const T* V_WB,         # (num_bodies, 6)         [rad/s, m/s]
    # Out:
    T* y,                  # (10 (num_bodies - 1),)  [J] per [kg, kg m, kg m^2]
) noexcept nogil:
    """y pi = sum over bodies of m v·v/2 + m c·(v × w) + w·I w/2, without rotors."""
    cdef int b
    cdef T[3] w, v
    cdef T* x
    for b in range(1, model.num_bodies):
        x = y + 10*(b - 1)
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b, w)
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b + 3, v)
        x[0] = dot3(v, v)*0.5
        cross(v, w, x + 1)
        x[4] = w[0]*w[0]*0.5
        x[5] = w[0]*w[1]
        x[6] = w[1]*w[1]*0.5
        x[7] = w[0]*w[2]
        x[8] = w[1]*w[2]
        x[9] = w[2]*w[2]*0.5


cdef inline void calc_momentum_regressor(
    # Topology:
    const Model* model,
    # In:
    const T* X_WB,         # (num_bodies, 4, 4)        [1, m]
    const T* V_WB,         # (num_bodies, 6)           [rad/s, m/s]
    const T* p_WP,         # (3,)                      [m]  the point P
    # Out:
    T* Y,                  # (6, 10 (num_bodies - 1))  [kg m^2/s, kg m/s] per [kg, kg m, kg m^2]  momentum about P;
                           #                           of lanes in rows of doubles
) noexcept nogil:
    """Y pi = sum over bodies of [I w + m c × v + p_PBo × l; l], l = m v + w × m c, without rotors."""
    cdef Py_ssize_t columns = 10*<Py_ssize_t>(model.num_bodies - 1)
    cdef T[60] y
    cdef int b, i
    for b in range(1, model.num_bodies):
        if T is Lanes:
            calc_body_momentum_regressor(X_WB + 16*b, V_WB + 6*b, p_WP, 10, y)
            for i in range(6):
                store_rows(y + 10*i, <double*>Y + columns*i + 10*(b - 1), 6*columns, 10)
        else:
            calc_body_momentum_regressor(X_WB + 16*b, V_WB + 6*b, p_WP, columns, Y + 10*(b - 1))


cdef inline void calc_body_momentum_regressor(
    # In:
    const T* X_WB,         # (4, 4)     [1, m]
    const T* V_WB,         # (6,)       [rad/s, m/s]
    const T* p_WP,         # (3,)       [m]
    Py_ssize_t stride,     # of the result
    # Out:
    T* Y,                  # (6, 10)    [kg m^2/s, kg m/s] per [kg, kg m, kg m^2]
) noexcept nogil:
    cdef const T* w = V_WB
    cdef const T* v = V_WB + 3
    cdef int i, j, k, r
    cdef T[3] p, e, t, l, w_B
    for i in range(3):
        p[i] = X_WB[4*i + 3] - p_WP[i]
    cross(p, v, t)
    set_column(t, v, stride, Y)
    for j in range(3):
        for i in range(3):
            e[i] = X_WB[4*i + j]
        cross(w, e, l)
        cross(e, v, t)
        add_cross(p, l, t)
        set_column(t, l, stride, Y + 1 + j)
    # I w of unit moments xx xy yy xz yz zz: in B, e_i w_j + e_j w_i.
    rotate_inverse4(X_WB, w, w_B)
    set_zero(l, 3)
    k = 4
    for j in range(3):
        for i in range(j + 1):
            for r in range(3):
                t[r] = X_WB[4*r + i]*w_B[j]
                if i < j:
                    t[r] = t[r] + X_WB[4*r + j]*w_B[i]
            set_column(t, l, stride, Y + k)
            k += 1


cdef inline void set_column(const T* upper, const T* lower, Py_ssize_t stride, T* y) noexcept nogil:
    cdef int i
    for i in range(3):
        y[stride*i] = upper[i]
        y[stride*(3 + i)] = lower[i]


cdef inline void calc_potential_energy_regressor(
    # Topology:
    const Model* model,
    # Parameters:
    const int* weightless,  # (num_bodies,) or NULL
    const T* gravity,       # (3,)                    [m/s^2]
    # In:
    const T* X_WB,          # (num_bodies, 4, 4)      [1, m]
    # Out:
    T* y,                   # (10 (num_bodies - 1),)  [J] per [kg, kg m, kg m^2]
) noexcept nogil:
    """y pi = -sum over bodies of g·(m p_WBo + R_WB m c): gravity alone."""
    cdef int b, i
    cdef T[3] g
    cdef T* x
    set_zero(y, 10*<Py_ssize_t>(model.num_bodies - 1))
    for b in range(1, model.num_bodies):
        if weightless != NULL and weightless[b]:
            continue
        x = y + 10*(b - 1)
        rotate_inverse4(X_WB + 16*b, gravity, g)
        for i in range(3):
            x[0] = x[0] - gravity[i]*X_WB[16*b + 4*i + 3]
            x[1 + i] = -g[i]
