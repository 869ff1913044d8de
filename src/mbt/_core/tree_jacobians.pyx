"""Jacobians of velocities, and bias accelerations: the part of an acceleration that they do not explain."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache, check_maps
from mbt._core.door cimport adopt, apart, data, in1, out1, out2, size
from mbt._core.model cimport Derived, Model
from mbt._core.tree_dynamics cimport TreeDynamics

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef int wants_qdot(object with_respect_to) except -1:
    """Whether a Jacobian is taken with respect to qdot, not v."""
    if isinstance(with_respect_to, str):
        if with_respect_to == "v":
            return 0
        if with_respect_to == "qdot":
            return 1
    from mbt.context.checks import check_with_respect_to
    return check_with_respect_to(with_respect_to)


cdef class TreeJacobians(TreeDynamics):
    """Jacobians and bias accelerations of frames, and of points fixed to them.

    With s = v or s = qdot, a velocity is ``V = J s`` and an acceleration ``A = J sdot + bias``.
    """

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
        if c._methods is not None:
            return c._methods.calc_jacobian_spatial_velocity(
                c, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        p_BoBp = in1(p_BoBp_B, "p_BoBp_B", 3)
        J = out2(out, "out", 6, m.num_positions if by_qdot else m.num_velocities)
        p_BoBp = apart(p_BoBp, J)
        cdef double* memory = kernels.get_work(m, 6*nv + m.num_bodies)
        cdef double* J_v = memory + kernels.work_size(m) if by_qdot else data(J)
        cdef PositionKinematicsCache pc
        cdef Derived derived
        cdef double[3] p_WoBp
        if m.frame_node[a] == 0:
            # Straight from q: what is inboard of the frame suffices, and takes less than the caches do.
            derived = c.derived()
            kernels.frame_jacobian(
                m, &derived.parameters, b, e, c.q_data, data(p_BoBp), memory,
                <int*>(memory + kernels.work_size(m) + 6*nv), J_v
            )
            if by_qdot:
                kernels.multiply_by_Nplus(m, c.q_data, 6, J_v, data(J))
            return J
        pc = c.position()
        self.calc_points_in_world(pc, b, data(p_BoBp), 1, p_WoBp)
        memset(J_v, 0, 6*nv*sizeof(double))
        kernels.add_jacobian(m, m.frame_node[b], pc.X_WB_data, pc.H_PB_W_data, p_WoBp, 1.0, J_v)
        kernels.add_jacobian(m, m.frame_node[a], pc.X_WB_data, pc.H_PB_W_data, p_WoBp, -1.0, J_v)
        self.finish_jacobian(c, pc, e, 6, J_v, data(J) if by_qdot else NULL)
        return J

    def calc_jacobian_angular_velocity(self, context, with_respect_to, frame_B, frame_A, frame_E, *, out=None):
        """Return the Jacobian of the angular velocity of frame B in frame A, expressed in frame E.

        ``w_AB_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What the columns are for.
        frame_B : Frame
            The frame that turns; a body stands for its body frame.
        frame_A : Frame
            The frame in which the velocity is measured.
        frame_E : Frame
            The frame in which it is expressed.
        out : ndarray, shape (3, num_velocities) or (3, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, num_velocities) or (3, num_positions)
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_jacobian_angular_velocity(c, with_respect_to, frame_B, frame_A, frame_E, out=out)
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        J = out2(out, "out", 3, m.num_positions if by_qdot else m.num_velocities)
        cdef PositionKinematicsCache pc = c.position()
        cdef double* memory = kernels.get_work(m, 3*nv)
        cdef double* J_v = memory + kernels.work_size(m) if by_qdot else data(J)
        memset(J_v, 0, 3*nv*sizeof(double))
        kernels.add_angular_jacobian(m, m.frame_node[b], pc.H_PB_W_data, 1.0, J_v)
        kernels.add_angular_jacobian(m, m.frame_node[a], pc.H_PB_W_data, -1.0, J_v)
        self.finish_jacobian(c, pc, e, 3, J_v, data(J) if by_qdot else NULL)
        return J

    def calc_jacobian_translational_velocity(
        self, context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None
    ):
        """Return the Jacobian of the velocities of points Bi fixed to frame B, in frame A, expressed in frame E.

        ``v_ABi_E = J[3*i:3*i + 3] s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What the columns are for.
        frame_B : Frame
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one a column, or one point [m].
        frame_A : Frame
            The frame in which the velocities are measured.
        frame_E : Frame
            The frame in which they are expressed.
        out : ndarray, shape of the result, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_velocities) or (3 n, num_positions)
            Three rows a point: those of the first point come first.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_jacobian_translational_velocity(
                c, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, out=out
            )
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        points = self.points(p_BoBi_B, "p_BoBi_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        return self.translational_velocity_jacobian(c, by_qdot, b, points, a, e, out)

    def calc_jacobian_position_vector(self, context, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None):
        """Return the Jacobian with respect to q of the positions of points Bi fixed to frame B.

        ``J[3*i:3*i + 3]`` is the partial derivative in frame A of ``p_AoBi``, expressed in frame E. It equals
        `calc_jacobian_translational_velocity` with respect to qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_B : Frame
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one a column, or one point [m].
        frame_A : Frame
            The frame from whose origin the positions are measured.
        frame_E : Frame
            The frame in which they are expressed.
        out : ndarray, shape (3 n, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_positions)
            Three rows a point: those of the first point come first.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_jacobian_position_vector(c, frame_B, p_BoBi_B, frame_A, frame_E, out=out)
        cdef int b = self.frame(frame_B, "frame_B")
        points = self.points(p_BoBi_B, "p_BoBi_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        return self.translational_velocity_jacobian(c, True, b, points, a, e, out)

    cdef object translational_velocity_jacobian(
        self, ContextCore c, bint by_qdot, int b, object points, int a, int e, object out
    ):
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef Py_ssize_t n = size(points) // 3
        cdef Py_ssize_t i
        J = out2(out, "out", 3*n, m.num_positions if by_qdot else m.num_velocities)
        points = apart(points, J)
        cdef PositionKinematicsCache pc = c.position()
        cdef double* memory = kernels.get_work(m, 3*n*(nv + 1))
        cdef double* p_WoBi = memory + kernels.work_size(m)
        cdef double* J_v = p_WoBi + 3*n if by_qdot else data(J)
        self.calc_points_in_world(pc, b, data(points), n, p_WoBi)
        memset(J_v, 0, 3*n*nv*sizeof(double))
        for i in range(n):
            kernels.add_translational_jacobian(
                m, m.frame_node[b], pc.X_WB_data, pc.H_PB_W_data, p_WoBi + 3*i, 1.0, J_v + 3*nv*i
            )
            kernels.add_translational_jacobian(
                m, m.frame_node[a], pc.X_WB_data, pc.H_PB_W_data, p_WoBi + 3*i, -1.0, J_v + 3*nv*i
            )
        self.finish_jacobian(c, pc, e, 3*n, J_v, data(J) if by_qdot else NULL)
        return J

    cdef int finish_jacobian(
        self, ContextCore c, PositionKinematicsCache pc, int e, int num_rows, double* J_v, double* J_qdot
    ) except -1:
        """Express a Jacobian in frame E, and unless J_qdot is NULL make one with respect to qdot of it."""
        cdef double[16] X_WE
        if e != 0:
            self.calc_X_WF(pc, e, X_WE)
            kernels.express_jacobian(num_rows, c.compiled.model.num_velocities, X_WE, J_v)
        if J_qdot != NULL:
            kernels.multiply_by_Nplus(&c.compiled.model, c.q_data, num_rows, J_v, J_qdot)
        return 0

    # Bias accelerations -----------------------------------------------------------------------------------------

    def calc_bias_spatial_acceleration(
        self, context, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E, *, out=None
    ):
        """Return the part of the acceleration of a point Bp fixed to frame B that `J sdot` does not explain.

        ``A_ABp_E = J sdot + bias``, with J of `calc_jacobian_spatial_velocity` and s = v or s = qdot. Centripetal and
        Coriolis terms of a moving frame A are in it.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What s is: the bias is Jdot v, or Jdot_qdot qdot.
        frame_B : Frame
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame
            The frame in which the acceleration is measured.
        frame_E : Frame
            The frame in which it is expressed.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[alpha; a]`` [rad/s^2, m/s^2].
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_bias_spatial_acceleration(
                c, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        p_BoBp = in1(p_BoBp_B, "p_BoBp_B", 3)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        bias = out1(out, "out", 6)
        cdef PositionKinematicsCache pc = c.position()
        cdef double[3] p_WoBp
        cdef double[16] X_WE
        cdef int node_A = m.frame_node[a]
        cdef int node_B = m.frame_node[b]
        cdef BodyMotion motion
        cdef double* memory = kernels.get_work(m, bias_size(m))
        self.calc_points_in_world(pc, b, data(p_BoBp), 1, p_WoBp)
        self.calc_X_WF(pc, e, X_WE)
        self.bias_motion(c, by_qdot, common_ancestor(m, node_A, node_B), memory, &motion)
        kernels.relative_acceleration(
            node_A, node_B, pc.X_WB_data, motion.V_WB, motion.A_WB, p_WoBp, X_WE, data(bias)
        )
        return bias

    def calc_bias_angular_acceleration(self, context, with_respect_to, frame_B, frame_A, frame_E, *, out=None):
        """Return the part of the angular acceleration of frame B in frame A that `J sdot` does not explain.

        ``alpha_AB_E = J sdot + bias``, with J of `calc_jacobian_angular_velocity` and s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What s is.
        frame_B : Frame
            The frame that turns.
        frame_A : Frame
            The frame in which the acceleration is measured.
        frame_E : Frame
            The frame in which it is expressed.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            [rad/s^2].
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_bias_angular_acceleration(c, with_respect_to, frame_B, frame_A, frame_E, out=out)
        cdef const Model* m = &c.compiled.model
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        bias = out1(out, "out", 3)
        cdef PositionKinematicsCache pc = c.position()
        cdef double[3] p_WoBo
        cdef double[16] X_WE
        cdef double[6] A_AB_E
        cdef int node_A = m.frame_node[a]
        cdef int node_B = m.frame_node[b]
        cdef BodyMotion motion
        cdef double* memory = kernels.get_work(m, bias_size(m))
        cdef int i
        self.calc_p_WoFo(pc, b, p_WoBo)
        self.calc_X_WF(pc, e, X_WE)
        self.bias_motion(c, by_qdot, common_ancestor(m, node_A, node_B), memory, &motion)
        kernels.relative_acceleration(
            node_A, node_B, pc.X_WB_data, motion.V_WB, motion.A_WB, p_WoBo, X_WE, A_AB_E
        )
        for i in range(3):
            data(bias)[i] = A_AB_E[i]
        return bias

    def calc_bias_translational_acceleration(
        self, context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None
    ):
        """Return the part of the accelerations of points Bi fixed to frame B that `J sdot` does not explain.

        ``a_ABi_E = J[3*i:3*i + 3] sdot + bias[:, i]``, with J of `calc_jacobian_translational_velocity` and s = v or
        s = qdot. Centripetal and Coriolis terms of a moving frame A are in it.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What s is.
        frame_B : Frame
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one a column, or one point [m].
        frame_A : Frame
            The frame in which the accelerations are measured.
        frame_E : Frame
            The frame in which they are expressed.
        out : ndarray of the shape of `p_BoBi_B`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            [m/s^2], one point a column.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_bias_translational_acceleration(
                c, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int b = self.frame(frame_B, "frame_B")
        points = self.points(p_BoBi_B, "p_BoBi_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        cdef Py_ssize_t n = size(points) // 3
        bias = out1(out, "out", 3) if points.ndim == 1 else out2(out, "out", 3, n)
        points = apart(points, bias)
        cdef PositionKinematicsCache pc = c.position()
        cdef double[16] X_WE
        cdef double[6] A_ABi_E
        cdef int node_A = m.frame_node[a]
        cdef int node_B = m.frame_node[b]
        cdef BodyMotion motion
        cdef double* memory = kernels.get_work(m, bias_size(m) + 3*n)
        cdef double* p_WoBi = memory + kernels.work_size(m) + bias_size(m)
        cdef Py_ssize_t i
        cdef int j
        self.calc_points_in_world(pc, b, data(points), n, p_WoBi)
        self.calc_X_WF(pc, e, X_WE)
        self.bias_motion(c, by_qdot, common_ancestor(m, node_A, node_B), memory, &motion)
        for i in range(n):
            kernels.relative_acceleration(
                node_A, node_B, pc.X_WB_data, motion.V_WB, motion.A_WB, p_WoBi + 3*i, X_WE, A_ABi_E
            )
            for j in range(3):
                data(bias)[n*j + i] = A_ABi_E[3 + j]
        return bias

    cdef int bias_motion(
        self, ContextCore c, bint by_qdot, int base, double* memory, BodyMotion* motion
    ) except -1:
        """How bodies outboard of `base` move with vdot = 0, or with qddot = 0, while `base` rests.

        What a body outboard of it sees of another one is the same, and no large numbers cancel that are of the motion
        of both. `memory` has room for `bias_size` numbers behind what kernels need.
        """
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc
        cdef Derived derived = c.derived()
        cdef Py_ssize_t nv = m.num_velocities
        cdef double* vdot = memory + kernels.work_size(m)
        cdef double* v = vdot + nv
        cdef double* V_PB_W = v + nv
        cdef double* V_PB = V_PB_W + 6*m.num_bodies
        cdef double* V_WB = V_PB + 6*m.num_bodies
        motion.A_WB = V_WB + 6*m.num_bodies
        if base == 0:
            vc = c.velocity()
            v, V_PB_W, V_WB = c.v_data, vc.V_PB_W_data, vc.V_WB_data
        else:
            memcpy(v, c.v_data, nv*sizeof(double))
            while base > 0:
                memset(v + m.v_start[base], 0, (m.v_start[base + 1] - m.v_start[base])*sizeof(double))
                base = m.parent[base]
            kernels.velocity_kinematics(m, pc.X_WB_data, pc.H_PB_W_data, v, V_PB_W, V_PB, V_WB)
        motion.V_WB = V_WB
        if by_qdot:
            check_maps(self, c.compiled, c.q_data)
            kernels.vdot_of_steady_qdot(m, c.q_data, v, vdot)
        else:
            memset(vdot, 0, nv*sizeof(double))
        kernels.acceleration_kinematics(
            m, &derived.parameters, c.q_data, v, vdot, pc.X_WB_data, pc.H_PB_W_data, V_PB_W, V_WB, motion.A_WB
        )
        return 0


cdef int common_ancestor(const Model* m, int a, int b) noexcept:
    """The outermost body that is inboard of both, or one of them. Of all from a to b, since nodes are depth first."""
    while a != b:
        if a > b:
            a = m.parent[a]
        else:
            b = m.parent[b]
    return a


cdef Py_ssize_t bias_size(const Model* m) noexcept:
    """Doubles of working memory for `bias_motion`."""
    return 2*m.num_velocities + 24*m.num_bodies
