"""Points of a frame C against the half-space z < 0 of a frame A, with friction.

With x the depth of a point below the plane, and s its slip speed along the plane:

    normal force   N = k x max(1 + d xdot, 0),  x > 0          (Hunt and Crossley, with the exponent one)
    friction       -N a slip,  a = mu(s)/s

and mu(s) in r = s / stiction speed: static (15 r - 10 r^3 + 3 r^5)/8 up to 1, then a quintic step to dynamic at 3. So a
is a polynomial in r^2 near rest, and mu has two continuous derivatives.

K. H. Hunt, F. R. E. Crossley, "Coefficient of restitution interpreted as damping in vibroimpact", Journal of Applied
Mechanics 42 (1975). In NumPy: tests/support/reference_contact.py.
"""

from mbt._core.algebra.records cimport Contact, Ends, Touch
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Force, Motion, Vec3, cross, dot, numbers, put, z_axis
from mbt._core.forces.numbers cimport ContactNumbers
from mbt._core.scalars cimport T, select_lt, sqrt_


cdef inline void calc_touch(
    const ContactNumbers[T]* c, const Vec3[T]& normal, T height, const Vec3[T]& v, Touch[T]* x
) noexcept nogil:
    """Contact of one point at a height over the plane, with a velocity relative to it."""
    cdef T zero = <T>0.0
    cdef T one = <T>1.0
    cdef T damping, square, r, t, rest, mu, slope, stick, stick_slope
    cdef T per_speed = one/c.stiction_speed
    # Every select lets NaN through.
    x.rate = -dot(normal, v)
    x.elastic = select_lt(zero, height, zero, -(c.stiffness*height))
    damping = c.dissipation*x.rate
    x.excess = select_lt(damping, -one, -one, damping)
    x.slip = v + normal*x.rate
    # mu / r and its derivative with respect to r^2, as functions of r^2.
    square = dot(x.slip, x.slip)*per_speed*per_speed
    stick = c.static_friction*(<T>15.0 + square*(square*3.0 - <T>10.0))*0.125
    stick_slope = c.static_friction*(square*6.0 - <T>10.0)*0.125
    r = sqrt_(select_lt(square, one, one, square))
    t = (r - one)*0.5
    t = select_lt(one, t, one, t)
    rest = one - t
    mu = c.static_friction - (c.static_friction - c.dynamic_friction)*t*t*t*(<T>10.0 + t*(t*6.0 - <T>15.0))
    slope = (c.dynamic_friction - c.static_friction)*t*t*rest*rest*15.0
    x.drag = select_lt(square, one, stick, mu/r)*per_speed
    x.drag_by_square = (
        select_lt(square, one, stick_slope, (slope - mu/r)*0.5/(r*r))*per_speed*per_speed*per_speed
    )


cdef inline const Vec3[T]* points_of(const ContactNumbers[T]* c) noexcept nogil:
    """p_CP of each point."""
    return <const Vec3[T]*>(c + 1)


cdef inline void calc_contact(
    const ContactNumbers[T]* c, int num_points, const Ends[T]* ends, Contact[T]* y, T* each
) noexcept nogil:
    """Sums over all points and, unless `each` is NULL, the force on each point in World and its depth."""
    cdef Touch[T] x
    cdef Vec3[T] arm, f
    cdef T height, height_of_Co, force
    cdef int k
    y.normal = z_axis(ends.X_WA.R)
    y.p_AoCo = ends.X_WC.p - ends.X_WA.p
    y.V.w = ends.V_WC.w - ends.V_WA.w
    y.V.v = ends.V_WC.v - ends.V_WA.v + cross(y.p_AoCo, ends.V_WA.w)
    height_of_Co = dot(y.normal, y.p_AoCo)
    set_zero(numbers(y.F_Co), 6)
    y.energy = <T>0.0
    y.conservative_power = <T>0.0
    y.other_power = <T>0.0
    for k in range(num_points):
        arm = ends.X_WC.R*points_of(c)[k]
        height = height_of_Co + dot(y.normal, arm)
        calc_touch(c, y.normal, height, y.V.v + cross(y.V.w, arm), &x)
        force = x.elastic + x.elastic*x.excess
        f = (y.normal - x.slip*x.drag)*force
        y.F_Co.f = y.F_Co.f + f
        y.F_Co.t = y.F_Co.t + cross(arm, f)
        y.energy = y.energy - x.elastic*height*0.5
        y.conservative_power = y.conservative_power - x.elastic*x.rate
        y.other_power = (
            y.other_power - x.elastic*x.excess*x.rate - force*x.drag*dot(x.slip, x.slip)
        )
        if each != NULL:
            put(f, each + 4*k)
            each[4*k + 3] = -height


cdef inline void calc_contact_forces_on_ends(
    const ContactNumbers[T]* c, int num_points, Ends[T]* ends
) noexcept nogil:
    cdef Contact[T] y
    calc_contact(c, num_points, ends, &y, <T*>NULL)
    ends.F_C = y.F_Co
    ends.F_A = -y.F_Co
    ends.F_A.t = ends.F_A.t + cross(y.p_AoCo, ends.F_A.f)


cdef inline void calc_contact_force_change(
    # Parameters:
    const ContactNumbers[T]* c,
    int num_points,
    # In:
    const Ends[T]* ends,
    const Motion[T]* V,     # [rad/s, m/s]
    const Motion[T]* turn,  # [rad, m]
    const Motion[T]* rate,  # [rad/s, m/s]
    # Out:
    Force[T]* F,            # [N m, N]
    Force[T]* dF,           # [N m, N]
) noexcept nogil:
    """Change of N (n - a slip) with A, and thus n, at rest; see `calc_force_change`."""
    cdef Touch[T] x
    cdef Vec3[T] normal = z_axis(ends.X_WA.R)
    cdef Vec3[T] p, d, dv, dslip, f, df
    cdef T height, climb, drate, force, dforce, ddrag
    cdef T zero = <T>0.0
    cdef T one = <T>1.0
    cdef int k
    set_zero(numbers(F[0]), 6)
    set_zero(numbers(dF[0]), 6)
    for k in range(num_points):
        p = ends.X_WC.R*points_of(c)[k] + ends.X_WC.p - ends.X_WA.p
        d = turn.v + cross(turn.w, p)
        dv = rate.v + cross(rate.w, p) + cross(V.w, d)
        height = dot(normal, p)
        calc_touch(c, normal, height, V.v + cross(V.w, p), &x)
        climb = dot(normal, d)
        drate = -dot(normal, dv)
        force = x.elastic + x.elastic*x.excess
        dforce = select_lt(zero, height, zero, -(c.stiffness*climb*(one + x.excess)))
        dforce = dforce + select_lt(-one, x.excess, x.elastic*c.dissipation*drate, zero)
        dslip = dv + normal*drate
        ddrag = x.drag_by_square*dot(x.slip, dslip)*2.0
        f = normal - x.slip*x.drag
        df = f*dforce - (x.slip*ddrag + dslip*x.drag)*force
        f = f*force
        F.f = F.f + f
        F.t = F.t + cross(p, f)
        dF.f = dF.f + df
        dF.t = dF.t + cross(d, f) + cross(p, df)
