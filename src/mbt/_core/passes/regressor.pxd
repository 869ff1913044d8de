"""Regressors: what each inertial parameter of each body does to inverse dynamics and to the energies.

Per node, from 1: mass, mass moment (3) and inertia xx xy yy xz yz zz about Bo, in B. `weightless` tells which bodies
gravity spares, (num_bodies,); NULL when it spares none.

C. G. Atkeson, C. H. An, J. M. Hollerbach, "Estimation of Inertial Parameters of Manipulator Loads and Links", Int. J.
Robotics Res. 5 (1986).
In NumPy: tests/support/textbook.py, inverse_dynamics_regressor.
"""

from mbt._core.algebra.spatial cimport (
    add_cross, cross, dot3, position_between4, rotate4, rotate_inverse4, set_zero,
)
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


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
    T* Y,                   # (nv, 10 (num_bodies - 1))  [N m, N] per [kg, kg m, kg m^2]
) noexcept nogil:
    """Y pi = M vdot + C v - tau_g, but for rotors: a row meets the bodies outboard of its dof, O(n depth)."""
    cdef Py_ssize_t columns = 10*<Py_ssize_t>(model.num_bodies - 1)
    cdef int b, i, inboard, k
    cdef const T* X
    cdef T w[3]
    cdef T alpha[3]
    cdef T a_W[3]
    cdef T a[3]
    cdef T p[3]
    cdef T h_W[3]
    cdef T h_w[3]
    cdef T h_v[3]
    set_zero(Y, columns*model.num_velocities)
    for b in range(1, model.num_bodies):
        X = X_WB + 16*b
        for i in range(3):
            a_W[i] = A_WB[6*b + 3 + i]
            if weightless == NULL or not weightless[b]:
                a_W[i] = a_W[i] - gravity[i]
        rotate_inverse4(X, V_WB + 6*b, w)
        rotate_inverse4(X, A_WB + 6*b, alpha)
        rotate_inverse4(X, a_W, a)

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
                calc_force_along_motion(w, alpha, a, h_w, h_v, Y + columns*k + 10*(b - 1))
            inboard = model.parent[inboard]


cdef inline void calc_force_along_motion(
    # In:
    const T* w,        # (3,)   [rad/s]  angular velocity of B
    const T* alpha,    # (3,)   [rad/s^2]  its angular acceleration
    const T* a,        # (3,)   [m/s^2]  acceleration of Bo, less gravity
    const T* h_w,      # (3,)   [1]  the motion: rotation
    const T* h_v,      # (3,)   [m]  and velocity of Bo
    # Out:
    T* y,              # (10,)  [N m, N] per [kg, kg m, kg m^2]
) noexcept nogil:
    """h' F for unit parameters, F = [I alpha + w × I w + m c × a; m a + alpha × m c + w × (w × m c)]. All in B."""
    cdef T u[3]
    cdef T s
    cdef int i

    # m: h_v·a
    y[0] = dot3(h_v, a)

    # m c: h_v·(alpha × m c) = m c·(h_v × alpha); h_w·(m c × a) = m c·(a × h_w);
    # h_v·(w × (w × m c)) = m c·(w (h_v·w) - h_v (w·w))
    cross(h_v, alpha, u)
    add_cross(a, h_w, u)
    s = dot3(w, w)
    for i in range(3):
        y[1 + i] = u[i] + w[i]*dot3(h_v, w) - h_v[i]*s

    # I: h_w·(I alpha) + (h_w × w)·(I w)
    cross(h_w, w, u)
    y[4] = h_w[0]*alpha[0] + u[0]*w[0]
    y[5] = h_w[0]*alpha[1] + h_w[1]*alpha[0] + u[0]*w[1] + u[1]*w[0]
    y[6] = h_w[1]*alpha[1] + u[1]*w[1]
    y[7] = h_w[0]*alpha[2] + h_w[2]*alpha[0] + u[0]*w[2] + u[2]*w[0]
    y[8] = h_w[1]*alpha[2] + h_w[2]*alpha[1] + u[1]*w[2] + u[2]*w[1]
    y[9] = h_w[2]*alpha[2] + u[2]*w[2]


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
    cdef T w[3]
    cdef T v[3]
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
    T* Y,                  # (6, 10 (num_bodies - 1))  [kg m^2/s, kg m/s] per [kg, kg m, kg m^2]  momentum about P
) noexcept nogil:
    """Y pi = sum over bodies of [I w + m c × v + p_PBo × l; l], l = m v + w × m c, without rotors."""
    cdef Py_ssize_t columns = 10*<Py_ssize_t>(model.num_bodies - 1)
    cdef int b, i, j, k
    cdef const T* X
    cdef const T* w
    cdef const T* v
    cdef T p[3]
    cdef T e[3]
    cdef T t[3]
    cdef T l[3]
    cdef T w_B[3]
    for b in range(1, model.num_bodies):
        X = X_WB + 16*b
        w = V_WB + 6*b
        v = V_WB + 6*b + 3
        for i in range(3):
            p[i] = X[4*i + 3] - p_WP[i]
        cross(p, v, t)
        set_column(t, v, columns, Y + 10*(b - 1))
        for j in range(3):
            for i in range(3):
                e[i] = X[4*i + j]
            cross(w, e, l)
            cross(e, v, t)
            add_cross(p, l, t)
            set_column(t, l, columns, Y + 10*(b - 1) + 1 + j)
        # I w of unit moments xx xy yy xz yz zz: in B, e_i w_j + e_j w_i.
        rotate_inverse4(X, w, w_B)
        set_zero(l, 3)
        k = 4
        for j in range(3):
            for i in range(j + 1):
                set_zero(e, 3)
                e[i] = w_B[j]
                e[j] = w_B[i]
                rotate4(X, e, t)
                set_column(t, l, columns, Y + 10*(b - 1) + k)
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
    cdef T g[3]
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
