"""Jacobians of velocities, and bias accelerations: the part of an acceleration that is not ``J sdot``."""

cimport numpy as cnp

from mbt._core.api.tree_dynamics cimport TreeDynamics
from mbt._core.door.compiled_model cimport Derived
from mbt._core.door.exact_arrays cimport adopt, apart, data, out2
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    ANGULAR_BIAS, ANGULAR_JACOBIAN, FRAME_JACOBIAN, SPATIAL_BIAS, SPATIAL_JACOBIAN, SPATIAL_JACOBIAN_RATE,
    TRANSLATIONAL_BIAS, TRANSLATIONAL_JACOBIAN,
)

from mbt._core.above import above
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
    return above.check_with_respect_to(with_respect_to)


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
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6, num_velocities) or (6, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities) or (6, num_positions)
            Angular rows first.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int[5] integers = [
            self.frame(frame_B, "frame_B"), self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), by_qdot, 0
        ]
        p_BoBp = c.take(p_BoBp_B, "p_BoBp_B", 3)
        if c.compiled.model.frame_node[integers[1]] == 0:
            # Straight from q: only the bodies inboard of the frame are needed, which is faster than filling the caches.
            return self.jacobian_in_world(c, integers[0], integers[2], by_qdot, p_BoBp, out)
        return c.evaluate(SPATIAL_JACOBIAN, integers, p_BoBp, out)

    def calc_jacobian_spatial_velocity_rate(self, context, frame_B, p_BoBp_B, frame_A, frame_E, *, out=None):
        """Return the time derivative of the Jacobian, with respect to v, of the spatial velocity of a point Bp.

        ``A_ABp_E = J vdot + Jdot v``, with J of `calc_jacobian_spatial_velocity`: the derivative is taken in frame A,
        and expressed in frame E. ``Jdot v`` is `calc_bias_spatial_acceleration` with respect to v.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured, and its Jacobian differentiated.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities)
            Angular rows first [1/s, m/s].

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.v = [2.0]
        >>> W = tree.world_frame
        >>> tree.calc_jacobian_spatial_velocity_rate(context, rod.body_frame, [0, 0, -1], W, W).ravel() + 0.0
        array([0., 0., 0., 0., 0., 2.])
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [
            self.frame(frame_B, "frame_B"), self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), 0, 0
        ]
        return c.evaluate(SPATIAL_JACOBIAN_RATE, integers, c.take(p_BoBp_B, "p_BoBp_B", 3), out)

    def calc_jacobian_angular_velocity(self, context, with_respect_to, frame_B, frame_A, frame_E, *, out=None):
        """Return the Jacobian of the angular velocity of frame B in frame A, expressed in frame E.

        ``w_AB_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that turns; a body stands for its body frame.
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (3, num_velocities) or (3, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, num_velocities) or (3, num_positions)
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int[5] integers = [
            self.frame(frame_B, "frame_B"), self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), by_qdot, 0
        ]
        return c.evaluate(ANGULAR_JACOBIAN, integers, None, out)

    def calc_jacobian_translational_velocity(
        self, context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None
    ):
        """Return the Jacobian of the velocities of points Bi fixed to frame B, in frame A, expressed in frame E.

        ``v_ABi_E = J[3*i:3*i + 3] s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which the velocities are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray, shape of the result, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_velocities) or (3 n, num_positions)
            Three rows per point; those of the first point come first.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.of_points(
            c, TRANSLATIONAL_JACOBIAN, wants_qdot(with_respect_to), frame_B, p_BoBi_B, frame_A, frame_E, out
        )

    def calc_jacobian_position_vector(self, context, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None):
        """Return the Jacobian with respect to q of the positions of points Bi fixed to frame B.

        ``J[3*i:3*i + 3]`` is the partial derivative in frame A of ``p_AoBi``, expressed in frame E. It equals
        `calc_jacobian_translational_velocity` with respect to qdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame from whose origin the positions are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray, shape (3 n, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3 n, num_positions)
            Three rows per point; those of the first point come first.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.of_points(c, TRANSLATIONAL_JACOBIAN, True, frame_B, p_BoBi_B, frame_A, frame_E, out)

    cdef object jacobian_in_world(self, ContextCore c, int b, int e, bint by_qdot, object p_BoBp, object out):
        """The Jacobian of a point of frame b in World, expressed in frame e."""
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef int[5] integers = [b, e, by_qdot, -1, 0]
        cdef Derived derived
        cdef double* memory
        cdef double* J_v
        if c._engine is not None:
            return c.evaluate(FRAME_JACOBIAN, integers, p_BoBp, out)
        J = out2(out, "out", 6, m.num_positions if by_qdot else m.num_velocities)
        p_BoBp = apart(p_BoBp, J)
        derived = c.derived()
        memory = kernels.get_work(m, 6*nv + m.num_bodies)
        J_v = memory + kernels.work_size(m) if by_qdot else data(J)
        kernels.frame_jacobian(
            m, &derived.parameters, b, e, c.q_data, data(p_BoBp), memory,
            <int*>(memory + kernels.work_size(m) + 6*nv), J_v
        )
        if by_qdot:
            kernels.multiply_by_Nplus(m, c.q_data, 6, J_v, data(J))
        return J

    cdef object of_points(
        self, ContextCore c, int quantity, bint by_qdot, frame_B, p_BoBi_B, frame_A, frame_E, out
    ):
        """A quantity of points fixed to frame B."""
        cdef int[5] integers = [self.frame(frame_B, "frame_B"), 0, 0, by_qdot, 0]
        points = c.take_points(p_BoBi_B, "p_BoBi_B", &integers[4])
        integers[1] = self.frame(frame_A, "frame_A")
        integers[2] = self.frame(frame_E, "frame_E")
        return c.evaluate(quantity, integers, points, out)

    # Bias accelerations -----------------------------------------------------------------------------------------

    def calc_bias_spatial_acceleration(
        self, context, with_respect_to, frame_B, p_BoBp_B, frame_A, frame_E, *, out=None
    ):
        """Return the bias acceleration of a point Bp fixed to frame B: its acceleration in frame A minus `J sdot`.

        ``A_ABp_E = J sdot + bias``, with J of `calc_jacobian_spatial_velocity` and s = v or s = qdot. It includes
        centripetal and Coriolis terms of a moving frame A.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s: the bias is Jdot v, or Jdot_qdot qdot.
        frame_B : Frame, RigidBody or str
            The frame that carries the point.
        p_BoBp_B : array_like, shape (3,)
            The point, from B's origin, in B [m].
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[alpha; a]`` [rad/s^2, m/s^2].
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [0, 0, 0, wants_qdot(with_respect_to), 0]
        integers[0] = self.frame(frame_B, "frame_B")
        p_BoBp = c.take(p_BoBp_B, "p_BoBp_B", 3)
        integers[1] = self.frame(frame_A, "frame_A")
        integers[2] = self.frame(frame_E, "frame_E")
        return c.evaluate(SPATIAL_BIAS, integers, p_BoBp, out)

    def calc_bias_angular_acceleration(self, context, with_respect_to, frame_B, frame_A, frame_E, *, out=None):
        """Return the bias angular acceleration of frame B in frame A: its acceleration minus `J sdot`.

        ``alpha_AB_E = J sdot + bias``, with J of `calc_jacobian_angular_velocity` and s = v or s = qdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s.
        frame_B : Frame, RigidBody or str
            The frame that turns.
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            [rad/s^2].
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int[5] integers = [
            self.frame(frame_B, "frame_B"), self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), by_qdot, 0
        ]
        return c.evaluate(ANGULAR_BIAS, integers, None, out)

    def calc_bias_translational_acceleration(
        self, context, with_respect_to, frame_B, p_BoBi_B, frame_A, frame_E, *, out=None
    ):
        """Return the bias accelerations of points Bi fixed to frame B: their accelerations in A minus `J sdot`.

        ``a_ABi_E = J[3*i:3*i + 3] sdot + bias[:, i]``, with J of `calc_jacobian_translational_velocity` and s = v or
        s = qdot. It includes centripetal and Coriolis terms of a moving frame A.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s.
        frame_B : Frame, RigidBody or str
            The frame that carries the points.
        p_BoBi_B : array_like, shape (3, n) or (3,)
            The points from B's origin, in B, one per column, or one point [m].
        frame_A : Frame, RigidBody or str
            The frame in which the accelerations are measured.
        frame_E : Frame, RigidBody or str
            The frame in which they are expressed.
        out : ndarray of the shape of `p_BoBi_B`, float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, n) or (3,)
            [m/s^2], one point per column.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.of_points(
            c, TRANSLATIONAL_BIAS, wants_qdot(with_respect_to), frame_B, p_BoBi_B, frame_A, frame_E, out
        )
