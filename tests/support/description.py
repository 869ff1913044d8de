"""Plain descriptions of multibody models: data only, shared by the reference, the builder and the URDF
writer.

Conventions: SI units and radians; ``X_AB`` is a 4x4 pose of B in A; a joint puts its frame F on the parent
body (``X_PF``) and its frame M on the child body (``X_BM``); ``None`` means that F (or M) is the body frame
itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

WORLD = "world"

# kind -> (number of positions, number of velocities)
JOINT_SIZES = {
    "weld": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "floating": (7, 6),
    "screw": (1, 1),
    "universal": (2, 2),
    "ball_rpy": (3, 3),
    "planar": (3, 3),
    "rpy_floating": (6, 6),
    "cylindrical": (2, 2),
    "quaternion_ball": (4, 3),
    "curvilinear": (1, 1),
}
# Joints whose positions begin with a quaternion, or with roll, pitch and yaw; v then begins with w_FM_F.
QUATERNION_KINDS = ("floating", "quaternion_ball")
RPY_KINDS = ("rpy_floating", "ball_rpy")
AXIS_KINDS = ("revolute", "prismatic", "screw", "cylindrical")


@dataclass(frozen=True, eq=False)
class Path:
    """A planar path of pieces of constant curvature; see `mbt.PiecewiseConstantCurvatureTrajectory`."""

    breaks: Array
    turning_rates: Array
    tangent: Array
    normal: Array
    position: Array
    is_periodic: bool = False


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body by mass [kg], mass centre in B [m] and inertia about the mass centre, in B [kg m^2]."""

    name: str
    mass: float
    com: Array
    I_BBcm_B: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint from F on `parent` to M on `child`; `damping` has one entry per velocity."""

    name: str
    kind: str
    parent: str
    child: str
    X_PF: Array | None = None
    X_BM: Array | None = None
    axis: Array | None = None
    X_FM: Array | None = None
    damping: tuple[float, ...] = ()
    screw_pitch: float = 0.0
    path: Path | None = None

    @property
    def num_positions(self) -> int:
        return JOINT_SIZES[self.kind][0]

    @property
    def num_velocities(self) -> int:
        return JOINT_SIZES[self.kind][1]


@dataclass(frozen=True)
class Actuator:
    """A motor on a one-dof joint; its rotor adds ``rotor_inertia * gear_ratio**2`` to the joint's own
    inertia.
    """

    name: str
    joint: str
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0

    @property
    def reflected_inertia(self) -> float:
        return self.rotor_inertia * self.gear_ratio**2


@dataclass(frozen=True, eq=False)
class OffsetFrame:
    """A frame fixed to a body, or to another offset frame, named `parent`."""

    name: str
    parent: str
    X_PF: Array


@dataclass(frozen=True, eq=False)
class Model:
    """A whole model. Bodies not connected to World float freely. `gravity` None means no gravity element."""

    name: str
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    frames: tuple[OffsetFrame, ...] = ()
    gravity: Array | None = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))

    def joint(self, name: str) -> Joint:
        return next(joint for joint in self.joints if joint.name == name)

    def body(self, name: str) -> Body:
        return next(body for body in self.bodies if body.name == name)


def with_free_joints(model: Model) -> Model:
    """The same model with an explicit floating joint for every component that is not connected to World.

    The base of a component is its body with the lowest index that is not a child; the joint is named
    after it.
    """
    component = {WORLD: WORLD} | {body.name: body.name for body in model.bodies}

    def root(name: str) -> str:
        while component[name] != name:
            name = component[name]
        return name

    for joint in model.joints:
        a, b = root(joint.parent), root(joint.child)
        # World stays its own root.
        if a == WORLD:
            component[b] = a
        else:
            component[a] = b

    children = {joint.child for joint in model.joints}
    names = {joint.name for joint in model.joints}
    free_joints = []
    seen = {root(WORLD)}
    for body in model.bodies:
        if body.name in children or root(body.name) in seen:
            continue
        seen.add(root(body.name))
        name = body.name
        while name in names:
            name += "_"
        free_joints.append(Joint(name, "floating", WORLD, body.name, damping=(0.0,) * 6))
    return replace(model, joints=(*model.joints, *free_joints))
