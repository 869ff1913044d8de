from typing import Any, overload

from typing_extensions import disjoint_base

from mbt._core.api.tree_jacobians import TreeJacobians
from mbt._core.engines.caches import AccelerationKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

@disjoint_base
class ForwardAccelerations: ...

class TreeAccelerations(TreeJacobians):
    def eval_acceleration_kinematics(self, context: ContextCore) -> AccelerationKinematicsCache: ...
    def _find_massless_dofs(self, context: ContextCore) -> list[int]: ...
    @overload
    def eval_body_spatial_acceleration_in_world(
        self, context: BatchContext, body: RigidBody
    ) -> FloatArray: ...
    @overload
    def eval_body_spatial_acceleration_in_world(self, context: ScalarContext, body: RigidBody) -> Any: ...
    @overload
    def eval_body_spatial_acceleration_in_world(
        self, context: ContextCore, body: RigidBody
    ) -> FloatArray: ...
    def _calc_frame_acceleration(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        frame_M: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    @overload
    def calc_reaction_forces(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_reaction_forces(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_reaction_forces(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
