"""SDF: turns XML documents into the description of a robot, or of a world of robots."""

from __future__ import annotations

import os

from mbt.errors import quote
from mbt.math.poses import IDENTITY
from mbt.parsing.checks import check_dynamics, count_elements, warn_of_held_base
from mbt.parsing.description import NO_LIMITS, WORLD, FrameDescription, JointDescription, ModelDescription
from mbt.parsing.left_out import report_left_out
from mbt.parsing.loops import close_loop, close_loop_by_twin
from mbt.parsing.numbers import read_numbers
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf_couplings import read_couplings
from mbt.parsing.sdf_elements import SdfElementReader
from mbt.parsing.sdf_frames import SdfFrame, calc_pose_between, make_world
from mbt.parsing.sdf_joints import SdfJoint, read_joint
from mbt.parsing.sdf_links import read_link
from mbt.parsing.sdf_models import ModelWalker, PendingJoint
from mbt.parsing.sdf_values import read_flag, take_text
from mbt.parsing.sdf_versions import take_version
from mbt.parsing.sources import Source
from mbt.parsing.structure import free_from_world, order_depth_first
from mbt.parsing.xml_tree import Element

__all__ = ["read_sdf"]


def read_sdf(root: Element, report: ParseReport, options: ReadOptions, source: Source) -> ModelDescription:
    """Read and check a whole SDF document, with the files that it includes.

    Parameters
    ----------
    root : Element
        The ``<sdf>``.
    report : ParseReport
        The report, which lists ignored and repaired content.
    options : ReadOptions
        What the caller asks for.
    source : Source
        The document.

    Raises
    ------
    ParseError
        When anything in it cannot be modelled.
    """
    return _SdfReader(root, report, options, source).read()


class _SdfReader:
    def __init__(self, root: Element, report: ParseReport, options: ReadOptions, source: Source) -> None:
        self.root = root
        self.report = report
        self.options = options
        self.source = source
        self.model = ModelDescription(report.model_name, report)
        self.model.friction_is_force = options.joint_friction
        self.walker = ModelWalker(self.model, options)
        # Connected links: each points to another one, up to World or a root. A joint between links that are
        # connected already closes a loop.
        self.connected: dict[str, str] = {}
        self.closing: list[PendingJoint] = []
        # The only model of the file.
        self.alone: SdfFrame | None = None

    def read(self) -> ModelDescription:
        self._walk()
        model, walker = self.model, self.walker
        if not model.links and not walker.links:
            raise self.root.error("there is no model with a <link>")
        for link in walker.links:
            read_link(link.element, link, model)
        self._read_weightless()
        for joint in model.joints:  # Of included robots.
            self._connect(joint.parent, joint.child)
        self._fix_static_links()
        joints = self._read_joints()
        for frame in walker.frames:
            link = frame.find_link()
            X_BF = calc_pose_between(link, frame)
            model.frames.append(FrameDescription(frame.name, link.name, X_BF, frame.element.line))
        joints += self._close_loops()
        read_couplings(joints, model)
        frames = {frame.name: frame for frame in model.frames}
        for element, scope in walker.elements:
            SdfElementReader(model, scope, frames).read(element)
        for groups, scope in walker.filter_groups:
            SdfElementReader(model, scope, frames).read_filter_groups(groups)
        if self.options.base == "floating":
            free_from_world(model)
        order_depth_first(model)
        self._place_roots()
        warn_of_held_base(model, self.options)
        check_dynamics(self.root, model)
        for document in (self.root, *walker.documents):
            report_left_out(document, self.report)
        count_elements(model, self.options)
        return model

    def _walk(self) -> None:
        """Declare everything, and find the name of the model."""
        version = take_version(self.root)
        worlds, models = self.root.take_children("world"), self.root.take_children("model")
        world = worlds[0] if worlds else self.root
        for left_out in [*worlds[1:], *(models if worlds else ())]:
            left_out.repair("it is outside of the first world of the file", "left out")
            left_out.dismiss()
        scope = make_world(self.root, version, self.source)
        if self.source.folder is not None:
            scope.files = (os.path.realpath(self.source.file),)
        alone = _find_alone(world)
        name: str | None = None
        if alone is None:
            self.walker.walk_world(world, scope)
            name = world.peek("name") if worlds else None
        else:
            name = self.walker.walk_alone(alone, scope)
            if name is not None and name in scope.names:
                self.alone = scope.names[name]
        self.model.name = self.report.model_name = self.options.model_name or name or self.source.stem
        self._read_gravity(world)

    def _read_gravity(self, world: Element) -> None:
        element = world.take_first("gravity")
        if element is None or not element.text_parts:
            return
        g_W = read_numbers(element, 3)
        self.report.gravity = g_W[0], g_W[1], g_W[2]
        if self.options.leaves_out(self.report.gravity):
            self.report.ignore("world/gravity")

    def _read_joints(self) -> list[SdfJoint]:
        read = []
        for element, frame, parent in self.walker.joints:
            assert frame.scope is not None
            is_gearbox = element.peek("type") == "gearbox"
            ends = frame.scope.find(parent, element, "parent").find_link(), frame.find_link()
            if not is_gearbox and ends[0] is not ends[1] and not self._connect(ends[0].name, ends[1].name):
                self.closing.append(PendingJoint(element, frame, parent))
                continue
            with_friction = self.options.joint_friction
            read.append(read_joint(element, frame, parent, self.model, with_friction=with_friction))
            element.forget_read()
        return read

    def _close_loops(self) -> list[SdfJoint]:
        """Make constraints of the joints that close loops, and return those that remain joints."""
        remaining = []
        for element, frame, parent in self.closing:
            read = ModelDescription(self.model.name, self.report)
            sdf_joint = read_joint(element, frame, parent, read, with_friction=True)
            joint = read.joints[0]
            if len(read.joints) == 1 and close_loop(joint, self.model):
                if read.springs or joint.friction or any(joint.damping):
                    fault = "it closes a loop of joints, where it has no coordinate"
                    element.repair(fault, "it has neither spring, damping nor friction")
                elif joint.limits != NO_LIMITS:
                    self.report.ignore("limit of a joint that closes a loop")
            elif close_loop_by_twin(read.joints, self.model):
                self._take(read)
                remaining.append(sdf_joint)
                element.forget_read()
                continue
            else:
                fault = (
                    "it closes a loop of joints, no constraint can replace it, and no link has mass to split"
                )
                element.repair(fault, "left out, so the loop is open")
            element.dismiss()
        return remaining

    def _take(self, read: ModelDescription) -> None:
        """Add joints that were read separately, with their links, springs and motors."""
        model = self.model
        model.links += read.links
        model.joints += read.joints
        model.springs += read.springs
        model.actuators += read.actuators

    def _connect(self, a: str, b: str) -> bool:
        """Record that two links are connected; return False if they were already."""
        a, b = self._find_representative(a), self._find_representative(b)
        self.connected[a] = b
        return a != b

    def _find_representative(self, name: str) -> str:
        path = []
        while (following := self.connected.get(name, name)) != name:
            path.append(name)
            name = following
        for passed in path:
            self.connected[passed] = name
        return name

    def _fix_static_links(self) -> None:
        for link in (*self.walker.links, *self.walker.robot_links):
            scope = link.scope
            assert scope is not None
            if not scope.is_static:
                continue
            name = f"{link.name}_to_{WORLD}"
            while name.rpartition("::")[2] in scope.names:
                name += "_"
            X_WB = link.calc_pose_in_world()
            self.model.joints.append(
                JointDescription(name, "weld", WORLD, link.name, X_WB, link.element.line)
            )
            self._connect(WORLD, link.name)

    def _read_weightless(self) -> None:
        """Find the models on which gravity does not act. Exempting only some links of a model is a fault."""
        exempt: dict[str, list[SdfFrame]] = {}
        heavy: set[str] = set()
        for link in self.walker.links:
            assert link.scope is not None
            text = take_text(link.element, "gravity")
            if text is not None and read_flag(text) is False:
                exempt.setdefault(link.scope.prefix, []).append(link)
            else:
                heavy.add(link.scope.prefix)
        for prefix, links in exempt.items():
            if prefix in heavy:
                fault = "gravity does not act on it, but on other links of its model"
                links[0].element.repair(fault, "it acts on all of them")
            else:
                scope = prefix.removesuffix("::")
                name = f"{self.model.name}::{scope}" if scope else self.model.name
                self.report.weightless_instances.append(name)
        if self.report.weightless_instances and self.options.gravity is None:
            shown = ", ".join(quote(name, limit=30) for name in self.report.weightless_instances[:10])
            self.report.warn(f"gravity must not act on {shown}: call set_enabled() of the gravity element")

    def _place_roots(self) -> None:
        frames = {link.name: link for link in (*self.walker.links, *self.walker.robot_links)}
        for root in self.model.roots:
            X_WB = frames[root].calc_pose_in_world()
            if X_WB is not IDENTITY:
                self.model.root_poses[root] = X_WB
        self.model.free = set(self.model.roots)
        if self.alone is not None:
            self.model.X_WM = self.alone.calc_pose_in_world()


def _find_alone(world: Element) -> Element | None:
    """Return the only model of a world, or the include of one, unless the world also has frames or joints."""
    found = [child for child in world.children if child.tag in ("model", "include", "frame", "joint")]
    return found[0] if len(found) == 1 and found[0].tag in ("model", "include") else None
