"""Turns a description into elements of a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from mbt.errors import (
    AlreadyFinalizedError,
    ArgumentTypeError,
    ArgumentValueError,
    ForeignElementError,
    quote,
)
from mbt.math.arrays import FloatArray
from mbt.math.poses import as_pose, make_pose
from mbt.parsing.connections import make_constraints, make_force_elements, make_sensors
from mbt.parsing.description import (
    NO_LIMITS,
    WORLD,
    FrameDescription,
    JointDescription,
    JointLimits,
    LinkDescription,
    ModelDescription,
)
from mbt.parsing.options import Base
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.force_elements import (
    UniformGravityFieldElement,
)
from mbt.tree.frame import FixedOffsetFrame, Frame
from mbt.tree.indices import ModelInstanceIndex
from mbt.tree.joint import Joint
from mbt.tree.joints import (
    BallRpyJoint,
    CurvilinearJoint,
    CylindricalJoint,
    PlanarJoint,
    PrismaticJoint,
    QuaternionBallJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.surface import Surface

JointT = TypeVar("JointT", bound=Joint)
#: Two shapes, each as a body and an index among its collision shapes, and how they touch.
ListedPair: TypeAlias = "tuple[tuple[RigidBody, int], tuple[RigidBody, int], Surface]"

__all__ = [
    "ListedPair",
    "Mount",
    "add_description",
    "check_can_change",
    "check_tree",
    "finish_tree",
    "make_mount",
]


@dataclass(frozen=True)
class Mount:
    """Where a model stands: the frame for its World, and the pose of its roots there.

    Attributes
    ----------
    frame : Frame
        World's own, or that of the body on which the model is mounted.
    X_FR : ndarray, shape (4, 4), or None
        Pose of the roots in that frame; None is the identity.
    is_given : bool
        Whether the caller named the frame: then roots are welded there, on World too.
    """

    frame: Frame
    X_FR: FloatArray | None
    is_given: bool = True

    def place(self, X_RB: FloatArray | None) -> FloatArray | None:
        """Return the pose in `frame` for the pose X_RB in the World of the model."""
        if self.X_FR is None:
            return X_RB
        return self.X_FR if X_RB is None else self.X_FR @ X_RB

    def place_shape(self, shape: Shape) -> Shape:
        """Return a shape fixed in the World of the model as one on the body of `frame`."""
        X_FG = shape.X_BG if self.X_FR is None else self.X_FR @ shape.X_BG
        return shape._move_to(self.frame.get_fixed_pose_in_body_frame() @ X_FG)


def check_tree(tree: MultibodyTree, name: str) -> None:
    """Check that a model of this name can be added to a tree.

    Raises
    ------
    AlreadyFinalizedError
        When the tree is finalized.
    ArgumentValueError
        When a model instance has the name already.
    """
    check_can_change(tree)
    if tree.has_model_instance_named(name):
        raise ArgumentValueError(
            f"model_name: there is a model instance named {quote(name)} already: choose another name"
        )


def check_can_change(tree: MultibodyTree) -> None:
    """Check that models can be added to a tree.

    Raises
    ------
    AlreadyFinalizedError
        When it is finalized.
    """
    if tree.is_finalized:
        raise AlreadyFinalizedError(
            "add_model: the tree is finalized. Add models before finalize(), or to tree.edit()."
        )


def make_mount(
    tree: MultibodyTree, base: str | None, base_pose: object, parent: object, X_PF: object
) -> Mount:
    """Return where to mount a model in a tree.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ForeignElementError, UnknownNameError
        When the frame is of another tree, a matrix is not a pose, or the arguments contradict each other.
    """
    poses = {"base_pose": base_pose, "X_PF": X_PF}
    given = {name: as_pose(X, name) for name, X in poses.items() if X is not None}
    X_FR = next(iter(given.values()), None)
    if parent is None:
        if X_PF is not None:
            raise ArgumentValueError("X_PF: it is the pose in the frame `parent`, which is not given")
        return Mount(tree.world_frame, X_FR, is_given=False)
    if isinstance(parent, str):
        parent = tree._elements.frame_named(parent, "parent")
    if isinstance(parent, RigidBody):
        parent = parent.body_frame
    if not isinstance(parent, Frame):
        raise ArgumentTypeError(f"parent: expected a frame of the tree, got {type(parent).__name__}")
    if not parent.has_parent_tree or parent.parent_tree is not tree:
        raise ForeignElementError(f"parent: expected a frame of this tree, got {quote(parent)}")
    if base == "floating":
        raise ArgumentValueError("parent: a floating base cannot be mounted on a frame")
    if len(given) > 1:
        raise ArgumentValueError("X_PF and base_pose both give the same pose: expected one of them")
    return Mount(parent, X_FR)


def add_description(
    tree: MultibodyTree, model: ModelDescription, mount: Mount, *, base: Base
) -> tuple[ModelInstanceIndex, list[ListedPair] | None]:
    """Add a checked description to a tree that passed `check_tree`.

    Return the new model instance, and the pairs of shapes whose contact the description lists, or None
    where it disables contact.

    All elements are constructed before the first is added, so an error in a constructor leaves the tree
    unchanged.

    Parameters
    ----------
    tree : MultibodyTree
        A tree that is not finalized.
    model : ModelDescription
        The robot, depth first.
    mount : Mount
        Its place.
    base : {"fixed", "floating"}, optional
        Whether its roots are welded to the mount or left free. None follows the description, unless the
        caller named the mount.
    """
    elements = _Elements(tree, model, mount, _find_free_roots(tree, model, mount, base))
    for name in elements.instance_names:
        tree.add_model_instance(name)
    _, *bodies = elements.bodies.values()  # World is the first.
    tree._elements.add_model(
        bodies, list(elements.frames.values()), list(elements.joints.values()), elements.actuators
    )
    for element in elements.force_elements:
        tree.add_force_element(element)
    for constraint in elements.constraints:
        tree.add_constraint(constraint)
    for sensor in elements.sensors:
        tree.add_sensor(sensor)
    if model.exclusions:
        tree._exclusions += tuple((elements.bodies[a], elements.bodies[b]) for a, b in model.exclusions)
    mount.frame.body._take_shapes(*elements.mounted_shapes)
    tree.parse_reports.append(model.report)
    listed = [
        ((elements.bodies[a], i), (elements.bodies[b], j), how) for a, i, b, j, how in model.contact_pairs
    ]
    return elements.instance, listed if model.has_contact else None


def finish_tree(tree: MultibodyTree, g_W: Sequence[float] | FloatArray | None) -> None:
    """Add gravity to a tree of descriptions, except to those exempt from it, and finalize it."""
    if g_W is not None:
        weightless = [
            tree.get_model_instance_by_name(name)
            for report in tree.parse_reports
            for name in report.weightless_instances
        ]
        tree.add_force_element(UniformGravityFieldElement(g_W, weightless))
    tree.finalize()


def _find_free_roots(tree: MultibodyTree, model: ModelDescription, mount: Mount, base: Base) -> set[str]:
    if base == "floating":
        return set(model.roots)
    return model.free if base is None and not mount.is_given else set()


class _Elements:
    """The elements of a description, constructed for model instances that are still to be added."""

    def __init__(self, tree: MultibodyTree, model: ModelDescription, mount: Mount, free: set[str]) -> None:
        self.instance = ModelInstanceIndex(tree.num_model_instances)
        self.instance_names = [model.name, *(f"{model.name}::{scope}" for scope in model.scopes)]
        # By the scope that prefixes the names of the elements.
        self.instances = {"": self.instance}
        for i, scope in enumerate(model.scopes, start=1):
            self.instances[scope] = ModelInstanceIndex(self.instance + i)
        self.is_single = not model.scopes
        self.prefix = model.prefix
        self.mount = mount
        self.bodies = {WORLD: tree.world_body}
        self.frames: dict[str, FixedOffsetFrame] = {}
        # By the id of the description of a frame: two may share a name.
        self.frame_of: dict[int, Frame] = {}
        self.joints: dict[str, Joint] = {}
        # Names of the free joints that are absent because their roots are welded.
        self.held: set[str] = set()
        for link in model.links:
            self.bodies[link.name] = self._make_body(link)
        # Frames of the file come first: those of joints are renamed where a name is taken.
        for frame in model.frames:
            self.find_frame(frame)
        self._make_joints(model, free)
        self.actuators = [
            JointActuator(
                self.split(actuator.name)[0],
                self.joints[actuator.joint],
                actuator.effort_limit,
                rotor_inertia=actuator.rotor_inertia,
                gear_ratio=actuator.gear_ratio,
                dof=actuator.dof,
                stiffness=actuator.stiffness,
                damping=actuator.damping,
            )
            for actuator in model.actuators
            if actuator.joint not in self.held
        ]
        self.force_elements = make_force_elements(model, self)
        self.constraints = make_constraints(model, self)
        self.sensors = make_sensors(model, self)
        self.mounted_shapes = (
            tuple(map(mount.place_shape, model.world_visuals)),
            tuple(map(mount.place_shape, model.world_collisions)),
        )

    def split(self, name: str) -> tuple[str, ModelInstanceIndex]:
        """Return the name of an element in its model instance, and that instance."""
        if self.is_single:
            return self.prefix + name, self.instance
        scope, _, own = name.rpartition("::")
        if scope not in self.instances:
            return self.prefix + name, self.instance
        return self.prefix + own, self.instances[scope]

    def _make_body(self, link: LinkDescription) -> RigidBody:
        name, instance = self.split(link.name)
        body = RigidBody._of_checked(name, link.M_BBo_B, instance)
        if link.visuals or link.collisions:
            body._take_shapes(link.visuals, link.collisions)
        return body

    def _make_joints(self, model: ModelDescription, free: set[str]) -> None:
        """Make the inboard joint of each link, in the order of the links; for roots in `free`, a free one."""
        roots, taken = set(model.roots), {joint.name for joint in model.joints}
        joints = iter(model.joints)
        for link in model.links:
            if link.name not in roots:
                joint = next(joints)
                self.joints[joint.name] = self._make_joint(joint)
                continue
            X_RB = model.freed.get(link.name, model.root_poses.get(link.name))
            X_FM = self.mount.place(X_RB)
            if link.name not in free:
                name = f"{link.name}_to_{self.mount.frame.name}"
                self._add_base_joint(WeldJoint, name, link.name, taken, X_FM)
                if link.name in model.free_joints:
                    self.held.add(model.free_joints[link.name].name)
            elif X_FM is not None:
                # Without a pose, finalize() adds the same joint.
                name, *damping = model.free_joints.get(link.name, (link.name,))
                floating = self._add_base_joint(QuaternionFloatingJoint, name, link.name, taken, *damping)
                floating.set_default_pose(X_FM)
                self.joints[name] = floating

    def _add_base_joint(
        self, joint_type: Callable[..., JointT], name: str, root: str, taken: set[str], *args: object
    ) -> JointT:
        while name in taken:
            name += "_"
        taken.add(name)
        joint = joint_type(self.split(name)[0], self.mount.frame, self.bodies[root].body_frame, *args)
        self.joints[name] = joint
        return joint

    def find_point(self, link: str, p: list[float]) -> tuple[RigidBody, list[float]]:
        """Return the body that a link becomes, and a point of the link on it."""
        if link != WORLD:
            return self.bodies[link], p
        frame = self.mount.frame
        X_FP = make_pose(p) if self.mount.X_FR is None else self.mount.X_FR @ make_pose(p)
        return frame.body, (frame.get_fixed_pose_in_body_frame() @ X_FP)[:3, 3].tolist()

    def find_frame(self, frame: FrameDescription) -> Frame:
        """Return the frame made from a description; without a name, it is the frame of its link."""
        if not frame.name and frame.link != WORLD:
            return self.bodies[frame.link].body_frame
        if not frame.name and self.mount.X_FR is None:
            return self.mount.frame
        if id(frame) not in self.frame_of:
            self.frame_of[id(frame)] = self.make_frame(frame.name or "base", frame.link, frame.X_BF)
        return self.frame_of[id(frame)]

    def make_frame(self, name: str, link: str, X_BF: FloatArray | None = None) -> Frame:
        """Return a new frame fixed on a link; where its name is taken, underscores are added."""
        while name in self.frames or name in self.bodies:
            name += "_"
        if link == WORLD:
            parent, X_BF = self.mount.frame, self.mount.place(X_BF)
        else:
            parent = self.bodies[link]._body_frame
        own, instance = self.split(name)
        # A read-only pose was checked where it was made.
        if X_BF is None or X_BF.flags.writeable:
            frame = FixedOffsetFrame(own, parent, X_BF, instance)
        else:
            frame = FixedOffsetFrame._of_checked(own, parent, X_BF, instance)
        self.frames[name] = frame
        return frame

    def _make_joint(self, joint: JointDescription) -> Joint:
        frame_F = self.make_frame(f"{joint.name}_parent", joint.parent, joint.X_PF)
        frame_M: Frame = self.bodies[joint.child]._body_frame
        name, instance = self.split(joint.name)
        # A joint belongs to the model instance of this frame, so it must not be World's own.
        if joint.child == WORLD or joint.X_BM is not None or frame_M._model_instance != instance:
            frame_M = self.make_frame(f"{joint.name}_child", joint.child, joint.X_BM)
        made = _make_joint_of_kind((name, frame_F, frame_M), joint)
        if joint.positions is not None:
            made.set_default_positions(joint.positions)
        return made


def _make_joint_of_kind(ends: tuple[str, Frame, Frame], joint: JointDescription) -> Joint:
    if joint.kind == "weld":
        return WeldJoint._of_checked(*ends)
    if joint.kind == "floating":
        return QuaternionFloatingJoint(*ends)
    if joint.kind == "planar":
        return PlanarJoint(*ends, joint.damping)
    if joint.kind == "cylindrical":
        return CylindricalJoint(*ends, joint.axis, joint.damping)
    (damping,) = joint.damping
    if joint.kind == "ball":
        return BallRpyJoint(*ends, damping)
    if joint.kind == "quaternion_ball":
        return QuaternionBallJoint(*ends, damping)
    if joint.kind == "universal":
        universal = UniversalJoint(*ends, damping)
        _set_position_limits(universal, joint.limits, joint.second_limits)
        _set_rate_limits(universal, joint.limits, joint.second_limits)
        return universal
    return _make_one_dof_joint(ends, joint, damping)


def _make_one_dof_joint(ends: tuple[str, Frame, Frame], joint: JointDescription, damping: float) -> Joint:
    limits, effort = joint.limits, joint.limits.effort
    made: Joint
    if joint.path is not None:
        made = CurvilinearJoint(*ends, joint.path, damping, effort_limit=effort)
    elif joint.kind == "screw":
        made = ScrewJoint(*ends, joint.axis, joint.screw_pitch, damping, effort_limit=effort)
    else:
        kind = RevoluteJoint if joint.kind == "revolute" else PrismaticJoint
        return kind._of_numbers(*ends, joint.axis, damping, limits)
    _set_position_limits(made, limits)
    _set_rate_limits(made, limits)
    return made


def _set_position_limits(joint: Joint, *limits: JointLimits) -> None:
    """Set the position limits of the degrees of freedom, if there are any."""
    if any(limit.lower > -math.inf or limit.upper < math.inf for limit in limits):
        joint.set_position_limits([limit.lower for limit in limits], [limit.upper for limit in limits])


def _set_rate_limits(joint: Joint, *limits: JointLimits) -> None:
    if all(limit is NO_LIMITS for limit in limits):
        return
    velocities = [limit.velocity for limit in limits]
    if min(velocities) < math.inf:
        joint.set_velocity_limits([-bound for bound in velocities], velocities)
    accelerations = [limit.acceleration for limit in limits]
    if min(accelerations) < math.inf:
        joint.set_acceleration_limits([-bound for bound in accelerations], accelerations)
