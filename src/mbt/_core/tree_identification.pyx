"""Inertial parameters of a Context, and the regressors: what is linear in them."""

cimport numpy as cnp

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.door cimport adopt, apart, data, in1, new1, out1, out2
from mbt._core.model cimport Derived, Model
from mbt._core.passes cimport regressor
from mbt._core.records cimport Parameters
from mbt._core.tree_mass cimport TreeMass

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeIdentification(TreeMass):
    """Regressors of a tree."""

    def calc_inverse_dynamics_regressor(self, context, known_vdot, *, out=None):
        """Return Y(q, v, vdot) with ``Y pi = M vdot + C v - tau_g``, pi the inertial parameters of all bodies.

        Gravity is included, and spares the bodies that it spares in `context`. What is not linear in these parameters
        is not: the reflected inertia of rotors, joint damping, force elements other than gravity. In particular M is
        the mass matrix without rotors.

        Parameters
        ----------
        context : Context
            Of this tree. Its masses and inertias do not matter.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        out : ndarray, shape (num_velocities, 10 (num_bodies - 1)), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, 10 (num_bodies - 1))
            Columns in the order of `get_inertial_parameters`: ten for each body, by BodyNodeIndex from 1. Zero where
            the body is not outboard of the dof. It takes O(n depth), besides the zeros.

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
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_inverse_dynamics_regressor(c, known_vdot, out=out)
        cdef const Model* m = &c.compiled.model
        vdot = in1(known_vdot, "known_vdot", m.num_velocities)
        Y = out2(out, "out", m.num_velocities, 10*(m.num_bodies - 1))
        vdot = apart(vdot, Y)
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef Derived derived = c.derived()
        cdef const Parameters[double]* p = &derived.parameters
        cdef double* A_WB = kernels.get_work(m, 0)
        kernels.acceleration_kinematics(
            m, p, c.q_data, c.v_data, data(vdot), pc.X_WB_data, pc.H_PB_W_data, vc.V_PB_W_data, vc.V_WB_data, A_WB
        )
        regressor.calc_inverse_dynamics_regressor[double](
            m, c.switches.weightless, p.gravity, pc.X_WB_data, pc.H_PB_W_data, vc.V_WB_data, A_WB, data(Y)
        )
        return Y

    def calc_kinetic_energy_regressor(self, context, *, out=None):
        """Return y(q, v) with ``y pi`` the kinetic energy of the bodies [J], pi their inertial parameters.

        That of rotors is not in it: it is the rest of `calc_kinetic_energy`.

        Parameters
        ----------
        context : Context
            Of this tree. Its masses and inertias do not matter.
        out : ndarray, shape (10 (num_bodies - 1),), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            In the order of `get_inertial_parameters`.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_kinetic_energy_regressor(c, out=out)
        cdef const Model* m = &c.compiled.model
        y = out1(out, "out", 10*(m.num_bodies - 1))
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        regressor.calc_kinetic_energy_regressor[double](m, pc.X_WB_data, vc.V_WB_data, data(y))
        return y

    def calc_potential_energy_regressor(self, context, *, out=None):
        """Return y(q) with ``y pi`` the potential energy of gravity [J], pi the inertial parameters of all bodies.

        That of the other force elements is not in it: it is the rest of `calc_potential_energy`.

        Parameters
        ----------
        context : Context
            Of this tree. Its masses and inertias do not matter.
        out : ndarray, shape (10 (num_bodies - 1),), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            In the order of `get_inertial_parameters`; zero without a gravity field, and for bodies that it spares.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_potential_energy_regressor(c, out=out)
        cdef const Model* m = &c.compiled.model
        y = out1(out, "out", 10*(m.num_bodies - 1))
        cdef PositionKinematicsCache pc = c.position()
        cdef Derived derived = c.derived()
        regressor.calc_potential_energy_regressor[double](
            m, c.switches.weightless, derived.parameters.gravity, pc.X_WB_data, data(y)
        )
        return y

    def get_inertial_parameters(self, context=None):
        """Return the inertial parameters pi of all bodies but World, one after the other.

        For each body, by BodyNodeIndex from 1: ``[m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`` with the position c of
        the mass centre from Bo and the rotational inertia about Bo, in the body frame B; products of inertia as they
        stand in the matrix. `inertial_parameter_names` names them.

        Parameters
        ----------
        context : Context, optional
            Of this tree. By default the parameters are those of the model.

        Returns
        -------
        ndarray, shape (10 (num_bodies - 1),)
            [kg, kg m, kg m^2].

        See Also
        --------
        set_inertial_parameters : The inverse.
        """
        cdef ContextCore c = None if context is None else self.own(context)
        if c is not None and c._methods is not None:
            return c._methods.get_inertial_parameters(c)
        cdef Derived derived = self.ready().defaults if c is None else c.derived()
        cdef int num_bodies = self.ready().model.num_bodies
        pi = new1(10*(num_bodies - 1))
        cdef double* x = data(pi)
        cdef const Parameters[double]* p = &derived.parameters
        cdef const double* J
        cdef double m
        cdef int b, i
        for b in range(1, num_bodies):
            m = p.mass[b]
            # xx yy zz xy xz yz.
            J = p.I_BBo_B + 6*b
            x[0] = m
            for i in range(3):
                x[1 + i] = m*p.p_BoBcm_B[3*b + i]
            x[4] = J[0]
            x[5] = J[3]
            x[6] = J[1]
            x[7] = J[4]
            x[8] = J[5]
            x[9] = J[2]
            x += 10
        return pi
