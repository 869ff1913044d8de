from typing import Literal

import numpy.typing as npt

from mbt._core.context import ContextCore
from mbt._core.tree_dynamics import TreeDynamics
from mbt.math.arrays import FloatArray
from mbt.tree import Frame, RigidBody

class TreeJacobians(TreeDynamics):
    def calc_jacobian_spatial_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_jacobian_angular_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_jacobian_translational_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_jacobian_position_vector(
        self,
        context: ContextCore,
        frame_B: Frame | RigidBody,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_bias_spatial_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        p_BoBp_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_bias_angular_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    def calc_bias_translational_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_B: Frame | RigidBody,
        p_BoBi_B: npt.ArrayLike,
        frame_A: Frame | RigidBody,
        frame_E: Frame | RigidBody,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
