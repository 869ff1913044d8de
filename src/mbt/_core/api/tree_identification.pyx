"""Inertial parameters of a Context, and regressors of the quantities that are linear in them."""

from mbt._core.api.tree_mass cimport TreeMass
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.quantities.table cimport (
    INERTIAL_PARAMETERS, INVERSE_DYNAMICS_REGRESSOR, KINETIC_ENERGY_REGRESSOR, MOMENTUM_REGRESSOR,
    POTENTIAL_ENERGY_REGRESSOR, no_integers,
)


cdef class TreeIdentification(TreeMass):
    """Regressors of a tree."""

    def calc_inverse_dynamics_regressor(self, context, known_vdot, *, out=None):
        """Return Y(q, v, vdot) with ``Y pi = M vdot + C v - tau_g``, pi the inertial parameters of all bodies.

        Gravity is included, except on bodies exempt in `context`. Effects that are not linear in these
        parameters are left out: the reflected inertia of rotors, joint damping, force elements other than gravity. In
        particular M is the mass matrix without rotors.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its masses and inertias do not matter.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        out : ndarray, shape (num_velocities, 10 (num_bodies - 1)), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, 10 (num_bodies - 1))
            Columns in the order of `get_inertial_parameters`: ten for each body, by BodyNodeIndex from 1. Zero where
            the body is not outboard of the dof. The rest takes O(n depth).

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context belongs to another tree.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> Y = tree.calc_inverse_dynamics_regressor(context, [1.0])
        >>> Y @ tree.get_inertial_parameters(context)
        array([0.6])
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        vdot = c.take(known_vdot, "known_vdot", c.compiled.model.num_velocities)
        return c.evaluate(INVERSE_DYNAMICS_REGRESSOR, no_integers, vdot, out)

    def calc_kinetic_energy_regressor(self, context, *, out=None):
        """Return y(q, v) with ``y pi`` the kinetic energy of the bodies [J], pi their inertial parameters.

        It excludes that of rotors, which is the rest of `calc_kinetic_energy`.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its masses and inertias do not matter.
        out : ndarray, shape (10 (num_bodies - 1),), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            In the order of `get_inertial_parameters`.
        """
        return self.own(context).evaluate(KINETIC_ENERGY_REGRESSOR, no_integers, None, out)

    def calc_potential_energy_regressor(self, context, *, out=None):
        """Return y(q) with ``y pi`` the potential energy of gravity [J], pi the inertial parameters of all bodies.

        It excludes that of other force elements, which is the rest of `calc_potential_energy`.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its masses and inertias do not matter.
        out : ndarray, shape (10 (num_bodies - 1),), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            In the order of `get_inertial_parameters`; zero without a gravity field, and for bodies exempt from gravity.
        """
        return self.own(context).evaluate(POTENTIAL_ENERGY_REGRESSOR, no_integers, None, out)

    def calc_momentum_regressor(self, context, p_WoP_W, *, out=None):
        """Return Y(q, v) with ``Y pi`` the momentum of the bodies about a point P, pi their inertial parameters.

        ``Y pi`` is `calc_spatial_momentum_in_world_about_point`, which excludes rotors.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its masses and inertias do not matter.
        p_WoP_W : array_like, shape (3,)
            The point, in World [m].
        out : ndarray, shape (6, 10 (num_bodies - 1)), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, 10 (num_bodies - 1))
            Angular rows first. Columns in the order of `get_inertial_parameters`.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.v = [4.0]
        >>> tree.calc_momentum_regressor(context, [0, 0, 0]) @ tree.get_inertial_parameters(context) + 0.0
        array([ 0.,  2.,  0., -4.,  0.,  0.])
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(MOMENTUM_REGRESSOR, no_integers, c.take(p_WoP_W, "p_WoP_W", 3), out)

    def get_inertial_parameters(self, context=None):
        """Return the inertial parameters pi of all bodies but World, one after the other.

        For each body, by BodyNodeIndex from 1: ``[m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`` with the position c of
        the mass centre from Bo and the rotational inertia about Bo, in the body frame B; products of inertia as they
        stand in the matrix. `inertial_parameter_names` names them.

        Parameters
        ----------
        context : Context, optional
            A Context of this tree. By default the parameters are those of the model.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            [kg, kg m, kg m^2].

        See Also
        --------
        set_inertial_parameters : The inverse.
        """
        if context is None:
            context = self.create_default_context()
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(INERTIAL_PARAMETERS, no_integers)
