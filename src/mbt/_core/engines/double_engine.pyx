from libc.string cimport memcpy

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.call cimport Call, find_pivot_of_zero
from mbt._core.quantities.dispatch cimport count_work_of
from mbt._core.quantities.from_kinematics cimport register_from_kinematics
from mbt._core.quantities.table cimport (
    DIVIDES, IN_FULL, OVERWRITES_INPUT, POSES, POSITIONS, VELOCITIES, Description, Sizes, describe, sizes_of,
)

# Dynamics quantities are registered where they are compiled.
register_from_kinematics[double](&kernels.of_doubles)
derivatives.register_derivatives_of_doubles(&kernels.of_doubles)


cdef int evaluate(
    # Topology:
    int quantity,
    const int* integers,    # (num_integers,)  indices of frames, bodies or a force element
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,        # (nq,)            [rad, m]
    const double* v,        # (nv,)            [rad/s, m/s]
    const double* x,        # (sizes.input,)   [SI]
    # Work:
    Kinematics[double]* k,  # the kinematics that the quantity reads, and memory for more
    # Out:
    double* out,            # (sizes.result,)  [SI]
) except -2 nogil:
    """Fill `out` from q and v, or from the kinematics that the quantity reads.

    Returns -1, or a massless dof: then `out` is unchanged.
    """
    cdef double* memory = kernels.get_work(model, count_memory(quantity, integers, model))
    return run(quantity, integers, model, switches, p, q, v, x, k, memory, out)


cdef int evaluate_state(
    # Topology:
    int quantity,
    const int* integers,  # (num_integers,)  indices of frames, bodies or a force element
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,      # (nq,)            [rad, m]
    const double* v,      # (nv,)            [rad/s, m/s]
    const double* x,      # (sizes.input,)   [SI]
    # Out:
    double* out,          # (sizes.result,)  [SI]
) except -2 nogil:
    """The same without caches: kinematics are computed in working memory."""
    cdef double* memory = kernels.get_work(
        model, count_state_memory(quantity, integers, model) - kernels.work_size(model)
    )
    return evaluate_state_in(quantity, integers, model, switches, p, q, v, x, memory, out)


cdef Py_ssize_t count_state_memory(int quantity, const int* integers, const Model* model) noexcept nogil:
    return (
        kernels.work_size(model) + 66*<Py_ssize_t>model.num_bodies + 12*<Py_ssize_t>model.num_velocities
        + count_memory(quantity, integers, model)
    )


cdef int evaluate_state_in(
    # Topology:
    int quantity,
    const int* integers,  # (num_integers,)  indices of frames, bodies or a force element
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,      # (nq,)            [rad, m]
    const double* v,      # (nv,)            [rad/s, m/s]
    const double* x,      # (sizes.input,)   [SI]
    # Work:
    double* memory,       # (count_state_memory,)
    # Out:
    double* out,          # (sizes.result,)  [SI]
) noexcept nogil:
    cdef const Description* row = describe(quantity)
    cdef bint in_full = row.flags & IN_FULL
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t num_kinematics = 66*nb + 12*nv
    cdef double* work = memory + num_kinematics
    cdef Kinematics[double] k
    k.X_WB = memory
    k.X_FM = k.X_WB + 16*nb
    k.X_PB = k.X_FM + 16*nb
    k.H_FM = k.X_PB + 16*nb
    k.H_PB_W = k.H_FM + 6*nv
    k.V_PB_W = k.H_PB_W + 6*nv
    k.V_PB = k.V_PB_W + 6*nb
    k.V_WB = k.V_PB + 6*nb
    if row.reads >= POSES:
        kernels.body_poses(model, p, q, work, k.X_WB)
    if row.reads == POSITIONS and in_full:
        kernels.complete_position_kinematics(model, p, q, k.X_WB, work, k.X_FM, k.X_PB, k.H_FM, k.H_PB_W)
    elif row.reads >= POSITIONS:
        kernels.motion_axes(model, p, q, k.X_WB, k.H_FM, k.H_PB_W)
    if row.reads == VELOCITIES and in_full:
        kernels.velocity_kinematics(model, k.X_WB, k.H_PB_W, v, k.V_PB_W, k.V_PB, k.V_WB)
    elif row.reads == VELOCITIES:
        kernels.velocities_in_world(model, k.X_WB, k.H_PB_W, v, k.V_PB_W, k.V_WB)
    return run(quantity, integers, model, switches, p, q, v, x, &k, work, out)


cdef inline Py_ssize_t count_work(int quantity, const int* integers, const Model* model) noexcept nogil:
    return count_work_of[double](&kernels.of_doubles, quantity, integers, model)


cdef Py_ssize_t count_memory(int quantity, const int* integers, const Model* model) noexcept nogil:
    """Doubles that `run` needs after those of any algorithm."""
    cdef Sizes sizes = sizes_of(quantity, integers, model)
    cdef int flags = describe(quantity).flags
    return (
        count_work(quantity, integers, model) + model.num_bodies
        + (sizes.result if flags & DIVIDES else 0) + (sizes.input if flags & OVERWRITES_INPUT else 0)
    )


cdef int run(
    # Topology:
    int quantity,
    const int* integers,  # (num_integers,)  indices of frames, bodies or a force element
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[double]* p,
    # In:
    const double* q,      # (nq,)            [rad, m]
    const double* v,      # (nv,)            [rad/s, m/s]
    const double* x,      # (sizes.input,)   [SI]
    # Work:
    Kinematics[double]* k,
    double* memory,       # (work_size + count_memory,)
    # Out:
    double* out,          # (sizes.result,)  [SI]
) noexcept nogil:
    cdef int flags = describe(quantity).flags
    cdef double* behind = memory + kernels.work_size(model) + count_work(quantity, integers, model)
    cdef int singular
    cdef Sizes sizes
    cdef Call[double] c
    c.functions = &kernels.of_doubles
    c.integers, c.model, c.switches, c.p, c.q, c.v, c.x = integers, model, switches, p, q, v, <double*>x
    c.k = k[0]
    c.k.F_Bo_W = memory
    c.k.rest = memory + 6*model.num_bodies
    c.memory = memory
    c.base = <int*>behind
    c.out = out
    c.pivots.D = NULL
    c.gravity = NULL
    if not flags & DIVIDES:
        kernels.of_doubles.call(quantity, &c)
        return -1
    sizes = sizes_of(quantity, integers, model)
    c.out = behind + model.num_bodies
    if flags & OVERWRITES_INPUT:
        c.x = c.out + sizes.result
        memcpy(c.x, x, sizes.input*sizeof(double))
    kernels.of_doubles.call(quantity, &c)
    singular = find_pivot_of_zero[double](model, &c.pivots)
    if singular < 0:
        memcpy(out, c.out, sizes.result*sizeof(double))
    return singular
