"""Regressors: the effect of each inertial parameter of each body on inverse dynamics, momentum and energies.

Per node, from 1: mass, mass moment (3) and inertia xx xy yy xz yz zz about Bo, in B. `weightless` marks the bodies
exempt from gravity, (num_bodies,); NULL if there are none.

C. G. Atkeson, C. H. An, J. M. Hollerbach, "Estimation of Inertial Parameters of Manipulator Loads and Links", Int. J.
Robotics Res. 5 (1986).
In NumPy: tests/support/textbook.py, inverse_dynamics_regressor.
"""

from mbt._core.algebra.records cimport UnitForces
from mbt._core.algebra.spatial cimport rotate_inverse4, set_zero
from mbt._core.algebra.vectors cimport (
    Mat3, Motion, Vec3, cross, dot, half, motion_at, numbers, pose_at, position_at, put, set_acceleration_of_points,
    shifted, sum_transposed, times_transposed, transpose, vector, vector_at,
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
    """Y pi = M vdot + C v - tau_g, without rotors: a row depends on the bodies outboard of its dof, O(n depth).

    Lanes get only the entries of these, ten after ten, in the places that `set_regressor_places` gives.
    """
    cdef Py_ssize_t columns = 10*<Py_ssize_t>(model.num_bodies - 1)
    cdef T* y = Y
    cdef int b, inboard, k
    cdef Mat3[T] R_WB
    cdef Vec3[T] p, w
    cdef Motion[T] A, h
    cdef UnitForces[T] unit
    if T is not Lanes:
        set_zero(Y, columns*model.num_velocities)
    for b in range(1, model.num_bodies):
        if model.v_start[b + 1] == 0:
            continue  # no dof is inboard of it
        R_WB = pose_at(X_WB + 16*b).R
        A = motion_at(A_WB + 6*b)
        if weightless == NULL or not weightless[b]:
            A.v = A.v - vector_at(gravity)
        A = times_transposed(R_WB, A)
        w = times_transposed(R_WB, vector_at(V_WB + 6*b))
        set_unit_forces(w, A.w, &unit)

        # Every dof inboard of the body moves it as shift(H_PB_W[k], p_PB), here in B.
        inboard = b
        while inboard > 0:
            p = position_at(X_WB + 16*b) - position_at(X_WB + 16*inboard)
            for k in range(model.v_start[inboard], model.v_start[inboard + 1]):
                h = times_transposed(R_WB, shifted(motion_at(H_PB_W + 6*k), p))
                if T is not Lanes:
                    y = Y + columns*k + 10*(b - 1)
                calc_force_along_motion(A.v, &unit, h, y)
                y += 10
            inboard = model.parent[inboard]


cdef inline void set_regressor_places(const Model* model, int zero, int* places) noexcept nogil:
    """The place of each entry, (nv, 10 (num_bodies - 1)), among those of lanes; `zero`: that of a zero."""
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
    const Vec3[T]& w,      # [rad/s]  angular velocity of B
    const Vec3[T]& alpha,  # [rad/s^2]  its angular acceleration
    # Out:
    UnitForces[T]* unit,
) noexcept nogil:
    """W = [alpha]x + [w]x [w]x, and L alpha + w × L w with L the inertia that is 1 in one place. All in B."""
    cdef Mat3[T] W
    cdef T xx = w.x*w.x
    cdef T yy = w.y*w.y
    cdef T zz = w.z*w.z
    cdef T xy = w.x*w.y
    cdef T xz = w.x*w.z
    cdef T yz = w.y*w.z
    set_acceleration_of_points(alpha, w, &W)
    unit.W = W
    unit.xx = vector(alpha.x, xz, -xy)
    unit.xy = vector(-W.z.x, W.z.y, xx - yy)
    unit.yy = vector(-yz, alpha.y, xy)
    unit.xz = vector(W.y.x, zz - xx, -W.y.z)
    unit.yz = vector(yy - zz, -W.x.y, W.x.z)
    unit.zz = vector(yz, -xz, alpha.z)


cdef inline void calc_force_along_motion(
    # In:
    const Vec3[T]& a,  # [m/s^2]  acceleration of Bo, less gravity
    const UnitForces[T]* unit,
    const Motion[T]& h,  # [1, m]  the motion
    # Out:
    T* y,              # (10,)   [N m, N] per [kg, kg m, kg m^2]
) noexcept nogil:
    """h' F for unit parameters, F = [I alpha + w × I w + m c × a; m a + alpha × m c + w × (w × m c)]. All in B."""
    cdef Vec3[T] moment = cross(a, h.w)
    cdef int j
    # m: h_v·a
    y[0] = dot(h.v, a)
    # m c: h_v·(W m c) + h_w·(m c × a)
    put(sum_transposed(moment, unit.W, h.v), y + 1)
    # I
    for j in range(6):
        y[4 + j] = dot(h.w, (&unit.xx)[j])


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
    cdef Vec3[T] w, v, half_w
    cdef T* x
    for b in range(1, model.num_bodies):
        x = y + 10*(b - 1)
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b, numbers(w))
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b + 3, numbers(v))
        half_w = half(w)
        x[0] = dot(v, v)*0.5
        put(cross(v, w), x + 1)
        put(vector(half_w.x*w.x, w.x*w.y, half_w.y*w.y), x + 4)  # xx xy yy
        put(vector(w.x*w.z, w.y*w.z, half_w.z*w.z), x + 7)       # xz yz zz


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
    cdef Mat3[T] e = transpose(pose_at(X_WB).R)  # the axes of B
    cdef Vec3[T] p = position_at(X_WB) - vector_at(p_WP)
    cdef Vec3[T] w = vector_at(V_WB)
    cdef Vec3[T] v = vector_at(V_WB + 3)
    cdef Vec3[T] w_B = e*w
    cdef Vec3[T] t, l
    cdef int i, j, k
    set_column(cross(p, v), v, stride, Y)
    for j in range(3):
        l = cross(w, (&e.x)[j])
        t = cross((&e.x)[j], v)
        set_column(t + cross(p, l), l, stride, Y + 1 + j)
    # I w of unit moments xx xy yy xz yz zz: in B, e_i w_j + e_j w_i.
    set_zero(numbers(l), 3)
    k = 4
    for j in range(3):
        for i in range(j + 1):
            t = (&e.x)[i]*numbers(w_B)[j]
            if i < j:
                t = t + (&e.x)[j]*numbers(w_B)[i]
            set_column(t, l, stride, Y + k)
            k += 1


cdef inline void set_column(const Vec3[T]& upper, const Vec3[T]& lower, Py_ssize_t stride, T* y) noexcept nogil:
    cdef int i
    for i in range(3):
        y[stride*i] = (&upper.x)[i]
        y[stride*(3 + i)] = (&lower.x)[i]


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
    cdef int b
    cdef Vec3[T] g_B
    cdef T* x
    set_zero(y, 10*<Py_ssize_t>(model.num_bodies - 1))
    for b in range(1, model.num_bodies):
        if weightless != NULL and weightless[b]:
            continue
        x = y + 10*(b - 1)
        rotate_inverse4(X_WB + 16*b, gravity, numbers(g_B))
        x[0] = -dot(vector_at(gravity), position_at(X_WB + 16*b))
        put(-g_B, x + 1)
