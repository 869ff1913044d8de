"""Ball by a quaternion: three rotations, without a singular orientation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.tree.frame import Frame
from mbt.tree.joints.parts import QuaternionJoint, QuaternionOrientation, UniformDamping
from mbt.tree.mobilizer import Mobilizer

__all__ = ["QuaternionBallJoint", "QuaternionBallMobilizer"]


class QuaternionBallMobilizer(QuaternionOrientation, Mobilizer):
    """M turns freely in F, without a singular orientation: ``q = [qw qx qy qz]``, ``v = w_FM_F``.

    The quaternion need not be of unit length: it is read back as set, and normalised inside.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.QUATERNION_BALL
    position_suffixes: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = False

    @classmethod
    def _zero_positions(cls) -> FloatArray:
        return np.array([1.0, 0.0, 0.0, 0.0])


class QuaternionBallJoint(QuaternionJoint, UniformDamping):
    """M turns freely in F, without a singular orientation: ``q = [qw qx qy qz]``, ``v = w_FM_F``.

    The quaternion need not be of unit length: it is read back as set, and normalised inside.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    damping : float, optional
        Viscous damping of the angular velocity [N m s/rad], not negative.

    Raises
    ------
    ArgumentValueError
        When a damping constant is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> body = tree.add_body(mbt.RigidBody("bob", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> joint = tree.add_joint(mbt.QuaternionBallJoint, "pivot", tree.world_body, None, body, None)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> joint.set_quaternion(context, [0, 1, 0, 0]).get_quaternion(context)
    array([0., 1., 0., 0.])
    """

    type_name: ClassVar[str] = "quaternion_ball"
    _mobilizer_type: ClassVar[type[Mobilizer]] = QuaternionBallMobilizer

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 3)

    def _make_mobilizer(self) -> Mobilizer:
        return QuaternionBallMobilizer(self.frame_on_parent, self.frame_on_child)
