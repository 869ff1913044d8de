"""Rows of distances that the velocities of one state obey: those with the least room."""

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy, memset

from mbt._core.joints.mobilizers cimport integrate_position
from mbt._core.model.structs cimport Model


cdef inline void set_wanted(
    const double* room, int num_pairs, double gain, double spare, double* wanted
) noexcept nogil:
    """The room that each pair shall have after the step."""
    cdef int k
    for k in range(num_pairs):
        wanted[k] = room[k] - gain*(room[k] - spare)


cdef inline void choose_rows(
    const double* room, const double* wanted, const double* J, int num_pairs, int nv, const double* v, double dt,
    int most, double* rows, double* least
) noexcept nogil:
    """Rows of the pairs with the least room, where `v` has led, and of their motions the least values.

    Without `v`, of the state itself: by the room. Else by what it lacks of the wanted one.
    """
    cdef int before = -1
    cdef int found, i, k, l
    cdef double last = -INFINITY
    cdef double key, smallest
    for i in range(most):
        found, smallest = -1, INFINITY
        for k in range(num_pairs):
            key = room[k] if v == NULL else room[k] - wanted[k]
            # Those of the same room in their order.
            if (key > last or key == last and k > before) and (found < 0 or key < smallest):
                found, smallest = k, key
        if found < 0:  # what is left is NaN
            memset(rows + nv*i, 0, nv*sizeof(double))
            least[i] = NAN
            continue
        last, before = smallest, found
        memcpy(rows + nv*i, J + <Py_ssize_t>nv*found, nv*sizeof(double))
        least[i] = wanted[found] - room[found]
        for l in range(nv if v != NULL else 0):
            least[i] += J[<Py_ssize_t>nv*found + l]*(v[l]*dt)


cdef inline void follow(const Model* m, const double* q, const double* v, double dt, double* to) noexcept nogil:
    """Where velocities lead."""
    cdef int b
    for b in range(1, m.num_bodies):
        if m.q_start[b] < m.q_start[b + 1]:
            integrate_position[double](m.type[b], q + m.q_start[b], v + m.v_start[b], dt, to + m.q_start[b])
