"""Mass, centre of mass and momentum of a Context, of all bodies or of some model instances."""

cimport numpy as cnp
from libc.string cimport memcpy

from mbt._core cimport kernels
from mbt._core.context cimport AccelerationKinematicsCache, ContextCore, PositionKinematicsCache
from mbt._core.door cimport adopt, data, in1, new1, out1, out2
from mbt._core.model cimport Derived, Model
from mbt._core.spatial cimport invert_pose4
from mbt._core.tree_accelerations cimport TreeAccelerations
from mbt._core.tree_jacobians cimport BodyMotion, bias_size, common_ancestor, wants_qdot

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef class TreeMass(TreeAccelerations):
    """Mass and momentum of a tree, or of a part of it. World has no mass."""

    def calc_total_mass(self, context, model_instances=None):
        """Return the mass [kg] of all bodies but World, those welded to World included.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.

        Returns
        -------
        float
            Zero when there is no body.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_total_mass(c, model_instances)
        cdef double[4] mass_and_moment
        self.mass_and_moment(c, self.selected_masses(c.derived(), model_instances), mass_and_moment)
        return mass_and_moment[0]

    def calc_center_of_mass_position_in_world(self, context, model_instances=None, *, out=None):
        """Return the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            p_WoScm_W [m].

        Raises
        ------
        SingularityError
            When there is no mass.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_center_of_mass_position_in_world(c, model_instances, out=out)
        com = out1(out, "out", 3)
        cdef double[3] p_WScm
        self.positive_mass(c, self.selected_masses(c.derived(), model_instances), model_instances, p_WScm)
        for i in range(3):
            data(com)[i] = p_WScm[i]
        return com

    def calc_center_of_mass_translational_velocity_in_world(self, context, model_instances=None, *, out=None):
        """Return the velocity of the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            v_WScm_W [m/s].

        Raises
        ------
        SingularityError
            When there is no mass.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_center_of_mass_translational_velocity_in_world(c, model_instances, out=out)
        velocity = out1(out, "out", 3)
        cdef double[3] p_WScm
        cdef double[6] L
        masses = self.selected_masses(c.derived(), model_instances)
        cdef double mass = self.positive_mass(c, masses, model_instances, p_WScm)
        self.momentum(c, masses, c.velocity().V_WB_data, L)
        for i in range(3):
            data(velocity)[i] = L[3 + i]/mass
        return velocity

    def calc_center_of_mass_translational_acceleration_in_world(self, context, model_instances=None, *, out=None):
        """Return the acceleration of the centre of mass of all bodies but World, by forward dynamics.

        All forces act that `eval_acceleration_kinematics` tells of.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            a_WScm_W [m/s^2].

        Raises
        ------
        SingularityError
            When there is no mass, or when no mass resists a degree of freedom.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_center_of_mass_translational_acceleration_in_world(c, model_instances, out=out)
        acceleration = out1(out, "out", 3)
        cdef double[3] p_WScm
        masses = self.selected_masses(c.derived(), model_instances)
        cdef double mass = self.positive_mass(c, masses, model_instances, p_WScm)
        cdef AccelerationKinematicsCache ac = self.accelerations(c, self.user_inputs(c))
        self.center_of_mass_acceleration(
            c, masses, mass, c.velocity().V_WB_data, data(ac.A_WB), data(acceleration)
        )
        return acceleration

    def calc_jacobian_center_of_mass_translational_velocity(
        self, context, with_respect_to, frame_A, frame_E, model_instances=None, *, out=None
    ):
        """Return the Jacobian of the velocity of the centre of mass Scm in frame A, expressed in frame E.

        ``v_AScm_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What the columns are for.
        frame_A : Frame
            The frame in which the velocity is measured.
        frame_E : Frame
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (3, num_velocities) or (3, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, num_velocities) or (3, num_positions)

        Raises
        ------
        SingularityError
            When there is no mass.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_jacobian_center_of_mass_translational_velocity(
                c, with_respect_to, frame_A, frame_E, model_instances, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        cdef Derived derived = c.derived()
        masses = self.selected_masses(derived, model_instances)
        J = out2(out, "out", 3, m.num_positions if by_qdot else m.num_velocities)
        cdef double[3] p_WScm
        cdef double mass = self.positive_mass(c, masses, model_instances, p_WScm)
        cdef PositionKinematicsCache pc = c.position()
        cdef const double* mass_of = derived.parameters.mass if masses is None else data(masses)
        cdef double* memory = kernels.get_work(m, 3*nv)
        cdef double* J_v = memory + kernels.work_size(m) if by_qdot else data(J)
        cdef Py_ssize_t k
        kernels.linear_momentum_matrix(
            m, mass_of, derived.parameters.p_BoBcm_B, pc.X_WB_data, pc.H_PB_W_data, memory, J_v
        )
        for k in range(3*nv):
            J_v[k] /= mass
        kernels.add_translational_jacobian(m, m.frame_node[a], pc.X_WB_data, pc.H_PB_W_data, p_WScm, -1.0, J_v)
        self.finish_jacobian(c, pc, e, 3, J_v, data(J) if by_qdot else NULL)
        return J

    def calc_bias_center_of_mass_translational_acceleration(
        self, context, with_respect_to, frame_A, frame_E, model_instances=None, *, out=None
    ):
        """Return the part of the acceleration of the centre of mass Scm in frame A that `J sdot` does not explain.

        ``a_AScm_E = J sdot + bias``, with J of `calc_jacobian_center_of_mass_translational_velocity` and s = v or
        s = qdot. Centripetal and Coriolis terms of a moving frame A are in it.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What s is.
        frame_A : Frame
            The frame in which the acceleration is measured.
        frame_E : Frame
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            [m/s^2].

        Raises
        ------
        SingularityError
            When there is no mass.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_bias_center_of_mass_translational_acceleration(
                c, with_respect_to, frame_A, frame_E, model_instances, out=out
            )
        cdef const Model* m = &c.compiled.model
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int a = self.frame(frame_A, "frame_A")
        cdef int e = self.frame(frame_E, "frame_E")
        masses = self.selected_masses(c.derived(), model_instances)
        bias = out1(out, "out", 3)
        cdef double[3] p_WScm
        cdef double[6] L
        cdef double[6] V_WScm = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        cdef double[6] A_WScm = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        cdef double[6] A_AScm_E
        cdef double[16] X_WE
        cdef double mass = self.positive_mass(c, masses, model_instances, p_WScm)
        cdef PositionKinematicsCache pc = c.position()
        cdef BodyMotion motion
        cdef double* memory = kernels.get_work(m, bias_size(m))
        cdef int i
        self.bias_motion(c, by_qdot, self.ancestor_of_masses(c, masses, m.frame_node[a]), memory, &motion)
        self.momentum(c, masses, motion.V_WB, L)
        self.center_of_mass_acceleration(c, masses, mass, motion.V_WB, motion.A_WB, A_WScm + 3)
        for i in range(3):
            V_WScm[3 + i] = L[3 + i]/mass
        self.calc_X_WF(pc, e, X_WE)
        kernels.relative_acceleration_of_point(
            m.frame_node[a], pc.X_WB_data, motion.V_WB, motion.A_WB, p_WScm, V_WScm, A_WScm, X_WE, A_AScm_E
        )
        for i in range(3):
            data(bias)[i] = A_AScm_E[3 + i]
        return bias

    def calc_spatial_momentum_in_world_about_point(self, context, p_WoP_W, model_instances=None, *, out=None):
        """Return the momentum of all bodies about a point P, in World. Rotors have none.

        Parameters
        ----------
        context : Context
            Of this tree.
        p_WoP_W : array_like, shape (3,)
            The point [m].
        model_instances : ModelInstanceIndex or sequence of them, optional
            Whose bodies count; by default all but World. A body counts once.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[angular; linear]`` momentum [kg m^2/s, kg m/s].
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_spatial_momentum_in_world_about_point(c, p_WoP_W, model_instances, out=out)
        p_WoP = in1(p_WoP_W, "p_WoP_W", 3)
        L_WP = out1(out, "out", 6)
        masses = self.selected_masses(c.derived(), model_instances)
        cdef double[6] L
        cdef const double* p = data(p_WoP)
        self.momentum(c, masses, c.velocity().V_WB_data, L)
        # L_P = L_Wo - p × l
        L[0] -= p[1]*L[5] - p[2]*L[4]
        L[1] -= p[2]*L[3] - p[0]*L[5]
        L[2] -= p[0]*L[4] - p[1]*L[3]
        memcpy(data(L_WP), L, sizeof(L))
        return L_WP

    def calc_centroidal_momentum_matrix(self, context, *, out=None):
        """Return A_G, with ``A_G v`` the momentum of all bodies about their centre of mass, in World.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (6, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities)
            Angular rows first [kg m^2, kg m, kg], by composite bodies in O(n).

        Raises
        ------
        SingularityError
            When the tree has no mass.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_centroidal_momentum_matrix(c, out=out)
        cdef const Model* m = &c.compiled.model
        A_G = out2(out, "out", 6, m.num_velocities)
        cdef double[3] p_WScm
        self.positive_mass(c, None, None, p_WScm)
        cdef Derived derived = c.derived()
        cdef PositionKinematicsCache pc = c.position()
        kernels.momentum_matrix_about(
            m, &derived.parameters, pc.X_WB_data, pc.H_PB_W_data, p_WScm, kernels.get_work(m, 0), data(A_G)
        )
        return A_G

    def calc_spatial_inertia(self, context, frame_F, body_indexes):
        """Return the mass properties M_SFo_F of a set of bodies S, as they are posed, about Fo, expressed in F.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_F : Frame
            The frame F.
        body_indexes : sequence of BodyIndex or RigidBody
            The bodies, each once. World may be among them: it has no mass.

        Returns
        -------
        SpatialInertia
            That of one rigid body; zero when there is no body.

        Raises
        ------
        ElementIndexError
            When there is no body of an index.
        ArgumentValueError
            When a body is named twice.
        ForeignElementError
            When a body belongs to another tree.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_spatial_inertia(c, frame_F, body_indexes)
        cdef const Model* m = &c.compiled.model
        cdef int f = self.frame(frame_F, "frame_F")
        from mbt.context.body_selection import mask_of_bodies
        from mbt.math.spatial_inertia import SpatialInertia
        cdef Derived derived = c.derived()
        masses = select(mask_of_bodies(self, body_indexes), derived)
        cdef PositionKinematicsCache pc = c.position()
        cdef double[16] X_WF
        cdef double[16] X_FW
        cdef double mass
        cdef double[3] moment
        cdef double[6] inertia
        self.calc_X_WF(pc, f, X_WF)
        invert_pose4[double](X_WF, X_FW)
        kernels.composite_inertia(
            m, data(masses), derived.parameters.p_BoBcm_B, data(masses) + m.num_bodies, pc.X_WB_data, X_FW,
            &mass, moment, inertia
        )
        p_FoScm_F = [moment[i]/mass if mass != 0.0 else 0.0 for i in range(3)]
        return SpatialInertia._of_rotational_inertia(mass, p_FoScm_F, [inertia[i] for i in (0, 3, 5, 1, 2, 4)])

    def calc_mass_matrix_inverse(self, context, *, out=None):
        """Return the inverse of the mass matrix, by articulated bodies: the mass matrix is not formed.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Symmetric. Locks have no part in it.

        Raises
        ------
        SingularityError
            When no mass resists a degree of freedom.
        """
        cdef ContextCore c = self.own(context)
        if c._methods is not None:
            return c._methods.calc_mass_matrix_inverse(c, out=out)
        cdef const Model* m = &c.compiled.model
        cdef Py_ssize_t nv = m.num_velocities
        cdef Derived derived = c.derived()
        cdef int singular
        M_inverse = out2(out, "out", nv, nv)
        # Behind the work: the result, for `out` must stay as it is when the matrix is singular.
        cdef Py_ssize_t size = 6*nv*(m.num_mobods + 1) + 3*nv
        cdef double* memory = kernels.get_work(m, size + nv*nv)
        cdef double* more = memory + kernels.work_size(m)
        singular = kernels.mass_matrix_inverse(m, &derived.parameters, c.q_data, memory, more, more + size)
        if singular >= 0:
            from mbt.context.checks import raise_massless_dof
            raise_massless_dof(self, singular)
        memcpy(data(M_inverse), more + size, nv*nv*sizeof(double))
        return M_inverse

    # What these have in common. `masses` is what `select` returns, or None for all bodies.

    cdef object selected_masses(self, Derived derived, model_instances):
        if model_instances is None:
            return None
        from mbt.context.body_selection import mask_of_instances
        return select(mask_of_instances(self, model_instances), derived)

    cdef int mass_and_moment(self, ContextCore c, masses, double* result) except -1:
        """The total mass, and the sum of m p_WBcm."""
        cdef Derived derived = c.derived()
        kernels.mass_moment(
            &c.compiled.model, derived.parameters.mass if masses is None else data(masses),
            derived.parameters.p_BoBcm_B, c.poses().X_WB_data, result, result + 1
        )
        return 0

    cdef double positive_mass(self, ContextCore c, masses, model_instances, double* p_WScm) except -1.0:
        """The total mass and the centre of mass; an error where there is no mass."""
        cdef double[4] mass_and_moment
        cdef int i
        self.mass_and_moment(c, masses, mass_and_moment)
        if mass_and_moment[0] == 0.0:
            from mbt.context.body_selection import raise_no_mass
            raise_no_mass(self, model_instances)
        for i in range(3):
            p_WScm[i] = mass_and_moment[1 + i]/mass_and_moment[0]
        return mass_and_moment[0]

    cdef int ancestor_of_masses(self, ContextCore c, masses, int node) except -1:
        """The outermost body inboard of all that have mass, and of `node`, or one of them."""
        cdef const Model* m = &c.compiled.model
        cdef Derived derived = c.derived()
        cdef const double* mass = derived.parameters.mass if masses is None else data(masses)
        cdef int b, first = node, last = node
        for b in range(1, m.num_bodies):
            if mass[b] != 0.0:
                first = min(first, b)
                last = max(last, b)
        return common_ancestor(m, first, last)

    cdef int momentum(self, ContextCore c, masses, const double* V_WB, double* L_WWo_W) except -1:
        cdef Derived derived = c.derived()
        cdef const double* mass = derived.parameters.mass if masses is None else data(masses)
        cdef const double* I_BBo_B = (
            derived.parameters.I_BBo_B if masses is None else data(masses) + c.compiled.model.num_bodies
        )
        kernels.momentum(
            &c.compiled.model, mass, derived.parameters.p_BoBcm_B, I_BBo_B, c.position().X_WB_data, V_WB, L_WWo_W
        )
        return 0

    cdef int center_of_mass_acceleration(
        self, ContextCore c, masses, double mass, const double* V_WB, const double* A_WB, double* a_WScm
    ) except -1:
        """Acceleration of the centre of mass, for given accelerations of the bodies."""
        cdef Derived derived = c.derived()
        cdef int i
        kernels.mass_acceleration(
            &c.compiled.model, derived.parameters.mass if masses is None else data(masses),
            derived.parameters.p_BoBcm_B, c.position().X_WB_data, V_WB, A_WB, a_WScm
        )
        for i in range(3):
            a_WScm[i] /= mass
        return 0


cdef object select(mask, Derived derived):
    """Masses (num_bodies,), then rotational inertias (num_bodies, 6) of the bodies whose mask is 1, zero for others."""
    cdef Py_ssize_t b, i, num_bodies = len(mask)
    selected = new1(7*num_bodies)
    cdef double* masses = data(selected)
    cdef double* inertias = masses + num_bodies
    cdef const double* is_selected = data(mask)
    for b in range(num_bodies):
        masses[b] = is_selected[b]*derived.parameters.mass[b]
        for i in range(6):
            inertias[6*b + i] = is_selected[b]*derived.parameters.I_BBo_B[6*b + i]
    return selected
