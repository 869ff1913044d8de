"""Energy and power, of all or of one element."""

from mbt._core.passes.element_forces cimport calc_gravity_potential_energy, calc_gravity_power
from mbt._core.passes.energy cimport calc_kinetic_energy
from mbt._core.quantities cimport algorithms
from mbt._core.quantities.call cimport Call, Functions
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
    c.out[0] = algorithms.run_potential_energy(c.model, c.p, c.switches.weightless, c.q, c.k.X_WB)


cdef inline void calc_conservative_power(Call[T]* c) noexcept nogil:
    c.out[0] = algorithms.run_conservative_power(
        c.model, c.p, c.switches.weightless, c.q, c.v, c.k.X_WB, c.k.V_WB
    )


cdef inline void calc_non_conservative_power(Call[T]* c) noexcept nogil:
    c.out[0] = algorithms.run_non_conservative_power(c.model, c.p, c.q, c.v, c.k.X_WB, c.k.V_WB)


cdef inline void calc_energy_of_gravity(Call[T]* c) noexcept nogil:
    c.out[0] = calc_gravity_potential_energy(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB
    )


cdef inline void calc_power_of_gravity(Call[T]* c) noexcept nogil:
    c.out[0] = calc_gravity_power(
        c.model, c.switches.weightless, c.p.mass, c.p.p_BoBcm_B, c.p.gravity, c.k.X_WB, c.k.V_WB
    )


cdef inline void calc_energy_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = algorithms.run_element_potential_energy(c.model, c.p, c.integers[0], c.q, c.k.X_WB)


cdef inline void calc_conservative_power_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = algorithms.run_element_power(c.model, c.p, c.integers[0], 1, c.q, c.v, c.k.X_WB, c.k.V_WB)


cdef inline void calc_non_conservative_power_of_element(Call[T]* c) noexcept nogil:
    c.out[0] = algorithms.run_element_power(c.model, c.p, c.integers[0], 0, c.q, c.v, c.k.X_WB, c.k.V_WB)
