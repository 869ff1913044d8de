"""Ball: three rotations by roll, pitch and yaw, singular at a pitch of a quarter turn."""

from __future__ import annotations

from typing import ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.tree.frame import Frame
from mbt.tree.joints.parts import RpyJoint, RpyOrientation, UniformDamping
from mbt.tree.mobilizer import Mobilizer

__all__ = ["BallRpyJoint", "RpyBallMobilizer"]


class RpyBallMobilizer(RpyOrientation, Mobilizer):
    """M turns freely in F: ``q`` is roll, pitch and yaw, ``v = w_FM_F``.

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

    _type: ClassVar[MobilizerType] = MobilizerType.RPY_BALL
    position_suffixes: ClassVar[tuple[str, ...]] = ("qx", "qy", "qz")
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = False


class BallRpyJoint(RpyJoint, UniformDamping):
    """M turns freely in F: ``q`` is roll, pitch and yaw, ``v = w_FM_F``.

    ``R_FM = Rz(yaw) Ry(pitch) Rx(roll)``. At gimbal lock, ``cos(pitch) = 0``, poses and dynamics are well
    defined, but qdot does not follow from v. `QuaternionBallJoint`
    has no such position.

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
    >>> joint = tree.add_joint(mbt.BallRpyJoint, "pivot", tree.world_body, None, body, None)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> joint.set_angular_velocity(context, [0, 0, 2]).get_angular_velocity(context)
    array([0., 0., 2.])
    """

    type_name: ClassVar[str] = "ball_rpy"
    _mobilizer_type: ClassVar[type[Mobilizer]] = RpyBallMobilizer

    def __init__(
        self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: float = 0.0
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping] * 3)

    def _make_mobilizer(self) -> Mobilizer:
        return RpyBallMobilizer(self.frame_on_parent, self.frame_on_child)
