"""Accelerations by forward dynamics, with the forces of constraints, or cached with reaction forces."""

cimport numpy as cnp
from libc.string cimport memcmp

from mbt._core.api.tree_jacobians cimport TreeJacobians
from mbt._core.door.compiled_model cimport Derived
from mbt._core.door.exact_arrays cimport adopt, data, direction, new1, option, size, two_outputs
from mbt._core.engines.caches cimport AccelerationKinematicsCache
from mbt._core.engines.context cimport ContextCore, flat, sum_of
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    ACCELERATION_KINEMATICS, CONSTRAINED_FORWARD_DYNAMICS, FRAME_ACCELERATION, IMPULSE_DYNAMICS, JOINT_REACTIONS,
    no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class ForwardAccelerations:

    cdef bint belongs_to(self, ContextCore c, body_forces, generalized_forces) except -1:
        """Whether nothing has changed since. Applied forces may be written in place: their values are compared."""
        return (
            self.time_serial == c.time_serial and self.switch_serial == c.switch_serial
            and self.q_serial == c.q_serial and self.v_serial == c.v_serial
            and self.parameter_serial == c.parameter_serial and self.input_serial == c.input_serial
            and same_values(self.body_forces, body_forces)
            and same_values(self.generalized_forces, generalized_forces)
        )


cdef bint same_values(a, b) except -1:
    if a is None or b is None:
        return a is b
    return memcmp(data(a), data(b), size(a)*sizeof(double)) == 0


cdef class TreeAccelerations(TreeJacobians):
    """Accelerations of the bodies of a tree under all forces, and reaction forces of its joints."""

    def calc_constrained_forward_dynamics(
        self, context, tau_applied=None, external_forces=None, *, stabilize=False, out=None
    ):
        """Return the generalized accelerations, and the multipliers of the enabled constraints.

        Solves ``M vdot + C v = tau + J' multipliers`` and ``J vdot + Jdot v = 0``, where tau is that of
        `calc_forward_dynamics`, which returns the same accelerations.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        stabilize : bool or -1, optional
            Let the errors e of each constraint decay, with its own frequency and damping ratio:
            ``J vdot + Jdot v = -2 zeta omega J v - omega^2 e``. With -1 they decay backwards in time: zeta counts as
            negative, for negative time steps.
        out : tuple of two (ndarray or None), optional
            Arrays of shapes (num_velocities,) and (num_constraint_equations,), float64, C-contiguous, written in place
            and returned. Left untouched when an argument is rejected.

        Returns
        -------
        vdot : ndarray, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        multipliers : ndarray, shape (num_constraint_equations,)
            Forces and torques of the constraints [N, N m]; zero for disabled ones. See each type of constraint for
            where they act. If constraints are redundant, the smallest of the many sets that give these accelerations;
            zero if nothing can move.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> vdot, multipliers = tree.calc_constrained_forward_dynamics(tree.create_default_context())
        >>> bool(abs(vdot).max() < 1e-9), multipliers.round(6) + 0.0
        (True, array([ 0.,  0., 20.]))
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int stabilized = direction(stabilize)
        if tau_applied is not None:
            tau_applied = c.take(tau_applied, "tau_applied", c.compiled.model.num_velocities)
        return self.constrained_dynamics_of(c, tau_applied, self.acting_pairs(c, external_forces), stabilized, out)

    def calc_impulse_dynamics(self, context, restitution=0.0, *, out=None):
        """Return the velocities after an impact, and the impulses of the enabled constraints.

        Solves ``M (v1 - v) = J' impulses`` and ``J v1 = -restitution J v``, where v are the velocities of the Context,
        just before a constraint closes, or a linkage is struck. Kinetic energy never grows. Velocities of locked dofs
        do not change, nor does the Context.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        restitution : array_like, optional
            Coefficient of restitution, 0 to 1 [1]: one number, or one for each sample of a batch. With 0 the
            constraints hold afterwards, with 1 no kinetic energy is lost.
        out : tuple of two (ndarray or None), optional
            Arrays of shapes (num_velocities,) and (num_constraint_equations,), float64, C-contiguous, written in place
            and returned. Left untouched when an argument is rejected.

        Returns
        -------
        v1 : ndarray, shape (num_velocities,)
            Generalized velocities after the impact [rad/s, m/s].
        impulses : ndarray, shape (num_constraint_equations,)
            Impulses of the constraints [N s, N m s], in the order and with the signs of multipliers. If constraints are
            redundant, the smallest of many.

        Raises
        ------
        ArgumentValueError
            When `restitution` is not from 0 to 1.
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        A ball at 3 m/s is caught by a hook:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.v = [0.0, 0.0, 0.0, 0.0, 0.0, -3.0]
        >>> v1, impulses = tree.calc_impulse_dynamics(context)
        >>> v1.round(9) + 0.0, impulses.round(9) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([0., 0., 6.]))
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef Py_ssize_t nv = c.compiled.model.num_velocities
        from mbt.math.arrays import as_share_array
        into_v1, into_impulses = above.check_tuple(out, 2)
        given = as_share_array(restitution, "restitution")
        if given.shape and given.shape != c.batch_shape:
            from mbt.errors import ShapeError
            raise ShapeError(f"restitution: expected one number, or shape {c.batch_shape}, got {given.shape}")
        share = c.take(given[..., None], "restitution", 1)
        if c._engine is None:
            into_v1, into_impulses = two_outputs(out, nv, c.compiled.model.num_equations)
        both = c.evaluate(IMPULSE_DYNAMICS, no_integers, share)
        if c._engine is not None:
            return c._numbers.write_all((into_v1, both[..., :nv], "out[0]"), (into_impulses, both[..., nv:], "out[1]"))
        into_v1[...], into_impulses[...] = both[:nv], both[nv:]
        return into_v1, into_impulses

    def _calc_constrained_dynamics(self, context, tau_applied, external_forces, int stabilize):
        """Accelerations and multipliers in one array."""
        return self.own(context).concatenate(
            self.calc_constrained_forward_dynamics(context, tau_applied, external_forces, stabilize=option(stabilize))
        )

    cdef tuple constrained_dynamics_of(self, ContextCore c, tau_applied, list pairs, int stabilized, out=None):
        """Accelerations and multipliers in the scalar of any Context."""
        cdef Py_ssize_t nv = c.compiled.model.num_velocities
        if c._engine is not None:
            into_vdot, into_multipliers = above.check_tuple(out, 2)
            both = self.forward_dynamics_of(c, tau_applied, pairs, None, CONSTRAINED_FORWARD_DYNAMICS, stabilized)
            return c._numbers.write_all(
                (into_vdot, both[..., :nv], "out[0]"), (into_multipliers, both[..., nv:], "out[1]")
            )
        vdot, multipliers = two_outputs(out, nv, c.compiled.model.num_equations)
        self.solve_forward_dynamics(c, tau_applied, pairs, vdot, multipliers, stabilized)
        return vdot, multipliers

    def eval_acceleration_kinematics(self, context):
        """Return the accelerations that forward dynamics gives, cached.

        They are those of `calc_forward_dynamics` without arguments: force elements, joint damping,
        ``context.actuation`` and ``context.applied_forces`` act. They are computed again when any of these, q, v, the
        time, a parameter or a lock of the Context has changed, and in each call if the tree has user-written force
        elements, whose inputs mbt cannot track.

        Parameters
        ----------
        context : Context
            A Context of this tree.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`, read-only.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.accelerations(c, self.user_pairs(c))

    cdef object accelerations(self, ContextCore c, list user):
        """Accelerations under all forces, those of `user_pairs` included; with any of these nothing is cached."""
        cdef ForwardAccelerations entry
        cdef list applied = self.applied_pairs(c)
        if c._engine is not None:
            return self.accelerations_of(c, applied + user)
        body_forces, generalized_forces = applied[0] if applied else (None, None)
        if c._forward_accelerations is not None and not user:
            entry = c._forward_accelerations
            if entry.belongs_to(c, body_forces, generalized_forces):
                return entry.cache
        vdot = new1(c.compiled.model.num_velocities)
        self.solve_forward_dynamics(c, None, applied + user, vdot)
        entry = ForwardAccelerations()
        entry.cache = AccelerationKinematicsCache(
            c.compiled, c.evaluate(ACCELERATION_KINEMATICS, no_integers, vdot), vdot
        )
        entry.cache.is_of_context = True
        if user:
            return entry.cache
        entry.time_serial = c.time_serial
        entry.switch_serial = c.switch_serial
        entry.q_serial = c.q_serial
        entry.v_serial = c.v_serial
        entry.parameter_serial = c.parameter_serial
        entry.input_serial = c.input_serial
        entry.body_forces = None if body_forces is None else body_forces.copy()
        entry.generalized_forces = None if generalized_forces is None else generalized_forces.copy()
        c._forward_accelerations = entry
        return entry.cache

    cdef object accelerations_of(self, ContextCore c, list pairs):
        """The same in other scalars. Forces may be written in place: with any, nothing is cached."""
        if not pairs:
            known = c._get_cached("acceleration", c._serials)
            if known is not None:
                return known
        vdot = self.forward_dynamics_of(c, None, pairs, None)
        cache = c._make_accelerations(c.evaluate(ACCELERATION_KINEMATICS, no_integers, vdot), vdot)
        if not pairs:
            c._keep_cached("acceleration", c._serials, cache)
        return cache

    def _find_massless_dofs(self, context):
        """Indices in v of all massless dofs that are not locked, from the values of any scalar."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef const Model* m = &c.compiled.model
        cdef Derived derived = c.derived()
        cdef int singular = 0
        locked = c._locked_dofs().astype(np.intc)
        tau = np.zeros(m.num_velocities)
        vdot = new1(m.num_velocities)
        cdef Switches switches = c.switches
        switches.locked = <const int*>cnp.PyArray_DATA(locked)
        # One after the other: inboard of a zero pivot, the results are meaningless.
        found = []
        while singular >= 0:
            singular = kernels.forward_dynamics(
                m, &derived.parameters, &switches, c.q_data, c.v_data, data(tau), kernels.get_work(m, 0), data(vdot)
            )
            if singular >= 0:
                found.append(singular)
                locked[singular] = 1
        return found[::-1]

    def eval_body_spatial_acceleration_in_world(self, context, body):
        """Return the spatial acceleration A_WB of a body by forward dynamics, (6,) [rad/s^2, m/s^2].

        Cached and read-only; see `eval_acceleration_kinematics`.
        """
        return self.eval_acceleration_kinematics(context).A_WB[..., above.body_node_index(self, body), :]

    def _calc_frame_acceleration(self, context, frame_F, frame_M, frame_E, str name_M, str name_E):
        """A_MF_E, (6,), by forward dynamics. The names are those of the arguments in messages."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [
            self.frame(frame_F, "frame_F"), self.frame(frame_M, name_M), self.frame(frame_E, name_E), 0, 0
        ]
        A_WB = self.accelerations(c, self.user_pairs(c)).A_WB
        return c.evaluate(FRAME_ACCELERATION, integers, flat(c, A_WB))

    def calc_reaction_forces(self, context, *, out=None):
        """Return the force that each joint transmits to its child body, under the accelerations of forward dynamics.

        It is the total force, including the components along the joint's axes: the forces of damping, actuation and
        springs on the joint pass through it. All force elements, ``context.actuation`` and ``context.applied_forces``
        act; see `eval_acceleration_kinematics`. The forces of enabled constraints act too, and locked joints transmit
        the forces that hold them.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_joints, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_joints, 6)
            In JointIndex order: ``[torque; force]`` on the child body as declared, at the origin of the joint frame on
            it, Jc, and expressed in Jc [N m, N].

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> string = tree.add_joint(mbt.WeldJoint, "string", tree.world_body, None, ball, None)
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
        >>> tree.finalize()
        >>> tree.calc_reaction_forces(tree.create_default_context()).round(12)
        array([[ 0.,  0.,  0.,  0.,  0., 20.]])
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        # Computed once: accelerations and reactions must have the same forces.
        cdef list pairs = self.user_pairs(c)
        if c.compiled.model.num_constraints == 0:
            vdot = self.accelerations(c, pairs).vdot
            pairs = pairs + self.applied_pairs(c)
        else:
            pairs = pairs + self.applied_pairs(c)
            vdot, multipliers = self.constrained_dynamics_of(c, None, pairs, False)
            pairs.append(self.constraint_pair(c, multipliers))
        # A force on a dof is a pair of forces between two bodies, and passes through the joint that it acts on.
        F_Bo_W, _ = sum_of(pairs)
        cdef int[5] integers = [F_Bo_W is not None, 0, 0, 0, 0]
        x = vdot if F_Bo_W is None else c.concatenate((vdot, flat(c, F_Bo_W)))
        return c.evaluate(JOINT_REACTIONS, integers, x, out)
