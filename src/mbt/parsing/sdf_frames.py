"""Frames of SDF: elements with a name and a pose, where they are, and on which link they are fixed.

A pose is relative to a frame that its element names, or to one that its kind implies; that frame may come
later in the document. So all names are declared first, and poses are computed on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mbt.errors import ParseError, quote
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY
from mbt.parsing.description import MODEL_FRAME, WORLD
from mbt.parsing.sdf_values import NO_POSE, Pose
from mbt.parsing.sources import Source
from mbt.parsing.xml_tree import Element

__all__ = ["Scope", "SdfFrame", "calc_pose_between", "make_world"]


@dataclass(eq=False)
class Scope:
    """The scope of names in a model or a world.

    Attributes
    ----------
    frame : SdfFrame
        Frame of the model, or World.
    names : dict of str to SdfFrame
        Its links, models, frames and joints. A model that is merged into another one shares them.
    prefix : str
        The prefix of the names of its elements in the description: ``"gripper::"``.
    version : tuple of int
        Version of SDF.
    source : Source
        The document.
    is_static : bool
        Whether it is static: nothing in it moves.
    depth : int
        The number of models and documents around it.
    files : tuple of str
        The files in which it is included, outermost first.
    """

    frame: SdfFrame
    prefix: str
    version: tuple[int, int]
    source: Source
    names: dict[str, SdfFrame] = field(default_factory=dict)
    is_static: bool = False
    depth: int = 0
    files: tuple[str, ...] = ()

    def declare(self, frame: SdfFrame, name: str) -> None:
        """Declare a frame under a name.

        Raises
        ------
        ParseError
            When the name is reserved, or another element of the same kind has it.
        """
        if name == WORLD or (name.startswith("__") and name.endswith("__")):
            raise frame.element.error("this name is reserved", "give it another one")
        other = self.names.setdefault(name, frame)
        if other is frame:
            return
        what = f"there is a {other.kind} of this name already, in line {other.element.line}"
        if other.kind == frame.kind:
            raise frame.element.error(what)
        frame.element.repair(what, f"in poses the name refers to the {other.kind}")

    def find(self, name: str, at: Element, role: str = "frame") -> SdfFrame:
        """Return the frame to which a name such as ``"gripper::tip"`` refers here.

        Raises
        ------
        ParseError
            When there is none; the error names the element `at`, and the `role` of the frame for it.
        """
        found = self.seek(name)
        if found is None:
            raise at.error(f"its {role} {quote(name)} does not exist here", self._find_nearest(name))
        return found

    def seek(self, name: str) -> SdfFrame | None:
        """Return the frame to which a name refers here, or None."""
        if name in self.names:
            return self.names[name]
        if name == MODEL_FRAME:
            return self.frame
        if name == WORLD:
            frame = self.frame
            while frame.scope is not None:
                frame = frame.scope.frame
            return frame
        first, colons, rest = name.partition("::")
        model = self.names.get(first)
        return model.inside.seek(rest) if colons and model is not None and model.inside is not None else None

    def _find_nearest(self, name: str) -> str | None:
        import difflib  # Only needed for an error.

        is_small = len(name) <= 200 and len(self.names) < 10_000
        nearest = difflib.get_close_matches(name, sorted(self.names), n=1) if is_small else []
        return f"did you mean {quote(nearest[0])}?" if nearest else None


class SdfFrame:
    """A link, joint, frame, model, or World.

    Attributes
    ----------
    kind : str
        ``"link"``, ``"joint"``, ``"frame"``, ``"model"`` or ``"world"``.
    name : str
        Its name in the description.
    element : Element
        The element that declares it.
    scope : Scope or None
        The scope that declares it; None for World.
    pose : Pose
        The pose as written.
    base : str or None
        Name of the frame to which the pose is relative, in `scope`; by default the model's frame.
    fixed_to : str or None
        Name of the frame to whose link a frame or joint is fixed; for a model, its canonical link.
    placed_by : str or None
        For a model: name of the frame inside it that is placed at its pose.
    inside : Scope or None
        For a model: the scope of its names.
    """

    __slots__ = (
        "_X",
        "_X_W",
        "_base",
        "_link",
        "base",
        "element",
        "fixed_to",
        "inside",
        "kind",
        "name",
        "placed_by",
        "pose",
        "scope",
    )

    def __init__(
        self,
        kind: str,
        name: str,
        element: Element,
        scope: Scope | None,
        pose: Pose = NO_POSE,
        *,
        base: str | None = None,
        fixed_to: str | None = None,
        placed_by: str | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.element = element
        self.scope = scope
        self.pose = pose
        self.base = pose.relative_to or base
        self.fixed_to = fixed_to
        self.placed_by = placed_by
        self.inside: Scope | None = None
        self._base: SdfFrame | None = None
        self._X: FloatArray | None = None
        self._X_W: FloatArray | None = None
        self._link: SdfFrame | None = None

    def find_base(self) -> SdfFrame:
        """Return the frame to which the pose is relative; for World, World itself."""
        if self._base is None:
            if self.scope is None:
                self._base = self
            elif self.base is None:
                self._base = self.scope.frame
            else:
                self._base = self.scope.find(self.base, self.element)
        return self._base

    def calc_pose_in_base(self) -> FloatArray:
        """Return the pose in the frame of `find_base`."""
        if self._X is None:
            X = self.pose.X
            if self.placed_by is not None and self.inside is not None:
                placed = self.inside.find(self.placed_by, self.element, "placement frame")
                X = X @ _invert(placed._calc_pose_in_ancestor(self))
            self._X = X
        return self._X

    def calc_pose_in_world(self) -> FloatArray:
        """Return the pose in World.

        Raises
        ------
        ParseError
            When it is relative to itself through a loop.
        """
        path = self._list_bases(None)
        for frame in reversed(path):
            base = frame.find_base()
            X = frame.calc_pose_in_base()
            if base is not frame and base._X_W is not None and base._X_W is not IDENTITY:
                X = base._X_W if X is IDENTITY else base._X_W @ X
            frame._X_W = X
        assert self._X_W is not None
        return self._X_W

    def _calc_pose_in_ancestor(self, ancestor: SdfFrame) -> FloatArray:
        X = IDENTITY
        for frame in self._list_bases(ancestor):
            X = frame.calc_pose_in_base() @ X
        return X

    def _list_bases(self, end: SdfFrame | None) -> list[SdfFrame]:
        """Return this frame, its base, and so on, up to that before `end`, or to a known pose in World."""
        path: dict[SdfFrame, None] = {}
        frame = self
        while frame is not end and (end is not None or frame._X_W is None):
            if frame in path:
                raise _loop_error("its pose is relative to itself", path, frame)
            path[frame] = None
            if frame.scope is None:
                break
            frame = frame.find_base()
        return list(path)

    def find_link(self) -> SdfFrame:
        """Return the link to which this frame is fixed, or World.

        Raises
        ------
        ParseError
            When it is fixed to itself through a loop, or to a model without links.
        """
        path: dict[SdfFrame, None] = {}
        frame = self
        while frame._link is None:
            if frame in path:
                raise _loop_error("it is attached to itself", path, frame)
            path[frame] = None
            if frame.scope is None or frame.kind == "link":
                frame._link = frame
            else:
                frame = frame._find_holder(frame.scope)
        for passed in path:
            passed._link = frame._link
        return frame._link

    def _find_holder(self, scope: Scope) -> SdfFrame:
        """Return the frame to which a joint, frame or model is fixed."""
        inside = self.inside
        if inside is None:
            role = "child" if self.kind == "joint" else "frame"
            if self.fixed_to is None:
                return scope.frame
            return scope.find(self.fixed_to, self.element, role)
        if inside.is_static:
            return inside.find(WORLD, self.element)
        if self.fixed_to is not None:
            return inside.find(self.fixed_to, self.element, "canonical link")
        for kind in ("link", "model"):
            for frame in inside.names.values():
                if frame.kind == kind:
                    return frame
        raise self.element.error("an element is attached to this model, which has no link")


def make_world(element: Element, version: tuple[int, int], source: Source) -> Scope:
    """Return a World without names."""
    scope = Scope(SdfFrame("world", WORLD, element, None), "", version, source)
    scope.frame.inside = scope
    scope.frame._X_W = IDENTITY
    return scope


def calc_pose_between(A: SdfFrame, B: SdfFrame) -> FloatArray:
    """Return X_AB; exactly the written pose if one of them is relative to the other."""
    if A is B:
        return IDENTITY
    if B.find_base() is A:
        return B.calc_pose_in_base()
    if A.find_base() is B:
        X_BA = A.calc_pose_in_base()
        return IDENTITY if X_BA is IDENTITY else _invert(X_BA)
    X_WA, X_WB = A.calc_pose_in_world(), B.calc_pose_in_world()
    return X_WB if X_WA is IDENTITY else _invert(X_WA) @ X_WB


def _loop_error(what: str, path: dict[SdfFrame, None], start: SdfFrame) -> ParseError:
    names = [quote(frame.name, limit=30) for frame in path]
    names = names[list(path).index(start) :]
    if len(names) > 8:
        names = [*names[:7], f"... ({len(names)} frames)"]
    return start.element.error(f"{what}: {' -> '.join([*names, names[0]])}")


def _invert(X_AB: FloatArray) -> FloatArray:
    """Return X_BA, without a check of the pose."""
    R_BA = X_AB[:3, :3].T
    X_BA = np.eye(4)
    X_BA[:3, :3] = R_BA
    X_BA[:3, 3] = -(R_BA @ X_AB[:3, 3])
    return X_BA
