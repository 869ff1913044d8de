"""The compiled half of a MultibodyTree: energy, on top of derivatives, mass, dynamics and kinematics.

A method checks its arguments at the door, and then makes one call into a kernel.
"""

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.door cimport data
from mbt._core.model cimport Derived, Model, check_index
from mbt._core.tree_derivatives cimport TreeDerivatives


cdef class TreeCore(TreeDerivatives):
    """Base class of `MultibodyTree`: kinematics, dynamics, mass, derivatives, and here the energy of the whole."""

    # Energy and power -------------------------------------------------------------------------------------------

    def calc_potential_energy(self, context):
        """Return the potential energy [J] of all force elements, gravity included.

        Gravity has none with every centre of mass at the World origin; each element says where its own is zero.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_potential_energy(c)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.poses()
        cdef double energy
        self.check_elements(&c.compiled.model, derived, pc)
        energy = kernels.potential_energy(
            &c.compiled.model, &derived.parameters, c.switches.weightless, c.q_data, pc.X_WB_data
        )
        if self._user_force_elements is not None:
            with c._exclusive():
                for element in self._user_force_elements:
                    energy += element.calc_potential_energy(context, pc)
        return energy

    def calc_kinetic_energy(self, context):
        """Return the kinetic energy [J], that of the rotors included."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_kinetic_energy(c)
        cdef Derived derived = c.derived()
        cdef double energy
        kernels.kinetic_energy(
            &c.compiled.model, &derived.parameters, c.position().X_WB_data, c.velocity().V_WB_data, c.v_data, &energy
        )
        return energy

    def calc_conservative_power(self, context):
        """Return the power [W] of conservative forces: minus the rate of the potential energy."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_conservative_power(c)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef double power
        self.check_elements(&c.compiled.model, derived, pc)
        power = kernels.conservative_power(
            &c.compiled.model, &derived.parameters, c.switches.weightless, c.q_data, c.v_data, pc.X_WB_data,
            vc.V_WB_data
        )
        if self._user_force_elements is not None:
            with c._exclusive():
                for element in self._user_force_elements:
                    power += element.calc_conservative_power(context, pc, vc)
        return power

    def calc_non_conservative_power(self, context):
        """Return the power [W] of all other forces: joint damping, and what force elements generate or dissipate."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_non_conservative_power(c)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef double power
        self.check_elements(&c.compiled.model, derived, pc)
        power = kernels.non_conservative_power(
            &c.compiled.model, &derived.parameters, c.q_data, c.v_data, pc.X_WB_data, vc.V_WB_data
        )
        if self._user_force_elements is not None:
            with c._exclusive():
                for element in self._user_force_elements:
                    power += element.calc_non_conservative_power(context, pc, vc)
        return power

    def calc_energy_report(self, context):
        """Return which element holds, moves, generates or dissipates how much energy, and whether it balances.

        Parameters
        ----------
        context : Context
            Of this tree.

        Returns
        -------
        EnergyReport
            Print it for a table; `entries` are the numbers.
        """
        self.own(context)
        from mbt.context.energy_report import calc_energy_report
        return calc_energy_report(self, context)

    # One force element of the compiled core ---------------------------------------------------------------------

    def _calc_force_element(self, context, int index, str what, pc=None, vc=None):
        """Return "potential_energy" [J], "conservative_power" or "non_conservative_power" [W] of one element."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._calc_force_element(c, index, what, pc, vc)
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache velocity = None if what == "potential_energy" else self.velocity_of(c, vc)
        cdef Derived derived = c.derived()
        check_index(index, m.num_force_elements, "force element")
        self.check_element(m, derived, position, index)
        if what == "potential_energy":
            return kernels.element_potential_energy(m, &derived.parameters, index, c.q_data, position.X_WB_data)
        return kernels.element_power(
            m, &derived.parameters, index, what == "conservative_power", c.q_data, c.v_data, position.X_WB_data,
            velocity.V_WB_data
        )

    def _add_force_element(self, context, int index, pc, vc, forces):
        """Add the force of one element to `forces`."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._add_force_element(c, index, pc, vc, forces)
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache velocity = self.velocity_of(c, vc)
        cdef Derived derived = c.derived()
        body_forces, generalized_forces = self.arrays_of(m, forces, "forces")
        check_index(index, m.num_force_elements, "force element")
        self.check_element(m, derived, position, index)
        kernels.add_element_force(
            m, &derived.parameters, index, c.q_data, c.v_data, position.X_WB_data, velocity.V_WB_data,
            data(body_forces), data(generalized_forces)
        )

    def _add_gravity(self, context, pc, forces):
        """Add the force of gravity on each body to `forces`."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._add_gravity(c, pc, forces)
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef Derived derived = c.derived()
        body_forces, _ = self.arrays_of(&c.compiled.model, forces, "forces")
        kernels.gravity_forces(
            &c.compiled.model, &derived.parameters, c.switches.weightless, position.X_WB_data, data(body_forces)
        )

    def _calc_gravity(self, context, str what, pc=None, vc=None):
        """Return "potential_energy" [J] or "conservative_power" [W] of gravity."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._calc_gravity(c, what, pc, vc)
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache velocity
        cdef Derived derived = c.derived()
        if what == "potential_energy":
            return kernels.gravity_potential_energy(
                m, &derived.parameters, c.switches.weightless, position.X_WB_data
            )
        velocity = self.velocity_of(c, vc)
        return kernels.gravity_power(
            m, &derived.parameters, c.switches.weightless, position.X_WB_data, velocity.V_WB_data
        )
