"""Changes of the gradient of an implicit step's convex function with the state: constraints and points in contact."""

from libc.string cimport memcpy, memset

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS

from mbt._core.algebra.rotations cimport multiply_by_inverse_left_jacobian
from mbt._core.forces.constraints cimport WELD, num_equations_of
from mbt._core.forces.force_elements cimport POINT_CONTACT
from mbt._core.model.structs cimport Constraint, ForceElement, Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.names cimport POINT_POSITIONS
from mbt._core.solvers.implicit_changes cimport (
    Changes, Motion, Path, Work, change_forces, change_motion, find_path,
)
from mbt._core.solvers.implicit_rows cimport CLOSING, Problem, Terms, call, calc_touch, dot, subtract
from mbt._core.solvers.implicit_step cimport solve_free, solve_outer_free

cdef extern from "solvers/implicit_changes.hpp" namespace "mbt_convex" nogil:
    cdef cppclass Vec:
        double x, y, z
    cdef cppclass Place:
        int mobod
        const double* R_WA
        Vec p_OC
        Vec p_BoC
    cdef cppclass Rubbing:
        double still, moving, slow
    void differentiate_touch(
        const Problem& x, int k, const Place& at, const Rubbing& rubbing, const Path& path, const Motion& v0,
        const Motion& v1, Changes& y)
    void add_row_changes(
        const Place& at, int i, const Path& path, const Motion& motion, double factor, double* change)


cdef inline void change_constraints(Work* w) noexcept nogil:
    """Add the changes of the impulses of constraints, after `change_forces` for the step; see `set_constraints`."""
    cdef const Model* m = w.terms.model
    cdef const Problem* y = w.y
    cdef const Constraint* x
    cdef Py_ssize_t n = y.n
    cdef double[3] error
    cdef double[6] rate
    cdef double[3] turned
    cdef Py_ssize_t j, row
    cdef int k, l, count, begin, end
    for k in range(m.num_constraints):
        x = &m.constraints[k]
        count = num_equations_of(x.type)
        find_range(y, x.row, count, &begin, &end)
        for j in range(n):
            # An error changes by J, except the rotation vector at the beginning of a weld's.
            for l in range(count):
                rate[l] = y.J[n*(x.row + l) + j]
            if x.type == WELD:
                for l in range(3):
                    error[l] = -y.target[x.row + l]*(y.h + CLOSING)
                multiply_by_inverse_left_jacobian(<const double*>error, <const double*>rate, turned)
                memcpy(rate, turned, 3*sizeof(double))
            for l in range(count):
                row = x.row + l
                rate[l] = -y.row_slope[row]*(rate[l]/(y.h + CLOSING) + w.dJ[n*row + j])
                subtract(end - begin, rate[l], y.J + n*row + begin, w.changes.by_q + n*j + begin)
    for k in range(m.num_constraints):
        x = &m.constraints[k]
        count = num_equations_of(x.type)
        for l in range(0, count, 3):
            change_stiffness(w, x.row + l, min(l + 3, count) - l)


cdef inline void change_stiffness(Work* w, int first, int count) noexcept nogil:
    """Add the change of the one compliance of some equations, which is proportional to the largest J M^-1 J'."""
    cdef const Problem* y = w.y
    cdef Py_ssize_t n = y.n
    cdef double share = 0.0
    cdef double* change = w.share
    cdef double* impulse = w.x
    cdef double one
    cdef Py_ssize_t i, j
    cdef int k, begin, end, most = first
    for k in range(first, first + count):
        memcpy(w.x, y.J + n*k, n*sizeof(double))
        solve_outer_free(y, w.x)
        one = dot(<int>n, w.x, w.x)
        if one > share:
            share, most = one, k
    if not share > 0.0:
        return
    memcpy(w.x, y.J + n*most, n*sizeof(double))
    solve_free(y, w.x)
    change_forces(w, w.x, NULL, w.none)
    for j in range(n):
        change[j] = 2.0*w.dJ[n*most + j]
    for i in range(n):
        subtract(<int>n, w.x[i], w.dM + n*i, change)
    find_range(y, first, count, &begin, &end)
    for i in range(begin, end):
        impulse[i] = 0.0
        for k in range(first, first + count):
            impulse[i] += y.J[n*k + i]*w.multipliers[k]
    for j in range(n):
        subtract(end - begin, -change[j]/share, impulse + begin, w.changes.by_q + n*j + begin)


cdef inline void find_range(const Problem* y, int first, int count, int* begin, int* end) noexcept nogil:
    """Find the range of dofs in which rows of constraints are not zero: for a loop usually a small one."""
    cdef int n = y.n
    cdef int k, i
    begin[0], end[0] = n, 0
    for k in range(first, first + count):
        for i in range(n):
            if y.J[<Py_ssize_t>n*k + i] != 0.0:
                begin[0], end[0] = min(begin[0], i), max(end[0], i + 1)
    begin[0] = min(begin[0], end[0])


cdef inline void change_touches(Work* w) noexcept nogil:
    """Add the changes of the impulses at points in contact."""
    cdef const Terms* x = w.terms
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef const double* a
    cdef const double* X_WB
    cdef double[16] X_WA
    cdef double[9] R_WA
    cdef double* p_WC
    cdef double[3] impulse
    cdef double[3] f
    cdef double[3] r
    cdef double* F
    cdef int[5] integers
    cdef Place place
    cdef Rubbing rubbing
    cdef Path path
    cdef int i, j, k, body, count, first = 0
    change_motion(w, w.at.q, w.v, &w.with_v1)
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.type != POINT_CONTACT:
            continue
        a, count, body = x.elements + e.start, e.num_points, m.frame_node[e.b]
        for j in range(3):
            for k in range(count):
                w.points[count*j + k] = a[NUM_CONTACT_CONSTANTS + 3*k + j]
        integers = [e.b, 0, count, 0, 0]
        p_WC = w.points + 3*count
        call(POINT_POSITIONS, integers, w.c, w.points, p_WC)
        kernels.frame_pose(m, x.own, e.a, w.at.q, w.c.memory, w.dofs, X_WA)
        for j in range(9):
            R_WA[j] = X_WA[4*(j//3) + j % 3]
        rubbing.still, rubbing.moving, rubbing.slow = a[2], a[3], a[4]
        place.mobod, place.R_WA = m.mobod[body], R_WA
        path = find_path(w, place.mobod)
        X_WB = w.c.k.X_WB + 16*body
        F = w.F + 6*body
        for k in range(count):
            for j in range(3):
                r[j] = p_WC[count*j + k] - X_WB[4*j + 3]
            place.p_BoC.x, place.p_BoC.y, place.p_BoC.z = r[0], r[1], r[2]
            place.p_OC.x = p_WC[k] - w.with_v1.p_WO[3*place.mobod]
            place.p_OC.y = p_WC[count + k] - w.with_v1.p_WO[3*place.mobod + 1]
            place.p_OC.z = p_WC[2*count + k] - w.with_v1.p_WO[3*place.mobod + 2]
            calc_touch(w.y[0], first, w.y.u + w.y.num_rows + 3*first, impulse)
            if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                differentiate_touch(w.y[0], first, place, rubbing, path, w.with_v, w.with_v1, w.changes)
                change_compliance(w, first, &place, &path)
                for j in range(3):
                    f[j] = R_WA[3*j]*impulse[0] + R_WA[3*j + 1]*impulse[1] + R_WA[3*j + 2]*impulse[2]
                    F[3 + j] += f[j]
                F[0] += r[1]*f[2] - r[2]*f[1]
                F[1] += r[2]*f[0] - r[0]*f[2]
                F[2] += r[0]*f[1] - r[1]*f[0]
            first += 1


cdef inline void change_compliance(Work* w, int point, const Place* place, const Path* path) noexcept nogil:
    """Add the change of friction where a point sticks: a damper inversely proportional to J M^-1 J'."""
    cdef const Problem* y = w.y
    cdef Py_ssize_t n = y.n
    cdef const double* rows = y.points + 3*n*point
    cdef const double* u = y.u + y.num_rows + 3*point
    cdef double slope = y.point_slope[point]
    cdef double share = 0.0, force
    cdef Py_ssize_t i, j
    cdef int k
    if slope*slope*(u[0]*u[0] + u[1]*u[1]) >= y.point_friction[point]*y.point_friction[point]:
        return
    memset(w.share, 0, n*sizeof(double))
    for k in range(2):
        # d(J M^-1 J') = 2 d(J x) - x' dM x, with x = M^-1 J'.
        memcpy(w.x, rows + n*k, n*sizeof(double))
        solve_free(y, w.x)
        share += dot(<int>n, w.x, rows + n*k)
        change_motion(w, w.at.q, w.x, &w.with_x)
        add_row_changes(place[0], k, path[0], w.with_x, 2.0, w.share)
        change_forces(w, w.x, NULL, w.none)
        for i in range(n):
            subtract(<int>n, w.x[i], w.dM + n*i, w.share)
    for j in range(n):
        for i in range(n):
            force = slope*(u[0]*rows[i] + u[1]*rows[n + i])
            w.changes.by_q[n*j + i] -= force*w.share[j]/share
