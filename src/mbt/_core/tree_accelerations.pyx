"""Accelerations by forward dynamics, cached, and the reaction forces that go with them."""

cimport numpy as cnp
from libc.string cimport memcmp, memset

from mbt._core cimport kernels
from mbt._core.context cimport (
    AccelerationKinematicsCache, ContextCore, PositionKinematicsCache, VelocityKinematicsCache,
)
from mbt._core.door cimport adopt, data, new1, out2, size
from mbt._core.model cimport Derived, Model, Switches, check_index
from mbt._core.spatial cimport add_shifted_force, rotate_inverse4
from mbt._core.tree_jacobians cimport TreeJacobians

import numpy as np

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
    """How the bodies of a tree accelerate under all forces, and what its joints carry."""

    def eval_acceleration_kinematics(self, context):
        """Return the accelerations that forward dynamics gives, cached.

        They are those of `calc_forward_dynamics` without arguments: force elements, joint damping,
        ``context.actuation`` and ``context.applied_forces`` act. They are computed again when any of that, q, v, the
        time, a parameter or a lock of the Context has changed, and in each call when the tree has force elements that
        users wrote: nobody but these knows what they read.

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
            When no mass resists a degree of freedom.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.eval_acceleration_kinematics(c)
        return self.accelerations(c, self.user_inputs(c))

    cdef AccelerationKinematicsCache accelerations(self, ContextCore c, tuple user):
        """Accelerations under all forces, those of `user_inputs` among them. With any of these nothing is kept."""
        cdef ForwardAccelerations entry
        body_forces = generalized_forces = None
        if c._applied_forces is not None:
            body_forces, generalized_forces = self.arrays_of(
                &c.compiled.model, c._applied_forces, "context.applied_forces"
            )
        if c._forward_accelerations is not None and not user:
            entry = c._forward_accelerations
            if entry.belongs_to(c, body_forces, generalized_forces):
                return entry.cache
        cdef tuple applied = () if body_forces is None else ((body_forces, generalized_forces),)
        vdot = new1(c.compiled.model.num_velocities)
        self.solve_forward_dynamics(c, None, applied + user, vdot)
        entry = ForwardAccelerations()
        entry.cache = AccelerationKinematicsCache(
            c.compiled, self.calc_spatial_accelerations_from_vdot(c, vdot), vdot
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

    def _find_massless_dofs(self, context):
        """Indices in v of all dofs that no mass resists, but those that are locked; of the values of any scalar."""
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
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.eval_body_spatial_acceleration_in_world(c, body)
        from mbt.context.checks import body_node_index
        return self.accelerations(c, self.user_inputs(c)).A_WB[body_node_index(self, body)]

    def _calc_frame_acceleration(self, context, frame_F, frame_M, frame_E, str name_M, str name_E):
        """A_MF_E, (6,), by forward dynamics. The names are those of the arguments in messages."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._calc_frame_acceleration(c, frame_F, frame_M, frame_E, name_M, name_E)
        cdef const Model* m = &c.compiled.model
        cdef int f = self.frame(frame_F, "frame_F")
        cdef int a = self.frame(frame_M, name_M)
        cdef int e = self.frame(frame_E, name_E)
        cdef AccelerationKinematicsCache ac = self.accelerations(c, self.user_inputs(c))
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef double[16] X_WE
        cdef double[3] p_WoFo
        A_MF_E = new1(6)
        self.calc_p_WoFo(pc, f, p_WoFo)
        self.calc_X_WF(pc, e, X_WE)
        kernels.relative_acceleration(
            m.frame_node[a], m.frame_node[f], pc.X_WB_data, vc.V_WB_data, data(ac.A_WB), p_WoFo, X_WE, data(A_MF_E)
        )
        return A_MF_E

    def calc_reaction_forces(self, context, *, out=None):
        """Return the force that each joint transmits to its child body, under the accelerations of forward dynamics.

        It is the total force, with its components along the joint's axes: what damping, actuation, and springs on the
        joint do passes through it. All force elements, ``context.actuation`` and ``context.applied_forces`` act; see
        `eval_acceleration_kinematics`.

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
            When no mass resists a degree of freedom.

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
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_reaction_forces(c, out=out)
        cdef const Model* m = &c.compiled.model
        ends = self.joint_ends()
        cdef const int* end = <const int*>cnp.PyArray_DATA(ends)
        cdef Py_ssize_t num_joints = len(ends)
        F_CJc_Jc = out2(out, "out", num_joints, 6)
        body_forces = None
        if c._applied_forces is not None:
            body_forces = self.arrays_of(m, c._applied_forces, "context.applied_forces")[0]
        # Once: accelerations and reactions are those of the same forces.
        cdef tuple user = self.user_inputs(c)
        cdef AccelerationKinematicsCache ac = self.accelerations(c, user)
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef Derived derived = c.derived()
        self.check_elements(m, derived, pc)
        cdef Py_ssize_t nb = m.num_bodies
        cdef double* memory = kernels.get_work(m, 12*nb + m.num_velocities)
        cdef double* F_applied = memory + kernels.work_size(m)
        cdef double* F_BMo_W = F_applied + 6*nb
        cdef double* tau = F_BMo_W + 6*nb
        cdef Py_ssize_t j
        # Forces on dofs are pairs of forces between two bodies, and pass through the joint that they act on.
        memset(F_applied, 0, (12*nb + m.num_velocities)*sizeof(double))
        self.add_element_forces(c, derived, pc, vc, F_applied, tau)
        for forces in (user[0][0] if user else None, body_forces):
            if forces is not None:
                for j in range(6*nb):
                    F_applied[j] += data(forces)[j]
        kernels.reaction_forces(
            m, &derived.parameters, pc.X_WB_data, vc.V_WB_data, data(ac.A_WB), F_applied, memory, F_BMo_W
        )
        for j in range(num_joints):
            self.move_reaction(pc, end[2*j], end[2*j + 1], F_BMo_W, data(F_CJc_Jc) + 6*j)
        return F_CJc_Jc

    cdef void move_reaction(
        self, PositionKinematicsCache pc, int frame_Jc, int node, const double* F_BMo_W, double* F_CJc_Jc
    ) noexcept:
        """The force on body `node` through its mobilizer, or its reaction on the other body, where Jc is."""
        cdef const Model* m = &pc.compiled.model
        cdef double sign = 1.0 if m.frame_node[frame_Jc] == node else -1.0
        cdef double[16] X_WJc
        cdef double[3] p_WoMo
        cdef double[3] p_JcMo
        cdef double[6] F = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        cdef int i
        self.calc_X_WF(pc, frame_Jc, X_WJc)
        self.calc_p_WoFo(pc, m.outboard_frame[node], p_WoMo)
        for i in range(3):
            p_JcMo[i] = p_WoMo[i] - X_WJc[4*i + 3]
        add_shifted_force[double](F_BMo_W + 6*node, p_JcMo, F)
        for i in range(6):
            F[i] = sign*F[i]
        rotate_inverse4[double](X_WJc, F, F_CJc_Jc)
        rotate_inverse4[double](X_WJc, F + 3, F_CJc_Jc + 3)

    cdef object joint_ends(self):
        if self._joint_ends is None:
            ends = [(joint.frame_on_child._index, joint.mobilizer.outboard_body._node_index) for joint in self.joints]
            for frame, node in ends:
                check_index(frame, self._compiled.model.num_frames, "frame")
                check_index(node, self._compiled.model.num_bodies, "body")
            self._joint_ends = np.array(ends, dtype=np.intc).reshape(-1, 2)
        return self._joint_ends
