"""Partial derivatives of the dynamics of a Context along each degree of freedom."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core.api.tree_identification cimport TreeIdentification
from mbt._core.door.compiled_model cimport Derived
from mbt._core.door.exact_arrays cimport (
    add_array, adopt, data, direction, flag, is_array2, is_writeable, new2, overlap, size,
)
from mbt._core.engines.context cimport ContextCore, check_elements_at, flat, sum_of
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.table cimport (
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES, GENERALIZED_FORCES,
    INVERSE_DYNAMICS_DERIVATIVES, MOTION_FORCES_DERIVATIVES, no_integers,
)

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeDerivatives(TreeIdentification):
    """Derivatives of dynamics. Those with respect to positions are along qdot = N(q) v: one column per velocity."""

    def calc_inverse_dynamics_derivatives(
        self, context, known_vdot, external_forces=None, *, include_force_elements=False, out=None
    ):
        """Return the derivatives of the result of `calc_inverse_dynamics` with the same arguments.

        That is ``tau = M(q) vdot + C(q, v) v - tau_ext - sum of J_WB' F_ext``, with `include_force_elements` minus
        ``tau_force_elements(q, v)``. The method is analytical, in O(n depth). The external forces are constant in
        World, at Bo, which moves. Gravity, joint damping and the force elements vary with q and v. User-written
        elements compute once with `mbt.autodiff.AutoDiffArray`; one that cannot, or whose derivatives are not
        finite, is differentiated by central differences.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World; generalized ones have no derivative.
        include_force_elements : bool
            Whether gravity, the other force elements and joint damping act too.
        out : tuple of three (ndarray or None), optional
            Arrays of shape (num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
            Left untouched when an argument is rejected.

        Returns
        -------
        dtau_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of tau along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and vdot held fixed [N m or N per rad or m].
        dtau_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        M : ndarray, shape (num_velocities, num_velocities)
            Mass matrix: the partial derivatives with respect to vdot.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When the force of an element is undefined.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
        >>> pin = tree.add_joint(
        ...     mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0], damping=0.1
        ... )
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
        >>> tree.finalize()
        >>> tree.calc_inverse_dynamics_derivatives(
        ...     tree.create_default_context(), [0.0], include_force_elements=True
        ... )
        (array([[10.]]), array([[0.1]]), array([[0.6]]))
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint with_elements = flag(include_force_elements, "include_force_elements")
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef const double* F = NULL
        vdot = c.take(known_vdot, "known_vdot", nv)
        if c._engine is not None:
            return self.inverse_derivatives_of(c, vdot, external_forces, with_elements, out)
        if external_forces is not None:
            body_forces, _ = self.arrays_of(m, external_forces, "external_forces")
            F = data(body_forces)
        dtau_dq, dtau_dv, M = outputs_of(out, nv)
        cdef Derived derived = c.derived()
        if with_elements and m.num_elements_between:
            check_elements_at(self, m, &derived.parameters, c.position().X_WB_data, -1)
        user = None
        if with_elements and self._user_force_elements is not None:
            user = above.differentiate_user_forces(self, c)
        cdef double* memory = kernels.get_work(m, derivatives.inverse_work_size(m))
        derivatives.inverse_dynamics_derivatives(
            m, &derived.parameters, c.switches.weightless, with_elements, c.q_data, c.v_data, data(vdot), F, memory,
            data(dtau_dq), data(dtau_dv), data(M)
        )
        if user is not None:
            dtau_dq -= user[0]
            dtau_dv -= user[1]
        return dtau_dq, dtau_dv, M

    def calc_forward_dynamics_derivatives(self, context, tau_applied=None, external_forces=None, *, out=None):
        """Return the derivatives of forward dynamics.

        The accelerations are those of `calc_forward_dynamics` for the same arguments; the method is analytical:
        ``dvdot = -M^-1 dtau``, with dtau the derivatives of inverse dynamics at these accelerations.
        ``context.applied_forces`` and `external_forces` are constant in World, at Bo, which moves. User-written force
        elements are differentiated as in `calc_inverse_dynamics_derivatives`. Rows of locked dofs are zero, and in
        `M_inverse` their columns too. The accelerations satisfy the constraints, see
        `calc_constrained_forward_dynamics_derivatives`.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        out : tuple of three (ndarray or None), optional
            Arrays of shape (num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
            Left untouched when an argument is rejected.

        Returns
        -------
        dvdot_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and the applied forces held fixed.
        dvdot_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        M_inverse : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to `tau_applied`: the inverse of the mass matrix where nothing is locked
            and no constraint acts.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When a degree of freedom has no inertia, or the force of an element is undefined.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t i, nb = m.num_bodies, nv = m.num_velocities
        cdef int singular
        cdef double* matrices
        if tau_applied is not None:
            tau_applied = c.take(tau_applied, "tau_applied", nv)
        if m.num_constraints:
            by_q, by_v, by_tau = self.constrained_derivatives_of(c, tau_applied, external_forces, False)
            return write_three(
                c, out, (by_q[..., :nv, :].copy(), by_v[..., :nv, :].copy(), by_tau[..., :nv, :].copy())
            )
        if c._engine is not None:
            return self.forward_derivatives_of(c, tau_applied, external_forces, out)
        dvdot_dq, dvdot_dv, M_inverse = outputs_of(out, nv)
        inputs = ()
        if external_forces is not None or c._applied_forces is not None:
            inputs = self.body_force_inputs(c, external_forces, "external_forces")
        cdef Derived derived = c.derived()
        if m.num_elements_between:
            check_elements_at(self, m, &derived.parameters, c.position().X_WB_data, -1)
        user = tau_user = None
        if self._user_force_elements is not None:
            user = above.differentiate_user_forces(self, c)
            tau_user = self._calc_user_generalized_forces(c)

        cdef Py_ssize_t work_size = derivatives.forward_work_size(m)
        cdef double* memory = kernels.get_work(m, work_size + 6*nb + nv)
        cdef double* tau = memory + work_size
        cdef double* F = tau + nv
        memset(tau, 0, (nv + 6*nb)*sizeof(double))
        if tau_applied is not None:
            memcpy(tau, data(tau_applied), nv*sizeof(double))
        for i in range(m.num_actuators):
            tau[m.actuator_dof[i]] += c._actuation.data[i]
        for F_input, tau_input in inputs:
            add_array(F_input, F)
            add_array(tau_input, tau)
        if tau_user is not None:
            add_array(tau_user, tau)
        singular = derivatives.forward_dynamics_rates(
            m, &derived.parameters, &c.switches, c.q_data, c.v_data, tau, F if inputs else NULL, memory, &matrices
        )
        if singular >= 0:
            above.raise_massless_dof(self, singular)
        if user is not None:
            derivatives.subtract_from_rates(m, data(user[0]), data(user[1]), matrices)
        derivatives.forward_dynamics_derivatives(
            m, user is not None, matrices, data(dvdot_dq), data(dvdot_dv), data(M_inverse)
        )
        return dvdot_dq, dvdot_dv, M_inverse

    def calc_constrained_forward_dynamics_derivatives(
        self, context, tau_applied=None, external_forces=None, *, stabilize=False
    ):
        """Return the derivatives of the accelerations and multipliers of `calc_constrained_forward_dynamics`.

        The method is analytical, by the implicit function theorem: ``M dvdot - J' dmultipliers = -dtau`` and
        ``J dvdot = -d(J vdot + Jdot v)``, with dtau the derivatives of inverse dynamics at these accelerations and
        multipliers. Forces vary as they do in `calc_forward_dynamics_derivatives`.

        If constraints are redundant, and remain so nearby, the derivatives of the accelerations are unique, and those
        of the multipliers are one of many possible sets. If equations contradict each other, their remainder is
        held fixed.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, where they are constant, and generalized.
        stabilize : bool or -1, optional
            Whether the accelerations let the errors of each constraint decay; -1 for integration backwards in time.

        Returns
        -------
        dvdot_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and the applied forces held fixed.
        dvdot_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        dvdot_dtau : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to `tau_applied`, symmetric.
        dmultipliers_dq, dmultipliers_dv, dmultipliers_dtau : ndarray, shape (num_constraint_equations, num_velocities)
            The same for the multipliers.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When a degree of freedom has no inertia, or the force of an element or a constraint is undefined.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> *_, dmultipliers_dtau = tree.calc_constrained_forward_dynamics_derivatives(context)
        >>> dmultipliers_dtau[:, 3:].round(6) + 0.0
        array([[-1.,  0.,  0.],
               [ 0., -1.,  0.],
               [ 0.,  0., -1.]])
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int stabilized = direction(stabilize)
        if tau_applied is not None:
            tau_applied = c.take(tau_applied, "tau_applied", c.compiled.model.num_velocities)
        return six_of(
            self.constrained_derivatives_of(c, tau_applied, external_forces, stabilized),
            c.compiled.model.num_velocities
        )

    def _calc_constrained_dynamics_rates(self, context, tau_applied, external_forces, int stabilize):
        """The same as three matrices, with the rows of multipliers below."""
        return tuple(self.constrained_derivatives_of(self.own(context), tau_applied, external_forces, stabilize))

    cdef object constrained_derivatives_of(self, ContextCore c, tau_applied, external_forces, int stabilized):
        """Derivatives of accelerations, and below them of multipliers, by q, v and tau, in any Context's scalar."""
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t i, nv = m.num_velocities
        cdef int[5] integers = [0, stabilized, 0, 0, 0]
        F_Bo_W, further = sum_of(self.body_force_inputs(c, external_forces, "external_forces"))
        if c._engine is not None:
            tau = self.applied_torques(c, tau_applied)
        else:
            tau = c.zeros(nv)
            if tau_applied is not None:
                add_array(tau_applied, data(tau))
            for i in range(m.num_actuators):
                data(tau)[m.actuator_dof[i]] += c._actuation.data[i]
        user = None
        if self._user_force_elements is not None:
            user = above.differentiate_user_forces(self, c) if c._engine is None else c._differentiate_user_forces()
            tau = tau + self._calc_user_generalized_forces(c)
        if F_Bo_W is not None:
            integers[0] = 1
            tau = c.concatenate((tau, flat(c, F_Bo_W), further))
        if c._engine is None:
            parts = c.evaluate(CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, integers, tau)
            if size(parts) and kernels.any_is_nan(data(parts) + nv*nv, m.num_equations, nv):
                above.check_constraints_at(c)
        else:
            c._push()
            parts = c._engine.evaluate_parts(
                c, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, (integers[0], stabilized), tau, (None,)*3
            )
        if user is None:
            return parts
        # User-written elements act as forces on dofs that change with q and v.
        by_q, by_v, by_tau = parts
        return by_q + by_tau @ user[0], by_v + by_tau @ user[1], by_tau

    cdef list body_force_inputs(self, ContextCore c, external_forces, str name):
        """Applied forces of the arguments and of the Context."""
        cdef list inputs = []
        if external_forces is not None:
            inputs.append(self.external_pair(c, external_forces, name))
        inputs += self.applied_pairs(c)
        return inputs

    # In other scalars -------------------------------------------------------------------------------------------

    cdef tuple inverse_derivatives_of(self, ContextCore c, vdot, external_forces, bint with_elements, out):
        F_Bo_W = None
        if external_forces is not None:
            F_Bo_W, _ = self.external_pair(c, external_forces, "external_forces")
        if not with_elements:
            return self.evaluate_parts(c, MOTION_FORCES_DERIVATIVES, vdot, F_Bo_W, out)
        if self._user_force_elements is None:
            return self.evaluate_parts(c, INVERSE_DYNAMICS_DERIVATIVES, vdot, F_Bo_W, out)
        by_q, by_v = c._differentiate_user_forces()
        dtau_dq, dtau_dv, M = self.evaluate_parts(c, INVERSE_DYNAMICS_DERIVATIVES, vdot, F_Bo_W, None)
        return write_three(c, out, (dtau_dq - by_q, dtau_dv - by_v, M))

    cdef tuple forward_derivatives_of(self, ContextCore c, tau_applied, external_forces, out):
        F_Bo_W, tau_forces = sum_of(self.body_force_inputs(c, external_forces, "external_forces"))
        tau = self.applied_torques(c, tau_applied)
        if F_Bo_W is not None:
            tau = tau + tau_forces
        if self._user_force_elements is None:
            return self.evaluate_parts(c, FORWARD_DYNAMICS_DERIVATIVES, tau, F_Bo_W, out)
        # User-written elements act as forces on dofs that change with q and v: dvdot += M^-1 dtau.
        by_q, by_v = c._differentiate_user_forces()
        tau = tau + self._calc_user_generalized_forces(c)
        dvdot_dq, dvdot_dv, M_inverse = self.evaluate_parts(c, FORWARD_DYNAMICS_DERIVATIVES, tau, F_Bo_W, None)
        return write_three(c, out, (dvdot_dq + M_inverse @ by_q, dvdot_dv + M_inverse @ by_v, M_inverse))

    cdef tuple evaluate_parts(self, ContextCore c, int quantity, x, F_Bo_W, out):
        """Three matrices of one quantity, written into those of `out` that are not None."""
        if F_Bo_W is not None:
            x = c.concatenate((x, flat(c, F_Bo_W)))
        c._push()
        return c._engine.evaluate_parts(c, quantity, (F_Bo_W is not None,), x, above.check_tuple(out, 3))

    def _calc_user_generalized_forces(self, context, elements=None):
        """Return J' F + tau of the force elements written by users, all or some, (num_velocities,)."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        F_Bo_W, tau = self.user_pair(c, self._user_force_elements if elements is None else elements)
        return c.evaluate(GENERALIZED_FORCES, no_integers, flat(c, F_Bo_W)) + tau


cdef tuple write_three(ContextCore c, out, tuple results):
    return c._numbers.write_all(
        *[(into, result, f"out[{i}]") for i, (into, result) in enumerate(zip(above.check_tuple(out, 3), results))]
    )


cdef tuple six_of(parts, Py_ssize_t nv):
    """Matrices of accelerations, then of multipliers."""
    if cnp.PyArray_CheckExact(parts):
        return copies_of(parts, nv, cnp.PyArray_DIM(parts, 1) - nv)
    return tuple([part[..., :nv, :] for part in parts] + [part[..., nv:, :] for part in parts])


cdef tuple copies_of(parts, Py_ssize_t nv, Py_ssize_t num_equations):
    """The same from doubles of one state, (3, nv + num_equations, nv)."""
    cdef const double* source = data(parts)
    cdef int _i
    cdef list of_vdot = []
    cdef list of_multipliers = []
    for _i in range(3):
        dvdot, dmultipliers = new2(nv, nv), new2(num_equations, nv)
        memcpy(data(dvdot), source, nv*nv*sizeof(double))
        memcpy(data(dmultipliers), source + nv*nv, num_equations*nv*sizeof(double))
        of_vdot.append(dvdot)
        of_multipliers.append(dmultipliers)
        source += (nv + num_equations)*nv
    return tuple(of_vdot + of_multipliers)


cdef tuple outputs_of(object out, object nv):
    """The three (nv, nv) arrays of `out`, with a new one for each None."""
    if out is None:
        return new2(nv, nv), new2(nv, nv), new2(nv, nv)
    if type(out) is tuple and len(<tuple>out) == 3:
        a, b, c = <tuple>out
        if (
            is_array2(a, nv, nv) and is_array2(b, nv, nv) and is_array2(c, nv, nv)
            and is_writeable(a) and is_writeable(b) and is_writeable(c)
            and not (overlap(a, b) or overlap(a, c) or overlap(b, c))
        ):
            return out
    return above.check_outputs(out, ((nv, nv),)*3)
