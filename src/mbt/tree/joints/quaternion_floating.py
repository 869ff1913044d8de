"""Floating by a quaternion: all six degrees of freedom, without a singular orientation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mbt._core.model.element_types import MobilizerType
from mbt.math.arrays import FloatArray
from mbt.tree.joints.parts import FreeJoint, FreeMotion, QuaternionJoint, QuaternionOrientation
from mbt.tree.mobilizer import Mobilizer

__all__ = ["QuaternionFloatingJoint", "QuaternionFloatingMobilizer"]


class QuaternionFloatingMobilizer(QuaternionOrientation, FreeMotion, Mobilizer):
    """M moves freely in F: ``q = [qw qx qy qz x y z]``, ``v = [w_FM_F; v_FM_F]``.

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

    _type: ClassVar[MobilizerType] = MobilizerType.QUATERNION_FLOATING
    position_suffixes: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y", "z")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True

    @classmethod
    def _zero_positions(cls) -> FloatArray:
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


class QuaternionFloatingJoint(QuaternionJoint, FreeJoint):
    """M moves freely in F: ``q = [qw qx qy qz x y z]``, ``v = [w_FM_F; v_FM_F]``.

    The quaternion need not be of unit length: it is read back as set, and normalised inside.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    angular_damping : float, optional
        Viscous damping of the three angular velocities [N m s/rad], not negative.
    translational_damping : float, optional
        Viscous damping of the three translational velocities [N s/m], not negative.

    Raises
    ------
    ArgumentValueError
        When a damping constant is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    A body that is left without a joint is given one of this type:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> tree.joints
    (<QuaternionFloatingJoint 'ball' index=0 model_instance=1 parent='world' child='ball'>,)
    """

    type_name: ClassVar[str] = "quaternion_floating"
    _mobilizer_type: ClassVar[type[Mobilizer]] = QuaternionFloatingMobilizer

    def _make_mobilizer(self) -> Mobilizer:
        return QuaternionFloatingMobilizer._between_ends_of(self)
