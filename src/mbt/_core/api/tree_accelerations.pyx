"""Accelerations by forward dynamics, cached, and the reaction forces that go with them."""

cimport numpy as cnp
from libc.string cimport memcmp

from mbt._core.api.tree_dynamics cimport flat, sum_of
from mbt._core.api.tree_jacobians cimport TreeJacobians
from mbt._core.door.compiled_model cimport Derived
from mbt._core.door.exact_arrays cimport adopt, data, new1, size
from mbt._core.engines.caches cimport AccelerationKinematicsCache
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    ACCELERATION_KINEMATICS, FRAME_ACCELERATION, JOINT_REACTIONS, no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class ForwardAccelerations:

    cdef bint belongs_to(self, ContextCore c, body_forces, generalized_forces) except -1:
        """Whether nothing has changed since. Applied forces may be written in place: their values count."""
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

    def eval_acceleration_kinematics(self, context):
        """Return the accelerations that forward dynamics gives, cached.

        They are those of `calc_forward_dynamics` without arguments: force elements, joint damping,
        ``context.actuation`` and ``context.applied_forces`` act. They are computed again when any of these, q, v, the
        time, a parameter or a lock of the Context has changed, and in each call if the tree has user-written force
        elements, whose inputs mbt cannot track.

        Parameters
        ----------
        context : Context
            Of this tree.

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
        """Accelerations under all forces, those of `user_pairs` among them. With any of these nothing is kept."""
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
        """The same in numbers of other Contexts. Forces may be written in place: with any, nothing is kept."""
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
        """Indices in v of all massless dofs that are not locked; of the values of any scalar."""
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
        # One after the other: what a pivot of zero leaves inboard means nothing.
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
            Of this tree.
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
        # Once: accelerations and reactions are those of the same forces.
        cdef list pairs = self.user_pairs(c)
        if c.compiled.model.num_constraints == 0:
            vdot = self.accelerations(c, pairs).vdot
            pairs = pairs + self.applied_pairs(c)
        else:
            pairs = pairs + self.applied_pairs(c)
            vdot, multipliers = self.constrained_dynamics_of(c, None, pairs, False)
            pairs.append(self.constraint_pair(c, multipliers))
        # Forces on dofs are pairs of forces between two bodies, and pass through the joint that they act on.
        F_Bo_W, _ = sum_of(pairs)
        cdef int[5] integers = [F_Bo_W is not None, 0, 0, 0, 0]
        x = vdot if F_Bo_W is None else c.concatenate((vdot, flat(c, F_Bo_W)))
        return c.evaluate(JOINT_REACTIONS, integers, x, out)
