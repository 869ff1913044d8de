from typing import Any, overload

from typing_extensions import disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import RigidBody
from mbt.tree.force_elements import ForceElement

@disjoint_base
class TreeCaches:
    """The compiled model of a tree, its Contexts and their caches."""

    @property
    def _compiled(self) -> CompiledModel | None: ...
    @property
    def _user_force_elements(self) -> tuple[ForceElement, ...] | None: ...
    def _compile(self, user_force_elements: tuple[ForceElement, ...], **arrays: Any) -> None: ...
    def _share_compiled(self, other: TreeCaches, user_force_elements: tuple[ForceElement, ...]) -> None: ...
    def _position_of(
        self, context: ContextCore, pc: PositionKinematicsCache | None = None
    ) -> PositionKinematicsCache: ...
    def _velocity_of(
        self, context: ContextCore, vc: VelocityKinematicsCache | None = None
    ) -> VelocityKinematicsCache: ...
    def set_default_context(self, context: ContextCore) -> None:
        """Reset time, state, inputs and parameters of a Context to their defaults."""

    def calc_position_kinematics_cache(
        self, context: ContextCore, pc: PositionKinematicsCache | None = None
    ) -> PositionKinematicsCache:
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
            The cache becomes stale, and methods reject it, once q or a parameter of the Context has changed.
        """

    def calc_velocity_kinematics_cache(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> VelocityKinematicsCache:
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

    def eval_position_kinematics(self, context: ContextCore) -> PositionKinematicsCache:
        """Return the position kinematics of a Context, cached; see `calc_position_kinematics_cache`."""

    def eval_velocity_kinematics(self, context: ContextCore) -> VelocityKinematicsCache:
        """Return the velocity kinematics of a Context, cached; see `calc_velocity_kinematics_cache`."""

    @overload
    def eval_body_pose_in_world(self, context: BatchContext, body: RigidBody | str) -> FloatArray:
        """Return the pose X_WB of a body, (4, 4), cached and read-only."""

    @overload
    def eval_body_pose_in_world(self, context: ScalarContext, body: RigidBody | str) -> Any: ...
    @overload
    def eval_body_pose_in_world(self, context: ContextCore, body: RigidBody | str) -> FloatArray: ...
    @overload
    def eval_body_spatial_velocity_in_world(self, context: BatchContext, body: RigidBody | str) -> FloatArray:
        """Return the spatial velocity V_WB of a body, (6,) [rad/s, m/s], cached and read-only."""

    @overload
    def eval_body_spatial_velocity_in_world(self, context: ScalarContext, body: RigidBody | str) -> Any: ...
    @overload
    def eval_body_spatial_velocity_in_world(
        self, context: ContextCore, body: RigidBody | str
    ) -> FloatArray: ...
