from typing import Literal

import numpy.typing as npt
from typing_extensions import disjoint_base

from mbt._core.api.tree_jacobians import TreeJacobians
from mbt._core.engines.caches import AccelerationKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.context.context import A, ContextOf
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

@disjoint_base
class ForwardAccelerations: ...

class TreeAccelerations(TreeJacobians):
    def calc_constrained_forward_dynamics(
        self,
        context: ContextOf[A],
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[A | None, A | None] | None = None,
    ) -> tuple[A, A]: ...
    def calc_impulse_dynamics(
        self,
        context: ContextOf[A],
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[A | None, A | None] | None = None,
    ) -> tuple[A, A]: ...
    def _calc_constrained_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None,
        external_forces: MultibodyForces | None,
        stabilize: int,
    ) -> FloatArray: ...
    def eval_acceleration_kinematics(self, context: ContextCore) -> AccelerationKinematicsCache: ...
    def _find_massless_dofs(self, context: ContextCore) -> list[int]: ...
    def eval_body_spatial_acceleration_in_world(self, context: ContextOf[A], body: RigidBody) -> A: ...
    def _calc_frame_acceleration(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        frame_M: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    def calc_reaction_forces(self, context: ContextOf[A], *, out: A | None = None) -> A: ...
