from typing import overload

import numpy.typing as npt
from typing_extensions import deprecated

from mbt.math.arrays import FloatArray
from mbt.tree import Frame, MultibodyTree, RigidBody

def body_poses(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray: ...
def frame_pose(
    tree: MultibodyTree, q: npt.ArrayLike, frame: Frame | RigidBody | str, *, out: FloatArray | None = None
) -> FloatArray: ...
@overload
def frame_jacobian(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
@overload
@deprecated("write frame_jacobian(tree, q, frame); version 0.4 removes the old order")
def frame_jacobian(
    tree: MultibodyTree,
    q: Frame | RigidBody | str,
    frame: npt.ArrayLike,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def frame_jacobian_rate(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def operational_space_inertia(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def operational_space_inverse_inertia(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    frame: Frame | RigidBody | str,
    *,
    expressed_in: Frame | RigidBody | str | None = None,
    out: FloatArray | None = None,
) -> FloatArray: ...
def center_of_mass(tree: MultibodyTree, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray: ...
