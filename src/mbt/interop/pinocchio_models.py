"""Trees from models of Pinocchio."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.interop.building import build_tree
from mbt.interop.pinocchio_constraints import add_constraints
from mbt.interop.pinocchio_joints import Part, is_model, is_unlimited, read_positions, take_apart
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import (
    WORLD,
    ActuatorDescription,
    CouplerDescription,
    FrameDescription,
    JointDescription,
    JointLimits,
    LinkDescription,
    ModelDescription,
)
from mbt.parsing.mujoco_actuators import describe_armatures
from mbt.parsing.mujoco_names import unused
from mbt.parsing.options import Actuators, ReadOptions
from mbt.parsing.report import MimicJoint, ParseReport
from mbt.parsing.urdf_transmissions import add_missing_actuators

if TYPE_CHECKING:
    import numpy.typing as npt
    import pinocchio

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["from_pinocchio"]

_MASSLESS = SpatialInertia.zero()
_BODY, _JOINT = 8, 2
_OF_POSITIONS = ("lowerPositionLimit", "upperPositionLimit")
_OF_VELOCITIES = ("armature", "damping", "effortLimit", "friction", "rotorInertia", "velocityLimit")


def from_pinocchio(
    model: pinocchio.Model,
    *,
    model_name: str | None = None,
    base_pose: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | Literal["model"] | None = "model",
    actuators: Actuators = "declared",
    joint_friction: bool = False,
    constraints: Iterable[Any] = (),
) -> MultibodyTree:
    """Return the tree of a model of Pinocchio: the same mass matrix, bias, gravity and poses of frames.

    Joints keep their names; bodies are named after their frames of type BODY; other frames become named
    frames. `PinocchioCoordinates` maps positions and velocities between the two. The page "Converters" lists
    the counterpart of each type of joint.

    Parameters
    ----------
    model : pinocchio.Model
        The model.
    model_name : str, optional
        Name of the model instance; by default that of the model.
    base_pose : array_like, shape (4, 4), optional
        Pose in World of Pinocchio's universe frame.
    gravity : array_like, shape (3,), "model" or None, optional
        Gravity in World [m/s^2]; by default that of the model; None adds none.
    actuators, joint_friction
        As in `load_model`: Pinocchio has no actuators, and its friction has no effect on its dynamics.
    constraints : iterable, optional
        Loop closures, which Pinocchio keeps outside the model: ``RigidConstraintModel``,
        ``PointAnchorConstraintModel``, ``FrameAnchorConstraintModel``. They become a `BallConstraint` or a
        `WeldConstraint`, without their compliance and stabilization.

    Returns
    -------
    MultibodyTree
        Finalized. ``tree.parse_reports`` has the reference configurations as `named_positions`.

    Warns
    -----
    ModelWarning
        Once, when a joint has an armature that the tree cannot represent; the page lists these joints.

    Raises
    ------
    ArgumentTypeError
        When `model` is not a pinocchio.Model, or a constraint is none of these.
    ArgumentValueError
        When a joint has a type without a counterpart, two joints have one name, or a constraint is of another
        model.
    ShapeError
        When an array of the model, such as ``model.armature``, has another size than its positions or
        velocities.

    Examples
    --------
    .. code-block:: python

        model = pinocchio.buildModelFromUrdf("robot.urdf", pinocchio.JointModelFreeFlyer())
        tree = mbt.interop.from_pinocchio(model)
    """
    if not is_model(model):
        raise ArgumentTypeError(f"model: expected a pinocchio.Model, got {type(model).__name__}")
    options = ReadOptions(model_name, None, False, joint_friction, actuators)
    g_W = _gravity_of(model, gravity)
    report = ParseReport("<pinocchio.Model>", model_name or model.name or "model")
    _check_sizes(model)
    reader = _Reader(model, report, options)
    description = reader.read()
    add_constraints(constraints, reader.links, description)
    return build_tree(description, None, base_pose, g_W)


def _check_sizes(model: Any) -> None:
    """Check that arrays, which users may replace, have the size of the positions or velocities."""
    configurations = {
        f"referenceConfigurations[{quote(entry.key())}]": entry.data()
        for entry in model.referenceConfigurations
    }
    for names, size in ((_OF_POSITIONS, model.nq), (_OF_VELOCITIES, model.nv)):
        for name in names:
            # Some versions lack some of the arrays.
            as_float_array(getattr(model, name, np.zeros(size)), f"model: {name}", (size,))
    for name, q in configurations.items():
        as_float_array(q, f"model: {name}", (model.nq,))


def _gravity_of(model: pinocchio.Model, gravity: object) -> FloatArray | None:
    if gravity is None:
        return None
    if isinstance(gravity, str):
        if gravity != "model":
            raise ArgumentValueError(
                f"gravity: expected three numbers, 'model' or None, got {quote(gravity)}"
            )
        return np.array(model.gravity.linear, dtype=float)
    return as_finite_array(gravity, "gravity", (3,))


class _Reader:
    """Reads a model of Pinocchio into a description."""

    def __init__(self, model: Any, report: ParseReport, options: ReadOptions) -> None:
        self.model = model
        self.report = report
        self.options = options
        self.description = ModelDescription(report.model_name, report)
        self.description.friction_is_force = options.joint_friction
        frames = list(model.frames)[1:]
        self.taken = {WORLD, *(frame.name for frame in frames)}
        # The links, by joint, and the frames that became links.
        self.links = [WORLD]
        self.are_links: set[int] = set()
        bodies: dict[int, tuple[int, str]] = {}
        for k, frame in enumerate(frames, start=1):
            is_at_joint = np.array_equal(frame.placement.homogeneous, np.eye(4))
            if int(frame.type) == _BODY and frame.parentJoint > 0 and is_at_joint:
                bodies.setdefault(frame.parentJoint, (k, frame.name))
        for i in range(1, model.njoints):
            k, name = bodies.get(i, (0, ""))
            self.are_links.add(k)
            self.links.append(name or unused(model.names[i], self.taken))

    def read(self) -> ModelDescription:
        model, description, report = self.model, self.description, self.report
        joints = dict(take_apart(model))
        for i, parts in joints.items():
            self._add_joint(i, parts)
        for i, parts in joints.items():
            for part in parts:
                if part.master >= 0:
                    self._add_coupler(i, part, joints[part.master][0])
        for k, frame in enumerate(model.frames):
            if k > 0 and k not in self.are_links and int(frame.type) != _JOINT:
                X_BF = np.array(frame.placement.homogeneous)
                link = self.links[frame.parentJoint]
                description.frames.append(FrameDescription(frame.name, link, X_BF, 0))
        if self.options.actuators == "all":
            add_missing_actuators(description)
        self._add_armatures(joints)
        if np.any(model.rotorInertia):
            report.ignored["rotorInertia"] = int(np.count_nonzero(model.rotorInertia))
        for name, q in ((entry.key(), entry.data()) for entry in model.referenceConfigurations):
            report.named_positions[name] = {
                part.name: own.tolist() if own.size > 1 else own.item()
                for parts in joints.values()
                for part in parts
                for own in [_positions_with_mimic(part, np.array(q, dtype=float))]
            }
        report.num_links, report.num_joints = len(description.links), len(description.joints)
        report.num_actuators = len(description.actuators)
        return description

    def _add_joint(self, i: int, parts: list[Part]) -> None:
        parent, link = self.links[self.model.parents[i]], self.links[i]
        for part in parts[:-1]:
            child = unused(f"{link}_after_{part.name}", self.taken)
            self.description.links.append(LinkDescription(child, _MASSLESS, 0))
            self._add_part(part, parent, child)
            parent = child
        inertia = self.model.inertias[i]
        p = np.array(inertia.lever, dtype=float)
        M_BBo_B = SpatialInertia.make_from_central_inertia(
            inertia.mass, p, np.array(inertia.inertia), skip_validity_check=True
        )
        moment = float(np.abs(inertia.inertia).sum() + inertia.mass * (p @ p))
        self.description.links.append(LinkDescription(link, M_BBo_B, 0, inertia.mass, moment))
        self._add_part(parts[-1], parent, link)

    def _add_part(self, part: Part, parent: str, child: str) -> None:
        made = JointDescription(part.name, part.kind, parent, child, part.X, 0)
        made.axis, made.screw_pitch = part.axis, 2.0 * math.pi * part.pitch
        if part.master < 0:
            damping = np.array(getattr(self.model, "damping", np.zeros(self.model.nv)), dtype=float)
            if part.kind == "planar":
                made.damping = tuple(damping[part.v : part.v + 3].tolist())
            elif part.kind != "floating":
                made.damping = (float(damping[part.v]),)
            if made.is_actuatable:
                made.limits = self._read_limits(part)
                self._read_friction(part, made)
        self.description.joints.append(made)

    def _read_limits(self, part: Part) -> JointLimits:
        model = self.model
        lower, upper = -math.inf, math.inf
        if not part.is_circle:
            lower, upper = float(model.lowerPositionLimit[part.q]), float(model.upperPositionLimit[part.q])
        velocity, effort = float(model.velocityLimit[part.v]), float(model.effortLimit[part.v])
        return JointLimits(
            -math.inf if is_unlimited(lower) else lower,
            math.inf if is_unlimited(upper) else upper,
            velocity=math.inf if is_unlimited(velocity) else velocity,
            effort=math.inf if is_unlimited(effort) else effort,
        )

    def _read_friction(self, part: Part, made: JointDescription) -> None:
        friction = float(getattr(self.model, "friction", np.zeros(self.model.nv))[part.v])
        made.friction = max(friction, 0.0)

    def _add_coupler(self, i: int, part: Part, master: Part) -> None:
        numbers = part.scaling, part.offset
        self.description.couplers.append(CouplerDescription(part.name, part.name, master.name, *numbers))
        self.report.mimic_joints.append(MimicJoint(part.name, master.name, *numbers))

    def _add_armatures(self, joints: dict[int, list[Part]]) -> None:
        actuators = self.description.actuators
        by_joint = {actuator.joint: i for i, actuator in enumerate(actuators)}
        taken = {actuator.name for actuator in actuators}
        single = {joint.name for joint in self.description.joints if joint.is_actuatable}
        for part in (part for parts in joints.values() for part in parts if part.master < 0):
            armature = float(self.model.armature[part.v])
            if part.name not in single:
                actuators += self._describe_armatures(part, taken)
            elif armature and part.name in by_joint:
                i = by_joint[part.name]
                actuators[i] = actuators[i]._replace(rotor_inertia=armature)
            elif armature:
                name = unused(f"{part.name}_armature", taken)
                actuators.append(ActuatorDescription(name, part.name, math.inf, armature))

    def _describe_armatures(self, part: Part, taken: set[str]) -> list[ActuatorDescription]:
        """Return passive actuators that carry the armature of a joint."""
        inertia: list[float] = self.model.armature[part.v : part.v + 6].tolist()
        is_planar = part.kind == "planar"
        # Pinocchio expresses translational velocities in the child frame.
        moved = inertia[: 2 if is_planar else 3 if part.kind == "floating" else 0]
        if any(moved):
            text = f"joint {quote(part.name)} has a translational armature in the axes of its child"
            self.report.warn(f"{text}: it is left out")
        if is_planar:
            name = f"{part.name}_armature_wz"
            return (
                [ActuatorDescription(unused(name, taken), part.name, math.inf, inertia[2], dof=2)]
                if inertia[2]
                else []
            )
        turned = inertia[len(moved) : len(moved) + 3]
        return describe_armatures(part.name, turned, [], taken, self.report)


def _positions_with_mimic(part: Part, q: FloatArray) -> FloatArray:
    own = read_positions(part, q)
    return own if part.master < 0 else part.scaling * own + part.offset
