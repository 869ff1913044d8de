"""Floating by roll, pitch and yaw: all six degrees of freedom, singular at a pitch of a quarter turn."""

from __future__ import annotations

from typing import ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.tree.joints.parts import FreeJoint, FreeMotion, RpyJoint, RpyOrientation
from mbt.tree.mobilizer import Mobilizer

__all__ = ["RpyFloatingJoint", "RpyFloatingMobilizer"]


class RpyFloatingMobilizer(RpyOrientation, FreeMotion, Mobilizer):
    """M moves freely in F: ``q = [roll pitch yaw x y z]``, ``v = [w_FM_F; v_FM_F]``.

    ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``. At gimbal lock, ``cos(pitch) = 0``, poses and dynamics are well
    defined, but qdot does not follow from v.

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

    _type: ClassVar[MobilizerType] = MobilizerType.RPY_FLOATING
    position_suffixes: ClassVar[tuple[str, ...]] = ("qx", "qy", "qz", "x", "y", "z")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True


class RpyFloatingJoint(RpyJoint, FreeJoint):
    """M moves freely in F: ``q = [roll pitch yaw x y z]``, ``v = [w_FM_F; v_FM_F]``.

    ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``. At gimbal lock, ``cos(pitch) = 0``, poses and dynamics are well
    defined, but qdot does not follow from v. `QuaternionFloatingJoint`
    has no such position.

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
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> body = tree.add_body(mbt.RigidBody("drone", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> joint = tree.add_joint(mbt.RpyFloatingJoint, "free", tree.world_body, None, body, None)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> joint.set_pose(context, mbt.math.make_pose([1, 2, 3])).get_translation(context)
    array([1., 2., 3.])
    """

    type_name: ClassVar[str] = "rpy_floating"
    _mobilizer_type: ClassVar[type[Mobilizer]] = RpyFloatingMobilizer

    def _make_mobilizer(self) -> Mobilizer:
        return RpyFloatingMobilizer(self.frame_on_parent, self.frame_on_child)
