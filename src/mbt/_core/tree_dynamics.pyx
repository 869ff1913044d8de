"""Dynamics of a Context: inverse and forward dynamics, and the terms of the equations of motion."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.door cimport adopt, apart, data, in1, out1, out2
from mbt._core.model cimport Derived, Model
from mbt._core.tree_kinematics cimport TreeKinematics

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeDynamics(TreeKinematics):
    """What moves the bodies of a tree."""

    def calc_inverse_dynamics(
        self, context, known_vdot, external_forces=None, *, pc=None, vc=None, include_force_elements=False,
        A_WB_array=None, F_BMo_W_array=None, out=None
    ):
        """Return the generalized forces that give the accelerations `known_vdot`, in O(n).

        ``tau = M(q) vdot + C(q, v) v - tau_app - sum of J_WB' F_app``. Force elements (gravity, joint damping) enter
        only through `external_forces` or with `include_force_elements`.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        include_force_elements : bool
            Whether the force elements and joint damping act too.
        A_WB_array : ndarray, shape (num_bodies, 6), optional
            Filled with the spatial acceleration of each body in World [rad/s^2, m/s^2].
        F_BMo_W_array : ndarray, shape (num_bodies, 6), optional
            Filled with the force through each body's mobilizer, on the body at Mo, in World [N m, N]; row 0 is what
            holds World. It may be ``external_forces.body_forces``.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected. It may be
            ``external_forces.generalized_forces``.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N].

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        StaleCacheError
            When `pc` or `vc` is not of the present state.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> tree.calc_inverse_dynamics(tree.create_default_context(), [1.0])
        array([0.6])
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Derived derived
        cdef double* memory
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        cdef bint with_elements = include_force_elements
        if pc is not None:
            self.position_of(c, pc)
        if vc is not None:
            self.velocity_of(c, vc)
        vdot = in1(known_vdot, "known_vdot", m.num_velocities)
        if external_forces is not None or A_WB_array is not None or F_BMo_W_array is not None:
            return self._calc_inverse_dynamics_in_world(
                c, vdot, external_forces, with_elements, A_WB_array, F_BMo_W_array, out
            )
        tau = out1(out, "out", m.num_velocities)
        vdot = apart(vdot, tau)
        derived = c.derived()
        memory = kernels.get_work(m, 0)
        kernels.inverse_dynamics(
            m, &derived.parameters, derived.parameters.gravity if with_elements else no_gravity,
            c.q_data, c.v_data, data(vdot), memory, data(tau)
        )
        if with_elements:
            kernels.add_damping(m, &derived.parameters, c.v_data, 1.0, data(tau))
        return tau

    def _calc_inverse_dynamics_in_world(
        self, ContextCore c, vdot, external_forces, bint with_elements, A_WB_array, F_BMo_W_array, out
    ):
        """Inverse dynamics with applied forces, and with what else its passes in World can tell."""
        cdef const Model* m = &c.compiled.model
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        cdef double* memory
        tau = out1(out, "out", m.num_velocities)
        A_WB = out2(A_WB_array, "A_WB_array", m.num_bodies, 6)
        F_BMo_W = out2(F_BMo_W_array, "F_BMo_W_array", m.num_bodies, 6)
        # Inputs may be outputs: work on copies.
        vdot = vdot.copy()
        F_applied = np.zeros((m.num_bodies, 6))
        tau_applied = np.zeros(m.num_velocities)
        if external_forces is not None:
            from mbt.context.checks import forces_of
            body_forces, generalized_forces = forces_of(self, external_forces, "external_forces")
            F_applied += body_forces
            tau_applied += generalized_forces
        if with_elements:
            kernels.gravity_forces(m, &derived.parameters, pc.X_WB_data, data(F_applied))
            kernels.add_damping(m, &derived.parameters, c.v_data, -1.0, data(tau_applied))
        tau_of_bodies = np.empty(m.num_velocities)
        memory = kernels.get_work(m, 0)
        kernels.generalized_forces(
            m, pc.X_WB_data, pc.H_PB_W_data, data(F_applied), memory, data(tau_of_bodies)
        )
        if A_WB_array is not None or F_BMo_W_array is not None:
            accelerations = np.empty((m.num_bodies, 6))
            self.fill_accelerations(c, vdot, accelerations)
            if F_BMo_W_array is not None:
                memory = kernels.get_work(m, 0)
                kernels.reaction_forces(
                    m, &derived.parameters, pc.X_WB_data, c.velocity().V_WB_data, data(accelerations),
                    data(F_applied), memory, data(F_BMo_W)
                )
            if A_WB_array is not None:
                A_WB[...] = accelerations
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        memory = kernels.get_work(m, 0)
        kernels.inverse_dynamics(
            m, &derived.parameters, no_gravity, c.q_data, c.v_data, data(vdot), memory, data(tau)
        )
        tau -= tau_applied
        tau -= tau_of_bodies
        return tau

    def calc_bias_term(self, context, *, out=None):
        """Return the bias term ``C(q, v) v``: inverse dynamics at vdot = 0, without any applied force.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N].
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        tau = out1(out, "out", m.num_velocities)
        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, m.num_velocities)
        cdef double* zeros = memory + kernels.work_size(m)
        memset(zeros, 0, m.num_velocities*sizeof(double))
        kernels.inverse_dynamics(
            m, &derived.parameters, no_gravity, c.q_data, c.v_data, zeros, memory, data(tau)
        )
        return tau

    def calc_gravity_generalized_forces(self, context, *, out=None):
        """Return the generalized forces of gravity, on the right-hand side: ``tau_g = -dPE/dq`` along v.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N]; zero without a gravity field.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        tau = out1(out, "out", m.num_velocities)
        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, m.num_velocities)
        kernels.gravity_generalized_forces(m, &derived.parameters, c.q_data, memory, data(tau))
        return tau

    def calc_mass_matrix(self, context, *, out=None):
        """Return the mass matrix M(q), symmetric, reflected inertia of the rotors included.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Mass matrix [kg m^2, kg m, kg], by composite rigid bodies.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        M = out2(out, "out", m.num_velocities, m.num_velocities)
        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, 0)
        kernels.mass_matrix(m, &derived.parameters, c.q_data, memory, data(M))
        return M

    def calc_mass_matrix_via_inverse_dynamics(self, context, *, out=None):
        """Return the mass matrix, each column by inverse dynamics at v = 0 with one unit acceleration.

        Slower than `calc_mass_matrix`, and independent of it: O(n^2).

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        cdef int k, l
        M = out2(out, "out", nv, nv)
        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, 3*nv)
        cdef double* v = memory + kernels.work_size(m)
        cdef double* vdot = v + nv
        cdef double* column = vdot + nv
        cdef double* target = data(M)
        memset(v, 0, 2*nv*sizeof(double))
        for k in range(nv):
            vdot[k] = 1.0
            kernels.inverse_dynamics(m, &derived.parameters, no_gravity, c.q_data, v, vdot, memory, column)
            vdot[k] = 0.0
            for l in range(nv):
                target[nv*l + k] = column[l]
        return M

    def calc_coriolis_matrix(self, context, *, out=None):
        """Return C(q, v), with ``C v`` the bias term and ``Mdot - 2 C`` skew-symmetric.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        C = out2(out, "out", m.num_velocities, m.num_velocities)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef double* memory = kernels.get_work(m, m.num_bodies)
        cdef int* base = <int*>(memory + kernels.work_size(m))
        kernels.coriolis_matrix(
            m, &derived.parameters, c.q_data, c.v_data, pc.X_WB_data, pc.H_FM_data, vc.V_WB_data, memory, base, data(C)
        )
        return C

    def calc_forward_dynamics(self, context, tau_applied=None, external_forces=None, *, out=None):
        """Return the generalized accelerations, by articulated bodies in O(n).

        Solves ``M vdot + C v = tau`` where tau holds gravity, the other force elements, joint damping,
        ``context.actuation``, ``context.applied_forces`` and the arguments.

        Parameters
        ----------
        context : Context
            Of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].

        Raises
        ------
        SingularityError
            When no mass resists a degree of freedom.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef int k, singular
        if tau_applied is not None:
            tau_applied = in1(tau_applied, "tau_applied", nv)
        vdot = out1(out, "out", nv)
        tau_of_forces = None
        if external_forces is not None or c._applied_forces is not None:
            tau_of_forces = self._generalized_forces_of(c, external_forces)

        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, 2*nv)
        cdef double* tau = memory + kernels.work_size(m)
        cdef double* result = tau + nv
        if tau_applied is not None:
            memcpy(tau, data(tau_applied), nv*sizeof(double))
        else:
            memset(tau, 0, nv*sizeof(double))
        kernels.add_damping(m, &derived.parameters, c.v_data, -1.0, tau)
        for k in range(m.num_actuators):
            tau[m.actuator_dof[k]] += c._actuation.data[k]
        if tau_of_forces is not None:
            for k in range(nv):
                tau[k] += data(tau_of_forces)[k]
        singular = kernels.forward_dynamics(m, &derived.parameters, c.q_data, c.v_data, tau, memory, result)
        if singular >= 0:
            from mbt.context.checks import raise_massless_dof
            raise_massless_dof(self, singular)
        memcpy(data(vdot), result, nv*sizeof(double))
        return vdot

    def _generalized_forces_of(self, ContextCore c, external_forces):
        """Generalized forces of `external_forces` and of the applied forces of the Context."""
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache pc = c.position()
        from mbt.context.checks import forces_of
        F = np.zeros((m.num_bodies, 6))
        tau = np.zeros(m.num_velocities)
        for forces, name in ((external_forces, "external_forces"), (c._applied_forces, "context.applied_forces")):
            if forces is not None:
                body_forces, generalized_forces = forces_of(self, forces, name)
                F += body_forces
                tau += generalized_forces
        tau_of_bodies = np.empty(m.num_velocities)
        cdef double* memory = kernels.get_work(m, 0)
        kernels.generalized_forces(m, pc.X_WB_data, pc.H_PB_W_data, data(F), memory, data(tau_of_bodies))
        return tau + tau_of_bodies

    def calc_force_elements_contribution(self, context, forces):
        """Overwrite `forces` with those of all force elements and of joint damping, without actuation.

        Parameters
        ----------
        context : Context
            Of this tree.
        forces : MultibodyForces
            For this tree, without batch axes. Whatever it held is lost.

        Returns
        -------
        MultibodyForces
            `forces`.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        from mbt.context.checks import forces_of
        body_forces, generalized_forces = forces_of(self, forces, "forces")
        body_forces = out2(body_forces, "forces.body_forces", m.num_bodies, 6)
        generalized_forces = out1(generalized_forces, "forces.generalized_forces", m.num_velocities)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        forces.set_zero()
        kernels.gravity_forces(m, &derived.parameters, pc.X_WB_data, data(body_forces))
        kernels.add_damping(m, &derived.parameters, c.v_data, -1.0, data(generalized_forces))
        return forces
