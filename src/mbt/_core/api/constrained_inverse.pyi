import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

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
