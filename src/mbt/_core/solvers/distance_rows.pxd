"""Rows of the distances, and of the angles with limits, that have the least room: velocities of a state obey these."""

from libc.math cimport INFINITY, NAN, sqrt
from libc.string cimport memcpy, memset

from mbt._core.algebra.rotations cimport calc_rpy_rate
from mbt._core.joints.mobilizers cimport integrate_position
from mbt._core.model.structs cimport Model


cdef struct AngleLimit:
    int node
    int axis        # roll, pitch, yaw
    double sign     # 1: the lower one, -1: the upper one
    double limit


cdef struct PairRows:
    # The pairs of one state, followed by the angles with limits.
    int num_pairs
    int nv
    const double* room    # (num_pairs,)
    const double* wanted  # (num_pairs,) how much must be left after the step
    const double* J       # (num_pairs, nv)


cdef inline void set_angle_rows(
    const Model* m, const AngleLimit* limits, int count, const double* q, double* room, double* J
) noexcept nogil:
    """Compute the room of angles to their limits and its Jacobian, scaled so that no row is longer than one."""
    cdef double[3] unit
    cdef double[3] rates
    cdef const double* rpy
    cdef double* row
    cdef double size
    cdef int i, k, v
    memset(J, 0, count*m.num_velocities*sizeof(double))
    for i in range(count):
        rpy = q + m.q_start[limits[i].node]
        v = m.v_start[limits[i].node]
        row = J + <Py_ssize_t>m.num_velocities*i
        size = 0.0
        for k in range(3):
            unit[0], unit[1], unit[2] = k == 0, k == 1, k == 2
            calc_rpy_rate[double](rpy, unit, rates)
            row[v + k] = limits[i].sign*rates[limits[i].axis]
            size += row[v + k]*row[v + k]
        size = max(sqrt(size), 1.0)
        room[i] = limits[i].sign*(rpy[limits[i].axis] - limits[i].limit)/size
        for k in range(3):
            row[v + k] /= size
        if size > 1e8:  # the angle's rate is singular: ask for nothing
            row[v] = row[v + 1] = row[v + 2] = 0.0
            room[i] *= 0.0


cdef inline void set_wanted(
    const double* room, int num_pairs, int num_distances, double gain, double spare, double* wanted
) noexcept nogil:
    """Compute the least room of each pair after the step. An angle may use all of its room."""
    cdef int k
    for k in range(num_pairs):
        if k < num_distances:
            wanted[k] = room[k] - gain*(room[k] - spare)
        else:
            wanted[k] = min(room[k], 0.0)*(1.0 - gain)


cdef inline void choose_rows(
    const PairRows* x, const double* v, double dt, int most, double* rows, double* least
) noexcept nogil:
    """Choose the rows of the pairs with the least room, at the state to which `v` leads; and their least motions.

    Without `v`, at the state itself, by the room; else by the room minus the wanted one.
    """
    cdef int nv = x.nv
    cdef int before = -1
    cdef int found, i, k, l
    cdef double last = -INFINITY
    cdef double key, smallest
    for i in range(most):
        found, smallest = -1, INFINITY
        for k in range(x.num_pairs):
            key = x.room[k] if v == NULL else x.room[k] - x.wanted[k]
            # Equal ones in their order.
            if (key > last or key == last and k > before) and (found < 0 or key < smallest):
                found, smallest = k, key
        if found < 0:  # the rest are NaN
            memset(rows + nv*i, 0, nv*sizeof(double))
            least[i] = NAN
            continue
        last, before = smallest, found
        memcpy(rows + nv*i, x.J + <Py_ssize_t>nv*found, nv*sizeof(double))
        least[i] = x.wanted[found] - x.room[found]
        for l in range(nv if v != NULL else 0):
            least[i] += x.J[<Py_ssize_t>nv*found + l]*(v[l]*dt)


cdef inline void follow(const Model* m, const double* q, const double* v, double dt, double* to) noexcept nogil:
    """Compute the positions to which velocities lead."""
    cdef int b
    for b in range(1, m.num_bodies):
        if m.q_start[b] < m.q_start[b + 1]:
            integrate_position[double](m.type[b], q + m.q_start[b], v + m.v_start[b], dt, to + m.q_start[b])
