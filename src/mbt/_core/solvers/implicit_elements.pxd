"""Rows of an implicit step beside constraints: springs and bushings between bodies, limits of angles.

What each term means, and why, is in docs/implicit_steps.md.
"""

from libc.math cimport fabs, fmax, tanh
from libc.string cimport memset

from mbt._core.algebra.records cimport Coordinates, Ends
from mbt._core.algebra.spatial cimport copy
from mbt._core.algebra.vectors cimport numbers
from mbt._core.forces.elements_on_dof cimport calc_joint_force_by_position
from mbt._core.forces.force_elements cimport DOOR_HINGE, JOINT_FRICTION, calc_coordinates, num_coordinates_of
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.passes.element_forces cimport add_forces_on_ends, set_ends
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.names cimport N_MATRIX
from mbt._core.solvers.implicit_rows cimport PULL, RETURN, RIGID, MassFactor, Problem, Terms, call, mask


cdef inline int count_element_rows(const Model* m) noexcept nogil:
    cdef int i, count = 0
    for i in range(m.num_force_elements):
        count += num_coordinates_of(m.force_elements[i].type)
    return count


cdef inline void set_elements(
    const Terms* x, Call[double]* c, int row, Problem* y, double* F
) noexcept nogil:
    """Set the rows of springs and bushings, from `row` on; F is working memory, (6 num_bodies,).

    An element exerts ``-k s - d sdot`` along each of its coordinates s, with sdot at the end of the step, where s has
    become ``s + h sdot``.
    """
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef Ends[double] ends
    cdef Coordinates[double] along
    cdef double[36] from_A
    cdef double[36] from_C
    cdef double k, h = y.h
    cdef int i, j, n = m.num_velocities
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if not num_coordinates_of(e.type):
            continue
        set_ends(m, e, <const double*>x.own.X_BF, <const double*>c.k.X_WB, <const double*>NULL, &ends)
        set_rates(e.type, x.elements + e.start, &ends, &along, from_A, from_C)
        for j in range(num_coordinates_of(e.type)):
            for_ends(&ends, from_A + 6*j, from_C + 6*j)
            memset(F, 0, 6*m.num_bodies*sizeof(double))
            add_forces_on_ends(m, e, <const double*>c.k.X_WB, <const Ends[double]*>&ends, F)
            kernels.generalized_forces(m, c.k.X_WB, c.k.H_PB_W, F, c.memory, y.J + <Py_ssize_t>n*row)
            release(x, y.J + <Py_ssize_t>n*row)
            k = along.k[j]
            y.row_slope[row] = h*along.d[j] + h*h*k
            y.target[row] = -h*k*along.s[j]/y.row_slope[row] if y.row_slope[row] > 0.0 else 0.0
            row += 1


cdef inline void release(const Terms* x, double* row) noexcept nogil:
    """Take dofs that cannot move out of a row."""
    cdef int i
    for i in range(x.model.num_velocities):
        row[i] *= x.free[i]


cdef inline void for_ends(Ends[double]* ends, const double* F_A, const double* F_C) noexcept nogil:
    copy(F_A, 6, numbers(ends.F_A))
    copy(F_C, 6, numbers(ends.F_C))


cdef inline void set_rates(
    int type, const double* a, Ends[double]* ends, Coordinates[double]* along, double* from_A, double* from_C
) noexcept nogil:
    """Compute an element's coordinates, and the rows (6,) by which their rates depend on the velocities of its ends."""
    cdef int i, j
    cdef double* V
    for i in range(12):
        V = numbers(ends.V_WA) + i if i < 6 else numbers(ends.V_WC) + i - 6
        V[0] = 1.0
        calc_coordinates(type, a, <const Ends[double]*>ends, along)
        V[0] = 0.0
        for j in range(num_coordinates_of(type)):
            if i < 6:
                from_A[6*j + i] = along.sdot[j]
            else:
                from_C[6*j + i - 6] = along.sdot[j]


cdef inline void set_angle_limits(
    const Terms* x, Call[double]* c, const MassFactor* factor, int row, Problem* y, double* N
) noexcept nogil:
    """Set the rows of limits of positions that are not integrals of velocities; N (num_positions, n) is working memory.

    The first half of the rows are stops; the second half, for the same limits, are damped springs that bring back
    angles beyond them.
    """
    cdef int[5] integers = [0, 0, 0, 0, 0]
    cdef int i, j, k, n = x.model.num_velocities
    cdef double gap, share, stiffness
    cdef double* J
    if not x.num_angles:
        return
    call(N_MATRIX, integers, c, NULL, N)
    for i in range(x.num_angles):
        k = x.angle_positions[i]
        J = y.J + <Py_ssize_t>n*(row + i)
        for j in range(n):
            J[j] = x.angle_signs[i]*N[<Py_ssize_t>n*k + j]
        share = mask(x, factor, J)
        gap = x.angle_signs[i]*(c.q[k] - x.angle_limits[i])
        stiffness = 1.0/share if share > 0.0 else 0.0
        if i < x.num_angles//2 or gap > 0.0:
            y.row_slope[row + i] = stiffness/RIGID if i < x.num_angles//2 else 0.0
            y.target[row + i] = -fmax(gap, 0.0)/y.h
        else:
            y.row_slope[row + i] = y.h*(y.h + RETURN)*stiffness/(PULL*PULL)
            y.target[row + i] = -gap/(y.h + RETURN)


cdef inline void add_hinges(
    const Terms* x, const double* q, const double* v, double h, double* linear, double* friction
) noexcept nogil:
    """Add what elements on joints exert: impulses per velocity, and the largest impulses of dry friction.

    Dry friction has its magnitude at the speed at the beginning of the step; that of a door at no less than the speed
    of its largest force.
    """
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef const double* a
    cdef double ratio, slope
    cdef int i
    memset(friction, 0, m.num_velocities*sizeof(double))
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        a = x.elements + e.start
        if e.type == JOINT_FRICTION:
            ratio = v[e.b]/a[2]
            friction[e.b] += h*(a[0] + (a[1] - a[0])/(1.0 + ratio*ratio))
        elif e.type == DOOR_HINGE:
            slope = -calc_joint_force_by_position(e.type, a, q[e.a])
            linear[e.b] += (h*a[4] + h*h*fmax(slope, 0.0))*x.free[e.b]
            friction[e.b] += h*friction_of_door(a, v[e.b])


cdef inline double friction_of_door(const double* a, double v) noexcept nogil:
    """Return dynamic friction times tanh(x), and static friction times 2 tanh(x) (1 - tanh(x)^2), x = v / threshold."""
    cdef double s
    if not a[7] > 0.0:
        return 0.0
    s = fmax(tanh(fabs(v)/a[7]), 0.57735026918962576)  # at the largest force of the doublet
    return a[2]*s + a[3]*2.0*s*(1.0 - s*s)
