"""The compiled half of a MultibodyTree: energy, on top of derivatives, mass, dynamics and kinematics.

Each method checks its arguments, then makes one call into a kernel.
"""

from mbt._core.api.tree_derivatives cimport TreeDerivatives
from mbt._core.engines.context cimport ContextCore, of_bodies
from mbt._core.engines.section cimport Section
from mbt._core.quantities.table cimport (
    CONSERVATIVE_POWER, CONTACT_FORCES, ELEMENT_CONSERVATIVE_POWER, ELEMENT_FORCE, ELEMENT_NON_CONSERVATIVE_POWER,
    ELEMENT_POTENTIAL_ENERGY, GRAVITY_FORCES, GRAVITY_POTENTIAL_ENERGY, GRAVITY_POWER, KINETIC_ENERGY,
    NON_CONSERVATIVE_POWER, POTENTIAL_ENERGY, check_quantity, no_integers,
)

from mbt._core.above import above


cdef class TreeCore(TreeDerivatives):
    """Base class of `MultibodyTree`: kinematics, dynamics, mass, derivatives, and here the energy."""

    # Energy and power -------------------------------------------------------------------------------------------

    def calc_potential_energy(self, context):
        """Return the potential energy [J] of all force elements, gravity included.

        That of gravity is zero with every centre of mass at the World origin; each element documents where its own is
        zero.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.with_user_elements(c, c.evaluate(POTENTIAL_ENERGY, no_integers), "calc_potential_energy")

    def calc_kinetic_energy(self, context):
        """Return the kinetic energy [J], that of the rotors included."""
        return self.own(context).evaluate(KINETIC_ENERGY, no_integers)

    def calc_conservative_power(self, context):
        """Return the power [W] of conservative forces: minus the rate of the potential energy."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.with_user_elements(c, c.evaluate(CONSERVATIVE_POWER, no_integers), "calc_conservative_power")

    def calc_non_conservative_power(self, context):
        """Return the power [W] of all other forces: joint damping, and non-conservative force elements."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        power = c.evaluate(NON_CONSERVATIVE_POWER, no_integers)
        return self.with_user_elements(c, power, "calc_non_conservative_power")

    cdef object with_user_elements(self, ContextCore c, total, str method):
        """An energy or a power, plus that of user-written force elements."""
        if self._user_force_elements is None:
            return total
        caches = ()
        if c._engine is None:
            caches = (c.position(),) if method == "calc_potential_energy" else (c.position(), c.velocity())
        return above.add_user_energy(total, self._user_force_elements, c, method, *caches)

    def calc_energy_report(self, context):
        """Return the energy and power of each element, and whether they balance.

        Parameters
        ----------
        context : Context
            A Context of this tree.

        Returns
        -------
        EnergyReport
            Print it for a table; `entries` has the numbers.
        """
        self.own(context)
        return above.calc_energy_report(self, context)

    # One force element of the compiled core ---------------------------------------------------------------------

    def _calc_force_element(self, context, int index, str what, pc=None, vc=None):
        """Return "potential_energy" [J], "conservative_power" or "non_conservative_power" [W] of one element.

        Or "contact_forces": for each point, the force on it in World [N] and its depth [m], (num_points, 4).
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [index, 0, 0, 0, 0]
        cdef int quantity = ELEMENT_POTENTIAL_ENERGY
        self._position_of(c, pc)
        if what != "potential_energy":
            self._velocity_of(c, vc)
            quantity = (
                ELEMENT_CONSERVATIVE_POWER if what == "conservative_power"
                else CONTACT_FORCES if what == "contact_forces" else ELEMENT_NON_CONSERVATIVE_POWER
            )
        check_quantity(quantity, integers, &c.compiled.model)
        return c.evaluate(quantity, integers)

    def _add_force_element(self, context, int index, pc, vc, forces):
        """Add the force of one element to `forces`."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef Py_ssize_t size = 6*c.compiled.model.num_bodies
        self._position_of(c, pc)
        self._velocity_of(c, vc)
        self.own_pair(c, forces, "forces")
        both = self._calc_forces_of_element(c, index)
        forces._add_arrays(of_bodies(both[..., :size]), both[..., size:])

    def _calc_forces_of_element(self, context, int index):
        """Return the forces of one element: 6 entries for each body, then the generalized forces."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [index, 0, 0, 0, 0]
        check_quantity(ELEMENT_FORCE, integers, &c.compiled.model)
        return c.evaluate(ELEMENT_FORCE, integers)

    def _add_gravity(self, context, pc, forces):
        """Add the force of gravity on each body to `forces`."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        self._position_of(c, pc)
        self.own_pair(c, forces, "forces")
        forces._add_arrays(c.evaluate(GRAVITY_FORCES, no_integers))

    def _calc_gravity(self, context, str what, pc=None, vc=None):
        """Return "potential_energy" [J] or "conservative_power" [W] of gravity."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        self._position_of(c, pc)
        if what == "potential_energy":
            return c.evaluate(GRAVITY_POTENTIAL_ENERGY, no_integers)
        self._velocity_of(c, vc)
        return c.evaluate(GRAVITY_POWER, no_integers)
