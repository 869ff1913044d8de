"""The compiled half of a MultibodyTree: every computation on a Context.

A method checks its arguments at the door, and then makes one call into a kernel.
"""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core cimport kernels
from mbt._core.context cimport (
    AccelerationKinematicsCache, ContextCore, PositionKinematicsCache, VelocityKinematicsCache,
)
from mbt._core.door cimport apart, data, in1, is_array1, is_points, new1, out1, out2, size
from mbt._core.model cimport CompiledModel, Derived, Model
from mbt._core.spatial cimport invert_pose4, multiply_poses4

import numpy as np

cnp.import_array()


cdef class TreeCore:
    """Base class of `MultibodyTree`."""

    def __reduce_ex__(self, protocol):
        from mbt.context.checks import raise_not_copyable
        raise_not_copyable(self)

    def _compile(self, **arrays):
        """Become a finalized tree; see `CompiledModel` for the arrays."""
        self._compiled = CompiledModel(**arrays)

    # What every method asks first -------------------------------------------------------------------------------

    cdef CompiledModel ready(self):
        if self._compiled is None:
            from mbt.context.checks import raise_not_finalized
            raise_not_finalized(self)
        return self._compiled

    cdef ContextCore own(self, object context):
        """The Context, if it is one of this tree."""
        if not isinstance(context, ContextCore) or (<ContextCore>context).tree is not self:
            self.ready()
            from mbt.context.checks import raise_context_mismatch
            raise_context_mismatch(self, context)
        return <ContextCore>context

    cdef PositionKinematicsCache position_of(self, ContextCore c, object pc):
        """The cache given, if it belongs to the present state; that of the Context by default."""
        cdef PositionKinematicsCache cache
        if pc is None:
            return c.position()
        if isinstance(pc, PositionKinematicsCache):
            cache = pc
            if (
                cache.compiled is c.compiled and cache.q_serial == c.q_serial
                and cache.parameter_serial == c.parameter_serial
            ):
                return cache
        from mbt.context.checks import raise_stale_cache
        raise_stale_cache("pc", pc, "PositionKinematicsCache")

    cdef VelocityKinematicsCache velocity_of(self, ContextCore c, object vc):
        cdef VelocityKinematicsCache cache
        if vc is None:
            return c.velocity()
        if isinstance(vc, VelocityKinematicsCache):
            cache = vc
            if (
                cache.compiled is c.compiled and cache.q_serial == c.q_serial and cache.v_serial == c.v_serial
                and cache.parameter_serial == c.parameter_serial
            ):
                return cache
        from mbt.context.checks import raise_stale_cache
        raise_stale_cache("vc", vc, "VelocityKinematicsCache")

    cdef int frame(self, object frame, str name) except -1:
        """FrameIndex of a frame of this tree."""
        from mbt.context.checks import frame_index
        return frame_index(self, frame, name)

    # Contexts and caches ----------------------------------------------------------------------------------------

    def create_default_context(self):
        """Return a new Context: default positions, zero velocities, default parameters.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        self.ready()
        from mbt.context import Context
        return Context(self)

    def set_default_context(self, context):
        """Reset time, state, inputs and parameters of a Context to their defaults."""
        self.own(context)._reset()

    def calc_position_kinematics_cache(self, context, pc=None):
        """Return the kinematics that depend on positions only, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Returns
        -------
        PositionKinematicsCache
            It is stale, and refused, once q or a parameter of the Context has changed.
        """
        cdef ContextCore c = self.own(context)
        cdef PositionKinematicsCache cache
        if pc is None:
            cache = PositionKinematicsCache(c.compiled)
        elif isinstance(pc, PositionKinematicsCache) and (<PositionKinematicsCache>pc).compiled is c.compiled:
            cache = pc
        else:
            from mbt.context.checks import raise_stale_cache
            raise_stale_cache("pc", pc, "PositionKinematicsCache")
        cache.compute(c)
        return cache

    def calc_velocity_kinematics_cache(self, context, pc=None, vc=None):
        """Return the kinematics that depend on positions and velocities, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Position kinematics of the same state; those of the Context by default.
        vc : VelocityKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Raises
        ------
        StaleCacheError
            When `pc` is not of the present state.
        """
        cdef ContextCore c = self.own(context)
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache cache
        if vc is None:
            cache = VelocityKinematicsCache(c.compiled)
        elif isinstance(vc, VelocityKinematicsCache) and (<VelocityKinematicsCache>vc).compiled is c.compiled:
            cache = vc
        else:
            from mbt.context.checks import raise_stale_cache
            raise_stale_cache("vc", vc, "VelocityKinematicsCache")
        cache.compute(c, position)
        return cache

    def calc_acceleration_kinematics_cache(self, context, known_vdot, *, pc=None, vc=None):
        """Return the body accelerations that go with `known_vdot`.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`.
        """
        cdef ContextCore c = self.own(context)
        vdot = in1(known_vdot, "known_vdot", c.compiled.model.num_velocities).copy()
        A_WB = self.calc_spatial_accelerations_from_vdot(context, vdot, pc=pc, vc=vc)
        return AccelerationKinematicsCache(A_WB, vdot)

    def eval_position_kinematics(self, context):
        """Return the position kinematics of a Context, cached; see `calc_position_kinematics_cache`."""
        return self.own(context).position()

    def eval_velocity_kinematics(self, context):
        """Return the velocity kinematics of a Context, cached; see `calc_velocity_kinematics_cache`."""
        return self.own(context).velocity()

    def eval_body_pose_in_world(self, context, body):
        """Return the pose X_WB of a body, (4, 4), cached and read-only."""
        cdef ContextCore c = self.own(context)
        from mbt.context.checks import body_node_index
        return c.position().X_WB[body_node_index(self, body)]

    def eval_body_spatial_velocity_in_world(self, context, body):
        """Return the spatial velocity V_WB of a body, (6,) [rad/s, m/s], cached and read-only."""
        cdef ContextCore c = self.own(context)
        from mbt.context.checks import body_node_index
        return c.velocity().V_WB[body_node_index(self, body)]

    # Dynamics ---------------------------------------------------------------------------------------------------

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
            self._fill_accelerations(c, vdot, accelerations)
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

    # Accelerations ----------------------------------------------------------------------------------------------

    def calc_spatial_accelerations_from_vdot(self, context, known_vdot, *, pc=None, vc=None, out=None):
        """Return the spatial acceleration A_WB of each body in World.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        out : ndarray, shape (num_bodies, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_bodies, 6)
            ``[alpha; a]`` in BodyNodeIndex order, `a` the classical acceleration of Bo [rad/s^2, m/s^2].
        """
        cdef ContextCore c = self.own(context)
        if pc is not None:
            self.position_of(c, pc)
        if vc is not None:
            self.velocity_of(c, vc)
        vdot = in1(known_vdot, "known_vdot", c.compiled.model.num_velocities)
        A_WB = out2(out, "out", c.compiled.model.num_bodies, 6)
        self._fill_accelerations(c, apart(vdot, A_WB), A_WB)
        return A_WB

    def _fill_accelerations(self, ContextCore c, vdot, A_WB):
        cdef const Model* m = &c.compiled.model
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        kernels.acceleration_kinematics(
            m, &derived.parameters, c.q_data, c.v_data, data(vdot), pc.X_WB_data, pc.H_PB_W_data, vc.V_PB_W_data,
            vc.V_WB_data, data(A_WB)
        )

    # Energy and power -------------------------------------------------------------------------------------------

    def calc_potential_energy(self, context):
        """Return the potential energy [J] of gravity, zero with every centre of mass at the World origin."""
        cdef ContextCore c = self.own(context)
        cdef Derived derived = c.derived()
        cdef double energy
        kernels.gravity_potential_energy(&c.compiled.model, &derived.parameters, c.position().X_WB_data, &energy)
        return energy

    def calc_kinetic_energy(self, context):
        """Return the kinetic energy [J], that of the rotors included."""
        cdef ContextCore c = self.own(context)
        cdef Derived derived = c.derived()
        cdef double energy
        kernels.kinetic_energy(
            &c.compiled.model, &derived.parameters, c.position().X_WB_data, c.velocity().V_WB_data, c.v_data, &energy
        )
        return energy

    def calc_conservative_power(self, context):
        """Return the power [W] of conservative forces: minus the rate of the potential energy."""
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Derived derived = c.derived()
        cdef double power = 0.0
        cdef int k
        cdef double* memory = kernels.get_work(m, 2*m.num_velocities)
        cdef double* tau_g = memory + kernels.work_size(m) + m.num_velocities
        kernels.gravity_generalized_forces(m, &derived.parameters, c.q_data, memory, tau_g)
        for k in range(m.num_velocities):
            power += c.v_data[k]*tau_g[k]
        return power

    def calc_non_conservative_power(self, context):
        """Return the power [W] of non-conservative forces: joint damping takes away ``damping v^2``."""
        cdef ContextCore c = self.own(context)
        cdef Derived derived = c.derived()
        cdef double power = 0.0
        cdef int k
        for k in range(c.compiled.model.num_velocities):
            power -= derived.parameters.damping[k]*c.v_data[k]*c.v_data[k]
        return power

    # Mass and momentum ------------------------------------------------------------------------------------------

    def calc_total_mass(self, context):
        """Return the mass [kg] of all bodies but World, those welded to World included."""
        cdef double[4] mass_and_moment
        self.mass_and_moment(self.own(context), mass_and_moment)
        return mass_and_moment[0]

    def calc_center_of_mass_position_in_world(self, context):
        """Return the centre of mass of all bodies but World, (3,) [m].

        Raises
        ------
        SingularityError
            When the tree has no mass.
        """
        cdef double[4] mass_and_moment
        self.mass_and_moment(self.own(context), mass_and_moment)
        self.need_mass(mass_and_moment[0])
        com = new1(3)
        for i in range(3):
            data(com)[i] = mass_and_moment[1 + i]/mass_and_moment[0]
        return com

    def calc_center_of_mass_translational_velocity_in_world(self, context):
        """Return the velocity of the centre of mass of all bodies but World, (3,) [m/s].

        Raises
        ------
        SingularityError
            When the tree has no mass.
        """
        cdef double[4] mass_and_moment
        cdef double[6] L
        self.mass_and_moment(self.own(context), mass_and_moment)
        self.momentum(self.own(context), L)
        self.need_mass(mass_and_moment[0])
        velocity = new1(3)
        for i in range(3):
            data(velocity)[i] = L[3 + i]/mass_and_moment[0]
        return velocity

    def calc_spatial_momentum_in_world_about_point(self, context, p_WoP_W):
        """Return the momentum of all bodies about a point P, in World.

        Parameters
        ----------
        context : Context
            Of this tree.
        p_WoP_W : array_like, shape (3,)
            The point [m].

        Returns
        -------
        ndarray, shape (6,)
            ``[angular; linear]`` momentum [kg m^2/s, kg m/s].
        """
        cdef ContextCore c = self.own(context)
        p_WoP = in1(p_WoP_W, "p_WoP_W", 3)
        L_WP = new1(6)
        cdef double* L = data(L_WP)
        cdef const double* p = data(p_WoP)
        self.momentum(c, L)
        # L_P = L_Wo - p × l
        L[0] -= p[1]*L[5] - p[2]*L[4]
        L[1] -= p[2]*L[3] - p[0]*L[5]
        L[2] -= p[0]*L[4] - p[1]*L[3]
        return L_WP

    cdef int mass_and_moment(self, ContextCore c, double* result) except -1:
        """The total mass, and the sum of m p_WBcm."""
        cdef Derived derived = c.derived()
        kernels.mass_moment(&c.compiled.model, &derived.parameters, c.position().X_WB_data, result, result + 1)
        return 0

    cdef int need_mass(self, double mass) except -1:
        """Refuse a centre of mass where there is no mass."""
        if mass == 0.0:
            from mbt.context.checks import raise_no_mass
            raise_no_mass(self)
        return 0

    cdef int momentum(self, ContextCore c, double* L_WWo_W) except -1:
        cdef Derived derived = c.derived()
        kernels.momentum(
            &c.compiled.model, &derived.parameters, c.position().X_WB_data, c.velocity().V_WB_data, L_WWo_W
        )
        return 0

    # Kinematics -------------------------------------------------------------------------------------------------

    def calc_relative_transform(self, context, frame_A, frame_B, *, out=None):
        """Return the pose X_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_A, frame_B : Frame
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (4, 4), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int b = self.frame(frame_B, "frame_B")
        cdef double[16] X_WA
        cdef double[16] X_AW
        cdef double[16] X_WB
        X_AB = out2(out, "out", 4, 4)
        cdef PositionKinematicsCache pc = c.position()
        self.calc_X_WF(pc, a, X_WA)
        self.calc_X_WF(pc, b, X_WB)
        invert_pose4[double](X_WA, X_AW)
        multiply_poses4[double](X_AW, X_WB, data(X_AB))
        return X_AB

    def calc_points_positions(self, context, frame_B, p_BQi, frame_A, *, out=None):
        """Return the positions in frame A of points given in frame B: ``p_AQi = X_AB p_BQi``.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_B : Frame
            Where the points are given.
        p_BQi : array_like, shape (3, n) or (3,)
            One point a column, or one point [m].
        frame_A : Frame
            Where they are wanted.
        out : ndarray of the shape of `p_BQi`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            Positions [m].
        """
        cdef ContextCore c = self.own(context)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef double[16] X_WA
        cdef double[16] X_AW
        cdef double[16] X_WB
        cdef double[16] X_AB
        cdef const double* p
        cdef double* y
        cdef Py_ssize_t n, i, k
        if is_array1(p_BQi, 3) or is_points(p_BQi):
            points = p_BQi
        else:
            from mbt.context.checks import as_points
            points = as_points(p_BQi, "p_BQi")
        n = size(points) // 3
        result = out1(out, "out", 3) if points.ndim == 1 else out2(out, "out", 3, n)
        points = apart(points, result)
        cdef PositionKinematicsCache pc = c.position()
        self.calc_X_WF(pc, a, X_WA)
        self.calc_X_WF(pc, b, X_WB)
        invert_pose4[double](X_WA, X_AW)
        multiply_poses4[double](X_AW, X_WB, X_AB)
        p = data(points)
        y = data(result)
        for i in range(3):
            for k in range(n):
                y[n*i + k] = X_AB[4*i + 3] + X_AB[4*i]*p[k] + X_AB[4*i + 1]*p[n + k] + X_AB[4*i + 2]*p[2*n + k]
        return result

    def calc_jacobian_spatial_velocity(
        self, context, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E, *, out=None
    ):
        """Return the Jacobian of the spatial velocity of a point Bp fixed to frame B, in frame A, expressed in E.

        ``V_ABp_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What the columns are for.
        frame_B : Frame
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame
            The frame in which the velocity is measured.
        frame_E : Frame
            The frame in which it is expressed.
        out : ndarray, shape (6, num_velocities) or (6, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities) or (6, num_positions)
            Angular rows first.
        """
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache pc = c.position()
        cdef Py_ssize_t nv = m.num_velocities
        cdef bint by_qdot
        cdef int i
        from mbt.context.checks import check_with_respect_to
        by_qdot = check_with_respect_to(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        p_BoBp = in1(p_BoBp_B, "p_BoBp_B", 3)
        J = out2(out, "out", 6, m.num_positions if by_qdot else m.num_velocities)

        p_BoBp = apart(p_BoBp, J)

        cdef double* memory = kernels.get_work(m, 6*nv)
        cdef double* J_v = memory + kernels.work_size(m) if by_qdot else data(J)
        cdef double[16] X_WF
        cdef double[3] p_WoBp
        self.calc_X_WF(pc, b, X_WF)
        for i in range(3):
            p_WoBp[i] = (
                X_WF[4*i + 3]
                + X_WF[4*i]*data(p_BoBp)[0] + X_WF[4*i + 1]*data(p_BoBp)[1] + X_WF[4*i + 2]*data(p_BoBp)[2]
            )
        memset(J_v, 0, 6*nv*sizeof(double))
        kernels.add_jacobian(m, m.frame_node[b], pc.X_WB_data, pc.H_PB_W_data, p_WoBp, 1.0, J_v)
        kernels.add_jacobian(m, m.frame_node[a], pc.X_WB_data, pc.H_PB_W_data, p_WoBp, -1.0, J_v)
        if e != 0:
            self.calc_X_WF(pc, e, X_WF)
            kernels.express_jacobian(nv, X_WF, J_v)
        if by_qdot:
            kernels.multiply_by_Nplus(m, c.q_data, J_v, data(J))
        return J

    cdef void calc_X_WF(self, PositionKinematicsCache pc, int frame, double* X_WF) noexcept:
        """Pose of a frame in World."""
        multiply_poses4[double](
            pc.X_WB_data + 16*pc.compiled.model.frame_node[frame], pc.derived.parameters.X_BF + 16*frame, X_WF
        )

    def map_velocity_to_qdot(self, context, v, *, out=None):
        """Return ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            Of this tree.
        v : array_like, shape (num_velocities,)
            Generalized velocities [rad/s, m/s].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        v = in1(v, "v", c.compiled.model.num_velocities)
        qdot = out1(out, "out", c.compiled.model.num_positions)
        v = apart(v, qdot)
        kernels.velocity_to_qdot(&c.compiled.model, c.q_data, data(v), data(qdot))
        return qdot

    def map_qdot_to_velocity(self, context, qdot, *, out=None):
        """Return ``v = N+(q) qdot``, exact when qdot = N(q) v for some v.

        Parameters
        ----------
        context : Context
            Of this tree.
        qdot : array_like, shape (num_positions,)
            Time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        qdot = in1(qdot, "qdot", c.compiled.model.num_positions)
        v = out1(out, "out", c.compiled.model.num_velocities)
        qdot = apart(qdot, v)
        kernels.qdot_to_velocity(&c.compiled.model, c.q_data, data(qdot), data(v))
        return v
