"""Quantities by number, over the fused scalar: memory, the kinematics they read, and their functions."""

from mbt._core.model.structs cimport Model
from mbt._core.passes.velocity_kinematics cimport calc_velocity_kinematics
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.table cimport IN_FULL, POSES, POSITIONS, VELOCITIES, Description, describe
from mbt._core.scalars cimport T


cdef inline Py_ssize_t count_work_of(
    const Functions[T]* functions, int quantity, const int* integers, const Model* model
) noexcept nogil:
    """Scalars of working memory, including kinematics."""
    cdef Py_ssize_t size = functions.count_memory(quantity, integers, model)
    if describe(quantity).reads >= POSES:
        size += 96*<Py_ssize_t>model.num_bodies + 14*<Py_ssize_t>model.num_velocities
    return size


cdef inline void calc_quantity(const Functions[T]* functions, int quantity, Call[T]* c) noexcept nogil:
    """Compute the kinematics that a quantity reads, then the quantity. Pivots it divides by are in the memory."""
    calc_kinematics(describe(quantity), c)
    c.functions = functions
    c.pivots.D = NULL
    c.gravity = NULL
    functions.call(quantity, c)


cdef inline void calc_kinematics(const Description* row, Call[T]* c) noexcept nogil:
    """Compute the kinematics that a quantity reads, in the memory."""
    cdef bint in_full = row.flags & IN_FULL
    if row.reads == POSES:
        c.k.X_WB = c.memory
        c.k.F_Bo_W = c.k.X_WB + 16*c.model.num_bodies
        c.k.rest = c.k.F_Bo_W + 6*c.model.num_bodies
        algorithms.run_body_poses(c.model, c.p, c.q, c.k.F_Bo_W, c.k.X_WB)
    elif row.reads >= POSITIONS:
        algorithms.run_positions(in_full and row.reads == POSITIONS, c.model, c.p, c.q, c.memory, &c.k)
        if row.reads == VELOCITIES:
            if in_full:
                calc_velocity_kinematics(
                    c.model, c.k.X_WB, c.k.H_PB_W, c.v, c.k.V_PB_W, c.k.V_PB, c.k.V_WB
                )
            else:
                algorithms.run_velocities(c.model, c.v, &c.k)
    else:
        c.k.rest = c.memory
