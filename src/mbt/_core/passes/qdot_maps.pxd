"""N(q) and N+(q) as dense matrices, block diagonal with one block per mobilizer; and the maps of accelerations."""

from mbt._core.algebra.spatial cimport add_to, set_zero
from mbt._core.joints.mobilizers cimport apply_Ndot, apply_Nplusdot, calc_qdot, calc_v
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_N(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)     [rad, m]
    # Out:
    T* N,                  # (nq, nv)  [1]
) noexcept nogil:
    """qdot = N(q) v."""
    cdef int b, i, k
    cdef Py_ssize_t nv = model.num_velocities
    cdef T[6] unit
    cdef T[7] qdot
    set_zero(N, model.num_positions*nv)
    for b in range(1, model.num_bodies):
        for k in range(model.v_start[b], model.v_start[b + 1]):
            set_zero(unit, 6)
            unit[k - model.v_start[b]] = <T>1.0
            calc_qdot(model.type[b], model.constants[b], q + model.q_start[b], unit, qdot)
            for i in range(model.q_start[b], model.q_start[b + 1]):
                N[nv*i + k] = qdot[i - model.q_start[b]]


cdef inline void calc_Nplus(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)     [rad, m]
    # Out:
    T* Nplus,              # (nv, nq)  [1]
) noexcept nogil:
    """v = N+(q) qdot."""
    cdef int b, i, k
    cdef Py_ssize_t nq = model.num_positions
    cdef T[7] unit
    cdef T[6] v
    set_zero(Nplus, model.num_velocities*nq)
    for b in range(1, model.num_bodies):
        for i in range(model.q_start[b], model.q_start[b + 1]):
            set_zero(unit, 7)
            unit[i - model.q_start[b]] = <T>1.0
            calc_v(model.type[b], model.constants[b], q + model.q_start[b], unit, v)
            for k in range(model.v_start[b], model.v_start[b + 1]):
                Nplus[nq*k + i] = v[k - model.v_start[b]]


cdef inline void map_acceleration_to_qddot(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)  [rad, m]
    const T* v,            # (nv,)  [rad/s, m/s]
    const T* vdot,         # (nv,)  [rad/s^2, m/s^2]
    # Out:
    T* qddot,              # (nq,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """qddot = N vdot + Ndot v."""
    cdef int b, i
    cdef T[7] y
    cdef const double* c
    for b in range(1, model.num_bodies):
        c = model.constants[b]
        i = model.q_start[b]
        calc_qdot(model.type[b], c, q + i, vdot + model.v_start[b], qddot + i)
        apply_Ndot(model.type[b], c, q + i, v + model.v_start[b], v + model.v_start[b], y)
        add_to(y, model.q_start[b + 1] - i, qddot + i)


cdef inline void calc_vdot_of_steady_qdot(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)  [rad, m]
    const T* v,            # (nv,)  [rad/s, m/s]
    # Out:
    T* vdot,               # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = N+dot qdot, which is -N+ Ndot v because N+ N = 1: the acceleration for which qddot is zero."""
    cdef int b
    cdef T[7] qdot
    cdef const double* c
    for b in range(1, model.num_bodies):
        c = model.constants[b]
        calc_qdot(model.type[b], c, q + model.q_start[b], v + model.v_start[b], qdot)
        apply_Nplusdot(
            model.type[b], c, q + model.q_start[b], v + model.v_start[b], qdot, vdot + model.v_start[b]
        )


cdef inline void map_qddot_to_acceleration(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)  [rad, m]
    const T* v,            # (nv,)  [rad/s, m/s]
    const T* qddot,        # (nq,)  [rad/s^2, m/s^2]
    # Out:
    T* vdot,               # (nv,)  [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = N+ qddot + N+dot qdot, exact when qddot = N vdot + Ndot v for some vdot."""
    cdef int b, k
    cdef T[6] y
    calc_vdot_of_steady_qdot(model, q, v, vdot)
    for b in range(1, model.num_bodies):
        k = model.v_start[b]
        calc_v(model.type[b], model.constants[b], q + model.q_start[b], qddot + model.q_start[b], y)
        add_to(y, model.v_start[b + 1] - k, vdot + k)
