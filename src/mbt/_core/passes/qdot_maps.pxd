"""N(q) and N+(q) as dense matrices; both are block diagonal, one block a mobilizer."""

from mbt._core.mobilizers cimport calc_qdot, calc_v
from mbt._core.model cimport Model
from mbt._core.scalars cimport T
from mbt._core.spatial cimport set_zero


cdef inline void calc_N(
    # Topology:
    const Model* model,
    # In:
    const T* q,            # (nq,)
    # Out:
    T* N,                  # (nq, nv)
) noexcept nogil:
    """qdot = N(q) v."""
    cdef int b, i, k
    cdef Py_ssize_t nv = model.num_velocities
    cdef T unit[6]
    cdef T qdot[7]
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
    const T* q,            # (nq,)
    # Out:
    T* Nplus,              # (nv, nq)
) noexcept nogil:
    """v = N+(q) qdot."""
    cdef int b, i, k
    cdef Py_ssize_t nq = model.num_positions
    cdef T unit[7]
    cdef T v[6]
    set_zero(Nplus, model.num_velocities*nq)
    for b in range(1, model.num_bodies):
        for i in range(model.q_start[b], model.q_start[b + 1]):
            set_zero(unit, 7)
            unit[i - model.q_start[b]] = <T>1.0
            calc_v(model.type[b], model.constants[b], q + model.q_start[b], unit, v)
            for k in range(model.v_start[b], model.v_start[b + 1]):
                Nplus[nq*k + i] = v[k - model.v_start[b]]
