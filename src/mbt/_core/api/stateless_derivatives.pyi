from typing import Literal

import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

def inverse_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    vdot: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]: ...
def forward_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]: ...
def constrained_forward_dynamics_derivatives(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    stabilize: bool | Literal[-1] = False,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]: ...
