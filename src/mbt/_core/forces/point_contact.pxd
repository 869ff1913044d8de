"""Points of a frame C against the half-space z < 0 of a frame A, with friction.

`c` are the numbers of one element: stiffness, dissipation, static and dynamic friction, stiction speed, then p_CP of
each point. With x the depth of a point below the plane, and s its slip, the speed along the plane:

    normal force   N = k x max(1 + d xdot, 0),  x > 0          (Hunt and Crossley, with the exponent one)
    friction       -N a slip,  a = mu(s)/s

and mu(s) in r = s / stiction speed: static (15 r - 10 r^3 + 3 r^5)/8 up to 1, from there a step of order five to
dynamic at 3. So a is a polynomial in r^2 near rest, and mu has two continuous derivatives.

K. H. Hunt, F. R. E. Crossley, "Coefficient of restitution interpreted as damping in vibroimpact", Journal of Applied
Mechanics 42 (1975). In NumPy: tests/support/reference_contact.py.
"""

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS

from mbt._core.algebra.records cimport Contact, Ends, Touch
from mbt._core.algebra.spatial cimport add_cross, copy, dot3, rotate4, set_zero
from mbt._core.scalars cimport T, select_lt, sqrt_


cdef inline void calc_touch(const T* c, const T* normal, T height, const T* v, Touch[T]* x) noexcept nogil:
    """One point at a height over the plane, with a velocity relative to it."""
    cdef T zero = <T>0.0
    cdef T one = <T>1.0
    cdef T damping, square, r, t, rest, mu, slope, stick, stick_slope
    cdef T per_speed = one/c[4]
    cdef int i
    # Every select lets NaN through.
    x.rate = -dot3(normal, v)
    x.elastic = select_lt(zero, height, zero, -(c[0]*height))
    damping = c[1]*x.rate
    x.excess = select_lt(damping, -one, -one, damping)
    for i in range(3):
        x.slip[i] = v[i] + x.rate*normal[i]
    # Of r^2, mu / r, and of its derivative with respect to r^2.
    square = dot3(x.slip, x.slip)*per_speed*per_speed
    stick = c[2]*(<T>15.0 + square*(square*3.0 - <T>10.0))*0.125
    stick_slope = c[2]*(square*6.0 - <T>10.0)*0.125
    r = sqrt_(select_lt(square, one, one, square))
    t = (r - one)*0.5
    t = select_lt(one, t, one, t)
    rest = one - t
    mu = c[2] - (c[2] - c[3])*t*t*t*(<T>10.0 + t*(t*6.0 - <T>15.0))
    slope = (c[3] - c[2])*t*t*rest*rest*15.0
    x.drag = select_lt(square, one, stick, mu/r)*per_speed
    x.drag_by_square = (
        select_lt(square, one, stick_slope, (slope - mu/r)*0.5/(r*r))*per_speed*per_speed*per_speed
    )


cdef inline void calc_contact(const T* c, int num_points, const Ends[T]* ends, Contact[T]* y, T* each) noexcept nogil:
    """The sums over all points; and of `each` the force on it, in World, and its depth, unless that is NULL."""
    cdef Touch[T] x
    cdef T[3] arm, v, f
    cdef T height, height_of_Co, force
    cdef int i, k
    for i in range(3):
        y.normal[i] = ends.X_WA[4*i + 2]
        y.p_AoCo[i] = ends.X_WC[4*i + 3] - ends.X_WA[4*i + 3]
        y.V[i] = ends.V_WC[i] - ends.V_WA[i]
        y.V[3 + i] = ends.V_WC[3 + i] - ends.V_WA[3 + i]
    add_cross(y.p_AoCo, ends.V_WA, y.V + 3)
    height_of_Co = dot3(y.normal, y.p_AoCo)
    set_zero(y.F_Co, 6)
    y.energy = <T>0.0
    y.conservative_power = <T>0.0
    y.other_power = <T>0.0
    for k in range(num_points):
        rotate4(ends.X_WC, c + NUM_CONTACT_CONSTANTS + 3*k, arm)
        copy(y.V + 3, 3, v)
        add_cross(y.V, arm, v)
        height = height_of_Co + dot3(y.normal, arm)
        calc_touch(c, y.normal, height, v, &x)
        force = x.elastic + x.elastic*x.excess
        for i in range(3):
            f[i] = force*(y.normal[i] - x.drag*x.slip[i])
            y.F_Co[3 + i] = y.F_Co[3 + i] + f[i]
        add_cross(arm, f, y.F_Co)
        y.energy = y.energy - x.elastic*height*0.5
        y.conservative_power = y.conservative_power - x.elastic*x.rate
        y.other_power = (
            y.other_power - x.elastic*x.excess*x.rate - force*x.drag*dot3(x.slip, x.slip)
        )
        if each != NULL:
            copy(f, 3, each + 4*k)
            each[4*k + 3] = -height


cdef inline void calc_contact_forces_on_ends(const T* c, int num_points, Ends[T]* ends) noexcept nogil:
    cdef Contact[T] y
    cdef int i
    calc_contact(c, num_points, ends, &y, <T*>NULL)
    copy(y.F_Co, 6, ends.F_C)
    for i in range(6):
        ends.F_A[i] = -y.F_Co[i]
    add_cross(y.p_AoCo, ends.F_A + 3, ends.F_A)


cdef inline void calc_contact_force_change(
    # Parameters:
    const T* c,     # (num_parameters_of,)  [SI]  of the element
    int num_points,
    # In:
    const Ends[T]* ends,
    const T* V,     # (6,)                  [rad/s, m/s]
    const T* turn,  # (6,)                  [rad, m]
    const T* rate,  # (6,)                  [rad/s, m/s]
    # Out:
    T* F,           # (6,)                  [N m, N]
    T* dF,          # (6,)                  [N m, N]
) noexcept nogil:
    """Of N (n - a slip) with A at rest, n too; see `calc_force_change`."""
    cdef Touch[T] x
    cdef T[3] normal, p, d, v, dv, f, df
    cdef T height, climb, drate, force, dforce, ddrag
    cdef T zero = <T>0.0
    cdef T one = <T>1.0
    cdef int i, k
    set_zero(F, 6)
    set_zero(dF, 6)
    for i in range(3):
        normal[i] = ends.X_WA[4*i + 2]
    for k in range(num_points):
        rotate4(ends.X_WC, c + NUM_CONTACT_CONSTANTS + 3*k, p)
        for i in range(3):
            p[i] = p[i] + ends.X_WC[4*i + 3] - ends.X_WA[4*i + 3]
            d[i] = turn[3 + i]
            v[i] = V[3 + i]
            dv[i] = rate[3 + i]
        add_cross(turn, p, d)
        add_cross(V, p, v)
        add_cross(rate, p, dv)
        add_cross(V, d, dv)
        height = dot3(normal, p)
        calc_touch(c, normal, height, v, &x)
        climb = dot3(normal, d)
        drate = -dot3(normal, dv)
        force = x.elastic + x.elastic*x.excess
        dforce = select_lt(zero, height, zero, -(c[0]*climb*(one + x.excess)))
        dforce = dforce + select_lt(-one, x.excess, x.elastic*c[1]*drate, zero)
        for i in range(3):
            dv[i] = dv[i] + drate*normal[i]
        ddrag = x.drag_by_square*dot3(x.slip, dv)*2.0
        for i in range(3):
            f[i] = normal[i] - x.drag*x.slip[i]
            df[i] = dforce*f[i] - force*(ddrag*x.slip[i] + x.drag*dv[i])
            f[i] = force*f[i]
            F[3 + i] = F[3 + i] + f[i]
            dF[3 + i] = dF[3 + i] + df[i]
        add_cross(p, f, F)
        add_cross(d, f, dF)
        add_cross(p, df, dF)
