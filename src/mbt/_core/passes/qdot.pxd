"""Between generalized velocities and the time derivatives of generalized positions."""

from mbt._core.joints.mobilizers cimport calc_qdot, calc_v
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void map_velocity_to_qdot(
    # Topology:
    const Model* model,
    # In:
    const T* q,        # (nq,)  [rad, m]
    const T* v,        # (nv,)  [rad/s, m/s]
    # Out:
    T* qdot,           # (nq,)  [rad/s, m/s]
) noexcept nogil:
    """qdot = N(q) v."""
    cdef int b
    for b in range(1, model.num_bodies):
        calc_qdot(
            model.type[b], model.constants[b], q + model.q_start[b], v + model.v_start[b], qdot + model.q_start[b]
        )


cdef inline void map_qdot_to_velocity(
    # Topology:
    const Model* model,
    # In:
    const T* q,        # (nq,)  [rad, m]
    const T* qdot,     # (nq,)  [rad/s, m/s]
    # Out:
    T* v,              # (nv,)  [rad/s, m/s]
) noexcept nogil:
    """v = N+(q) qdot."""
    cdef int b
    for b in range(1, model.num_bodies):
        calc_v(
            model.type[b], model.constants[b], q + model.q_start[b], qdot + model.q_start[b], v + model.v_start[b]
        )
