from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt.context.multibody_forces import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.math.numbers import Numbers
from mbt.tree.multibody_tree import MultibodyTree

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

@disjoint_base
class Exclusive:
    """A context manager: one thread uses a Context."""

    def __new__(cls, context: ContextCore) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

@disjoint_base
class Engine:
    """What evaluates quantities in numbers of one kind, for one Context: one state of doubles needs none."""

    def evaluate(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Any = None, out: Any = None
    ) -> Any:
        """Return a `Quantity` in its shape, of what this engine was given, written into `out` if there is one.

        The values of `context` serve the checks, and tell what is locked, and what gravity spares.
        """

@disjoint_base
class ContextCore:
    """Time, positions, velocities, inputs and parameters of one tree, and what was computed from them."""

    def __new__(cls, tree: MultibodyTree) -> Self: ...
    _engine: Any
    def _evaluate(
        self, quantity: int, integers: tuple[int, ...] = (), x: Any = None, out: Any = None
    ) -> Any: ...
    def _exclusive(self) -> Exclusive: ...
    @property
    def tree(self) -> MultibodyTree: ...
    @property
    def time(self) -> float:
        """Time [s], a finite number."""

    @time.setter
    def time(self, value: float) -> None: ...
    @property
    def q(self) -> FloatArray:
        """Generalized positions, (num_positions,); read-only, write with ``context.q = ...``."""

    @q.setter
    def q(self, value: npt.ArrayLike) -> None: ...
    @property
    def v(self) -> FloatArray:
        """Generalized velocities, (num_velocities,); read-only, write with ``context.v = ...``."""

    @v.setter
    def v(self, value: npt.ArrayLike) -> None: ...
    @property
    def actuation(self) -> FloatArray:
        """Force or torque of each actuator, (num_actuators,); read-only, write with ``context.actuation = ...``."""

    @actuation.setter
    def actuation(self, value: npt.ArrayLike) -> None: ...
    @property
    def applied_forces(self) -> MultibodyForces:
        """Forces on bodies and joints that forward dynamics includes; write into its arrays."""

    @applied_forces.setter
    def applied_forces(self, value: MultibodyForces) -> None: ...
    @property
    def _has_applied_forces(self) -> bool: ...
    @property
    def _numbers(self) -> Numbers: ...
    def _get_parameter(self, section: str, index: int) -> FloatArray: ...
    def _set_parameter(self, section: str, index: int, values: npt.ArrayLike) -> None: ...
    def _set_parameters(self, index: int, sections: dict[str, FloatArray]) -> None: ...
    def _set_locked(self, start: int, count: int, locked: bool) -> None: ...
    def _locked_dofs(self) -> npt.NDArray[np.bool_]: ...
    def _is_locked(self, start: int, count: int) -> bool: ...
    def _find_singular_joints(self) -> tuple[list[int], list[int]]: ...
    def _set_weightless(self, nodes: npt.NDArray[np.intp] | list[int], weightless: bool) -> None: ...
    def _is_weightless(self, node: int) -> bool: ...
    def _set_disabled(self, index: int, disabled: bool) -> None: ...
    def _is_disabled(self, index: int) -> bool: ...
    def _weightless_flags(self) -> npt.NDArray[np.intc]: ...
    @property
    def _serials(self) -> tuple[int, int, int, int, int, int]: ...
    def _note_change(self, what: str) -> None: ...
    _is_frozen: bool
    def _check_thawed(self, what: str, index: int) -> None: ...
    @property
    def _parameter_vector(self) -> Any: ...
    def _get_state(self) -> dict[str, Any]: ...
    def _set_state(self, state: dict[str, Any]) -> None: ...
    def _copy_from(self, other: ContextCore) -> None: ...
    def _move_to(self, tree: MultibodyTree) -> None: ...
