from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from mbt._core.engine import TreeCore
from mbt.math.arrays import FloatArray

class Function(IntEnum):
    INVERSE_DYNAMICS = 0
    FORWARD_DYNAMICS = 1
    MASS_MATRIX = 2
    GRAVITY_GENERALIZED_FORCES = 3
    CORIOLIS_MATRIX = 4
    BODY_POSES = 5
    FRAME_JACOBIAN = 6
    KINETIC_ENERGY = 7
    POTENTIAL_ENERGY = 8
    CONSERVATIVE_POWER = 9
    NON_CONSERVATIVE_POWER = 10
    MASS_MOMENT = 11
    MOMENTUM = 12
    QDOT = 13
    POSITION_KINEMATICS = 14
    SPATIAL_INERTIAS = 15
    VELOCITY_KINEMATICS = 16
    ACCELERATION_KINEMATICS = 17
    REACTION_FORCES = 18
    GENERALIZED_FORCES = 19
    INVERSE_DYNAMICS_REGRESSOR = 20
    KINETIC_ENERGY_REGRESSOR = 21
    POTENTIAL_ENERGY_REGRESSOR = 22
    INVERSE_DYNAMICS_DERIVATIVES = 23
    FORWARD_DYNAMICS_DERIVATIVES = 24
    VELOCITY = 25

def lane_count() -> int: ...
def evaluate_lanes(
    tree: TreeCore,
    function: int,
    parameters: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    x: npt.ArrayLike,
) -> FloatArray: ...
def evaluate_dual(
    tree: TreeCore,
    function: int,
    parameters: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    x: npt.ArrayLike,
    seeds: npt.ArrayLike,
) -> tuple[FloatArray, FloatArray]: ...
def evaluate_python(
    tree: TreeCore,
    function: int,
    parameters: Sequence[Any],
    q: Sequence[Any],
    v: Sequence[Any],
    x: Sequence[Any],
    sin: Callable[[Any], Any],
    cos: Callable[[Any], Any],
    sqrt: Callable[[Any], Any],
    select_lt: Callable[[Any, Any, Any, Any], Any],
    tanh: Callable[[Any], Any],
    atan2: Callable[[Any, Any], Any],
    floor: Callable[[Any], Any],
) -> npt.NDArray[np.object_]: ...
