import numpy.typing as npt

from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray

def declared_pose(type: int, constants: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    """X_FM, (4, 4), of a mobilizer as declared, in the tree or not."""

def across_transform(c: ContextCore, node: int) -> FloatArray:
    """The pose of the outboard in the inboard frame, (4, 4)."""

def across_H(c: ContextCore, node: int) -> FloatArray:
    """H, (6, nv), with spatial velocity = H v."""

def across_velocity(c: ContextCore, node: int, v: npt.ArrayLike) -> FloatArray:
    """H v, (6,)."""

def across_acceleration(c: ContextCore, node: int, vdot: npt.ArrayLike) -> FloatArray:
    """H vdot + Hdot v, (6,), with the v of the Context."""

def project_force(c: ContextCore, node: int, F: npt.ArrayLike, out: FloatArray | None) -> FloatArray:
    """H' F, (nv,)."""

def velocity_to_qdot(c: ContextCore, node: int, v: npt.ArrayLike, out: FloatArray | None) -> FloatArray:
    """N v, (nq,)."""

def qdot_to_velocity(c: ContextCore, node: int, qdot: npt.ArrayLike, out: FloatArray | None) -> FloatArray:
    """N+ qdot, (nv,)."""

def acceleration_to_qddot(
    c: ContextCore, node: int, vdot: npt.ArrayLike, out: FloatArray | None
) -> FloatArray:
    """N vdot + Ndot v, (nq,)."""

def qddot_to_acceleration(
    c: ContextCore, node: int, qddot: npt.ArrayLike, out: FloatArray | None
) -> FloatArray:
    """N+ qddot + N+dot qdot, (nv,), with qdot = N v."""

def N_matrix(c: ContextCore, node: int) -> FloatArray:
    """N, (nq, nv)."""

def Nplus_matrix(c: ContextCore, node: int) -> FloatArray:
    """N+, (nv, nq)."""

def Ndot_matrix(c: ContextCore, node: int) -> FloatArray:
    """The rate of N, (nq, nv)."""

def Nplusdot_matrix(c: ContextCore, node: int) -> FloatArray:
    """The rate of N+, (nv, nq)."""
