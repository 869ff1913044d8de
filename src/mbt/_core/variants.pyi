from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.context import ContextCore
from mbt._core.model import CompiledModel
from mbt.autodiff import AutoDiffArray
from mbt.math.arrays import FloatArray

class Quantity(IntEnum):
    MOTION_FORCES = 0
    INVERSE_DYNAMICS = 1
    FORWARD_DYNAMICS = 2
    MASS_MATRIX = 3
    MASS_MATRIX_INVERSE = 4
    GRAVITY_GENERALIZED_FORCES = 5
    BODY_POSES = 6
    QDOT = 7
    VELOCITY = 8
    QDDOT = 9
    ACCELERATION = 10
    STEADY_ACCELERATION = 11
    N_MATRIX = 12
    NPLUS_MATRIX = 13
    NDOT_MATRIX = 14
    NPLUSDOT_MATRIX = 15
    HINGE_BIAS = 16
    INTEGRATED_POSITIONS = 17
    POSITION_DIFFERENCE = 18
    NORMALIZED_POSITIONS = 19
    FRAME_POSES = 20
    POSITION_KINEMATICS = 21
    SPATIAL_INERTIAS = 22
    VELOCITY_KINEMATICS = 23
    ACCELERATION_KINEMATICS = 24
    GENERALIZED_FORCES = 25
    REACTION_FORCES = 26
    CORIOLIS_MATRIX = 27
    KINETIC_ENERGY = 28
    POTENTIAL_ENERGY = 29
    CONSERVATIVE_POWER = 30
    NON_CONSERVATIVE_POWER = 31
    ELEMENT_FORCES = 32
    GRAVITY_FORCES = 33
    GRAVITY_POTENTIAL_ENERGY = 34
    GRAVITY_POWER = 35
    ELEMENT_FORCE = 36
    ELEMENT_POTENTIAL_ENERGY = 37
    ELEMENT_CONSERVATIVE_POWER = 38
    ELEMENT_NON_CONSERVATIVE_POWER = 39
    ANGULAR_JACOBIAN = 40
    TRANSLATIONAL_JACOBIAN = 41
    MASS_MOMENT = 42
    MOMENTUM = 43
    LINEAR_MOMENTUM_MATRIX = 44
    MASS_ACCELERATION = 45
    COMPOSITE_INERTIA = 46
    MOMENTUM_MATRIX = 47
    INVERSE_DYNAMICS_REGRESSOR = 48
    KINETIC_ENERGY_REGRESSOR = 49
    POTENTIAL_ENERGY_REGRESSOR = 50
    MOTION_FORCES_DERIVATIVES = 51
    INVERSE_DYNAMICS_DERIVATIVES = 52
    FORWARD_DYNAMICS_DERIVATIVES = 53

@disjoint_base
class DualArray: ...

@disjoint_base
class DualEngine:
    def __new__(cls, compiled: CompiledModel) -> Self: ...
    def set_q(self, value: FloatArray, derivatives: FloatArray) -> None: ...
    def set_v(self, value: FloatArray, derivatives: FloatArray) -> None: ...
    def set_parameters(self, value: FloatArray, derivatives: FloatArray) -> None: ...
    def evaluate(
        self, context: ContextCore, quantity: int, index: int, x: FloatArray | None, dx: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]: ...
    def run(
        self, context: ContextCore, quantity: int, x: object, rows: int, columns: int
    ) -> AutoDiffArray | None: ...
    def take_q(self, context: ContextCore, value: object) -> bool: ...
    def take_v(self, context: ContextCore, value: object) -> bool: ...
    def get_q(self) -> AutoDiffArray: ...
    def get_v(self) -> AutoDiffArray: ...

@disjoint_base
class ObjectEngine:
    def __new__(cls, compiled: CompiledModel, functions: tuple[Callable[..., Any], ...]) -> Self: ...
    def set_q(self, q: Sequence[Any]) -> None: ...
    def set_v(self, v: Sequence[Any]) -> None: ...
    def set_parameters(self, parameters: Sequence[Any]) -> None: ...
    def evaluate(
        self, context: ContextCore, quantity: int, index: int, x: Sequence[Any] | None
    ) -> npt.NDArray[np.object_]: ...
