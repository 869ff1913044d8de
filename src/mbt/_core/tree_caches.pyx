"""What every computation on a Context begins with: is it ours, and are the caches fresh?"""

from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model cimport CompiledModel, check_index


# Imported at the first use: `mbt.tree` is built on this module.
cdef object frame_class = None


cdef class TreeCaches:
    """The compiled model of a tree, its Contexts and their caches."""

    def _compile(self, tuple user_force_elements, **arrays):
        """Become a finalized tree; see `CompiledModel` for the arrays."""
        cdef CompiledModel compiled = CompiledModel(**arrays)
        self._user_force_elements = user_force_elements or None
        # Last: other threads look for it.
        self._compiled = compiled

    def _share_compiled(self, TreeCaches other not None, tuple user_force_elements):
        """Become a finalized tree with the compiled model of another one."""
        cdef CompiledModel compiled = other.ready()
        self._user_force_elements = user_force_elements or None
        self._compiled = compiled

    cdef CompiledModel ready(self):
        if self._compiled is None:
            from mbt.context.checks import compile_copy
            compile_copy(self)
        return self._compiled

    cdef ContextCore own(self, object context):
        """The Context, if it is one of this tree."""
        if not isinstance(context, ContextCore) or (<ContextCore>context).tree is not self:
            self.ready()
            from mbt.context.checks import raise_context_mismatch
            raise_context_mismatch(self, context)
        (<ContextCore>context).check_user()
        return <ContextCore>context

    cdef PositionKinematicsCache position_of(self, ContextCore c, object pc):
        """The cache given, if it belongs to the present state; that of the Context by default."""
        cdef PositionKinematicsCache cache = None
        if pc is None:
            return c.position()
        if isinstance(pc, PositionKinematicsCache):
            cache = pc
            if (
                cache.compiled is c.compiled and cache.q_serial == c.q_serial
                and cache.parameter_serial == c.parameter_serial
            ):
                cache.complete()
                return cache
        from mbt.context.checks import raise_stale_cache
        raise_stale_cache("pc", pc, "PositionKinematicsCache", cache is not None and cache.compiled is not c.compiled)

    cdef VelocityKinematicsCache velocity_of(self, ContextCore c, object vc):
        cdef VelocityKinematicsCache cache = None
        if vc is None:
            return c.velocity()
        if isinstance(vc, VelocityKinematicsCache):
            cache = vc
            if (
                cache.compiled is c.compiled and cache.q_serial == c.q_serial and cache.v_serial == c.v_serial
                and cache.parameter_serial == c.parameter_serial
            ):
                return cache
        from mbt.context.checks import raise_stale_cache
        raise_stale_cache("vc", vc, "VelocityKinematicsCache", cache is not None and cache.compiled is not c.compiled)

    cdef int check_caches(self, ContextCore c, object pc, object vc) except -1:
        """Refuse caches that are not of the present state. Those of the Context serve, which are the same."""
        if pc is not None:
            self._position_of(c, pc)
        if vc is not None:
            self._velocity_of(c, vc)
        return 0

    def _position_of(self, context, pc=None):
        """The cache given, if it belongs to the present state; that of the Context by default."""
        cdef ContextCore c = self.own(context)
        return self.position_of(c, pc) if c._engine is None else c._position_of(pc)

    def _velocity_of(self, context, vc=None):
        cdef ContextCore c = self.own(context)
        return self.velocity_of(c, vc) if c._engine is None else c._velocity_of(vc)

    cdef int frame(self, object frame, str name) except -1:
        """FrameIndex of a frame of this tree."""
        global frame_class
        if frame_class is None:
            from mbt.tree import Frame
            frame_class = Frame
        cdef Py_ssize_t index
        if isinstance(frame, frame_class) and frame._tree is self:
            index = frame._index
            check_index(index, self._compiled.model.num_frames, "frame")
            return index
        from mbt.context.checks import frame_index
        return frame_index(self, frame, name)

    def clone_to_scalar(self, scalar):
        """Return a clone of this tree that computes in another scalar type.

        All that the clone and its Contexts hold and return are arrays of that scalar, parameters included. Elements
        are new ones of the same classes, and `get_variant` leads from one tree to the other; `ForceElement` and
        `Frame` have a method `do_clone_to_scalar` that a subclass may override. The compiled model is shared.

        Parameters
        ----------
        scalar : {"double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"} or ScalarType
            The scalar: a name, or a `mbt.symbolic.ScalarType` of your own.

        Returns
        -------
        MultibodyTree

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        UnknownNameError, ArgumentTypeError
            When there is no such scalar.
        ImportError
            When the package of the scalar is not installed.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> twin = tree.clone_to_scalar("sympy")
        >>> twin.scalar_type
        <ScalarType 'sympy'>
        >>> twin.get_variant(rod) is twin.bodies[1]
        True
        """
        from mbt.scalars.cloning import clone_to_scalar
        return clone_to_scalar(self, scalar)

    def to_autodiff(self):
        """Return a clone that computes with derivatives, in `mbt.autodiff.AutoDiffArray`; see `clone_to_scalar`.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
        >>> tree.finalize()
        >>> ad = tree.to_autodiff()
        >>> context = ad.create_default_context()
        >>> context.q = mbt.autodiff.initialize([0.0])
        >>> ad.calc_gravity_generalized_forces(context)
        AutoDiffArray([0.],
                      derivatives=[[-10.]])
        """
        return self.clone_to_scalar("autodiff")

    def to_symbolic(self):
        """Return a clone that computes with SymPy expressions, in arrays of objects; see `clone_to_scalar`."""
        return self.clone_to_scalar("sympy")

    @property
    def scalar_type(self):
        """The scalar that this tree computes in, a `mbt.symbolic.ScalarType`; ``"double"`` unless it is a clone."""
        from mbt.symbolic import get_scalar_type
        return get_scalar_type("double")

    def create_default_context(self, batch_shape=()):
        """Return a new Context: default positions, zero velocities, default parameters.

        Parameters
        ----------
        batch_shape : int or tuple of int, optional
            Leading axes of every array of the Context, of what is set in it and of what is computed from it: so many
            states, each with its own inputs and parameters, computed together. See ``docs/batches.md``.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        ArgumentTypeError, ElementIndexError
            When `batch_shape` is no tuple of int, or one is negative.
        ShapeError
            When there is a batch, and the tree computes in another scalar than double.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context(batch_shape=3)
        >>> rod = rod.set_mass(context, [1.0, 2.0, 3.0])
        >>> tree.calc_mass_matrix(context).ravel()
        array([0.25, 0.5 , 0.75])
        """
        self.ready()
        if not (type(batch_shape) is tuple and not batch_shape):
            from mbt.scalars import make_batch_context
            return make_batch_context(self, batch_shape)
        from mbt.context import Context
        return Context(self)

    def set_default_context(self, context):
        """Reset time, state, inputs and parameters of a Context to their defaults."""
        self.own(context)._reset()

    def calc_position_kinematics_cache(self, context, pc=None):
        """Return the kinematics that depend on positions only, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Returns
        -------
        PositionKinematicsCache
            It is stale, and refused, once q or a parameter of the Context has changed.
        """
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c._calc_position_kinematics(pc)
        cdef PositionKinematicsCache cache
        if pc is None:
            cache = PositionKinematicsCache(c.compiled)
        elif type(pc) is PositionKinematicsCache and (<PositionKinematicsCache>pc).compiled is c.compiled:
            cache = pc
        else:
            from mbt.context.checks import raise_foreign_cache
            raise_foreign_cache("pc", pc, "PositionKinematicsCache")
        cache.compute(c)
        return cache

    def calc_velocity_kinematics_cache(self, context, pc=None, vc=None):
        """Return the kinematics that depend on positions and velocities, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Position kinematics of the same state; those of the Context by default.
        vc : VelocityKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Raises
        ------
        StaleCacheError
            When `pc` is not of the present state.
        """
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c._calc_velocity_kinematics(pc, vc)
        cdef PositionKinematicsCache position = self.position_of(c, pc)
        cdef VelocityKinematicsCache cache
        if vc is None:
            cache = VelocityKinematicsCache(c.compiled)
        elif type(vc) is VelocityKinematicsCache and (<VelocityKinematicsCache>vc).compiled is c.compiled:
            cache = vc
        else:
            from mbt.context.checks import raise_foreign_cache
            raise_foreign_cache("vc", vc, "VelocityKinematicsCache")
        cache.compute(c, position)
        return cache

    def eval_position_kinematics(self, context):
        """Return the position kinematics of a Context, cached; see `calc_position_kinematics_cache`."""
        cdef ContextCore c = self.own(context)
        return c.poses() if c._engine is None else c._position_of()

    def eval_velocity_kinematics(self, context):
        """Return the velocity kinematics of a Context, cached; see `calc_velocity_kinematics_cache`."""
        cdef ContextCore c = self.own(context)
        return c.velocity() if c._engine is None else c._velocity_of()

    def eval_body_pose_in_world(self, context, body):
        """Return the pose X_WB of a body, (4, 4), cached and read-only."""
        from mbt.context.checks import body_node_index
        return self.eval_position_kinematics(context).X_WB[..., body_node_index(self, body), :, :]

    def eval_body_spatial_velocity_in_world(self, context, body):
        """Return the spatial velocity V_WB of a body, (6,) [rad/s, m/s], cached and read-only."""
        from mbt.context.checks import body_node_index
        return self.eval_velocity_kinematics(context).V_WB[..., body_node_index(self, body), :]
