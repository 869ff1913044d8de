"""Between velocities and the time derivatives of positions, of all mobilizers; and one mobilizer for itself."""

from mbt._core.algebra.spatial cimport add_to, dot6, set_pose4, set_zero
from mbt._core.joints.mobilizers cimport (
    apply_Ndot, apply_Nplusdot, calc_across_H, calc_across_Hdot, calc_across_pose, calc_qdot, calc_v,
)
from mbt._core.model.structs cimport Model
from mbt._core.passes.configuration cimport difference_positions, integrate_positions, normalize_positions
from mbt._core.passes.qdot cimport map_qdot_to_velocity, map_velocity_to_qdot
from mbt._core.passes.qdot_maps cimport (
    calc_N, calc_Nplus, map_acceleration_to_qddot, map_qddot_to_acceleration,
)
from mbt._core.quantities.table cimport (
    ACCELERATION, INTEGRATED_POSITIONS, MOBILIZER_ACCELERATION, MOBILIZER_H, MOBILIZER_N, MOBILIZER_NDOT,
    MOBILIZER_NPLUS, MOBILIZER_NPLUSDOT, MOBILIZER_PROJECTION, MOBILIZER_QDDOT, MOBILIZER_QDOT,
    MOBILIZER_SPATIAL_ACCELERATION, MOBILIZER_SPATIAL_VELOCITY, MOBILIZER_TRANSFORM, MOBILIZER_VELOCITY,
    NORMALIZED_POSITIONS, NPLUS_MATRIX, N_MATRIX, POSITION_DIFFERENCE, QDDOT, QDOT, VELOCITY,
)
from mbt._core.scalars cimport T


cdef inline void calc_map(
    int quantity, const Model* model, const T* q, const T* v, const T* x, T* out
) noexcept nogil:
    """Of all mobilizers."""
    if quantity == QDOT:
        map_velocity_to_qdot(model, q, x, out)
    elif quantity == VELOCITY:
        map_qdot_to_velocity(model, q, x, out)
    elif quantity == QDDOT:
        map_acceleration_to_qddot(model, q, v, x, out)
    elif quantity == ACCELERATION:
        map_qddot_to_acceleration(model, q, v, x, out)
    elif quantity == N_MATRIX:
        calc_N(model, q, out)
    elif quantity == NPLUS_MATRIX:
        calc_Nplus(model, q, out)
    elif quantity == INTEGRATED_POSITIONS:
        integrate_positions(model, q, x, x[model.num_velocities], out)
    elif quantity == POSITION_DIFFERENCE:
        difference_positions(model, q, x, out)
    else:
        normalize_positions(model, q, out)


cdef inline void calc_mobilizer_quantity(
    int quantity, int b, const Model* model, const T* q, const T* v, const T* x, T* out
) noexcept nogil:
    """Of the mobilizer of body b. Across it: of the outboard frame in the inboard one, expressed in that one."""
    cdef int type = model.type[b]
    cdef int nq = model.q_start[b + 1] - model.q_start[b]
    cdef int nv = model.v_start[b + 1] - model.v_start[b]
    cdef const double* c = model.constants[b]
    cdef const T* q_b = q + model.q_start[b]
    cdef const T* v_b = v + model.v_start[b]
    cdef T y[36]
    cdef int i, k
    if quantity == MOBILIZER_TRANSFORM:
        calc_across_pose(type, model.reversed[b], c, q_b, y, y + 9)
        set_pose4(y, y + 9, out)
    elif quantity == MOBILIZER_QDOT or quantity == MOBILIZER_QDDOT:
        calc_qdot(type, c, q_b, x, out)
        if quantity == MOBILIZER_QDDOT:
            apply_Ndot(type, c, q_b, v_b, v_b, y)
            add_to(y, nq, out)
    elif quantity == MOBILIZER_VELOCITY or quantity == MOBILIZER_ACCELERATION:
        calc_v(type, c, q_b, x, out)
        if quantity == MOBILIZER_ACCELERATION:
            calc_qdot(type, c, q_b, v_b, y)
            apply_Nplusdot(type, c, q_b, v_b, y, y + 7)
            add_to(y + 7, nv, out)
    elif quantity == MOBILIZER_N or quantity == MOBILIZER_NDOT:
        for k in range(nv):
            calc_column_of_map(quantity, type, c, q_b, v_b, k, y)
            for i in range(nq):
                out[nv*i + k] = y[i]
    elif quantity == MOBILIZER_NPLUS or quantity == MOBILIZER_NPLUSDOT:
        for i in range(nq):
            calc_column_of_map(quantity, type, c, q_b, v_b, i, y)
            for k in range(nv):
                out[nq*k + i] = y[k]
    else:
        set_zero(y, 36)
        calc_across_H(type, model.reversed[b], c, q_b, y)
        calc_with_H(quantity, b, model, q_b, v_b, x, y, out)


cdef inline void calc_column_of_map(
    int quantity, int type, const double* constants, const T* q, const T* v, int column, T* y
) noexcept nogil:
    cdef T unit[7]
    set_zero(unit, 7)
    unit[column] = <T>1.0
    if quantity == MOBILIZER_N:
        calc_qdot(type, constants, q, unit, y)
    elif quantity == MOBILIZER_NPLUS:
        calc_v(type, constants, q, unit, y)
    elif quantity == MOBILIZER_NDOT:
        apply_Ndot(type, constants, q, v, unit, y)
    else:
        apply_Nplusdot(type, constants, q, v, unit, y)


cdef inline void calc_with_H(
    int quantity, int b, const Model* model, const T* q, const T* v, const T* x, T* H, T* out
) noexcept nogil:
    """With the columns of H as rows, (6, 6)."""
    cdef int nv = model.v_start[b + 1] - model.v_start[b]
    cdef int i, k
    cdef T bias[6]
    if quantity == MOBILIZER_H:
        for k in range(nv):
            for i in range(6):
                out[nv*i + k] = H[6*k + i]
    elif quantity == MOBILIZER_PROJECTION:
        for k in range(nv):
            out[k] = dot6(H + 6*k, x)
    else:
        multiply_columns(H, x, nv, out)
        if quantity == MOBILIZER_SPATIAL_ACCELERATION:
            calc_across_Hdot(model.type[b], model.reversed[b], model.constants[b], q, v, H)
            multiply_columns(H, v, nv, bias)
            add_to(bias, 6, out)


cdef inline void multiply_columns(const T* H, const T* v, int nv, T* V) noexcept nogil:
    """V = H v."""
    cdef int i, k
    set_zero(V, 6)
    for k in range(nv):
        for i in range(6):
            V[i] = V[i] + H[6*k + i]*v[k]
