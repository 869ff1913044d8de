"""Energy and power, of all elements or of one."""

from mbt._core.algebra.records cimport Ends
from mbt._core.forces.force_elements cimport acts_on_joint
from mbt._core.model.structs cimport ForceElement
from mbt._core.passes.element_forces cimport (
    calc_damping_power, calc_element_potential_energy, calc_element_power, calc_gravity_potential_energy,
    calc_gravity_power, set_ends,
)
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.quantities.call cimport Call, Functions, element_of
from mbt._core.quantities.dynamics cimport count_memory
from mbt._core.quantities.names cimport *
from mbt._core.scalars cimport T


cdef inline void register_energy(Functions[T]* functions) noexcept:
    functions.set(KINETIC_ENERGY, calc_energy_of_motion[T], count_memory)
    functions.set(POTENTIAL_ENERGY, calc_potential_energy[T], count_memory)
    functions.set(CONSERVATIVE_POWER, calc_conservative_power[T], count_memory)
    functions.set(NON_CONSERVATIVE_POWER, calc_non_conservative_power[T], count_memory)
    functions.set(GRAVITY_POTENTIAL_ENERGY, calc_energy_of_gravity[T], count_memory)
    functions.set(GRAVITY_POWER, calc_power_of_gravity[T], count_memory)
    functions.set(ELEMENT_POTENTIAL_ENERGY, calc_energy_of_element[T], count_memory)
    functions.set(ELEMENT_CONSERVATIVE_POWER, calc_conservative_power_of_element[T], count_memory)
    functions.set(ELEMENT_NON_CONSERVATIVE_POWER, calc_non_conservative_power_of_element[T], count_memory)


cdef inline void calc_energy_of_motion(Call[T]* c) noexcept nogil:
    calc_kinetic_energy(
        c.model, c.p.mass, c.p.p_BoBcm_B, c.p.I_BBo_B, c.p.reflected_inertia, c.k.X_WB, c.k.V_WB, c.v, c.out
    )


cdef inline void calc_potential_energy(Call[T]* c) noexcept nogil:
    """Potential energy of gravity and all force elements."""
    cdef int i
    calc_energy_of_gravity(c)
    for i in range(c.model.num_force_elements):
        c.out[0] = c.out[0] + energy_of_element(c, i)


cdef inline void calc_conservative_power(Call[T]* c) noexcept nogil:
    """Minus the rate of the potential energy."""
    cdef int i
    calc_power_of_gravity(c)
    for i in range(c.model.num_force_elements):
        c.out[0] = c.out[0] + power_of_element(c, i, True)


cdef inline void calc_non_conservative_power(Call[T]* c) noexcept nogil:
    """Power of joint damping, and the non-conservative power of force elements."""
    cdef int i
    c.out[0] = calc_damping_power(c.model, c.p.damping, c.v)
    for i in range(c.model.num_force_elements):
        c.out[0] = c.out[0] + power_of_element(c, i, False)


cdef inline void calc_energy_of_gravity(Call[T]* c) noexcept nogil:
    c.out[0] = calc_gravity_potential_energy(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB
    )


cdef inline void calc_power_of_gravity(Call[T]* c) noexcept nogil:
    c.out[0] = calc_gravity_power(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB, c.k.V_WB
    )


cdef inline void calc_energy_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = energy_of_element(c, element_of(c))


cdef inline void calc_conservative_power_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = power_of_element(c, element_of(c), True)


cdef inline void calc_non_conservative_power_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = power_of_element(c, element_of(c), False)


cdef inline T energy_of_element(Call[T]* c, int element) noexcept nogil:
    cdef const ForceElement* e = &c.model.force_elements[element]
    cdef Ends[T] ends
    if not acts_on_joint(e.type):
        set_ends(c.model, e, c.p.X_BF, c.k.X_WB, <const T*>NULL, &ends)
    return calc_element_potential_energy(e, c.p.force_elements, c.q, &ends)


cdef inline T power_of_element(Call[T]* c, int element, bint is_conservative) noexcept nogil:
    cdef const ForceElement* e = &c.model.force_elements[element]
    cdef Ends[T] ends
    if not acts_on_joint(e.type):
        set_ends(c.model, e, c.p.X_BF, c.k.X_WB, c.k.V_WB, &ends)
    return calc_element_power(e, c.p.force_elements, c.q, c.v, &ends, is_conservative)
