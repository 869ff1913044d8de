"""SDF models and worlds: declares their contents under their names, and reads the files that they include."""

from __future__ import annotations

from typing import NamedTuple

from mbt.errors import quote, quote_path
from mbt.parsing.description import WORLD, ModelDescription
from mbt.parsing.drake_elements import DRAKE_ELEMENTS, FILTER_GROUP
from mbt.parsing.left_out import warn_of_gazebo
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf_frames import Scope, SdfFrame
from mbt.parsing.sdf_includes import Includes
from mbt.parsing.sdf_joints import take_ends
from mbt.parsing.sdf_robots import declare_robot, take_over
from mbt.parsing.sdf_values import NO_POSE, Pose, read_flag, read_pose, take_flag, take_pose, take_text
from mbt.parsing.sdf_versions import take_version
from mbt.parsing.sources import Source
from mbt.parsing.urdf import read_urdf_parts
from mbt.parsing.xml_reader import MAX_NESTING
from mbt.parsing.xml_tree import Element

__all__ = ["ModelWalker", "PendingJoint"]


class PendingJoint(NamedTuple):
    """A joint that is declared but not yet read."""

    element: Element
    frame: SdfFrame
    parent: str


class _Placement(NamedTuple):
    """The elements of an ``<include>`` that override those of the included model; None if absent."""

    name: str | None = None
    pose: Pose | None = None
    placement_frame: str | None = None
    is_static: bool | None = None
    is_merged: bool = False


_AS_WRITTEN = _Placement()


class ModelWalker:
    """Walks through nested models and declares their contents.

    Attributes
    ----------
    links, frames : list of SdfFrame
        All links and named frames.
    robot_links : list of SdfFrame
        Links of included URDF robots, which are already in the model, with everything on them.
    joints : list of PendingJoint
        All joints but those of static models.
    elements : list of (Element, Scope)
        Springs, bushings and balls, each with the scope of its model.
    filter_groups : list of (list of Element, Scope)
        Groups of links that shall not touch, for each model that has some.
    documents : list of Element
        The roots of the included documents.
    """

    def __init__(self, model: ModelDescription, options: ReadOptions) -> None:
        self.links: list[SdfFrame] = []
        self.robot_links: list[SdfFrame] = []
        self.frames: list[SdfFrame] = []
        self.joints: list[PendingJoint] = []
        self.elements: list[tuple[Element, Scope]] = []
        self.filter_groups: list[tuple[list[Element], Scope]] = []
        self.documents: list[Element] = []
        self._declared: dict[tuple[str, str], SdfFrame] = {}
        self._model = model
        self._options = options
        self._frees_all = options.base == "floating"
        self._includes = Includes(options.package_folders, model.report.warnings)

    def walk_world(self, element: Element, world: Scope) -> None:
        """Declare the contents of a world, or of a document without one."""
        self._declare_models(element, world)
        self._declare_frames(element, world)
        self._declare_joints(element, world)

    def walk_alone(self, element: Element, world: Scope) -> str | None:
        """Declare the only model, or its include, without a prefix; return its name if there is one."""
        element.is_read = True
        if element.tag == "include":
            return self._include(element, world, is_alone=True)
        return self._walk(element, world, _AS_WRITTEN, world, is_alone=True)

    def _declare_models(self, element: Element, scope: Scope) -> None:
        for model in element.take_children("model"):
            self._walk(model, scope, _AS_WRITTEN, scope)
        for include in element.take_children("include"):
            self._include(include, scope)

    def _include(self, include: Element, outer: Scope, *, is_alone: bool = False) -> str | None:
        address = take_text(include, "uri")
        if address is None:
            raise include.error("the element <uri> is missing")
        path = self._includes.find(include, address, outer.source)
        if path is None:
            error = self._includes.criticize_missing(include, address, outer.source)
            if outer.frame.scope is not None:
                raise error
            # Most worlds include only a ground or lights.
            include.repair(error.message, f"left out; {error.hint}")
            include.dismiss()
            return None
        root, source = self._includes.read(include, path, outer.files)
        if root.tag == "robot":
            return self._include_robot(include, root, source, outer, is_alone=is_alone)
        if root.tag != "sdf":
            raise include.error(f"{quote_path(address)} is <{root.tag}>: expected <sdf> or <robot>")
        document = Scope(outer.frame, "", take_version(root), source, files=(*outer.files, str(path)))
        self.documents.append(root)
        model = root.take_first("model")
        if model is None:
            self._model.report.ignore("include of a file without a model")
            include.dismiss()
            return None
        return self._walk(model, outer, _read_placement(include), document, is_alone=is_alone)

    def _include_robot(
        self, include: Element, root: Element, source: Source, outer: Scope, *, is_alone: bool
    ) -> str:
        """Declare a model in URDF, and add it to the description. Return its name."""
        placement = _read_placement(include)
        if placement.is_merged:
            raise include.error("URDF cannot be merged into a model", 'leave merge="true" out')
        name = placement.name or (root.take("name") or "").strip() or source.stem
        robot = read_urdf_parts(root, ParseReport(source.file, name), self._options)
        frame = self._make_frame(root, outer, placement, outer.prefix + name)
        inside = Scope(frame, "" if is_alone else f"{frame.name}::", outer.version, source)
        frame.inside = inside
        inside.is_static = outer.is_static or self._is_static(root, placement)
        outer.declare(frame, name)
        if not is_alone:
            self._model.scopes.append(frame.name)
        self.robot_links += declare_robot(robot, root, inside, self._declare)
        take_over(robot, self._model, inside.prefix, is_static=inside.is_static)
        warn_of_gazebo(root)
        self.documents.append(root)
        return name

    def _walk(
        self,
        element: Element,
        outer: Scope,
        placement: _Placement,
        document: Scope,
        *,
        is_alone: bool = False,
    ) -> str:
        """Declare a model in an outer scope, with the version and files of its document. Return its name."""
        name = placement.name or element.require_name()
        if outer.depth >= MAX_NESTING:
            raise element.error(f"models are nested deeper than {MAX_NESTING} levels")
        frame = self._make_frame(element, outer, placement, outer.prefix + name)
        inside = Scope(frame, f"{frame.name}::", document.version, document.source, files=document.files)
        frame.inside = inside
        inside.depth = outer.depth + 1
        inside.is_static = outer.is_static or self._is_static(element, placement)
        if is_alone:
            inside.prefix = ""
            outer.declare(frame, name)
        elif placement.is_merged:
            inside.prefix, inside.names = outer.prefix, outer.names
            outer.declare(frame, f"_merged__{name}__model__")
        else:
            self._model.scopes.append(frame.name)
            outer.declare(frame, name)
        self._declare_links(element, inside)
        self._declare_models(element, inside)
        self._declare_frames(element, inside)
        self._declare_joints(element, inside)
        self.elements += [(child, inside) for child in element.take_children(*DRAKE_ELEMENTS)]
        groups = element.take_children(FILTER_GROUP)
        if groups:
            self.filter_groups.append((groups, inside))
        return name

    def _make_frame(self, element: Element, outer: Scope, placement: _Placement, name: str) -> SdfFrame:
        pose, written = take_pose(element), element.take("placement_frame")
        canonical_link = element.take("canonical_link") or None
        if placement.is_merged and canonical_link is None:
            # Its names join those of the model into which it is merged.
            links = [child for child in element.children if child.tag == "link"]
            canonical_link = links[0].peek("name") if links else None
        return SdfFrame(
            "model",
            name,
            element,
            outer,
            pose if placement.pose is None else placement.pose,
            fixed_to=canonical_link,
            placed_by=placement.placement_frame or written or None,
        )

    def _is_static(self, element: Element, placement: _Placement) -> bool:
        written = take_flag(element, "static")
        is_static = written if placement.is_static is None else placement.is_static
        if is_static and self._frees_all:
            self._model.report.warn(f'{element} is static: base="floating" frees it', element.line)
            return False
        return is_static

    def _declare(self, frame: SdfFrame, name: str, scope: Scope) -> None:
        """Declare a link, frame or joint. Its name in the description must be unique, too."""
        scope.declare(frame, name)
        other = self._declared.setdefault((frame.kind, frame.name), frame)
        if other is not frame:
            what = f"{quote(frame.name)} is a {other.kind} of another model too, in line {other.element.line}"
            raise frame.element.error(what, "'::' separates the name of a model from those of its elements")

    def _declare_links(self, element: Element, scope: Scope) -> None:
        for link in element.take_children("link"):
            name = link.require_name()
            if name == WORLD:
                link.repair("a link of this name is World", "it is World, and its content has no effect")
                link.dismiss()
                continue
            frame = SdfFrame("link", scope.prefix + name, link, scope, take_pose(link))
            self._declare(frame, name, scope)
            self.links.append(frame)

    def _declare_frames(self, element: Element, scope: Scope) -> None:
        for child in element.take_children("frame"):
            name, holder = child.require_name(), child.take("attached_to") or None
            pose = take_pose(child)
            frame = SdfFrame("frame", scope.prefix + name, child, scope, pose, base=holder, fixed_to=holder)
            self._declare(frame, name, scope)
            self.frames.append(frame)

    def _declare_joints(self, element: Element, scope: Scope) -> None:
        for joint in element.take_children("joint", "drake:joint"):
            name = joint.require_name()
            parent, child = take_ends(joint)
            pose = NO_POSE if joint.tag == "drake:joint" else take_pose(joint)
            frame = SdfFrame("joint", scope.prefix + name, joint, scope, pose, base=child, fixed_to=child)
            self._declare(frame, name, scope)
            if not scope.is_static:
                self.joints.append(PendingJoint(joint, frame, parent))
                continue
            if joint.peek("type") != "fixed":
                self._model.report.ignore("joint of a static model")
            joint.dismiss()


def _read_placement(include: Element) -> _Placement:
    pose = include.take_first("pose")
    static = take_text(include, "static")
    return _Placement(
        take_text(include, "name"),
        None if pose is None else read_pose(pose),
        take_text(include, "placement_frame"),
        None if static is None else bool(read_flag(static)),
        bool(read_flag(include.take("merge") or "")),
    )
