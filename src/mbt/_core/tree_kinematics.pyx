"""Kinematics of a Context: poses, velocities, accelerations, Jacobians."""

cimport numpy as cnp
from libc.string cimport memset

from mbt._core cimport kernels
from mbt._core.context cimport (
    AccelerationKinematicsCache, ContextCore, PositionKinematicsCache, VelocityKinematicsCache,
)
from mbt._core.door cimport adopt, apart, data, in1, is_array1, is_points, out1, out2, size
from mbt._core.model cimport Derived, Model
from mbt._core.spatial cimport invert_pose4, multiply_poses4
from mbt._core.tree_caches cimport TreeCaches

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeKinematics(TreeCaches):
    """How the bodies and frames of a tree move."""

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
        cdef const Model* m = &c.compiled.model
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache velocity = self.velocity_of(c, vc)
        cdef Derived derived = c.derived()
        vdot = in1(known_vdot, "known_vdot", m.num_velocities)
        A_WB = out2(out, "out", m.num_bodies, 6)
        vdot = apart(vdot, A_WB)
        kernels.acceleration_kinematics(
            m, &derived.parameters, c.q_data, c.v_data, data(vdot), position.X_WB_data, position.H_PB_W_data,
            velocity.V_PB_W_data, velocity.V_WB_data, data(A_WB)
        )
        return A_WB
