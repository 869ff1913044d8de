"""A robot as its file describes it: plain data, complete and checked before a tree is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mbt.math import PiecewiseConstantCurvatureTrajectory
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, inverse_pose
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.report import ParseReport
from mbt.tree.shape import Shape
from mbt.tree.surface import Surface

__all__ = [
    "MODEL_FRAME",
    "NO_LIMITS",
    "WORLD",
    "ActuatorDescription",
    "BushingDescription",
    "ConstraintDescription",
    "CouplerDescription",
    "FrameDescription",
    "FreeJointDescription",
    "JointDescription",
    "JointLimits",
    "LinkDescription",
    "ModelDescription",
    "SensorDescription",
    "SpringDamperDescription",
    "SpringDescription",
]

#: The link of this name is the world body.
WORLD = "world"
#: The name of the frame of a model.
MODEL_FRAME = "__model__"


class LinkDescription(NamedTuple):
    """A rigid body B; its mass properties are about Bo, expressed in B.

    `mass` is in [kg]; `moment` [kg m^2] is not less than any entry of the rotational inertia.
    `visuals` and `collisions` are shapes in B.
    """

    name: str
    M_BBo_B: SpatialInertia
    line: int
    mass: float = 0.0
    moment: float = 0.0
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()


class JointLimits(NamedTuple):
    """Limits of a joint: lower and upper position [rad, m], velocity, acceleration, effort [N m, N]."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    effort: float = math.inf


NO_LIMITS = JointLimits()


class JointDescription:
    """A joint between a frame F at X_PF on the parent link and a frame M on the child link.

    Attributes
    ----------
    name, parent, child : str
        Names of the joint and of its links.
    kind : str
        ``"revolute"``, ``"prismatic"``, ``"screw"``, ``"curvilinear"``, ``"universal"``, ``"ball"`` (by
        roll, pitch and yaw), ``"quaternion_ball"``, ``"cylindrical"``, ``"planar"``, ``"weld"`` or
        ``"floating"``.
    X_PF : ndarray, shape (4, 4)
        Pose of F on the parent.
    X_BM : ndarray, shape (4, 4), or None
        Pose of M on the child; None where M is the frame of the child link.
    axis : list of float
        Axis of revolute, prismatic, screw and cylindrical joints, of any nonzero length.
    limits : JointLimits
        Limits of joints with one degree of freedom, and of the first angle of a universal joint.
    second_limits : JointLimits
        Limits of the second angle of a universal joint.
    damping : tuple of float
        The coefficients that this kind of joint takes.
    friction : float
        Dry friction of a joint with one degree of freedom.
    screw_pitch : float
        Metres per turn of a screw joint.
    path : PiecewiseConstantCurvatureTrajectory or None
        Path of a curvilinear joint.
    positions : tuple of float or None
        Default positions; None keeps those of a new joint.
    line : int
        Line of the file.
    is_reversed : bool
        Whether the child is nearer World than the parent. Known once the model is ordered.
    """

    __slots__ = (
        "X_BM",
        "X_PF",
        "axis",
        "child",
        "damping",
        "friction",
        "is_reversed",
        "kind",
        "limits",
        "line",
        "name",
        "parent",
        "path",
        "positions",
        "screw_pitch",
        "second_limits",
    )

    def __init__(self, name: str, kind: str, parent: str, child: str, X_PF: FloatArray, line: int) -> None:
        self.name = name
        self.kind = kind
        self.parent = parent
        self.child = child
        self.X_PF = X_PF
        self.line = line
        self.X_BM: FloatArray | None = None
        self.axis = [1.0, 0.0, 0.0]
        self.limits = NO_LIMITS
        self.second_limits = NO_LIMITS
        self.damping: tuple[float, ...] = (0.0,)
        self.friction = 0.0
        self.screw_pitch = 0.0
        self.is_reversed = False
        self.path: PiecewiseConstantCurvatureTrajectory | None = None
        self.positions: tuple[float, ...] | None = None

    @property
    def is_actuatable(self) -> bool:
        """Whether the joint has one degree of freedom."""
        return self.kind in ("revolute", "prismatic", "screw", "curvilinear")

    @property
    def X_PB(self) -> FloatArray:
        """Pose of the child on the parent in the zero configuration, shape (4, 4)."""
        return self.X_PF if self.X_BM is None else self.X_PF @ inverse_pose(self.X_BM)

    @property
    def lever(self) -> float:
        """Pitch of a screw [m/turn], or largest turning rate of a path [rad/m]: a bound of its coupling."""
        if self.path is not None:
            return float(abs(self.path.turning_rates).max())
        return abs(self.screw_pitch)


class FrameDescription(NamedTuple):
    """A frame F fixed at X_BF on a link."""

    name: str
    link: str
    X_BF: FloatArray
    line: int


class FreeJointDescription(NamedTuple):
    """The joint of a root that is left free."""

    name: str
    angular_damping: float = 0.0
    translational_damping: float = 0.0


class ActuatorDescription(NamedTuple):
    """A motor or servo on one degree of freedom of a joint, which may be that of a free root."""

    name: str
    joint: str
    effort_limit: float
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    line: int = 0
    dof: int = 0
    stiffness: float = 0.0
    damping: float = 0.0


class SpringDescription(NamedTuple):
    """A spring on a revolute or prismatic joint: the force ``-stiffness (q - reference)``."""

    joint: str
    stiffness: float
    reference: float
    line: int = 0


class SpringDamperDescription(NamedTuple):
    """A spring and a damper between the points P of a link A and Q of a link B."""

    link_A: str
    p_AP: list[float]
    link_B: str
    p_BQ: list[float]
    free_length: float
    stiffness: float
    damping: float


class BushingDescription(NamedTuple):
    """A bushing between the frames A and C; a frame without a name is that of its link.

    `constants` holds three numbers each for stiffness and damping of torques, then of forces.
    """

    frame_A: FrameDescription
    frame_C: FrameDescription
    constants: tuple[list[float], ...]


class CouplerDescription(NamedTuple):
    """A joint that follows another one: ``q = multiplier * q_master + offset``."""

    name: str
    joint: str
    master: str
    multiplier: float
    offset: float
    line: int = 0


class ConstraintDescription(NamedTuple):
    """A constraint between frames A and B; a frame without a name is that of its link.

    The `kind` is ``"ball"``, ``"weld"`` or ``"rod"``: a rod keeps points P and Q of the frames at a distance.
    """

    name: str
    kind: str
    frame_A: FrameDescription
    frame_B: FrameDescription
    p_AP: Sequence[float] = ()
    p_BQ: Sequence[float] = ()
    distance: float = 0.0


class SensorDescription(NamedTuple):
    """A sensor that measures one quantity.

    The `kind` is ``"imu"`` or ``"frame"``, of a frame, ``"joint"``, of a joint, or ``"force_torque"``, of the
    joint inboard of the link of a frame. A frame without a name is that of its link.
    """

    name: str
    kind: str
    quantity: str
    frame: FrameDescription | None = None
    relative_to: FrameDescription | None = None
    joint: str = ""


class ModelDescription:
    """A whole robot.

    A model may hold others. Their elements have the name of the inner model in front, ``"gripper::finger"``:
    that becomes an element ``"finger"`` of a model instance ``"gripper"`` inside this one.

    Attributes
    ----------
    name : str
        Name of the model.
    report : ParseReport
        A record of ignored and repaired content.
    prefix : str
        The text in front of the names of its elements.
    X_WM : ndarray, shape (4, 4)
        Pose of the frame of the model in its World.
    links : list of LinkDescription
        The links; World is never one of them.
    joints : list of JointDescription
        The joints.
    friction_is_force : bool
        Whether their dry friction acts in forward dynamics too, not in implicit steps only.
    frames : list of FrameDescription
        Named frames.
    actuators : list of ActuatorDescription
        The motors.
    springs : list of SpringDescription
        Springs on joints.
    spring_dampers : list of SpringDamperDescription
        Springs and dampers between points.
    bushings : list of BushingDescription
        Bushings between frames.
    couplers : list of CouplerDescription
        Joints that follow others.
    constraints : list of ConstraintDescription
        Constraints, which close loops.
    sensors : list of SensorDescription
        Sensors.
    exclusions : list of (str, str)
        Links whose shapes do not touch each other.
    has_contact : bool
        Whether its shapes touch each other.
    contact_pairs : list of (str, int, str, int, Surface)
        Pairs of shapes that touch regardless of other settings: for each its link and its place among the
        link's collision shapes; and how they touch.
    twins : set of str
        Links that are halves of others, which a constraint holds together: never roots.
    scopes : list of str
        Names of the models inside this one, as they prefix the names of elements: ``"gripper::tip"``.
    world_visuals, world_collisions : tuple of Shape
        Shapes that are fixed on World.
    roots : list of str
        The links without a parent that nothing connects to World.
    root_poses : dict of str to ndarray
        Poses of the roots in the World of the model; by default the identity.
    free : set of str
        The roots that the description leaves free. ``base="fixed"`` welds them nevertheless.
    free_joints : dict of str to FreeJointDescription
        Joints of roots that are left free. A root without one gets a joint named after its link, without
        damping.
    weightless_scopes : list of str
        Those of `scopes` on which gravity does not act.
    freed : dict of str to ndarray
        The roots that the description fixes to World but ``base="floating"`` frees, with their poses.
    """

    def __init__(self, name: str, report: ParseReport) -> None:
        self.name = name
        self.report = report
        self.prefix = ""
        self.X_WM = IDENTITY
        self.links: list[LinkDescription] = []
        self.joints: list[JointDescription] = []
        self.friction_is_force = False
        self.frames: list[FrameDescription] = []
        self.actuators: list[ActuatorDescription] = []
        self.springs: list[SpringDescription] = []
        self.spring_dampers: list[SpringDamperDescription] = []
        self.bushings: list[BushingDescription] = []
        self.couplers: list[CouplerDescription] = []
        self.constraints: list[ConstraintDescription] = []
        self.sensors: list[SensorDescription] = []
        self.exclusions: list[tuple[str, str]] = []
        self.has_contact = True
        self.contact_pairs: list[tuple[str, int, str, int, Surface]] = []
        self.twins: set[str] = set()
        self.scopes: list[str] = []
        self.world_visuals: tuple[Shape, ...] = ()
        self.world_collisions: tuple[Shape, ...] = ()
        self.roots: list[str] = []
        self.root_poses: dict[str, FloatArray] = {}
        self.free: set[str] = set()
        self.free_joints: dict[str, FreeJointDescription] = {}
        self.weightless_scopes: list[str] = []
        self.freed: dict[str, FloatArray] = {}

    def set_prefix(self, prefix: str, *, of_model: bool) -> None:
        """Put a text in front of the names of all elements, and of the name of the model if `of_model`."""
        self.prefix = prefix
        if of_model:
            self.name = self.report.model_name = prefix + self.name
            weightless = self.report.weightless_instances
            self.report.weightless_instances = [prefix + instance for instance in weightless]
