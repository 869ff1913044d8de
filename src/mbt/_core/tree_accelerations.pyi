from typing_extensions import disjoint_base

from mbt._core.context import AccelerationKinematicsCache, ContextCore
from mbt._core.tree_jacobians import TreeJacobians
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

@disjoint_base
class ForwardAccelerations: ...

@disjoint_base
class TreeAccelerations(TreeJacobians):
    def eval_acceleration_kinematics(self, context: ContextCore) -> AccelerationKinematicsCache: ...
    def eval_body_spatial_acceleration_in_world(
        self, context: ContextCore, body: RigidBody
    ) -> FloatArray: ...
    def _calc_frame_acceleration(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody,
        frame_M: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    def calc_reaction_forces(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
