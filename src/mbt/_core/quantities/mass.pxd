"""Mass and momentum, of all bodies or of those whose mask is 1, and what is linear in inertial parameters."""

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.algebra.spatial cimport copy, cross, invert_pose4, set_zero
from mbt._core.model.structs cimport Model
from mbt._core.passes.jacobian cimport add_translational_velocity_jacobian
from mbt._core.passes.mass_properties cimport (
    calc_composite_inertia, calc_mass_acceleration, calc_mass_moment, calc_momentum_about_world_origin,
)
from mbt._core.passes.momentum_matrix cimport calc_linear_momentum_matrix, calc_momentum_matrix
from mbt._core.quantities.frames cimport (
    bias_velocities, calc_X_WF, calc_acceleration_in, calc_bias_motion, finish_jacobian,
)
from mbt._core.quantities.table cimport (
    CENTER_OF_MASS_ACCELERATION, CENTER_OF_MASS_JACOBIAN, CENTER_OF_MASS_POSITION, CENTER_OF_MASS_VELOCITY,
    CENTROIDAL_MOMENTUM_MATRIX, COMPOSITE_INERTIA, GIVEN, INERTIAL_PARAMETERS, MOMENTUM, TOTAL_MASS, integer_of,
)
from mbt._core.scalars cimport T


cdef inline Py_ssize_t count_mass_work(const Model* model) noexcept nogil:
    """Scalars of working memory."""
    return 7*<Py_ssize_t>model.num_bodies + 3*<Py_ssize_t>model.num_velocities + 44*<Py_ssize_t>model.num_bodies


cdef inline void calc_mass_quantity(
    int quantity, const int* integers, const Model* model, const Parameters[T]* p, const T* q, const T* v, const T* x,
    const Kinematics[T]* k, T* out
) noexcept nogil:
    cdef Py_ssize_t nb = model.num_bodies
    cdef const T* mass = p.mass
    cdef const T* I_BBo_B = p.I_BBo_B
    cdef T* memory = k.rest
    if integer_of(quantity, integers, GIVEN) == 1:
        select_bodies(model, p, x + mask_place(quantity, nb), memory, memory + nb)
        mass = memory
        I_BBo_B = memory + nb
        memory = memory + 7*nb
    if quantity == TOTAL_MASS:
        calc_total_mass(model, mass, out)
    elif quantity == INERTIAL_PARAMETERS:
        calc_inertial_parameters(model, p, out)
    elif quantity == MOMENTUM:
        calc_momentum_about_world_origin(model, mass, p.p_BoBcm_B, I_BBo_B, k.X_WB, k.V_WB, out)
        shift_momentum(x, out)
    elif quantity == COMPOSITE_INERTIA:
        calc_inertia_in_frame(model, p, mass, I_BBo_B, k, integers[0], out)
    else:
        calc_center_of_mass_quantity(quantity, integers, model, p, mass, I_BBo_B, q, v, x, k, memory, out)


cdef inline Py_ssize_t mask_place(int quantity, Py_ssize_t num_bodies) noexcept nogil:
    """Where the mask begins in the input."""
    if quantity == CENTER_OF_MASS_ACCELERATION:
        return 6*num_bodies
    return 3 if quantity == MOMENTUM else 0


cdef inline void select_bodies(
    const Model* model, const Parameters[T]* p, const T* mask, T* mass, T* I_BBo_B
) noexcept nogil:
    """Masses (num_bodies,) and rotational inertias (num_bodies, 6), zero where the mask is."""
    cdef int b, i
    for b in range(model.num_bodies):
        mass[b] = mask[b]*p.mass[b]
        for i in range(6):
            I_BBo_B[6*b + i] = mask[b]*p.I_BBo_B[6*b + i]


cdef inline void calc_total_mass(const Model* model, const T* mass, T* total) noexcept nogil:
    cdef int b
    total[0] = <T>0.0
    for b in range(1, model.num_bodies):
        total[0] = total[0] + mass[b]


cdef inline void calc_inertial_parameters(const Model* model, const Parameters[T]* p, T* pi) noexcept nogil:
    """Of each body: m, m p_BoBcm_B, and the inertia about Bo, xx xy yy xz yz zz."""
    cdef int b, i
    cdef T* y
    cdef const T* J
    for b in range(1, model.num_bodies):
        y = pi + 10*(b - 1)
        J = p.I_BBo_B + 6*b
        y[0] = p.mass[b]
        for i in range(3):
            y[1 + i] = p.mass[b]*p.p_BoBcm_B[3*b + i]
        y[4] = J[0]
        y[5] = J[3]
        y[6] = J[1]
        y[7] = J[4]
        y[8] = J[5]
        y[9] = J[2]


cdef inline void shift_momentum(const T* p_WP, T* L) noexcept nogil:
    """L_P = L_Wo - p × l."""
    cdef T y[3]
    cdef int i
    cross(p_WP, L + 3, y)
    for i in range(3):
        L[i] = L[i] - y[i]


cdef inline void calc_inertia_in_frame(
    const Model* model, const Parameters[T]* p, const T* mass, const T* I_BBo_B, const Kinematics[T]* k, int frame,
    T* out
) noexcept nogil:
    cdef T X_WF[16]
    cdef T X_FW[16]
    calc_X_WF(model, p, k, frame, X_WF)
    invert_pose4(X_WF, X_FW)
    calc_composite_inertia(model, mass, p.p_BoBcm_B, I_BBo_B, k.X_WB, X_FW, out, out + 1, out + 4)


cdef inline void calc_center_of_mass_quantity(
    int quantity, const int* integers, const Model* model, const Parameters[T]* p, const T* mass, const T* I_BBo_B,
    const T* q, const T* v, const T* x, const Kinematics[T]* k, T* memory, T* out
) noexcept nogil:
    """What needs the centre of mass, or is divided by the total mass."""
    cdef T total[1]
    cdef T p_WScm[3]
    calc_mass_moment(model, mass, p.p_BoBcm_B, k.X_WB, total, p_WScm)
    divide3(p_WScm, total[0])
    if quantity == CENTER_OF_MASS_POSITION:
        copy(p_WScm, 3, out)
    elif quantity == CENTER_OF_MASS_VELOCITY:
        calc_center_of_mass_velocity(model, p, mass, I_BBo_B, total[0], k.X_WB, k.V_WB, out)
    elif quantity == CENTER_OF_MASS_ACCELERATION:
        calc_mass_acceleration(model, mass, p.p_BoBcm_B, k.X_WB, k.V_WB, x, out)
        divide3(out, total[0])
    elif quantity == CENTROIDAL_MOMENTUM_MATRIX:
        calc_momentum_matrix(model, p.mass, p.p_BoBcm_B, p.I_BBo_B, k.X_WB, k.H_PB_W, p_WScm, memory, out)
    elif quantity == CENTER_OF_MASS_JACOBIAN:
        calc_center_of_mass_jacobian(integers, model, p, mass, total[0], p_WScm, q, k, memory, out)
    else:
        calc_center_of_mass_bias(integers, model, p, mass, I_BBo_B, total[0], p_WScm, q, v, k, memory, out)


cdef inline void divide3(T* x, T divisor) noexcept nogil:
    cdef int i
    for i in range(3):
        x[i] = x[i]/divisor


cdef inline void calc_center_of_mass_velocity(
    const Model* model, const Parameters[T]* p, const T* mass, const T* I_BBo_B, T total_mass, const T* X_WB,
    const T* V_WB, T* v_WScm
) noexcept nogil:
    cdef T L[6]
    calc_momentum_about_world_origin(model, mass, p.p_BoBcm_B, I_BBo_B, X_WB, V_WB, L)
    copy(L + 3, 3, v_WScm)
    divide3(v_WScm, total_mass)


cdef inline void calc_center_of_mass_jacobian(
    const int* integers, const Model* model, const Parameters[T]* p, const T* mass, T total_mass, const T* p_WScm,
    const T* q, const Kinematics[T]* k, T* memory, T* J
) noexcept nogil:
    """Of the centre of mass in frame A, expressed in E."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t i
    cdef bint by_qdot = integers[2]
    cdef T* J_v = memory + 4*model.num_bodies if by_qdot else J
    calc_linear_momentum_matrix(model, mass, p.p_BoBcm_B, k.X_WB, k.H_PB_W, memory, J_v)
    for i in range(3*nv):
        J_v[i] = J_v[i]/total_mass
    add_translational_velocity_jacobian(
        model, model.frame_node[integers[0]], k.X_WB, k.H_PB_W, p_WScm, -1.0, J_v
    )
    finish_jacobian(model, p, k, integers[1], by_qdot, 3, q, J_v, J)


cdef inline void calc_center_of_mass_bias(
    const int* integers, const Model* model, const Parameters[T]* p, const T* mass, const T* I_BBo_B, T total_mass,
    const T* p_WScm, const T* q, const T* v, const Kinematics[T]* k, T* memory, T* bias
) noexcept nogil:
    """Its acceleration in frame A with vdot = 0, or with qddot = 0, expressed in E."""
    cdef const T* V_WB = memory + bias_velocities(model)
    cdef const T* A_WB = V_WB + 6*model.num_bodies
    cdef T V_WScm[6]
    cdef T A_WScm[6]
    cdef T A_AScm_E[6]
    calc_bias_motion(model, p, q, v, k, integers[3], integers[2], memory)
    set_zero(V_WScm, 3)
    set_zero(A_WScm, 3)
    calc_center_of_mass_velocity(model, p, mass, I_BBo_B, total_mass, k.X_WB, V_WB, V_WScm + 3)
    calc_mass_acceleration(model, mass, p.p_BoBcm_B, k.X_WB, V_WB, A_WB, A_WScm + 3)
    divide3(A_WScm + 3, total_mass)
    calc_acceleration_in(
        model, p, k, integers[0], integers[1], V_WB, A_WB, p_WScm, V_WScm, A_WScm, A_AScm_E
    )
    copy(A_AScm_E + 3, 3, bias)
