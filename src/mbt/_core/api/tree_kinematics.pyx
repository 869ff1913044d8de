"""Kinematics of a Context: poses, velocities, accelerations, and the maps between v and qdot."""

cimport numpy as cnp
from mbt._core.algebra.spatial cimport invert_pose4
from mbt._core.api.tree_caches cimport TreeCaches
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, new_read_only
from mbt._core.engines.caches cimport AccelerationKinematicsCache, refuse_copy
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.joints.mobilizers cimport PLAIN, orientation_of
from mbt._core.model.structs cimport Model
from mbt._core.quantities.table cimport (
    ACCELERATION, ACCELERATION_KINEMATICS, FRAME_VELOCITY, NPLUS_MATRIX, N_MATRIX, POINT_POSITIONS, QDDOT, QDOT,
    RELATIVE_ROTATION, RELATIVE_TRANSFORM, VELOCITY, no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class FrameBodyPoseCache:
    """Poses of all frames in their bodies, in FrameIndex order, with the parameters of one Context.

    Read-only, and never changes: after a parameter has changed, ``tree.eval_frame_body_poses(context)`` returns
    another one. To get the pose of one frame: ``frame.get_X_BF(frame_body_poses)``.

    Attributes
    ----------
    X_BF : ndarray, shape (num_frames, 4, 4)
        Pose of each frame in its body.
    """

    def __init__(self, CompiledModel compiled not None, Derived derived not None):
        if derived.num_frames != compiled.model.num_frames:
            raise ValueError("derived: expected data made for this model")
        self.compiled = compiled
        self.derived = derived
        cdef cnp.npy_intp[3] shape = [compiled.model.num_frames, 4, 4]
        X_BF = new_read_only(3, shape, <double*>derived.parameters.X_BF)
        cnp.set_array_base(X_BF, derived)
        self.X_BF = X_BF

    def __reduce_ex__(self, protocol):
        refuse_copy(self)

    def is_of(self, TreeCaches tree not None):
        """Return whether these are the poses of the frames of `tree`."""
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
    """Motion of the bodies and frames of a tree."""

    def calc_relative_transform(self, context, frame_A, frame_B, *, out=None):
        """Return the pose X_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_A, frame_B : Frame, RigidBody or str
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (4, 4), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [self.frame(frame_A, "frame_A"), self.frame(frame_B, "frame_B"), 0, 0, 0]
        return c.evaluate(RELATIVE_TRANSFORM, integers, None, out)

    def calc_relative_rotation_matrix(self, context, frame_A, frame_B, *, out=None):
        """Return the rotation R_AB of frame B in frame A.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_A, frame_B : Frame, RigidBody or str
            Frames of this tree; a body stands for its body frame.
        out : ndarray, shape (3, 3), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [self.frame(frame_A, "frame_A"), self.frame(frame_B, "frame_B"), 0, 0, 0]
        return c.evaluate(RELATIVE_ROTATION, integers, None, out)

    def calc_points_positions(self, context, frame_B, p_BQi, frame_A, *, out=None):
        """Return the positions in frame A of points given in frame B: ``p_AQi = X_AB p_BQi``.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_B : Frame, RigidBody or str
            The frame in which the points are given.
        p_BQi : array_like, shape (3, n) or (3,)
            One point per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which their positions are returned.
        out : ndarray of the shape of `p_BQi`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            Positions [m].
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [self.frame(frame_B, "frame_B"), self.frame(frame_A, "frame_A"), 0, 0, 0]
        points = c.take_points(p_BQi, "p_BQi", &integers[2])
        return c.evaluate(POINT_POSITIONS, integers, points, out)

    def _calc_frame_velocity(self, context, frame_F, frame_M, frame_E, str name_M, str name_E):
        """V_MF_E, (6,). The names are those of the arguments in messages."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [
            self.frame(frame_F, "frame_F"), self.frame(frame_M, name_M), self.frame(frame_E, name_E), 0, 0
        ]
        return c.evaluate(FRAME_VELOCITY, integers)

    def eval_frame_body_poses(self, context):
        """Return the poses of all frames in their bodies, cached until a parameter of the Context changes.

        Parameters
        ----------
        context : Context
            A Context of this tree.

        Returns
        -------
        FrameBodyPoseCache
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c._eval_frame_body_poses()
        cdef Derived derived = c.derived()
        if c._frame_body_poses is None or (<FrameBodyPoseCache>c._frame_body_poses).derived is not derived:
            c._frame_body_poses = FrameBodyPoseCache(c.compiled, derived)
        return c._frame_body_poses

    def map_velocity_to_qdot(self, context, v, *, out=None):
        """Return ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        v : array_like, shape (num_velocities,)
            Generalized velocities [rad/s, m/s].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock, |cos(pitch)| < 1e-3 of a joint with roll-pitch-yaw angles, where N is undefined.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(QDOT, no_integers, c.take(v, "v", c.compiled.model.num_velocities), out)

    def map_qdot_to_velocity(self, context, qdot, *, out=None):
        """Return ``v = N+(q) qdot``, exact when qdot = N(q) v for some v.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        qdot : array_like, shape (num_positions,)
            Time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(VELOCITY, no_integers, c.take(qdot, "qdot", c.compiled.model.num_positions), out)

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
            A Context of this tree.
        vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(QDDOT, no_integers, c.take(vdot, "vdot", c.compiled.model.num_velocities), out)

    def map_qddot_to_acceleration(self, context, qddot, *, out=None):
        """Return ``vdot = N+(q) qddot + N+dot(q, v) qdot``, with the q and v of the Context and ``qdot = N(q) v``.

        Exact when ``qddot = N vdot + Ndot v`` for some vdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        qddot : array_like, shape (num_positions,)
            Second time derivatives of the positions.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.evaluate(ACCELERATION, no_integers, c.take(qddot, "qddot", c.compiled.model.num_positions), out)

    def make_velocity_to_qdot_map(self, context, *, out=None):
        """Return N(q), with ``qdot = N(q) v``.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_positions, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_positions, num_velocities)
            Block diagonal, one block per mobilizer.

        Raises
        ------
        SingularityError
            At gimbal lock.
        """
        return self.own(context).evaluate(N_MATRIX, no_integers, None, out)

    def make_qdot_to_velocity_map(self, context, *, out=None):
        """Return N+(q), with ``v = N+(q) qdot`` and ``N+ N = 1``.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_velocities, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_positions)
            Block diagonal, one block per mobilizer.
        """
        return self.own(context).evaluate(NPLUS_MATRIX, no_integers, None, out)

    def calc_acceleration_kinematics_cache(self, context, known_vdot, *, pc=None, vc=None, ac=None):
        """Return the body accelerations that result from `known_vdot`.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        ac : AccelerationKinematicsCache, optional
            Filled and returned instead of a new one. It must not be a result of `eval_acceleration_kinematics`.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c._calc_acceleration_kinematics(known_vdot, pc, vc, ac)
        cdef AccelerationKinematicsCache cache = None
        if ac is not None:
            if type(ac) is AccelerationKinematicsCache:
                cache = ac
            if cache is None or cache.compiled is not c.compiled or cache.is_of_context:
                above.raise_foreign_cache("ac", ac, "AccelerationKinematicsCache")
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
            A Context of this tree.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        self.check_caches(c, pc, vc)
        vdot = c.take(known_vdot, "known_vdot", c.compiled.model.num_velocities)
        return c.evaluate(ACCELERATION_KINEMATICS, no_integers, vdot, out)
