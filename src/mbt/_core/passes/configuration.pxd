"""Steps between configurations: positions as points of a manifold, velocities as steps on it."""

from mbt._core.joints.mobilizers cimport difference_position, integrate_position, normalize_position
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void integrate_positions(
    # Topology:
    const Model* model,
    # In:
    const T* q0,       # (nq,)  [rad, m]
    const T* v,        # (nv,)  [rad/s, m/s]
    T dt,
    # Out:
    T* q1,             # (nq,)  [rad, m]
) noexcept nogil:
    """q1 is reached from q0 within dt at the constant v."""
    cdef int b
    for b in range(1, model.num_bodies):
        integrate_position(model.type[b], q0 + model.q_start[b], v + model.v_start[b], dt, q1 + model.q_start[b])


cdef inline void difference_positions(
    # Topology:
    const Model* model,
    # In:
    const T* q0,       # (nq,)  [rad, m]
    const T* q1,       # (nq,)  [rad, m]
    # Out:
    T* v,              # (nv,)  [rad/s, m/s]
) noexcept nogil:
    """v leads from q0 to q1 within one second, by the shortest rotations."""
    cdef int b
    for b in range(1, model.num_bodies):
        difference_position(model.type[b], q0 + model.q_start[b], q1 + model.q_start[b], v + model.v_start[b])


cdef inline void normalize_positions(
    # Topology:
    const Model* model,
    # In:
    const T* q,        # (nq,)  [rad, m]
    # Out:
    T* y,              # (nq,)  [rad, m]
) noexcept nogil:
    """y = q with quaternions of unit length."""
    cdef int b
    for b in range(1, model.num_bodies):
        normalize_position(model.type[b], q + model.q_start[b], y + model.q_start[b])
