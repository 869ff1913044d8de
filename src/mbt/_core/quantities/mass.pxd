"""Mass and momentum of all bodies, or of those whose mask is 1, and quantities linear in inertial parameters."""

from mbt._core.algebra.spatial cimport copy, set_zero
from mbt._core.algebra.vectors cimport (
    Force, Motion, RigidInertia, Vec3, cross, inertia_of_body, inverse, numbers, put, vector, vector_at,
)
from mbt._core.model.structs cimport Model
from mbt._core.passes.jacobian cimport add_translational_velocity_jacobian
from mbt._core.passes.mass_properties cimport (
    calc_mass_moment, composite_inertia, mass_acceleration, momentum_about_world_origin,
)
from mbt._core.passes.momentum_matrix cimport calc_linear_momentum_matrix, calc_momentum_matrix
from mbt._core.quantities.call cimport Call, Functions, flags_of
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.frames cimport (
    acceleration_in_frame, bias_velocities, calc_bias_motion, finish_jacobian, frame_in_world,
)
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T, make_small


cdef inline void register_mass(Functions[T]* functions) noexcept:
    functions.set(TOTAL_MASS, calc_total_mass[T], count_mass_memory)
    functions.set(CENTER_OF_MASS_POSITION, calc_center_of_mass_position[T], count_mass_memory)
    functions.set(CENTER_OF_MASS_VELOCITY, calc_center_of_mass_velocity[T], count_mass_memory)
    functions.set(CENTER_OF_MASS_ACCELERATION, calc_center_of_mass_acceleration[T], count_mass_memory)
    functions.set(CENTER_OF_MASS_JACOBIAN, calc_center_of_mass_jacobian[T], count_mass_memory)
    functions.set(CENTER_OF_MASS_BIAS, calc_center_of_mass_bias[T], count_mass_memory)
    functions.set(MOMENTUM, calc_momentum[T], count_mass_memory)
    functions.set(CENTROIDAL_MOMENTUM_MATRIX, calc_centroidal_momentum_matrix[T], count_mass_memory)
    functions.set(COMPOSITE_INERTIA, calc_inertia_of_bodies[T], count_mass_memory)
    functions.set(INERTIAL_PARAMETERS, calc_inertial_parameters[T], count_mass_memory)


cdef inline Py_ssize_t count_mass_memory(const int* integers, const Model* model) noexcept nogil:
    return count_memory(integers, model) + 51*<Py_ssize_t>model.num_bodies + 3*<Py_ssize_t>model.num_velocities


# The bodies included ---------------------------------------------------------------------------------------------

cdef inline const T* masses_of(Call[T]* c, bint are_given, const T* mask) noexcept nogil:
    """(num_bodies,) masses, zero where a given mask is zero. `inertias_of` and free memory follow."""
    cdef T* mass = c.k.rest
    cdef T* I_BBo_B = mass + c.model.num_bodies
    cdef int b, i
    if not are_given:
        return c.p.mass
    for b in range(c.model.num_bodies):
        mass[b] = mask[b]*c.p.mass[b]
        for i in range(6):
            I_BBo_B[6*b + i] = mask[b]*c.p.I_BBo_B[6*b + i]
    return mass


cdef inline const T* inertias_of(Call[T]* c, bint are_given) noexcept nogil:
    """(num_bodies, 6) rotational inertias, after `masses_of`."""
    if are_given:
        return c.k.rest + c.model.num_bodies
    return c.p.I_BBo_B


cdef inline T* behind_masses(Call[T]* c) noexcept nogil:
    return c.k.rest + 7*c.model.num_bodies


cdef inline T calc_mass_center(Call[T]* c, const T* mass, T* p_WScm) noexcept nogil:
    """Compute the centre of mass and return the total mass."""
    cdef T total_mass
    cdef Vec3[T] moment
    calc_mass_moment(c.model, mass, c.p.p_BoBcm_B, c.k.X_WB, &total_mass, numbers(moment))
    put(moment/total_mass, p_WScm)
    return total_mass


cdef inline T total_mass_of(Call[T]* c, const T* mass) noexcept nogil:
    cdef T total = <T>0.0
    cdef int b
    for b in range(1, c.model.num_bodies):
        total = total + mass[b]
    return total


cdef inline Vec3[T] velocity_of_mass_center(
    Call[T]* c, const T* mass, const T* I_BBo_B, T total_mass, const T* V_WB
) noexcept nogil:
    cdef Force[T] L = momentum_about_world_origin(c.model, mass, c.p.p_BoBcm_B, I_BBo_B, c.k.X_WB, V_WB)
    return L.f/total_mass


# Quantities -----------------------------------------------------------------------------------------------------

cdef inline void calc_total_mass(Call[T]* c) noexcept nogil:
    c.out[0] = total_mass_of(c, masses_of(c, flags_of(c).given, c.x))


cdef inline void calc_inertial_parameters(Call[T]* c) noexcept nogil:
    """For each body: m, m p_BoBcm_B, and the inertia about Bo, xx xy yy xz yz zz."""
    cdef const T* p_BoBcm_B = c.p.p_BoBcm_B
    cdef const T* I_BBo_B = c.p.I_BBo_B
    cdef RigidInertia[T] I
    cdef T* y = c.out
    cdef int b
    for b in range(1, c.model.num_bodies):
        I = inertia_of_body(c.p.mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b)
        y[0] = I.mass
        put(I.h, y + 1)
        put(vector(I.J.xx, I.J.xy, I.J.yy), y + 4)
        put(vector(I.J.xz, I.J.yz, I.J.zz), y + 7)
        y += 10


cdef inline void calc_momentum(Call[T]* c) noexcept nogil:
    """Momentum about P: L_P = L_Wo - p_WP × l."""
    cdef bint given = flags_of(c).given
    cdef const T* mass = masses_of(c, given, c.x + 3)
    cdef const T* p_WP = c.x
    cdef Force[T] L = momentum_about_world_origin(
        c.model, mass, c.p.p_BoBcm_B, inertias_of(c, given), c.k.X_WB, c.k.V_WB
    )
    L.t = L.t - cross(vector_at(p_WP), L.f)
    put(L, c.out)


cdef inline void calc_inertia_of_bodies(Call[T]* c) noexcept nogil:
    """Inertia about the origin of a frame, expressed in that frame. Integers are the frame and GIVEN."""
    make_small()
    cdef int frame = c.integers[0], given = c.integers[1]
    cdef const T* mass = masses_of(c, given, c.x)
    cdef RigidInertia[T] I = composite_inertia(
        c.model, mass, c.p.p_BoBcm_B, inertias_of(c, given), c.k.X_WB,
        inverse(frame_in_world(c.model, c.p, &c.k, frame))
    )
    copy(numbers(I), 10, c.out)


cdef inline void calc_center_of_mass_position(Call[T]* c) noexcept nogil:
    calc_mass_center(c, masses_of(c, flags_of(c).given, c.x), c.out)


cdef inline void calc_center_of_mass_velocity(Call[T]* c) noexcept nogil:
    cdef bint given = flags_of(c).given
    cdef const T* mass = masses_of(c, given, c.x)
    put(velocity_of_mass_center(c, mass, inertias_of(c, given), total_mass_of(c, mass), c.k.V_WB), c.out)


cdef inline void calc_center_of_mass_acceleration(Call[T]* c) noexcept nogil:
    """Acceleration of the centre of mass, from A_WB of all bodies."""
    cdef const T* mass = masses_of(c, flags_of(c).given, c.x + 6*c.model.num_bodies)
    cdef Vec3[T] force = mass_acceleration(c.model, mass, c.p.p_BoBcm_B, c.k.X_WB, c.k.V_WB, c.x)
    put(force/total_mass_of(c, mass), c.out)


cdef inline void calc_centroidal_momentum_matrix(Call[T]* c) noexcept nogil:
    make_small()
    cdef Vec3[T] p_WScm
    calc_mass_center(c, c.p.mass, numbers(p_WScm))
    calc_momentum_matrix(
        c.model, c.p.mass, c.p.p_BoBcm_B, c.p.I_BBo_B, c.k.X_WB, c.k.H_PB_W, numbers(p_WScm), c.k.rest, c.out
    )


cdef inline void calc_center_of_mass_jacobian(Call[T]* c) noexcept nogil:
    """Jacobian of the centre of mass in frame A, expressed in E. Integers are A, E, BY_QDOT and GIVEN."""
    make_small()
    cdef int A = c.integers[0], E = c.integers[1], by_qdot = c.integers[2], given = c.integers[3]
    cdef Py_ssize_t i
    cdef const T* mass = masses_of(c, given, c.x)
    cdef Vec3[T] p_WScm
    cdef T total_mass = calc_mass_center(c, mass, numbers(p_WScm))
    cdef T* memory = behind_masses(c)
    cdef T* J_v = memory + 4*c.model.num_bodies if by_qdot else c.out
    calc_linear_momentum_matrix(c.model, mass, c.p.p_BoBcm_B, c.k.X_WB, c.k.H_PB_W, memory, J_v)
    for i in range(3*<Py_ssize_t>c.model.num_velocities):
        J_v[i] = J_v[i]/total_mass
    add_translational_velocity_jacobian(
        c.model, c.model.frame_node[A], c.k.X_WB, c.k.H_PB_W, p_WScm, -1.0, J_v
    )
    finish_jacobian(c.model, c.p, &c.k, E, by_qdot, 3, c.q, J_v, c.out)


cdef inline void calc_center_of_mass_bias(Call[T]* c) noexcept nogil:
    """Acceleration of the centre of mass in frame A with vdot = 0, or with qddot = 0, expressed in E.

    Integers are A, E, the body that may rest, BY_QDOT and GIVEN.
    """
    make_small()
    cdef int A = c.integers[0], E = c.integers[1], base = c.integers[2]
    cdef bint by_qdot = c.integers[3], given = c.integers[4]
    cdef const T* mass = masses_of(c, given, c.x)
    cdef T* memory = behind_masses(c)
    cdef const T* V_WB = memory + bias_velocities(c.model)
    cdef const T* A_WB = V_WB + 6*c.model.num_bodies
    cdef Vec3[T] p_WScm
    cdef Motion[T] V_WScm, A_WScm
    cdef T total_mass = calc_mass_center(c, mass, numbers(p_WScm))
    calc_bias_motion(c.model, c.p, c.q, c.v, &c.k, by_qdot, base, memory)
    set_zero(numbers(V_WScm.w), 3)
    set_zero(numbers(A_WScm.w), 3)
    V_WScm.v = velocity_of_mass_center(c, mass, inertias_of(c, given), total_mass, V_WB)
    A_WScm.v = mass_acceleration(c.model, mass, c.p.p_BoBcm_B, c.k.X_WB, V_WB, A_WB)/total_mass
    put(acceleration_in_frame(c.model, c.p, &c.k, A, E, V_WB, A_WB, p_WScm, V_WScm, A_WScm).v, c.out)
