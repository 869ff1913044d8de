import numpy.typing as npt

from mbt.math.arrays import FloatArray
from mbt.tree import Frame, MultibodyTree, RigidBody

def frame_velocity(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    relative_to: Frame | RigidBody | str | None = None,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def frame_bias_acceleration(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    relative_to: Frame | RigidBody | str | None = None,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def center_of_mass_velocity(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def center_of_mass_jacobian(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def centroidal_momentum_matrix(
    tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def spatial_momentum(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def centroidal_momentum_bias(
    tree: MultibodyTree, q: npt.ArrayLike, v: npt.ArrayLike, *, out: FloatArray | None = None
) -> FloatArray: ...
def momentum_regressor(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    p_WoP_W: npt.ArrayLike | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
