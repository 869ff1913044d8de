import numpy.typing as npt

from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.tree import MultibodyTree

def count_standing_in(change: int) -> None: ...
def inverse_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    vdot: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    multipliers: npt.ArrayLike | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def forward_dynamics(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    external_forces: MultibodyForces | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def mass_matrix(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray: ...
def bias_term(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def gravity_generalized_forces(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
