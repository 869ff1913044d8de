"""Every quantity by its number, over the fused scalar."""

from mbt._core.algebra.records cimport Kinematics, Parameters, Pivots
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport algorithms, derivative_algorithms
from mbt._core.quantities.bodies cimport calc_body_quantity, calc_element_force, calc_energy, calc_regressor
from mbt._core.quantities.constraints cimport calc_constraint_quantity
from mbt._core.quantities.dynamics cimport (
    calc_cold_quantity, calc_hot_quantity, count_operational_space_work, is_hot, no_pivots,
)
from mbt._core.quantities.frames cimport calc_frame_quantity, count_frame_work
from mbt._core.quantities.maps cimport calc_map, calc_mobilizer_quantity
from mbt._core.quantities.mass cimport calc_mass_quantity, count_mass_work
from mbt._core.quantities.motion cimport calc_rollout, count_rollout_work
from mbt._core.quantities.table cimport (
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, CONSTRAINT_ERRORS, CONSTRAINT_FORCES, CONTACT_FORCES, ELEMENT_FORCE,
    ELEMENT_NON_CONSERVATIVE_POWER, FORWARD_DYNAMICS_DERIVATIVES, FRAME_POSES, INERTIAL_PARAMETERS, KINETIC_ENERGY,
    MASS_MATRIX_INVERSE, MOBILIZER_NPLUSDOT, MOBILIZER_TRANSFORM, MOTION_FORCES_DERIVATIVES, NORMALIZED_POSITIONS,
    OPERATIONAL_SPACE_INERTIA, OPERATIONAL_SPACE_INVERSE_INERTIA, POSES, POSITIONS, POSITION_KINEMATICS, QDOT,
    RELATIVE_TRANSFORM, ROLLOUT, TOTAL_MASS, TRANSLATIONAL_BIAS, VELOCITIES, VELOCITY_KINEMATICS, describe, element_of,
)
from mbt._core.scalars cimport Lanes, T


cdef inline Py_ssize_t count_work_of(int quantity, const int* integers, const Model* model) noexcept nogil:
    """Scalars of working memory, kinematics included."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t size = algorithms.count_work(model) + 7*nv
    if MOTION_FORCES_DERIVATIVES <= quantity <= FORWARD_DYNAMICS_DERIVATIVES:
        return derivative_algorithms.count_forward_derivative_work(model)
    if quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        return derivative_algorithms.count_constrained_derivative_work(model)
    if quantity == OPERATIONAL_SPACE_INVERSE_INERTIA or quantity == OPERATIONAL_SPACE_INERTIA:
        return size + count_operational_space_work(model)
    if quantity == MASS_MATRIX_INVERSE:
        return size + 6*nv*(model.num_mobods + 1)
    if quantity == ROLLOUT:
        return size + count_rollout_work(model)
    if describe(quantity).reads >= POSES:
        size += 96*nb + 14*nv
    if RELATIVE_TRANSFORM <= quantity <= TRANSLATIONAL_BIAS:
        size += count_frame_work(integers, model)
    elif TOTAL_MASS <= quantity <= INERTIAL_PARAMETERS:
        size += count_mass_work(model)
    return size


cdef inline Pivots[T] calc_quantity(
    int quantity,
    const int* integers,
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,            # (nq,)
    const T* v,            # (nv,)
    # In, destroyed:
    T* x,                  # (count_input,)
    # Work:
    T* memory,             # (count_work_of,)
    int* base,             # (num_bodies,)
    # Out:
    T* out,                # (count_result,)
) noexcept nogil:
    """Returns the pivots of what divides by them, in `memory`; none for all else."""
    if is_hot(quantity):
        return calc_hot_quantity(quantity, integers, model, switches, p, q, v, x, memory, out)
    return calc_other_quantity(quantity, integers, model, switches, p, q, v, x, memory, base, out)


cdef inline Pivots[T] calc_other_quantity(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, T* memory, int* base, T* out
) noexcept nogil:
    """All but the hot ones, with kinematics computed in `memory`."""
    cdef Kinematics[T] k
    cdef int reads
    if quantity == ROLLOUT and T is not Lanes:
        calc_rollout(integers, model, switches, p, q, v, x, memory, out)
        return no_pivots(memory)
    if quantity <= CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES:
        return calc_cold_quantity(quantity, integers, model, switches, p, q, v, x, memory, base, out)
    reads = describe(quantity).reads
    if reads == POSES:
        k.X_WB = memory
        k.F_Bo_W = k.X_WB + 16*model.num_bodies
        k.rest = k.F_Bo_W + 6*model.num_bodies
        algorithms.run_body_poses(model, p, q, k.F_Bo_W, k.X_WB)
    elif reads >= POSITIONS:
        algorithms.run_positions(quantity == POSITION_KINEMATICS, model, p, q, memory, &k)
        if quantity == VELOCITY_KINEMATICS:
            algorithms.run_velocities_in_parents(model, v, &k)
        elif reads == VELOCITIES:
            algorithms.run_velocities(model, v, &k)
    else:
        k.rest = memory
    calc_with_kinematics(quantity, integers, model, switches, p, q, v, x, &k, base, out)
    return no_pivots(memory)


cdef inline void calc_with_kinematics(
    int quantity, const int* integers, const Model* model, const Switches* switches, const Parameters[T]* p, const T* q,
    const T* v, const T* x, const Kinematics[T]* k, int* base, T* out
) noexcept nogil:
    """All that follows from q, v and the kinematics of the caches. `k.rest` is working memory."""
    if QDOT <= quantity <= NORMALIZED_POSITIONS:
        calc_map(quantity, model, q, v, x, out)
    elif MOBILIZER_TRANSFORM <= quantity <= MOBILIZER_NPLUSDOT:
        calc_mobilizer_quantity(quantity, integers[0], model, q, v, x, out)
    elif RELATIVE_TRANSFORM <= quantity <= TRANSLATIONAL_BIAS:
        calc_frame_quantity(quantity, integers, model, p, q, v, x, k, out)
    elif quantity == ELEMENT_FORCE:
        calc_element_force(integers[0], model, p, q, v, k, out)
    elif quantity == CONTACT_FORCES:
        algorithms.run_contact_forces(model, p, integers[0], k.X_WB, k.V_WB, out)
    elif FRAME_POSES <= quantity < ELEMENT_FORCE:
        calc_body_quantity(quantity, integers, model, switches, p, q, v, x, k, base, out)
    elif CONSTRAINT_ERRORS <= quantity <= CONSTRAINT_FORCES:
        calc_constraint_quantity(quantity, model, switches, p, q, v, x, k, out)
    elif KINETIC_ENERGY <= quantity <= ELEMENT_NON_CONSERVATIVE_POWER:
        out[0] = calc_energy(
            quantity, element_of(quantity, integers), model, switches.weightless, p, q, v, k
        )
    elif TOTAL_MASS <= quantity <= INERTIAL_PARAMETERS:
        calc_mass_quantity(quantity, integers, model, p, q, v, x, k, out)
    else:
        calc_regressor(quantity, model, switches.weightless, p, q, v, x, k, out)
