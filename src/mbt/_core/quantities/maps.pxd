"""Maps between velocities and time derivatives of positions, for all mobilizers."""

from mbt._core.passes.configuration cimport difference_positions, integrate_positions, normalize_positions
from mbt._core.passes.qdot cimport map_qdot_to_velocity, map_velocity_to_qdot
from mbt._core.passes.qdot_maps cimport (
    calc_N, calc_Nplus, map_acceleration_to_qddot, map_qddot_to_acceleration,
)
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T


cdef inline void register_maps(Functions[T]* functions) noexcept:
    functions.set(QDOT, calc_qdots[T], count_memory)
    functions.set(VELOCITY, calc_velocities[T], count_memory)
    functions.set(QDDOT, calc_qddots[T], count_memory)
    functions.set(ACCELERATION, calc_accelerations_of_qddot[T], count_memory)
    functions.set(N_MATRIX, calc_N_matrix[T], count_memory)
    functions.set(NPLUS_MATRIX, calc_Nplus_matrix[T], count_memory)
    functions.set(INTEGRATED_POSITIONS, calc_integrated_positions[T], count_memory)
    functions.set(POSITION_DIFFERENCE, calc_position_difference[T], count_memory)
    functions.set(NORMALIZED_POSITIONS, calc_normalized_positions[T], count_memory)


cdef inline void calc_qdots(Call[T]* c) noexcept nogil:
    map_velocity_to_qdot(c.model, c.q, c.x, c.out)


cdef inline void calc_velocities(Call[T]* c) noexcept nogil:
    map_qdot_to_velocity(c.model, c.q, c.x, c.out)


cdef inline void calc_qddots(Call[T]* c) noexcept nogil:
    map_acceleration_to_qddot(c.model, c.q, c.v, c.x, c.out)


cdef inline void calc_accelerations_of_qddot(Call[T]* c) noexcept nogil:
    map_qddot_to_acceleration(c.model, c.q, c.v, c.x, c.out)


cdef inline void calc_N_matrix(Call[T]* c) noexcept nogil:
    calc_N(c.model, c.q, c.out)


cdef inline void calc_Nplus_matrix(Call[T]* c) noexcept nogil:
    calc_Nplus(c.model, c.q, c.out)


cdef inline void calc_integrated_positions(Call[T]* c) noexcept nogil:
    integrate_positions(c.model, c.q, c.x, c.x[c.model.num_velocities], c.out)


cdef inline void calc_position_difference(Call[T]* c) noexcept nogil:
    difference_positions(c.model, c.q, c.x, c.out)


cdef inline void calc_normalized_positions(Call[T]* c) noexcept nogil:
    normalize_positions(c.model, c.q, c.out)
