from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt.math.arrays import FloatArray

@disjoint_base
class Memory:
    """Doubles that arrays handed out share. No array owns them, so none can resize or unlock them."""

    def __new__(cls, size: int) -> Self: ...

@disjoint_base
class SampleVectors:
    """A vector for each sample of a batch, in memory that is used again when nobody holds an array of it."""

    def __new__(cls, shape: tuple[int, ...]) -> Self: ...
    @property
    def array(self) -> FloatArray:
        """All vectors, read-only, of the shape given."""

    def set(self, values: FloatArray) -> None:
        """Set all vectors, or each to the same one."""

@disjoint_base
class PositionKinematicsCache:
    """Kinematics that depend on positions only. Arrays are read-only.

    Rows are in BodyNodeIndex order (World first), in FrameIndex order for `X_BF`, in velocity order for the motion
    axes. F and M are the inboard and outboard frames of a body's mobilizer, P is its parent body.
    """

    def __new__(cls, compiled: CompiledModel) -> Self: ...
    @property
    def _origin(self) -> tuple[tuple[int, int, int], Any, Any]: ...
    @property
    def X_WB(self) -> FloatArray:
        """Pose of each body in World, (num_bodies, 4, 4)."""

    @property
    def X_PB(self) -> FloatArray:
        """Pose of each body in its parent body, (num_bodies, 4, 4)."""

    @property
    def X_FM(self) -> FloatArray:
        """Pose of each body's outboard frame in its inboard frame, (num_bodies, 4, 4)."""

    @property
    def X_BF(self) -> FloatArray:
        """Pose of each frame in its body, (num_frames, 4, 4)."""

    @property
    def H_FM(self) -> FloatArray:
        """Motion axes: velocity of M in F, in F, per unit of each velocity; (num_velocities, 6)."""

    @property
    def H_PB_W(self) -> FloatArray:
        """Motion axes: velocity of Bo in P, in World, per unit of each velocity; (num_velocities, 6)."""

    @property
    def com_W(self) -> FloatArray:
        """Position of each body's centre of mass from its origin, in World, (num_bodies, 3) [m]."""

    @property
    def M_Bo_W(self) -> FloatArray:
        """Spatial inertia of each body about its origin, in World, (num_bodies, 6, 6)."""

@disjoint_base
class VelocityKinematicsCache:
    """Kinematics that depend on positions and velocities. Arrays are read-only, rows in BodyNodeIndex order."""

    def __new__(cls, compiled: CompiledModel) -> Self: ...
    @property
    def _origin(self) -> tuple[tuple[int, int, int], Any, Any]: ...
    @property
    def V_WB(self) -> FloatArray:
        """Spatial velocity of each body in World, (num_bodies, 6) [rad/s, m/s]."""

    @property
    def V_PB(self) -> FloatArray:
        """Spatial velocity of each body in its parent body, expressed in the parent, (num_bodies, 6)."""

    @property
    def V_PB_W(self) -> FloatArray:
        """Spatial velocity of each body in its parent body, expressed in World, (num_bodies, 6)."""

@disjoint_base
class AccelerationKinematicsCache:
    """Kinematics that depend on positions, velocities and accelerations. Arrays are read-only.

    Attributes
    ----------
    A_WB : ndarray, shape (num_bodies, 6)
        Spatial acceleration of each body in World [rad/s^2, m/s^2].
    vdot : ndarray, shape (num_velocities,)
        What it was computed from.
    """

    def __init__(self, compiled: CompiledModel, A_WB: FloatArray, vdot: FloatArray) -> None: ...
    @property
    def A_WB(self) -> FloatArray: ...
    @property
    def vdot(self) -> FloatArray: ...
