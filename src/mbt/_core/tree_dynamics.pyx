"""Dynamics of a Context: inverse and forward dynamics, and the terms of the equations of motion."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.door cimport adopt, apart, data, flag, in1, meet, out1, out2, size
from mbt._core.model cimport Derived, Model
from mbt._core.tree_kinematics cimport TreeKinematics

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
        ArgumentValueError
            When two arrays to write into share memory.
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
        cdef bint with_elements = flag(include_force_elements, "include_force_elements")
        if c._methods is not None:
            return c._methods.calc_inverse_dynamics(
                c, known_vdot, external_forces, pc=pc, vc=vc,
                include_force_elements=with_elements, A_WB_array=A_WB_array,
                F_BMo_W_array=F_BMo_W_array, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef Derived derived
        cdef double* memory
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        if pc is not None:
            pc = self.position_of(c, pc)
        if vc is not None:
            vc = self.velocity_of(c, vc)
        vdot = in1(known_vdot, "known_vdot", m.num_velocities)
        if (
            external_forces is not None or A_WB_array is not None or F_BMo_W_array is not None
            or with_elements and self.acts_on_bodies(c)
        ):
            return self.calc_inverse_dynamics_in_world(
                c, pc, vc, vdot, external_forces, with_elements, A_WB_array, F_BMo_W_array, out
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
            kernels.add_joint_forces(m, &derived.parameters, c.q_data, c.v_data, 1, data(tau))
        return tau

    cdef calc_inverse_dynamics_in_world(
        self, ContextCore c, PositionKinematicsCache pc, VelocityKinematicsCache vc, vdot, external_forces,
        bint with_elements, A_WB_array, F_BMo_W_array, out
    ):
        """Inverse dynamics with applied forces, and with what else its passes in World can tell."""
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nb = m.num_bodies
        cdef Py_ssize_t nv = m.num_velocities
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        cdef bint with_accelerations = A_WB_array is not None or F_BMo_W_array is not None
        cdef bint with_user_elements = with_elements and self._user_force_elements is not None
        cdef Py_ssize_t k
        tau = out1(out, "out", nv)
        if A_WB_array is not None:
            out2(A_WB_array, "A_WB_array", nb, 6)
        if F_BMo_W_array is not None:
            out2(F_BMo_W_array, "F_BMo_W_array", nb, 6)
        if meet(A_WB_array, F_BMo_W_array) or meet(A_WB_array, tau) or meet(F_BMo_W_array, tau):
            from mbt.math.arrays import check_apart
            check_apart({"A_WB_array": A_WB_array, "F_BMo_W_array": F_BMo_W_array, "out": tau})
        body_forces = generalized_forces = None
        if external_forces is not None:
            body_forces, generalized_forces = self.arrays_of(m, external_forces, "external_forces")
        if pc is None:
            pc = c.position()
        if vc is None and (with_accelerations or with_elements and self.forces_need_velocities(c)):
            vc = c.velocity()
        F_user = tau_user = None
        if with_user_elements:
            F_user, tau_user = self.user_forces(c, pc, vc)
        cdef Derived derived = c.derived()
        if with_elements:
            self.check_elements(m, derived, pc)

        # Outputs may be inputs: everything is computed in working memory first.
        cdef double* memory = kernels.get_work(m, 12*nb + 3*nv)
        cdef double* F_applied = memory + kernels.work_size(m)
        cdef double* A_WB = F_applied + 6*nb
        cdef double* tau_applied = A_WB + 6*nb
        cdef double* tau_of_bodies = tau_applied + nv
        cdef double* result = tau_of_bodies + nv
        memset(F_applied, 0, 6*nb*sizeof(double))
        memset(tau_applied, 0, nv*sizeof(double))
        if external_forces is not None:
            memcpy(F_applied, data(body_forces), 6*nb*sizeof(double))
            memcpy(tau_applied, data(generalized_forces), nv*sizeof(double))
        if with_elements:
            self.add_element_forces(c, derived, pc, vc, F_applied, tau_applied)
        if with_user_elements:
            add_array(F_user, F_applied)
            add_array(tau_user, tau_applied)
        kernels.generalized_forces(m, pc.X_WB_data, pc.H_PB_W_data, F_applied, memory, tau_of_bodies)
        kernels.inverse_dynamics(
            m, &derived.parameters, no_gravity, c.q_data, c.v_data, data(vdot), memory, result
        )
        for k in range(nv):
            result[k] -= tau_applied[k] + tau_of_bodies[k]
        if with_accelerations:
            kernels.acceleration_kinematics(
                m, &derived.parameters, c.q_data, c.v_data, data(vdot), pc.X_WB_data, pc.H_PB_W_data,
                vc.V_PB_W_data, vc.V_WB_data, A_WB
            )
        if F_BMo_W_array is not None:
            kernels.reaction_forces(
                m, &derived.parameters, pc.X_WB_data, vc.V_WB_data, A_WB, F_applied, memory, data(F_BMo_W_array)
            )
        if A_WB_array is not None:
            memcpy(data(A_WB_array), A_WB, 6*nb*sizeof(double))
        memcpy(data(tau), result, nv*sizeof(double))
        return tau

    cdef tuple arrays_of(self, const Model* m, forces, str name):
        """Body forces and generalized forces of an argument, as kernels can read and write them."""
        from mbt.context.checks import forces_of
        body_forces, generalized_forces = forces_of(self, forces, name)
        return (
            out2(body_forces, name + ".body_forces", m.num_bodies, 6),
            out1(generalized_forces, name + ".generalized_forces", m.num_velocities),
        )

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
        if c._methods is not None:
            return c._methods.calc_bias_term(c, out=out)
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
        if c._methods is not None:
            return c._methods.calc_gravity_generalized_forces(c, out=out)
        cdef const Model* m = &c.compiled.model
        tau = out1(out, "out", m.num_velocities)
        cdef Derived derived = c.derived()
        cdef double* memory = kernels.get_work(m, m.num_velocities)
        kernels.gravity_generalized_forces(
            m, &derived.parameters, c.switches.weightless, c.q_data, memory, data(tau)
        )
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
        if c._methods is not None:
            return c._methods.calc_mass_matrix(c, out=out)
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
        if c._methods is not None:
            return c._methods.calc_mass_matrix_via_inverse_dynamics(c, out=out)
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
        if c._methods is not None:
            return c._methods.calc_coriolis_matrix(c, out=out)
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
        if c._methods is not None:
            return c._methods.calc_forward_dynamics(c, tau_applied, external_forces, out=out)
        cdef const Model* m = &c.compiled.model
        if tau_applied is not None:
            tau_applied = in1(tau_applied, "tau_applied", m.num_velocities)
        vdot = out1(out, "out", m.num_velocities)
        cdef tuple inputs = ()
        if external_forces is not None:
            inputs += (self.arrays_of(m, external_forces, "external_forces"),)
        if c._applied_forces is not None:
            inputs += (self.arrays_of(m, c._applied_forces, "context.applied_forces"),)
        if self._user_force_elements is not None:
            inputs += self.user_inputs(c)
        self.solve_forward_dynamics(c, tau_applied, inputs, vdot)
        return vdot

    cdef int solve_forward_dynamics(self, ContextCore c, object tau_applied, tuple inputs, object vdot) except -1:
        """Fill `vdot`: force elements, actuation and `inputs` act, pairs of body forces and generalized forces."""
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nb = m.num_bodies
        cdef Py_ssize_t nv = m.num_velocities
        cdef int singular
        cdef bint with_forces = len(inputs) > 0 or self.acts_on_bodies(c)
        cdef PositionKinematicsCache pc = c.position() if with_forces else None
        cdef VelocityKinematicsCache vc = c.velocity() if m.num_elements_between else None
        cdef Derived derived = c.derived()
        if with_forces:
            self.check_elements(m, derived, pc)

        cdef double* memory = kernels.get_work(m, 6*nb + 3*nv)
        cdef double* tau = memory + kernels.work_size(m)
        cdef double* result = tau + nv
        cdef double* F = result + nv
        cdef const double* V_WB = NULL
        memset(tau, 0, nv*sizeof(double))
        if tau_applied is not None:
            memcpy(tau, data(tau_applied), nv*sizeof(double))
        self.add_joint_inputs(c, derived, tau)
        if with_forces:
            memset(F, 0, 6*nb*sizeof(double))
            for F_input, tau_input in inputs:
                add_array(F_input, F)
                add_array(tau_input, tau)
            if vc is not None:
                V_WB = vc.V_WB_data
            kernels.add_body_forces(m, &derived.parameters, c.switches.weightless, pc.X_WB_data, V_WB, F)
            kernels.generalized_forces(m, pc.X_WB_data, pc.H_PB_W_data, F, memory, result)
            add_doubles(result, nv, tau)
        singular = kernels.forward_dynamics(
            m, &derived.parameters, &c.switches, c.q_data, c.v_data, tau, memory, result
        )
        if singular >= 0:
            from mbt.context.checks import raise_massless_dof
            raise_massless_dof(self, singular)
        memcpy(data(vdot), result, nv*sizeof(double))
        return 0

    def calc_force_elements_contribution(self, context, forces, *, pc=None, vc=None):
        """Overwrite `forces` with those of all force elements and of joint damping, without actuation.

        Parameters
        ----------
        context : Context
            Of this tree.
        forces : MultibodyForces
            For this tree, without batch axes. Whatever it held is lost.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.

        Returns
        -------
        MultibodyForces
            `forces`.

        Raises
        ------
        StaleCacheError
            When `pc` or `vc` is not of the present state.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_force_elements_contribution(c, forces, pc=pc, vc=vc)
        cdef const Model* m = &c.compiled.model
        body_forces, generalized_forces = self.arrays_of(m, forces, "forces")
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache velocity = self.velocity_of(c, vc)
        F_user = tau_user = None
        if self._user_force_elements is not None:
            F_user, tau_user = self.user_forces(c, position, velocity)
        cdef Derived derived = c.derived()
        self.check_elements(m, derived, position)
        forces.set_zero()
        self.add_element_forces(c, derived, position, velocity, data(body_forces), data(generalized_forces))
        if F_user is not None:
            add_array(F_user, data(body_forces))
            add_array(tau_user, data(generalized_forces))
        return forces

    # The seam through which all force elements act -------------------------------------------------------------

    cdef bint acts_on_bodies(self, ContextCore c):
        """Whether a force acts that is not one of dofs alone, nor gravity on all bodies."""
        return (
            c.compiled.model.num_elements_between > 0 or c.switches.weightless != NULL
            or self._user_force_elements is not None
        )

    cdef bint forces_need_velocities(self, ContextCore c):
        """Whether a force on bodies depends on their velocities."""
        return c.compiled.model.num_elements_between > 0 or self._user_force_elements is not None

    cdef int add_joint_inputs(self, ContextCore c, Derived derived, double* tau) except -1:
        """Add joint damping, the elements on one dof, and actuation."""
        cdef const Model* m = &c.compiled.model
        cdef int k
        kernels.add_joint_forces(m, &derived.parameters, c.q_data, c.v_data, 0, tau)
        for k in range(m.num_actuators):
            tau[m.actuator_dof[k]] += c._actuation.data[k]
        return 0

    cdef int add_element_forces(
        self, ContextCore c, Derived derived, PositionKinematicsCache pc, VelocityKinematicsCache vc, double* F,
        double* tau
    ) except -1:
        """Add gravity, joint damping and all force elements but those written by users: see `user_forces`."""
        cdef const Model* m = &c.compiled.model
        kernels.gravity_forces(m, &derived.parameters, c.switches.weightless, pc.X_WB_data, F)
        if m.num_elements_between:
            kernels.add_forces_between(m, &derived.parameters, pc.X_WB_data, vc.V_WB_data, F)
        kernels.add_joint_forces(m, &derived.parameters, c.q_data, c.v_data, 0, tau)
        return 0

    cdef int check_elements(self, const Model* m, Derived derived, PositionKinematicsCache pc) except -1:
        """Refuse positions in which the force of an element is undefined."""
        return self.check_element(m, derived, pc, -1)

    cdef int check_element(
        self, const Model* m, Derived derived, PositionKinematicsCache pc, int element
    ) except -1:
        """The same of one element; -1: of all."""
        cdef int singular
        if m.num_elements_between:
            singular = kernels.find_singular_element(m, &derived.parameters, pc.X_WB_data, element)
            if singular >= 0:
                from mbt.context.checks import raise_singular_element
                raise_singular_element(self, singular)
        return 0

    cdef tuple user_inputs(self, ContextCore c):
        """The sum of the forces of elements written by users: none, or one pair as `user_forces` returns it."""
        if self._user_force_elements is None:
            return ()
        return (self.user_forces(c, c.position(), c.velocity()),)

    cdef tuple user_forces(self, ContextCore c, PositionKinematicsCache pc, VelocityKinematicsCache vc):
        """Body forces and generalized forces of the elements written by users. Runs Python code."""
        from mbt.context.user_forces import calc_user_forces
        return self.arrays_of(&c.compiled.model, calc_user_forces(self._user_force_elements, c, pc, vc), "forces")


cdef void add_array(object array, double* total) noexcept:
    add_doubles(data(array), size(array), total)


cdef void add_doubles(const double* x, Py_ssize_t n, double* total) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        total[i] += x[i]
