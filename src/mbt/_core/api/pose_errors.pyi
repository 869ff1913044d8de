from typing import Literal, overload

import numpy.typing as npt

from mbt.math.arrays import FloatArray
from mbt.tree import Frame, MultibodyTree, RigidBody

@overload
def pose_error(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    X_WG: npt.ArrayLike,
    *,
    jacobian: Literal[False] = False,
    out: FloatArray | None = None,
) -> FloatArray: ...
@overload
def pose_error(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    X_WG: npt.ArrayLike,
    *,
    jacobian: Literal[True],
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]: ...
