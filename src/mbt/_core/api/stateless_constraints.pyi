from typing import Literal

import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

def constraint_errors(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def constraint_jacobian(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def constraint_bias(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def constrained_forward_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    stabilize: bool | Literal[-1] = False,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]: ...
def impulse_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    restitution: npt.ArrayLike = 0.0,
    *,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]: ...
def constrained_inverse_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    vdot: npt.ArrayLike,
    actuated: npt.ArrayLike | None = None,
    *,
    external_forces: MultibodyForces | None = None,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]: ...
