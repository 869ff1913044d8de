"""Kinematics of a Context: poses, velocities, accelerations, and the maps between v and qdot."""

cimport numpy as cnp
from mbt._core cimport kernels
from mbt._core.context cimport (
    AccelerationKinematicsCache, ContextCore, PositionKinematicsCache, VelocityKinematicsCache, check_maps,
)
from mbt._core.door cimport adopt, apart, data, in1, is_array1, is_points, new1, new_read_only, out1, out2, size
from mbt._core.mobilizers cimport PLAIN, orientation_of
from mbt._core.model cimport CompiledModel, Derived, Model
from mbt._core.spatial cimport invert_pose4, multiply_poses4
from mbt._core.tree_caches cimport TreeCaches

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class FrameBodyPoseCache:
    """Poses of all frames in their bodies, in FrameIndex order, with the parameters of one Context.

    Read-only, and never changes: after a parameter has changed, ``tree.eval_frame_body_poses(context)`` returns
    another one. Frames pick their own pose out of it: ``frame.get_X_BF(frame_body_poses)``.
    """

    def __init__(self, CompiledModel compiled not None, Derived derived not None):
        if derived.num_frames != compiled.model.num_frames:
            raise ValueError("derived: expected what was made for this model")
        self.compiled = compiled
        self.derived = derived
        cdef cnp.npy_intp[3] shape = [compiled.model.num_frames, 4, 4]
        X_BF = new_read_only(3, shape, <double*>derived.parameters.X_BF)
        cnp.set_array_base(X_BF, derived)
        self.X_BF = X_BF

    def is_of(self, TreeCaches tree not None):
        """Return whether these are poses of the frames of a tree."""
        return self.compiled is tree._compiled

    @property
    def X_FB(self):
        """Pose of each frame's body in the frame, (num_frames, 4, 4)."""
        cdef int f
        if self._X_FB is None:
            if self.derived is None:
                from mbt.errors import StaleCacheError
                raise StaleCacheError("this FrameBodyPoseCache was never computed")
            inverses = np.empty((self.compiled.model.num_frames, 4, 4))
            for f in range(self.compiled.model.num_frames):
                invert_pose4[double](self.derived.parameters.X_BF + 16*f, data(inverses) + 16*f)
            self._X_FB = frozen(inverses)
        return self._X_FB

    @property
    def is_X_BF_identity(self):
        """Whether each frame is exactly that of its body, (num_frames,)."""
        if self._is_identity is None:
            self._is_identity = frozen((self.X_BF == np.eye(4)).all(axis=(1, 2)))
        return self._is_identity


cdef frozen(array):
    array.flags.writeable = False
    return array.view(ReadOnlyArray)


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
        if c._methods is not None:
            return c._methods.calc_relative_transform(c, frame_A, frame_B, out=out)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int b = self.frame(frame_B, "frame_B")
        cdef double[16] X_WA
        cdef double[16] X_AW
        cdef double[16] X_WB
        X_AB = out2(out, "out", 4, 4)
        cdef PositionKinematicsCache pc = c.poses()
        self.calc_X_WF(pc, a, X_WA)
        self.calc_X_WF(pc, b, X_WB)
        invert_pose4[double](X_WA, X_AW)
        multiply_poses4[double](X_AW, X_WB, data(X_AB))
        return X_AB

    def calc_relative_rotation_matrix(self, context, frame_A, frame_B, *, out=None):
        """Return the rotation R_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_A, frame_B : Frame
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (3, 3), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_relative_rotation_matrix(c, frame_A, frame_B, out=out)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int b = self.frame(frame_B, "frame_B")
        cdef double[16] X_WA
        cdef double[16] X_WB
        cdef double* R
        cdef int i, j
        R_AB = out2(out, "out", 3, 3)
        cdef PositionKinematicsCache pc = c.poses()
        self.calc_X_WF(pc, a, X_WA)
        self.calc_X_WF(pc, b, X_WB)
        R = data(R_AB)
        for i in range(3):
            for j in range(3):
                R[3*i + j] = X_WA[i]*X_WB[j] + X_WA[4 + i]*X_WB[4 + j] + X_WA[8 + i]*X_WB[8 + j]
        return R_AB

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
        if c._methods is not None:
            return c._methods.calc_points_positions(c, frame_B, p_BQi, frame_A, out=out)
        cdef int b = self.frame(frame_B, "frame_B")
        cdef int a = self.frame(frame_A, "frame_A")
        cdef double[16] X_WA
        cdef double[16] X_AW
        cdef double[16] X_WB
        cdef double[16] X_AB
        cdef const double* p
        cdef double* y
        cdef Py_ssize_t n, i, k
        points = self.points(p_BQi, "p_BQi")
        n = size(points) // 3
        result = out1(out, "out", 3) if points.ndim == 1 else out2(out, "out", 3, n)
        points = apart(points, result)
        cdef PositionKinematicsCache pc = c.poses()
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

    def _calc_frame_velocity(self, context, frame_F, frame_M, frame_E, str name_M, str name_E):
        """V_MF_E, (6,). The names are those of the arguments in messages."""
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods._calc_frame_velocity(c, frame_F, frame_M, frame_E, name_M, name_E)
        cdef const Model* m = &c.compiled.model
        cdef int f = self.frame(frame_F, "frame_F")
        cdef int a = self.frame(frame_M, name_M)
        cdef int e = self.frame(frame_E, name_E)
        cdef PositionKinematicsCache pc = c.position()
        cdef VelocityKinematicsCache vc = c.velocity()
        cdef double[16] X_WE
        cdef double[3] p_WoFo
        V_MF_E = new1(6)
        self.calc_p_WoFo(pc, f, p_WoFo)
        self.calc_X_WF(pc, e, X_WE)
        kernels.relative_velocity(
            m.frame_node[a], m.frame_node[f], pc.X_WB_data, vc.V_WB_data, p_WoFo, X_WE, data(V_MF_E)
        )
        return V_MF_E

    def eval_frame_body_poses(self, context):
        """Return the poses of all frames in their bodies, cached until a parameter of the Context changes.

        Parameters
        ----------
        context : Context
            Of this tree.

        Returns
        -------
        FrameBodyPoseCache
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.eval_frame_body_poses(c)
        cdef Derived derived = c.derived()
        if c._frame_body_poses is None or (<FrameBodyPoseCache>c._frame_body_poses).derived is not derived:
            c._frame_body_poses = FrameBodyPoseCache(c.compiled, derived)
        return c._frame_body_poses

    cdef object points(self, value, str name):
        """Points as an array a kernel can read: (3, n) columns, or (3,)."""
        if is_array1(value, 3) or is_points(value):
            return value
        from mbt.context.checks import as_points
        return as_points(value, name)

    cdef void calc_points_in_world(
        self, PositionKinematicsCache pc, int frame, const double* p_BoBi_B, Py_ssize_t n, double* p_WoBi
    ) noexcept:
        """Points given in a frame as columns, (3, n), in World as rows, (n, 3)."""
        cdef double[16] X_WF
        cdef const double* x
        cdef Py_ssize_t k
        cdef int i
        self.calc_X_WF(pc, frame, X_WF)
        for k in range(n):
            x = p_BoBi_B + k
            for i in range(3):
                p_WoBi[3*k + i] = X_WF[4*i + 3] + X_WF[4*i]*x[0] + X_WF[4*i + 1]*x[n] + X_WF[4*i + 2]*x[2*n]

    cdef void calc_p_WoFo(self, PositionKinematicsCache pc, int frame, double* p_WoFo) noexcept:
        """Origin of a frame in World."""
        cdef double[3] origin = [0.0, 0.0, 0.0]
        self.calc_points_in_world(pc, frame, origin, 1, p_WoFo)

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

        Raises
        ------
        SingularityError
            At gimbal lock, |cos(pitch)| < 1e-3 of a joint with roll-pitch-yaw angles, where N is undefined.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.map_velocity_to_qdot(c, v, out=out)
        v = in1(v, "v", c.compiled.model.num_velocities)
        qdot = out1(out, "out", c.compiled.model.num_positions)
        check_maps(self, c.compiled, c.q_data)
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
        if c._methods is not None:
            return c._methods.map_qdot_to_velocity(c, qdot, out=out)
        qdot = in1(qdot, "qdot", c.compiled.model.num_positions)
        v = out1(out, "out", c.compiled.model.num_velocities)
        qdot = apart(qdot, v)
        kernels.qdot_to_velocity(&c.compiled.model, c.q_data, data(qdot), data(v))
        return v

    @property
    def is_velocity_equal_to_qdot(self):
        """Whether qdot = v for every mobilizer of the tree: N(q) is the identity."""
        cdef const Model* m = &self.ready().model
        cdef int b
        for b in range(m.num_bodies):
            if orientation_of(m.type[b]) != PLAIN:
                return False
        return True

    def map_acceleration_to_qddot(self, context, vdot, *, out=None):
        """Return ``qddot = N(q) vdot + Ndot(q, v) v``, with the q and v of the Context.

        Parameters
        ----------
        context : Context
            Of this tree.
        vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.map_acceleration_to_qddot(c, vdot, out=out)
        vdot = in1(vdot, "vdot", c.compiled.model.num_velocities)
        qddot = out1(out, "out", c.compiled.model.num_positions)
        check_maps(self, c.compiled, c.q_data)
        vdot = apart(vdot, qddot)
        kernels.acceleration_to_qddot(&c.compiled.model, c.q_data, c.v_data, data(vdot), data(qddot))
        return qddot

    def map_qddot_to_acceleration(self, context, qddot, *, out=None):
        """Return ``vdot = N+(q) qddot + N+dot(q, v) qdot``, with the q and v of the Context and ``qdot = N(q) v``.

        Exact when ``qddot = N vdot + Ndot v`` for some vdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        qddot : array_like, shape (num_positions,)
            Second time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.map_qddot_to_acceleration(c, qddot, out=out)
        qddot = in1(qddot, "qddot", c.compiled.model.num_positions)
        vdot = out1(out, "out", c.compiled.model.num_velocities)
        check_maps(self, c.compiled, c.q_data)
        qddot = apart(qddot, vdot)
        kernels.qddot_to_acceleration(&c.compiled.model, c.q_data, c.v_data, data(qddot), data(vdot))
        return vdot

    def make_velocity_to_qdot_map(self, context, *, out=None):
        """Return N(q), with ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_positions, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_positions, num_velocities)
            Block diagonal, one block a mobilizer.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.make_velocity_to_qdot_map(c, out=out)
        cdef const Model* m = &c.compiled.model
        N = out2(out, "out", m.num_positions, m.num_velocities)
        check_maps(self, c.compiled, c.q_data)
        kernels.N_matrix(m, c.q_data, data(N))
        return N

    def make_qdot_to_velocity_map(self, context, *, out=None):
        """Return N+(q), with ``v = N+(q) qdot`` and ``N+ N = 1``.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_positions)
            Block diagonal, one block a mobilizer.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.make_qdot_to_velocity_map(c, out=out)
        cdef const Model* m = &c.compiled.model
        Nplus = out2(out, "out", m.num_velocities, m.num_positions)
        kernels.Nplus_matrix(m, c.q_data, data(Nplus))
        return Nplus

    def calc_acceleration_kinematics_cache(self, context, known_vdot, *, pc=None, vc=None, ac=None):
        """Return the body accelerations that go with `known_vdot`.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        ac : AccelerationKinematicsCache, optional
            Filled and returned instead of a new one. Not one that `eval_acceleration_kinematics` returned.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_acceleration_kinematics_cache(c, known_vdot, pc=pc, vc=vc, ac=ac)
        cdef AccelerationKinematicsCache cache = None
        if ac is not None:
            if type(ac) is AccelerationKinematicsCache:
                cache = ac
            if cache is None or cache.compiled is not c.compiled or cache.is_of_context:
                from mbt.context.checks import raise_foreign_cache
                raise_foreign_cache("ac", ac, "AccelerationKinematicsCache")
        vdot = in1(known_vdot, "known_vdot", c.compiled.model.num_velocities).copy()
        A_WB = self.calc_spatial_accelerations_from_vdot(context, vdot, pc=pc, vc=vc)
        if cache is None:
            return AccelerationKinematicsCache(c.compiled, A_WB, vdot)
        cache.set(A_WB, vdot)
        return cache

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
        if c._methods is not None:
            return c._methods.calc_spatial_accelerations_from_vdot(c, known_vdot, pc=pc, vc=vc, out=out)
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
