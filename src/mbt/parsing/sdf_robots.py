"""URDF that an SDF file includes: an inner model, whose links, joints and frames the file may name."""

from __future__ import annotations

from collections.abc import Callable

from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY
from mbt.parsing.description import WORLD, FrameDescription, JointDescription, ModelDescription
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf_frames import Scope, SdfFrame
from mbt.parsing.sdf_values import Pose
from mbt.parsing.xml_tree import Element

__all__ = ["declare_robot", "take_over"]


def declare_robot(
    robot: ModelDescription, root: Element, scope: Scope, declare: Callable[[SdfFrame, str, Scope], None]
) -> list[SdfFrame]:
    """Declare the parts of a robot that SDF may name, and return its links.

    A link has its pose in the zero configuration, a root that of the frame of the model. If a link, a joint
    and a frame have the same name, which URDF allows, the name refers to the first of these in SDF.

    Parameters
    ----------
    robot : ModelDescription
        The robot, with the names of its own file.
    root : Element
        The ``<robot>``.
    scope : Scope
        The scope of the model.
    declare : callable
        Declares a frame under a name in a scope.
    """
    inboard = {joint.child: joint for joint in robot.joints}
    links = []
    for link in robot.links:
        pose = _pose_on_parent(inboard[link.name]) if link.name in inboard else Pose(IDENTITY)
        links.append(SdfFrame("link", scope.prefix + link.name, root, scope, pose))
        declare(links[-1], link.name, scope)
        if link.name not in inboard and scope.frame.fixed_to is None:
            scope.frame.fixed_to = link.name
    for joint in robot.joints:
        if joint.name not in scope.names:
            X_BM = IDENTITY if joint.X_BM is None else joint.X_BM
            frame = _fixed_frame("joint", joint.name, X_BM, joint.child, root, scope)
            declare(frame, joint.name, scope)
    for named in robot.frames:
        if named.name not in scope.names:
            frame = _fixed_frame("frame", named.name, named.X_BF, named.link, root, scope)
            declare(frame, named.name, scope)
    return links


def take_over(robot: ModelDescription, model: ModelDescription, prefix: str, *, is_static: bool) -> None:
    """Add a robot to a model, with a prefix to its names; of a static one no joints, and nothing on them."""
    _take_over_report(robot.report, model.report, prefix)

    def named(name: str) -> str:
        return name if name == WORLD else prefix + name

    model.links += [link._replace(name=named(link.name)) for link in robot.links]
    frames: dict[int, FrameDescription] = {}

    def framed(frame: FrameDescription) -> FrameDescription:
        if id(frame) not in frames:
            name = prefix + frame.name if frame.name else ""
            frames[id(frame)] = frame._replace(name=name, link=named(frame.link))
        return frames[id(frame)]

    model.frames += map(framed, robot.frames)
    model.exclusions += [(named(first), named(second)) for first, second in robot.exclusions]
    if is_static:
        return
    for joint in robot.joints:
        joint.name, joint.parent, joint.child = named(joint.name), named(joint.parent), named(joint.child)
    model.joints += robot.joints
    model.actuators += [
        actuator._replace(name=named(actuator.name), joint=named(actuator.joint))
        for actuator in robot.actuators
    ]
    model.spring_dampers += [
        spring._replace(link_A=named(spring.link_A), link_B=named(spring.link_B))
        for spring in robot.spring_dampers
    ]
    model.bushings += [
        bushing._replace(frame_A=framed(bushing.frame_A), frame_C=framed(bushing.frame_C))
        for bushing in robot.bushings
    ]
    model.couplers += [
        coupler._replace(name=named(coupler.name), joint=named(coupler.joint), master=named(coupler.master))
        for coupler in robot.couplers
    ]
    model.constraints += [
        constraint._replace(
            name=named(constraint.name),
            frame_A=framed(constraint.frame_A),
            frame_B=framed(constraint.frame_B),
        )
        for constraint in robot.constraints
    ]


def _take_over_report(own: ParseReport, report: ParseReport, prefix: str) -> None:
    for warning in own.warnings:
        report.warn(f"{own.file}: {warning.text}", warning.line, warning.about)
    for path, count in own.ignored.items():
        report.ignored[path] = report.ignored.get(path, 0) + count
    for kind, count in own.inactive.items():
        report.leave_inactive(kind, count)
    report.impossible_inertias += [prefix + name for name in own.impossible_inertias]
    report.mimic_joints += own.mimic_joints


def _pose_on_parent(joint: JointDescription) -> Pose:
    return Pose(joint.X_PB, joint.parent)


def _fixed_frame(kind: str, name: str, X_BF: FloatArray, link: str, root: Element, scope: Scope) -> SdfFrame:
    return SdfFrame(kind, scope.prefix + name, root, scope, Pose(X_BF), base=link, fixed_to=link)
