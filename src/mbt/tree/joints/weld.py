"""Weld: no motion at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, as_pose, inverse_pose
from mbt.tree.constants import Constant
from mbt.tree.frame import Frame
from mbt.tree.joint import Joint
from mbt.tree.joint_limits import frozen
from mbt.tree.mobilizer import Mobilizer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["WeldJoint", "WeldMobilizer"]

_POSE = Constant("X_FM", "_X_FM", "pose")


class WeldMobilizer(Mobilizer):
    """M stays at the pose X_FM in F.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    X_FM : array_like, shape (4, 4), optional
        Pose of M in F; by default the identity.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    ArgumentValueError
        When `X_FM` is not a pose.
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.WELD
    _made_with: ClassVar[tuple[Constant, ...]] = (_POSE,)

    def __init__(
        self,
        inboard_frame_F: Frame,
        outboard_frame_M: Frame,
        X_FM: object = None,
        *,
        model_instance: int | None = None,
    ) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M, model_instance=model_instance)
        self._X_FM = _checked_pose(X_FM, type(self).__name__)

    @property
    def X_FM(self) -> FloatArray:
        """The pose of the outboard frame in the inboard frame, shape (4, 4)."""
        return inverse_pose(self._X_FM) if self._is_reversed else self._X_FM.copy()

    def _constants(self) -> FloatArray:
        return self._X_FM.ravel()


class WeldJoint(Joint):
    """M stays at the pose X_FM in F.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    X_FM : array_like, shape (4, 4), optional
        Pose of M in F; by default the identity.

    Raises
    ------
    ArgumentValueError
        When `X_FM` is not a pose.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> base = tree.add_body(mbt.RigidBody("base", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> X_WF = mbt.math.make_pose([0, 0, 1])
    >>> bolts = tree.add_joint(mbt.WeldJoint, "bolts", tree.world_body, X_WF, base, None)
    >>> tree.finalize()
    >>> tree.num_positions
    0
    """

    type_name: ClassVar[str] = "weld"
    _mobilizer_type: ClassVar[type[Mobilizer]] = WeldMobilizer
    _made_with: ClassVar[tuple[Constant, ...]] = (_POSE,)

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, X_FM: object = None) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, _NO_DAMPING)
        self._X_FM = _checked_pose(X_FM, self._label)

    @classmethod
    def _of_checked(cls, name: str, frame_on_parent: Frame, frame_on_child: Frame) -> Self:
        """Return a weld of coincident frames, made from data that a reader has checked."""
        joint = cls.__new__(cls)
        joint._begin(name, frame_on_child._model_instance)
        joint._hold(frame_on_parent, frame_on_child, _NO_DAMPING)
        joint._X_FM = IDENTITY
        return joint

    @property
    def X_FM(self) -> FloatArray:
        """The pose of M in F, shape (4, 4)."""
        return self._X_FM.copy()

    def _make_mobilizer(self) -> Mobilizer:
        mobilizer = WeldMobilizer._between_ends_of(self)
        mobilizer._X_FM = self._X_FM
        return mobilizer


_NO_DAMPING = frozen(np.zeros(0))


def _checked_pose(X_FM: object, what: str) -> FloatArray:
    # Most welds share the array of the identity.
    return IDENTITY if X_FM is None or X_FM is IDENTITY else as_pose(X_FM, f"{what}: X_FM")
