"""Checks of what connects to what: a description must be a forest."""

from __future__ import annotations

import math

from mbt.errors import ParseError
from mbt.parsing.description import WORLD, JointDescription, ModelDescription

__all__ = ["calc_carried_masses", "check_structure"]


def check_structure(model: ModelDescription) -> None:
    """Check that links and joints form a forest, and find its roots.

    Fills ``model.roots``. Linear in the number of links, without recursion.

    Raises
    ------
    ParseError
        When a joint names an unknown link or connects a link to itself, a link has two parents, or joints
        form a loop.
    """
    links = {link.name for link in model.links} | {WORLD}
    parent_joint: dict[str, JointDescription] = {}
    for joint in model.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise _error(model, joint, f"its {role} link {link!r} does not exist", _nearest(link, links))
        if joint.parent == joint.child:
            raise _error(model, joint, f"it connects link {joint.child!r} to itself")
        other = parent_joint.setdefault(joint.child, joint)
        if other is not joint:
            message = (
                f"link {joint.child!r} has two parents: joint {other.name!r} (line {other.line}) is first"
            )
            hint = "URDF describes trees; leave one joint of a closed loop out"
            raise _error(model, joint, message, hint)
    model.roots = _find_tops(model, parent_joint)


def calc_carried_masses(model: ModelDescription) -> dict[str, float]:
    """Return the mass of each link together with all that it carries [kg]."""
    carried = {link.name: link.M_BBo_B.mass for link in model.links}
    carried[WORLD] = math.inf  # What carries World is not free to move.
    for joint in reversed(_base_to_tip(model)):
        carried[joint.parent] += carried[joint.child]
    return carried


def _find_tops(model: ModelDescription, parent_joint: dict[str, JointDescription]) -> list[str]:
    """Return the links without a parent, but not the one that World hangs together with."""
    top: dict[str, str] = {}
    for start in (WORLD, *(link.name for link in model.links)):
        path, on_path, link = [], set(), start
        while link not in top and link in parent_joint:
            if link in on_path:
                raise _loop_error(model, parent_joint, link)
            path.append(link)
            on_path.add(link)
            link = parent_joint[link].parent
        found = top.setdefault(link, link)
        for passed in path:
            top[passed] = found
    return [name for name in dict.fromkeys(top[link.name] for link in model.links) if name != top[WORLD]]


def _loop_error(model: ModelDescription, parent_joint: dict[str, JointDescription], start: str) -> ParseError:
    names, link = [start], parent_joint[start].parent
    while link != start:
        names.append(link)
        link = parent_joint[link].parent
    shown = [repr(name) for name in reversed(names)]
    if len(shown) > 8:
        shown = [*shown[:7], f"... ({len(names)} links)"]
    return _error(
        model,
        parent_joint[start],
        f"joints form a loop: {' -> '.join([*shown, shown[0]])}",
        "a link of the loop must have no parent, or World as its parent",
    )


def _base_to_tip(model: ModelDescription) -> list[JointDescription]:
    """Return the joints of a forest so that each comes after the one that moves its parent."""
    children: dict[str, list[JointDescription]] = {}
    inner = {joint.child for joint in model.joints}
    for joint in model.joints:
        children.setdefault(joint.parent, []).append(joint)
    stack = [link for link in (WORLD, *(link.name for link in model.links)) if link not in inner]
    ordered = []
    while stack:
        for joint in children.get(stack.pop(), ()):
            ordered.append(joint)
            stack.append(joint.child)
    return ordered


def _nearest(link: str, links: set[str]) -> str | None:
    import difflib  # Only when something is wrong already.

    nearest = difflib.get_close_matches(link, sorted(links), n=1) if len(links) < 10_000 else []
    return f"did you mean {nearest[0]!r}?" if nearest else None


def _error(
    model: ModelDescription, joint: JointDescription, message: str, hint: str | None = None
) -> ParseError:
    element = f'<joint name="{joint.name}">'
    return ParseError(message, file=model.report.file, line=joint.line, element=element, hint=hint)
