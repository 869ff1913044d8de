"""Rows of points where shapes touch, in the convex problem of an implicit step."""

from libc.math cimport fabs, fmax

from mbt._core.model.structs cimport Model
from mbt._core.quantities.call cimport Call
from mbt._core.solvers.implicit_rows cimport (
    STICTION, MassFactor, Problem, Terms, calc_touch, dot, mask, minimize, multiply, spots_of,
)
from mbt._core.solvers.shape_contact cimport UNFORESEEN, TouchPoint, find_contacts_of


# Friction depends on the normal force at the end of the step: the problem is solved again, at most MOST_PASSES times in
# all, until that force changes by less than one part in PARTS.
cdef enum:
    MOST_PASSES = 4
    PARTS = 100


cdef inline double* set_shapes(
    const Terms* x, Call[double]* c, const MassFactor* factor, Problem* y, double* memory
) noexcept nogil:
    """Set the points of shapes, behind those of elements, and `y.num_points`."""
    cdef TouchPoint* contacts = spots_of(x, y)
    cdef TouchPoint* contact
    cdef int n = y.n
    cdef double[3] u
    cdef double share
    cdef double* rows
    cdef int i, k
    if x.shapes == NULL:
        return memory
    cdef int count = find_contacts_of(x.shapes, c.k.X_WB, c.k.V_WB, y.h, UNFORESEEN*y.h*y.h, memory, contacts)
    for i in range(count):
        contact = &contacts[i]
        k = x.num_points + i
        rows = y.points + 3*<Py_ssize_t>n*k
        set_rows(c.model, c, contact, rows)
        share = mask(x, factor, rows) + mask(x, factor, rows + n)
        mask(x, factor, rows + 2*n)
        multiply(3, n, rows, c.v, u)
        y.stiffness[k] = x.shapes.stiffness[contact.pair]
        y.dissipation[k] = x.shapes.dissipation[contact.pair]
        y.depth[k] = -contact.gap
        y.point_slope[k] = 2.0/(STICTION*share) if share > 0.0 else 0.0
        y.point_friction[k] = y.h*x.shapes.friction[contact.pair]*y.stiffness[k]*fmax(y.depth[k], 0.0)*fmax(
            1.0 - y.dissipation[k]*u[2], 0.0)
    y.num_points = x.num_points + count
    return memory


cdef inline void set_rows(
    const Model* m, const Call[double]* c, const TouchPoint* contact, double* rows
) noexcept nogil:
    """Set the Jacobian (3, nv) of the second body's velocity in the first, along both tangents and the normal."""
    cdef int a = contact.a
    cdef int b = contact.b
    cdef Py_ssize_t n = m.num_velocities
    cdef int i
    for i in range(3*<int>n):
        rows[i] = 0.0
    # A parent has a lower number.
    while a != b:
        if a > b:
            set_columns(m, c, contact, a, -1.0, rows)
            a = m.parent[a]
        else:
            set_columns(m, c, contact, b, 1.0, rows)
            b = m.parent[b]


cdef inline void set_columns(
    const Model* m, const Call[double]* c, const TouchPoint* contact, int body, double sign, double* rows
) noexcept nogil:
    """Set the columns of one body's mobilizer."""
    cdef Py_ssize_t n = m.num_velocities
    cdef const double* X = c.k.X_WB + 16*body
    cdef const double* H
    cdef double[3] r
    cdef double[3] u
    cdef int i, k
    for i in range(3):
        r[i] = contact.p[i] - X[4*i + 3]
    for k in range(m.v_start[body], m.v_start[body + 1]):
        H = c.k.H_PB_W + 6*k
        u[0] = sign*(H[3] + H[1]*r[2] - H[2]*r[1])
        u[1] = sign*(H[4] + H[2]*r[0] - H[0]*r[2])
        u[2] = sign*(H[5] + H[0]*r[1] - H[1]*r[0])
        rows[k] = contact.s[0]*u[0] + contact.s[1]*u[1] + contact.s[2]*u[2]
        rows[n + k] = contact.t[0]*u[0] + contact.t[1]*u[1] + contact.t[2]*u[2]
        rows[2*n + k] = contact.n[0]*u[0] + contact.n[1]*u[1] + contact.n[2]*u[2]


cdef inline bint take_over_normals(const Terms* x, Problem* y, const double* u) noexcept nogil:
    """Compute friction from the normal impulses at u, (3 num_points,); return whether it has changed."""
    cdef const TouchPoint* contacts = spots_of(x, y)
    cdef double[3] impulse
    cdef double friction, change = 0.0, largest = 0.0
    cdef int i
    for i in range(x.num_points, y.num_points):
        calc_touch(y[0], i, u + 3*i, impulse)
        friction = x.shapes.friction[contacts[i - x.num_points].pair]*impulse[2]
        change = fmax(change, fabs(friction - y.point_friction[i]))
        largest = fmax(largest, friction)
        y.point_friction[i] = friction
    return PARTS*change > largest


cdef inline int minimize_with_friction(
    const Terms* x, Problem* y, double* v, const double* other, double* residual
) noexcept nogil:
    """Find the minimum, starting at v or `other`; return the number of iterations."""
    cdef int iterations = minimize(y[0], v, other, residual)
    if x.shapes == NULL or y.num_points == x.num_points:
        return iterations
    for _ in range(MOST_PASSES - 1):
        if not take_over_normals(x, y, y.u + y.num_rows):
            break
        iterations += minimize(y[0], v, NULL, residual)
    return iterations


cdef inline double* tell_touches(
    # Parameters:
    const Terms* x,
    # In:
    Py_ssize_t step,
    const double* v1,        # (nv,)  [rad/s, m/s]
    const double* along,     # (nv,)  [rad/s, m/s]
    # Work:
    Problem* y,
    # Out:
    double* row,             # (num_spots, 12)  [SI]  see `ImplicitCore.touch`
    double* power,           # (1,)  [J/s]
) noexcept nogil:
    """Write a row for each point at which shapes push in a step to v1; return where the next one begins."""
    cdef int n = y.n
    cdef int j, k
    cdef double[3] f
    cdef const TouchPoint* contact
    multiply(3*y.num_points, n, y.points, v1, y.u)
    take_over_normals(x, y, y.u)
    for j in range(x.num_points, y.num_points):
        calc_touch(y[0], j, y.u + 3*j, f)
        if not f[2] > 0.0:
            continue
        contact = spots_of(x, y) + (j - x.num_points)
        row[0], row[1], row[11] = step, contact.pair, contact.gap
        for k in range(3):
            row[2 + k], row[5 + k] = contact.p[k], contact.n[k]
            row[8 + k] = (f[0]*contact.s[k] + f[1]*contact.t[k] + f[2]*contact.n[k])/y.h
            power[0] += f[k]/y.h*dot(n, y.points + <Py_ssize_t>n*(3*j + k), along)
        row += 12
    return row
