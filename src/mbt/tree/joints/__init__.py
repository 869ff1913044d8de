"""The joint types: one file holds the mobilizer and the joint of one type."""

from typing import TYPE_CHECKING

from mbt.importing import late_names

if TYPE_CHECKING:
    from mbt.tree.joints.ball_rpy import BallRpyJoint, RpyBallMobilizer
    from mbt.tree.joints.curvilinear import CurvilinearJoint, CurvilinearMobilizer
    from mbt.tree.joints.cylindrical import CylindricalJoint, CylindricalMobilizer
    from mbt.tree.joints.planar import PlanarJoint, PlanarMobilizer
    from mbt.tree.joints.prismatic import PrismaticJoint, PrismaticMobilizer
    from mbt.tree.joints.quaternion_ball import QuaternionBallJoint, QuaternionBallMobilizer
    from mbt.tree.joints.quaternion_floating import QuaternionFloatingJoint, QuaternionFloatingMobilizer
    from mbt.tree.joints.revolute import RevoluteJoint, RevoluteMobilizer
    from mbt.tree.joints.rpy_floating import RpyFloatingJoint, RpyFloatingMobilizer
    from mbt.tree.joints.screw import ScrewJoint, ScrewMobilizer
    from mbt.tree.joints.universal import UniversalJoint, UniversalMobilizer
    from mbt.tree.joints.weld import WeldJoint, WeldMobilizer
else:
    __getattr__ = late_names(
        __name__,
        {
            "BallRpyJoint": "ball_rpy",
            "RpyBallMobilizer": "ball_rpy",
            "CurvilinearJoint": "curvilinear",
            "CurvilinearMobilizer": "curvilinear",
            "CylindricalJoint": "cylindrical",
            "CylindricalMobilizer": "cylindrical",
            "PlanarJoint": "planar",
            "PlanarMobilizer": "planar",
            "PrismaticJoint": "prismatic",
            "PrismaticMobilizer": "prismatic",
            "QuaternionBallJoint": "quaternion_ball",
            "QuaternionBallMobilizer": "quaternion_ball",
            "QuaternionFloatingJoint": "quaternion_floating",
            "QuaternionFloatingMobilizer": "quaternion_floating",
            "RevoluteJoint": "revolute",
            "RevoluteMobilizer": "revolute",
            "RpyFloatingJoint": "rpy_floating",
            "RpyFloatingMobilizer": "rpy_floating",
            "ScrewJoint": "screw",
            "ScrewMobilizer": "screw",
            "UniversalJoint": "universal",
            "UniversalMobilizer": "universal",
            "WeldJoint": "weld",
            "WeldMobilizer": "weld",
        },
    )

__all__: list[str] = [
    "BallRpyJoint",
    "CurvilinearJoint",
    "CurvilinearMobilizer",
    "CylindricalJoint",
    "CylindricalMobilizer",
    "PlanarJoint",
    "PlanarMobilizer",
    "PrismaticJoint",
    "PrismaticMobilizer",
    "QuaternionBallJoint",
    "QuaternionBallMobilizer",
    "QuaternionFloatingJoint",
    "QuaternionFloatingMobilizer",
    "RevoluteJoint",
    "RevoluteMobilizer",
    "RpyBallMobilizer",
    "RpyFloatingJoint",
    "RpyFloatingMobilizer",
    "ScrewJoint",
    "ScrewMobilizer",
    "UniversalJoint",
    "UniversalMobilizer",
    "WeldJoint",
    "WeldMobilizer",
]
