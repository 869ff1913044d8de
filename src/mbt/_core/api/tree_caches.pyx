"""Checks before every computation on a Context: does it belong to the tree, and are its caches fresh?"""

from mbt._core.door.compiled_model cimport CompiledModel, check_index
from mbt._core.door.identities cimport Identities
from mbt._core.engines.caches cimport PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section

from mbt._core.above import above


cdef class TreeCaches:
    """The compiled model of a tree, its Contexts and their caches."""

    def _compile(self, tuple user_force_elements, **arrays):
        """Become a finalized tree; see `CompiledModel` for the arrays."""
        cdef CompiledModel compiled = CompiledModel(**arrays)
        self._become(compiled, user_force_elements)

    def _share_compiled(self, TreeCaches other not None, tuple user_force_elements):
        """Become a finalized tree with the compiled model of another one."""
        self._become(other.ready(), user_force_elements)

    cdef _become(self, CompiledModel compiled, tuple user_force_elements):
        self._frame_numbers.clear()
        self._user_force_elements = user_force_elements or None
        # Set last: other threads read it.
        self._compiled = compiled

    cdef CompiledModel ready(self):
        if self._compiled is None:
            above.compile_copy(self)
        return self._compiled

    cdef ContextCore own(self, object context):
        """The Context, if it is one of this tree."""
        if not isinstance(context, ContextCore) or (<ContextCore>context).tree is not self:
            self.ready()
            above.raise_context_mismatch(self, context)
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
        is_foreign = cache is not None and cache.compiled is not c.compiled
        above.raise_stale_cache("pc", pc, "PositionKinematicsCache", is_foreign)

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
        is_foreign = cache is not None and cache.compiled is not c.compiled
        above.raise_stale_cache("vc", vc, "VelocityKinematicsCache", is_foreign)

    cdef int check_caches(self, ContextCore c, object pc, object vc) except -1:
        """Refuse caches that are not of the present state. The Context's own, which are equal, are then used."""
        if pc is not None:
            self._position_of(c, pc)
        if vc is not None:
            self._velocity_of(c, vc)
        return 0

    def _position_of(self, context, pc=None):
        """The cache given, if it belongs to the present state; that of the Context by default."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.position_of(c, pc) if c._engine is None else c._position_of(pc)

    def _velocity_of(self, context, vc=None):
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return self.velocity_of(c, vc) if c._engine is None else c._velocity_of(vc)

    cdef int frame(self, object frame, str name) except -1:
        """FrameIndex of a frame of this tree; a body stands for its body frame."""
        if self._frame_numbers.is_empty():
            self.number_frames()
        cdef int index = self._frame_numbers.find(frame)
        return index if index >= 0 else above.frame_index(self, frame, name)

    cdef int number_frames(self) except -1:
        """Index frames and bodies by identity. The first of several threads sets the index."""
        cdef CompiledModel compiled = self.ready()
        cdef tuple elements
        cdef Identities numbers
        cdef Section alone
        elements, indices = above.numbered_frames(self)
        if not numbers.reserve(len(elements)):
            raise MemoryError()
        for element, index in zip(elements, indices):
            check_index(index, compiled.model.num_frames, "frame")
            numbers.add(element, index)
        alone.enter(self)
        if self._frame_numbers.is_empty():
            self._numbered = elements
            self._frame_numbers.take(numbers)
        return 0

    def set_default_context(self, context):
        """Reset time, state, inputs and parameters of a Context to their defaults."""
        cdef Section alone
        alone.enter(context)
        self.own(context)._reset()

    def calc_position_kinematics_cache(self, context, pc=None):
        """Return the kinematics that depend on positions only, computed now.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        pc : PositionKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Returns
        -------
        PositionKinematicsCache
            The cache becomes stale, and methods reject it, once q or a parameter of the Context has changed.
        """
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        if c._engine is not None:
            return c._calc_position_kinematics(pc)
        cdef PositionKinematicsCache cache
        if pc is None:
            cache = PositionKinematicsCache(c.compiled)
        elif type(pc) is PositionKinematicsCache and (<PositionKinematicsCache>pc).compiled is c.compiled:
            cache = pc
        else:
            above.raise_foreign_cache("pc", pc, "PositionKinematicsCache")
        cache.compute(c.derived(), c.q_data, c.q_serial, c.parameter_serial)
        return cache

    def calc_velocity_kinematics_cache(self, context, pc=None, vc=None):
        """Return the kinematics that depend on positions and velocities, computed now.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        pc : PositionKinematicsCache, optional
            Position kinematics of the same state; those of the Context by default.
        vc : VelocityKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Raises
        ------
        StaleCacheError
            When `pc` is not of the present state.
        """
        cdef Section alone
        alone.enter(context)
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
            above.raise_foreign_cache("vc", vc, "VelocityKinematicsCache")
        cache.compute(position, c.v_data, c.v_serial)
        return cache

    def eval_position_kinematics(self, context):
        """Return the position kinematics of a Context, cached; see `calc_position_kinematics_cache`."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.poses() if c._engine is None else c._position_of()

    def eval_velocity_kinematics(self, context):
        """Return the velocity kinematics of a Context, cached; see `calc_velocity_kinematics_cache`."""
        cdef Section alone
        alone.enter(context)
        cdef ContextCore c = self.own(context)
        return c.velocity() if c._engine is None else c._velocity_of()

    def eval_body_pose_in_world(self, context, body):
        """Return the pose X_WB of a body, (4, 4), cached and read-only."""
        return self.eval_position_kinematics(context).X_WB[..., above.body_node_index(self, body), :, :]

    def eval_body_spatial_velocity_in_world(self, context, body):
        """Return the spatial velocity V_WB of a body, (6,) [rad/s, m/s], cached and read-only."""
        return self.eval_velocity_kinematics(context).V_WB[..., above.body_node_index(self, body), :]
