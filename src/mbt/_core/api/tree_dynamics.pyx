"""Dynamics of a Context: inverse and forward dynamics, and the terms of the equations of motion."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core.api.tree_kinematics cimport TreeKinematics
from mbt._core.door.compiled_model cimport Derived
from mbt._core.door.exact_arrays cimport add_array, add_numbers, adopt, apart, data, flag, out1, out2
from mbt._core.engines.caches cimport PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context cimport ContextCore, check_elements_at, flat, of_bodies, sum_of
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    ACCELERATION_KINEMATICS, CONSTRAINT_FORCES, CORIOLIS_MATRIX, ELEMENT_FORCES, FORWARD_DYNAMICS,
    GRAVITY_GENERALIZED_FORCES, INVERSE_DYNAMICS, MASS_MATRIX, MASS_MATRIX_BY_INVERSE_DYNAMICS, MOTION_FORCES,
    REACTION_FORCES, no_integers,
)

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeDynamics(TreeKinematics):
    """Forces on the bodies of a tree, and their motion."""

    def calc_inverse_dynamics(
        self, context, known_vdot, external_forces=None, *, pc=None, vc=None, include_force_elements=False,
        multipliers=None, A_WB_array=None, F_BMo_W_array=None, out=None
    ):
        """Return the generalized forces that give the accelerations `known_vdot`, in O(n).

        ``tau = M(q) vdot + C(q, v) v - tau_app - sum of J_WB' F_app``. Force elements (gravity, joint damping) enter
        only through `external_forces` or with `include_force_elements`, constraint forces with `multipliers`.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        include_force_elements : bool
            Whether the force elements and joint damping act too.
        multipliers : array_like, shape (num_constraint_equations,), optional
            Forces of the constraints, ``tau -= J' multipliers``: see `calc_constrained_forward_dynamics`.
        A_WB_array : ndarray, shape (num_bodies, 6), optional
            Filled with the spatial acceleration of each body in World [rad/s^2, m/s^2].
        F_BMo_W_array : ndarray, shape (num_bodies, 6), optional
            Filled with the force through each body's mobilizer, on the body at Mo, in World [N m, N]; row 0 is the
            force that holds World. It may be ``external_forces.body_forces``.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint with_elements = flag(include_force_elements, "include_force_elements")
        cdef const Model* m = &c.compiled.model
        cdef Derived derived
        cdef double* memory
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        if pc is not None or vc is not None:
            self.check_caches(c, pc, vc)
        vdot = c.take(known_vdot, "known_vdot", m.num_velocities)
        if multipliers is not None:
            multipliers = c.take(multipliers, "multipliers", m.num_equations)
        if (
            external_forces is not None or A_WB_array is not None or F_BMo_W_array is not None
            or multipliers is not None or with_elements and self._user_force_elements is not None
        ):
            return self.inverse_dynamics_with_forces(
                c, vdot, external_forces, with_elements, multipliers, A_WB_array, F_BMo_W_array, out
            )
        if c._engine is not None or with_elements and self.acts_on_bodies(c):
            return c.evaluate(INVERSE_DYNAMICS if with_elements else MOTION_FORCES, no_integers, vdot, out)
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

    cdef object inverse_dynamics_with_forces(
        self, ContextCore c, vdot, external_forces, bint with_elements, multipliers, A_WB_array, F_BMo_W_array, out
    ):
        """Inverse dynamics in any scalar, with applied forces, and with the accelerations and forces of bodies."""
        cdef int quantity = INVERSE_DYNAMICS if with_elements else MOTION_FORCES
        cdef list pairs = []
        if external_forces is not None:
            pairs.append(self.external_pair(c, external_forces, "external_forces"))
        if with_elements:
            pairs += self.user_pairs(c)
        if multipliers is not None:
            pairs.append(self.constraint_pair(c, multipliers))
        F_Bo_W, tau_applied = sum_of(pairs)
        cdef int[5] integers = [F_Bo_W is not None, 0, 0, 0, 0]
        cdef int[5] reactions = [with_elements, F_Bo_W is not None, 0, 0, 0]
        x = vdot if F_Bo_W is None else c.concatenate((vdot, flat(c, F_Bo_W), tau_applied))
        if A_WB_array is None and F_BMo_W_array is None:
            return c.evaluate(quantity, integers, x, out)
        A_WB = F_BMo_W = None
        if A_WB_array is not None:
            A_WB = c.evaluate(ACCELERATION_KINEMATICS, no_integers, vdot)
        if F_BMo_W_array is not None:
            F_BMo_W = c.evaluate(
                REACTION_FORCES, reactions, vdot if F_Bo_W is None else c.concatenate((vdot, flat(c, F_Bo_W)))
            )
        tau = c.evaluate(quantity, integers, x)
        return c._numbers.write_all(
            (A_WB_array, A_WB, "A_WB_array"), (F_BMo_W_array, F_BMo_W, "F_BMo_W_array"), (out, tau, "out")
        )[2]

    # Forces as pairs: on bodies, (num_bodies, 6), and generalized ones.

    cdef tuple external_pair(self, ContextCore c, forces, str name):
        """The pair of an argument, whose leading axes broadcast to those of the Context."""
        if c._engine is None:
            return self.arrays_of(&c.compiled.model, forces, name)
        return c._external(forces, name)

    cdef tuple own_pair(self, ContextCore c, forces, str name):
        """The pair of an argument that has the leading axes of the Context, to be written into."""
        if c._engine is None:
            return self.arrays_of(&c.compiled.model, forces, name)
        return c._forces_of(forces, name)

    cdef list applied_pairs(self, ContextCore c):
        """The forces applied in the Context: none or one pair."""
        if c._engine is None:
            if c._applied_forces is None:
                return []
            return [self.arrays_of(&c.compiled.model, c._applied_forces, "context.applied_forces")]
        if not c._has_applied_forces:
            return []
        return [c._forces_of(c.applied_forces, "context.applied_forces")]

    cdef list user_pairs(self, ContextCore c):
        """The sum of the forces of user-written elements: none or one pair. Runs Python code."""
        if self._user_force_elements is None:
            return []
        return [self.user_pair(c, self._user_force_elements)]

    cdef tuple user_pair(self, ContextCore c, elements):
        forces = above.calc_user_forces(elements, c, self._position_of(c), self._velocity_of(c))
        if c._engine is None:
            return self.arrays_of(&c.compiled.model, forces, "forces")
        return forces.body_forces, forces.generalized_forces

    cdef tuple constraint_pair(self, ContextCore c, multipliers):
        """The pair of the forces of constraints."""
        cdef Py_ssize_t count = 6*c.compiled.model.num_bodies
        both = c.evaluate(CONSTRAINT_FORCES, no_integers, multipliers)
        return of_bodies(both[..., :count]), both[..., count:]

    cdef tuple arrays_of(self, const Model* m, forces, str name):
        """Body forces and generalized forces of an argument, as kernels can read and write them."""
        body_forces, generalized_forces = above.forces_of(self, forces, name)
        return (
            out2(body_forces, "body_forces", m.num_bodies, 6),
            out1(generalized_forces, "generalized_forces", m.num_velocities),
        )

    def calc_bias_term(self, context, *, out=None):
        """Return the bias term ``C(q, v) v``: inverse dynamics at vdot = 0, without any applied force.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N].
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef double[3] no_gravity = [0.0, 0.0, 0.0]
        if c._engine is not None:
            return c.evaluate(MOTION_FORCES, no_integers, c.zeros(m.num_velocities), out)
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
            A Context of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N]; zero without a gravity field.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c.evaluate(GRAVITY_GENERALIZED_FORCES, no_integers, None, out)
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
            A Context of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Mass matrix [kg m^2, kg m, kg], by composite rigid bodies.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c.evaluate(MASS_MATRIX, no_integers, None, out)
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
            A Context of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        return self.own(context).evaluate(MASS_MATRIX_BY_INVERSE_DYNAMICS, no_integers, None, out)

    def calc_coriolis_matrix(self, context, *, out=None):
        """Return C(q, v), with ``C v`` the bias term and ``Mdot - 2 C`` skew-symmetric.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        return self.own(context).evaluate(CORIOLIS_MATRIX, no_integers, None, out)

    def calc_forward_dynamics(self, context, tau_applied=None, external_forces=None, *, out=None):
        """Return the generalized accelerations, by articulated bodies in O(n).

        Solves ``M vdot + C v = tau`` where tau holds gravity, the other force elements, joint damping,
        ``context.actuation``, ``context.applied_forces`` and the arguments. The accelerations satisfy the enabled
        constraints: their forces are those of `calc_constrained_forward_dynamics`. Accelerations of locked dofs are
        zero.

        Parameters
        ----------
        context : Context
            A Context of this tree.
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
            When a degree of freedom has no inertia.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        if tau_applied is not None:
            tau_applied = c.take(tau_applied, "tau_applied", m.num_velocities)
        cdef list pairs = None
        cdef bint with_applied = c._applied_forces is not None if c._engine is None else c._has_applied_forces
        if external_forces is not None or with_applied or self._user_force_elements is not None:
            pairs = self.acting_pairs(c, external_forces)
        if c._engine is not None:
            return self.forward_dynamics_of(c, tau_applied, pairs, out)
        vdot = out1(out, "out", m.num_velocities)
        self.solve_forward_dynamics(c, tau_applied, pairs, vdot)
        return vdot

    def _calc_inverse_dynamics_with(self, context, known_vdot, multipliers, external_forces):
        """Inverse dynamics with all forces, for `mbt.functional`."""
        return self.calc_inverse_dynamics(
            context, known_vdot, external_forces, include_force_elements=True, multipliers=multipliers
        )

    cdef list acting_pairs(self, ContextCore c, external_forces):
        """All forces of forward dynamics except those of the compiled core's elements."""
        cdef list pairs = []
        if external_forces is not None:
            pairs.append(self.external_pair(c, external_forces, "external_forces"))
        pairs += self.applied_pairs(c)
        pairs += self.user_pairs(c)
        return pairs

    cdef object forward_dynamics_of(
        self, ContextCore c, tau_applied, list pairs, out, int quantity=FORWARD_DYNAMICS, int stabilized=0
    ):
        """Accelerations in other scalars: force elements, actuation and these forces act."""
        cdef int[5] integers = [0, stabilized, 0, 0, 0]
        x = self.applied_torques(c, tau_applied)
        F_Bo_W, tau = sum_of(pairs)
        if F_Bo_W is not None:
            integers[0] = 1
            x = c.concatenate((x, flat(c, F_Bo_W), tau))
        return c.evaluate(quantity, integers, x, out)

    cdef object applied_torques(self, ContextCore c, tau_applied):
        """Generalized forces of an argument plus those of actuators."""
        tau = c.zeros(c.compiled.model.num_velocities) if tau_applied is None else tau_applied
        if c._has_actuation:
            dofs = [actuator.joint.velocity_start for actuator in self.joint_actuators]
            tau = c._numbers.add_at(tau, dofs, c.actuation)
        return tau

    cdef int solve_forward_dynamics(
        self, ContextCore c, object tau_applied, list inputs, object vdot, object multipliers=None,
        int stabilized=0
    ) except -1:
        """Fill `vdot`: force elements, actuation and `inputs` act, pairs of body and generalized forces, or None."""
        cdef Switches switches = c.switches
        cdef const double* found
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nb = m.num_bodies
        cdef Py_ssize_t nv = m.num_velocities
        cdef int singular
        cdef bint with_forces = inputs is not None and len(inputs) > 0 or self.acts_on_bodies(c)
        cdef PositionKinematicsCache pc = c.position() if with_forces else None
        cdef VelocityKinematicsCache vc = c.velocity() if m.num_elements_between else None
        cdef Derived derived = c.derived()
        switches.stabilized = stabilized
        if with_forces:
            check_elements_at(self, m, &derived.parameters, pc.X_WB_data, -1)

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
            for F_input, tau_input in inputs or ():
                add_array(F_input, F)
                add_array(tau_input, tau)
            if vc is not None:
                V_WB = vc.V_WB_data
            kernels.add_body_forces(m, &derived.parameters, c.switches.weightless, pc.X_WB_data, V_WB, F)
            kernels.generalized_forces(m, pc.X_WB_data, pc.H_PB_W_data, F, memory, result)
            add_numbers(result, nv, tau)
        singular = kernels.forward_dynamics(
            m, &derived.parameters, &switches, c.q_data, c.v_data, tau, memory, result
        )
        if singular >= 0:
            above.raise_massless_dof(self, singular)
        memcpy(data(vdot), result, nv*sizeof(double))
        if m.num_constraints:
            found = kernels.multipliers_in(m, memory)
            if multipliers is not None:
                memcpy(data(multipliers), found, m.num_equations*sizeof(double))
            if kernels.any_is_nan(found, m.num_equations, 1):
                above.check_constraints_at(c)
        return 0

    def calc_force_elements_contribution(self, context, forces, *, pc=None, vc=None):
        """Overwrite `forces` with those of all force elements and of joint damping, without actuation.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        forces : MultibodyForces
            For this tree, without batch axes. It is overwritten.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        self.own_pair(c, forces, "forces")
        self.check_caches(c, pc, vc)
        cdef Py_ssize_t count = 6*c.compiled.model.num_bodies
        cdef list pairs = self.user_pairs(c)
        both = c.evaluate(ELEMENT_FORCES, no_integers)
        pairs.insert(0, (of_bodies(both[..., :count]), both[..., count:]))
        forces.body_forces, forces.generalized_forces = sum_of(pairs)
        return forces

    # The seam through which all force elements act -------------------------------------------------------------

    cdef bint acts_on_bodies(self, ContextCore c):
        """Whether any force acts besides those on single dofs and gravity on all bodies."""
        return (
            c.compiled.model.num_elements_between > 0 or c.switches.weightless != NULL
            or self._user_force_elements is not None
        )

    cdef int add_joint_inputs(self, ContextCore c, Derived derived, double* tau) except -1:
        """Add joint damping, the elements on one dof, and actuation."""
        cdef const Model* m = &c.compiled.model
        cdef int k
        kernels.add_joint_forces(m, &derived.parameters, c.q_data, c.v_data, 0, tau)
        for k in range(m.num_actuators):
            tau[m.actuator_dof[k]] += c._actuation.data[k]
        return 0
