"""Quantities of one mobilizer: that of the body whose index is the integer.

They describe the outboard frame in the inboard frame, expressed in the inboard frame.
"""

from mbt._core.algebra.spatial cimport add_scaled, set_zero
from mbt._core.algebra.vectors cimport JointAxes, Pose, numbers, put
from mbt._core.joints.mobilizers cimport (
    apply_Ndot, apply_Nplusdot, calc_across_H, calc_across_Hdot, calc_across_pose, calc_qdot, calc_v,
)
from mbt._core.quantities.call cimport Call, Functions, body_of
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T


cdef inline void register_mobilizers(Functions[T]* functions) noexcept:
    functions.set(MOBILIZER_TRANSFORM, calc_transform[T], count_memory)
    functions.set(MOBILIZER_H, calc_H[T], count_memory)
    functions.set(MOBILIZER_SPATIAL_VELOCITY, calc_spatial_velocity[T], count_memory)
    functions.set(MOBILIZER_SPATIAL_ACCELERATION, calc_spatial_acceleration[T], count_memory)
    functions.set(MOBILIZER_PROJECTION, calc_projection[T], count_memory)
    functions.set(MOBILIZER_QDOT, calc_mobilizer_qdot[T], count_memory)
    functions.set(MOBILIZER_VELOCITY, calc_mobilizer_velocity[T], count_memory)
    functions.set(MOBILIZER_QDDOT, calc_mobilizer_qddot[T], count_memory)
    functions.set(MOBILIZER_ACCELERATION, calc_mobilizer_acceleration[T], count_memory)
    functions.set(MOBILIZER_N, calc_mobilizer_N[T], count_memory)
    functions.set(MOBILIZER_NPLUS, calc_mobilizer_Nplus[T], count_memory)
    functions.set(MOBILIZER_NDOT, calc_mobilizer_Ndot[T], count_memory)
    functions.set(MOBILIZER_NPLUSDOT, calc_mobilizer_Nplusdot[T], count_memory)


cdef inline int num_q(const Call[T]* c) noexcept nogil:
    return c.model.q_start[body_of(c) + 1] - c.model.q_start[body_of(c)]


cdef inline int num_v(const Call[T]* c) noexcept nogil:
    return c.model.v_start[body_of(c) + 1] - c.model.v_start[body_of(c)]


cdef inline const T* q_of(const Call[T]* c) noexcept nogil:
    return c.q + c.model.q_start[body_of(c)]


cdef inline const T* v_of(const Call[T]* c) noexcept nogil:
    return c.v + c.model.v_start[body_of(c)]


cdef inline void calc_transform(Call[T]* c) noexcept nogil:
    """X_FM."""
    cdef int b = body_of(c)
    cdef Pose[T] X
    calc_across_pose(c.model.type[b], c.model.reversed[b], c.model.constants[b], q_of(c), &X)
    put(X, c.out)


# Quantities that follow from others are computed from them, so that each function of joints/ is compiled once.

cdef inline void run(Call[T]* c, int quantity, const T* x, T* out) noexcept nogil:
    """Compute another quantity of this mobilizer, with an input if it has one."""
    cdef Call[T] other = c[0]
    other.x = <T*>x
    other.out = out
    c.functions.call(quantity, &other)


cdef inline void multiply(int m, int n, const T* A, const T* x, T* y) noexcept nogil:
    """y += A x, with A (m, n)."""
    cdef int i, k
    for i in range(m):
        for k in range(n):
            y[i] = y[i] + A[n*i + k]*x[k]


# H_FM ---------------------------------------------------------------------------------------------------------------

cdef inline void calc_H(Call[T]* c) noexcept nogil:
    """(6, nv)."""
    cdef int b = body_of(c)
    cdef int k, nv = num_v(c)
    cdef JointAxes[T] H
    calc_across_H(c.model.type[b], c.model.reversed[b], c.model.constants[b], q_of(c), H.dof)
    for k in range(nv):
        set_column(6, nv, k, numbers(H.dof[k]), c.out)


cdef inline void calc_projection(Call[T]* c) noexcept nogil:
    """H' F."""
    cdef T[36] H
    cdef int i, k, nv = num_v(c)
    run(c, MOBILIZER_H, NULL, H)
    set_zero(c.out, nv)
    for k in range(nv):
        for i in range(6):
            c.out[k] = c.out[k] + H[nv*i + k]*c.x[i]


cdef inline void calc_spatial_velocity(Call[T]* c) noexcept nogil:
    """H v."""
    cdef T[36] H
    run(c, MOBILIZER_H, NULL, H)
    set_zero(c.out, 6)
    multiply(6, num_v(c), H, c.x, c.out)


cdef inline void calc_spatial_acceleration(Call[T]* c) noexcept nogil:
    """H vdot + Hdot v."""
    cdef int b = body_of(c)
    cdef int k
    cdef const T* v = v_of(c)
    cdef JointAxes[T] Hdot
    run(c, MOBILIZER_SPATIAL_VELOCITY, c.x, c.out)
    calc_across_Hdot(c.model.type[b], c.model.reversed[b], c.model.constants[b], q_of(c), v, Hdot.dof)
    for k in range(num_v(c)):
        add_scaled(numbers(Hdot.dof[k]), v[k], 6, c.out)


# Between v and qdot -------------------------------------------------------------------------------------------------

cdef inline void calc_mobilizer_qdot(Call[T]* c) noexcept nogil:
    calc_qdot(c.model.type[body_of(c)], c.model.constants[body_of(c)], q_of(c), c.x, c.out)


cdef inline void calc_mobilizer_velocity(Call[T]* c) noexcept nogil:
    calc_v(c.model.type[body_of(c)], c.model.constants[body_of(c)], q_of(c), c.x, c.out)


cdef inline void calc_mobilizer_qddot(Call[T]* c) noexcept nogil:
    """N vdot + Ndot v."""
    cdef T[42] Ndot
    run(c, MOBILIZER_QDOT, c.x, c.out)
    run(c, MOBILIZER_NDOT, NULL, Ndot)
    multiply(num_q(c), num_v(c), Ndot, v_of(c), c.out)


cdef inline void calc_mobilizer_acceleration(Call[T]* c) noexcept nogil:
    """N+ qddot + N+dot qdot."""
    cdef T[7] qdot
    cdef T[42] Nplusdot
    run(c, MOBILIZER_VELOCITY, c.x, c.out)
    run(c, MOBILIZER_QDOT, v_of(c), qdot)
    run(c, MOBILIZER_NPLUSDOT, NULL, Nplusdot)
    multiply(num_v(c), num_q(c), Nplusdot, qdot, c.out)


cdef inline void calc_mobilizer_N(Call[T]* c) noexcept nogil:
    """(nq, nv), column by column, like everything below."""
    cdef T[7] unit, column
    cdef int k
    for k in range(num_v(c)):
        set_unit(k, unit)
        run(c, MOBILIZER_QDOT, unit, column)
        set_column(num_q(c), num_v(c), k, column, c.out)


cdef inline void calc_mobilizer_Nplus(Call[T]* c) noexcept nogil:
    cdef T[7] unit, column
    cdef int k
    for k in range(num_q(c)):
        set_unit(k, unit)
        run(c, MOBILIZER_VELOCITY, unit, column)
        set_column(num_v(c), num_q(c), k, column, c.out)


cdef inline void calc_mobilizer_Ndot(Call[T]* c) noexcept nogil:
    cdef int b = body_of(c)
    cdef T[7] unit, column
    cdef int k
    for k in range(num_v(c)):
        set_unit(k, unit)
        apply_Ndot(c.model.type[b], c.model.constants[b], q_of(c), v_of(c), unit, column)
        set_column(num_q(c), num_v(c), k, column, c.out)


cdef inline void calc_mobilizer_Nplusdot(Call[T]* c) noexcept nogil:
    cdef int b = body_of(c)
    cdef T[7] unit, column
    cdef int k
    for k in range(num_q(c)):
        set_unit(k, unit)
        apply_Nplusdot(c.model.type[b], c.model.constants[b], q_of(c), v_of(c), unit, column)
        set_column(num_v(c), num_q(c), k, column, c.out)


cdef inline void set_unit(int k, T* unit) noexcept nogil:
    set_zero(unit, 7)
    unit[k] = <T>1.0


cdef inline void set_column(int num_rows, int num_columns, int k, const T* column, T* A) noexcept nogil:
    """Column k of A, (num_rows, num_columns)."""
    cdef int i
    for i in range(num_rows):
        A[num_columns*i + k] = column[i]
