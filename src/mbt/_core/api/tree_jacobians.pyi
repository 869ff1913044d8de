from typing import Literal

import numpy.typing as npt

from mbt._core.api.tree_dynamics import TreeDynamics
from mbt.context.context import A, ContextOf
from mbt.tree import Frame, RigidBody

class TreeJacobians(TreeDynamics):
    def calc_jacobian_spatial_velocity(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_jacobian_spatial_velocity_rate(
        self,
        context: ContextOf[A],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_jacobian_angular_velocity(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_jacobian_translational_velocity(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_jacobian_position_vector(
        self,
        context: ContextOf[A],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_bias_spatial_acceleration(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_bias_angular_acceleration(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
    def calc_bias_translational_acceleration(
        self,
        context: ContextOf[A],
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody | str,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        *,
        out: A | None = None,
    ) -> A: ...
