"""Mass, centre of mass and momentum of a Context, of all bodies or of some model instances."""

cimport numpy as cnp

from mbt._core.api.tree_accelerations cimport TreeAccelerations
from mbt._core.api.tree_jacobians cimport wants_qdot
from mbt._core.door.exact_arrays cimport adopt, data, new1
from mbt._core.engines.context cimport ContextCore, flat
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model, common_ancestor
from mbt._core.quantities.table cimport (
    CENTER_OF_MASS_ACCELERATION, CENTER_OF_MASS_BIAS, CENTER_OF_MASS_JACOBIAN, CENTER_OF_MASS_POSITION,
    CENTER_OF_MASS_VELOCITY, CENTROIDAL_MOMENTUM_MATRIX, COMPOSITE_INERTIA, MASS_MATRIX_INVERSE, MOMENTUM,
    OPERATIONAL_SPACE_INERTIA, OPERATIONAL_SPACE_INVERSE_INERTIA, TOTAL_MASS, no_integers,
)

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef object parts_of_composite(const double* composite):
    """Mass centre and unit inertia, xx yy zz xy xz yz, read-only; without mass, zero and rotational inertia."""
    cdef double mass = composite[0]
    cdef const double* I = composite + 4  # xx xy xz yy yz zz
    cdef cnp.ndarray parts = new1(9)
    cdef double* to = data(parts)
    cdef double[6] components = [I[0], I[3], I[5], I[1], I[2], I[4]]
    cdef int i
    for i in range(3):
        to[i] = 0.0 if mass == 0.0 else composite[1 + i] / mass
    for i in range(6):
        to[3 + i] = components[i] if mass == 0.0 else components[i] / mass
    cnp.PyArray_CLEARFLAGS(parts, cnp.NPY_ARRAY_WRITEABLE)
    return parts


cdef class TreeMass(TreeAccelerations):
    """Mass and momentum of a tree, or of a part of it. World has no mass."""

    def calc_total_mass(self, context, model_instances=None):
        """Return the mass [kg] of all bodies but World, those welded to World included.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.

        Returns
        -------
        float
            Zero when there is no body.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        mask = self.mask_of(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        return c.evaluate(TOTAL_MASS, integers, mask)

    def calc_center_of_mass_position_in_world(self, context, model_instances=None, *, out=None):
        """Return the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        mask = self.mask_with_mass(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        return c.evaluate(CENTER_OF_MASS_POSITION, integers, mask, out)

    def calc_center_of_mass_translational_velocity_in_world(self, context, model_instances=None, *, out=None):
        """Return the velocity of the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        mask = self.mask_with_mass(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        return c.evaluate(CENTER_OF_MASS_VELOCITY, integers, mask, out)

    def calc_center_of_mass_translational_acceleration_in_world(self, context, model_instances=None, *, out=None):
        """Return the acceleration of the centre of mass of all bodies but World, by forward dynamics.

        The forces are those of `eval_acceleration_kinematics`.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            a_WScm_W [m/s^2].

        Raises
        ------
        SingularityError
            When there is no mass, or a degree of freedom has no inertia.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        mask = self.mask_with_mass(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        x = flat(c, self.accelerations(c, self.user_pairs(c)).A_WB)
        return c.evaluate(CENTER_OF_MASS_ACCELERATION, integers, x if mask is None else c.concatenate((x, mask)), out)

    def calc_jacobian_center_of_mass_translational_velocity(
        self, context, with_respect_to, frame_A, frame_E, model_instances=None, *, out=None
    ):
        """Return the Jacobian of the velocity of the centre of mass Scm in frame A, expressed in frame E.

        ``v_AScm_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables of the columns.
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int[5] integers = [self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), by_qdot, 0, 0]
        mask = self.mask_with_mass(c, model_instances)
        integers[3] = mask is not None
        return c.evaluate(CENTER_OF_MASS_JACOBIAN, integers, mask, out)

    def calc_bias_center_of_mass_translational_acceleration(
        self, context, with_respect_to, frame_A, frame_E, model_instances=None, *, out=None
    ):
        """Return the bias acceleration of the centre of mass Scm in frame A: its acceleration minus `J sdot`.

        ``a_AScm_E = J sdot + bias``, with J of `calc_jacobian_center_of_mass_translational_velocity` and s = v or
        s = qdot. It includes centripetal and Coriolis terms of a moving frame A.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        with_respect_to : {"v", "qdot"}
            The variables s.
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef bint by_qdot = wants_qdot(with_respect_to)
        cdef int[5] integers = [self.frame(frame_A, "frame_A"), self.frame(frame_E, "frame_E"), 0, by_qdot, 0]
        mask = self.mask_with_mass(c, model_instances)
        integers[2] = self.carrier_of(c, model_instances, integers[0])
        integers[4] = mask is not None
        return c.evaluate(CENTER_OF_MASS_BIAS, integers, mask, out)

    def calc_spatial_momentum_in_world_about_point(self, context, p_WoP_W, model_instances=None, *, out=None):
        """Return the momentum of all bodies about a point P, in World, without that of rotors.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        p_WoP_W : array_like, shape (3,)
            The point [m].
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[angular; linear]`` momentum [kg m^2/s, kg m/s].
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        p_WoP = c.take(p_WoP_W, "p_WoP_W", 3)
        mask = self.mask_of(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        return c.evaluate(MOMENTUM, integers, p_WoP if mask is None else c.concatenate((p_WoP, mask)), out)

    def calc_centroidal_momentum_matrix(self, context, *, out=None):
        """Return A_G, with ``A_G v`` the momentum of all bodies about their centre of mass, in World.

        Parameters
        ----------
        context : Context
            A Context of this tree.
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
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        self.mask_with_mass(c, None)
        return c.evaluate(CENTROIDAL_MOMENTUM_MATRIX, no_integers, None, out)

    def calc_spatial_inertia(self, context, frame_F, body_indexes):
        """Return the mass properties M_SFo_F of a set of bodies S, in their present poses, about Fo, expressed in F.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_F : Frame, RigidBody or str
            The frame F.
        body_indexes : sequence of BodyIndex, RigidBody or str
            The bodies, each once. World may be among them: it has no mass.

        Returns
        -------
        SpatialInertia
            The inertia of the bodies as one rigid body; zero when there is no body.

        Raises
        ------
        ElementIndexError
            When no body has such an index.
        ArgumentValueError
            When a body is named twice.
        ForeignElementError
            When a body belongs to another tree.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [self.frame(frame_F, "frame_F"), 1, 0, 0, 0]
        composite = c.evaluate(COMPOSITE_INERTIA, integers, c.numbers_of(above.mask_of_bodies(self, body_indexes)))
        if c._engine is not None:
            return c._numbers.inertia_of_composite(composite)
        return c._numbers.inertia_of_parts(data(composite)[0], parts_of_composite(data(composite)))

    def calc_mass_matrix_inverse(self, context, *, out=None):
        """Return the inverse of the mass matrix, by articulated bodies: the mass matrix is not formed.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Symmetric. Locks are ignored.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """
        return self.own(context).evaluate(MASS_MATRIX_INVERSE, no_integers, None, out)

    def calc_operational_space_inverse_inertia(self, context, frame_F, *, expressed_in=None, out=None):
        """Return ``J M^-1 J'`` of a frame: the acceleration in World that a force on it gives to a tree at rest.

        J is the Jacobian of its spatial velocity in World, as returned by `mbt.functional.frame_jacobian` (Khatib
        1987). M is the mass matrix of the tree alone, without the constraints and locks that `calc_forward_dynamics`
        obeys.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_F : Frame, RigidBody or str
            The frame; a body stands for its body frame.
        expressed_in : Frame, RigidBody or str, optional
            The frame E whose axes accelerations and forces are expressed in; by default World.
        out : ndarray, shape (6, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, 6)
            Symmetric, of ``[alpha; a]`` per ``[torque; force]`` at the origin of F [1/(kg m^2), 1/(kg m), 1/kg].

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """
        return self.operational_space(context, OPERATIONAL_SPACE_INVERSE_INERTIA, frame_F, expressed_in, out)

    def calc_operational_space_inertia(self, context, frame_F, *, expressed_in=None, out=None):
        """Return ``(J M^-1 J')^-1`` of a frame: the force on it that gives it an acceleration, the tree being at rest.

        The inverse of `calc_operational_space_inverse_inertia` (Khatib 1987). M is the mass matrix of the tree alone,
        without the constraints and locks that `calc_forward_dynamics` obeys.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        frame_F : Frame, RigidBody or str
            The frame; a body stands for its body frame.
        expressed_in : Frame, RigidBody or str, optional
            The frame E whose axes accelerations and forces are expressed in; by default World.
        out : ndarray, shape (6, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, 6)
            Symmetric, of ``[torque; force]`` at the origin of F per ``[alpha; a]`` [kg m^2, kg m, kg].

        Raises
        ------
        SingularityError
            When the frame cannot move with six independent velocities, or a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
        >>> tree.finalize()  # The ball floats.
        >>> tree.calc_operational_space_inertia(tree.create_default_context(), ball.body_frame).diagonal()
        array([0.2, 0.2, 0.2, 2. , 2. , 2. ])
        """
        return self.operational_space(context, OPERATIONAL_SPACE_INERTIA, frame_F, expressed_in, out)

    cdef object operational_space(self, context, int quantity, frame_F, expressed_in, out):
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        cdef int[5] integers = [self.frame(frame_F, "frame_F"), 0, 0, 0, 0]
        if expressed_in is not None:
            integers[1] = self.frame(expressed_in, "expressed_in")
        return c.evaluate(quantity, integers, None, out)

    # The bodies that count: a mask, (num_bodies,), or None for all but World.

    cdef object mask_of(self, ContextCore c, model_instances):
        if model_instances is None:
            return None
        return c.numbers_of(above.mask_of_instances(self, model_instances))

    cdef object mask_with_mass(self, ContextCore c, model_instances):
        """The mask; an error if a single state has no mass. In a batch, samples without mass have no result."""
        mask = self.mask_of(c, model_instances)
        cdef int[5] integers = [mask is not None, 0, 0, 0, 0]
        if not c.batch_shape:
            mass = c.evaluate(TOTAL_MASS, integers, mask)
            if mass == 0.0 if c._engine is None else c._numbers.is_zero(mass):
                above.raise_no_mass(self, model_instances)
        return mask

    cdef int carrier_of(self, ContextCore c, model_instances, int frame) except -1:
        """The outermost body that carries a frame and all bodies that count, possibly one of them."""
        cdef const Model* m = &c.compiled.model
        cdef int first = m.frame_node[frame], last = first, b
        mask = None
        if model_instances is not None:
            mask = above.mask_of_instances(self, model_instances)
        for b in range(1, m.num_bodies):
            if mask is None or data(mask)[b] != 0.0:
                first = min(first, b)
                last = max(last, b)
        return common_ancestor(m, first, last)
