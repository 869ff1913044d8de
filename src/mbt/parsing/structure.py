"""How links connect: checks that a description is a forest, and puts its parts into depth-first order."""

from __future__ import annotations

import math

from mbt.errors import ParseError, quote, shorten
from mbt.math.poses import inverse_pose
from mbt.parsing.description import WORLD, JointDescription, ModelDescription
from mbt.parsing.xml_tree import XACRO_HINT

__all__ = ["check_structure", "find_massless_joints", "free_from_world", "order_depth_first"]


def check_structure(model: ModelDescription, hint: str | None = None) -> None:
    """Check that links and joints form a forest.

    Linear in the number of links, without recursion. `hint` is the advice where a link does not exist; the
    default suggests the nearest name.

    Raises
    ------
    ParseError
        When a joint names an unknown link or connects a link to itself, a link has two parents, or joints
        form a loop.
    """
    links = {link.name for link in model.links}
    links.add(WORLD)
    parent_joint: dict[str, JointDescription] = {}
    for joint in model.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                message = f"its {role} link {quote(link)} does not exist"
                is_macro = "${" in link or "$(" in link
                raise _error(model, joint, message, XACRO_HINT if is_macro else hint or _nearest(link, links))
        if joint.parent == joint.child:
            raise _error(model, joint, f"it connects link {quote(joint.child)} to itself")
        other = parent_joint.setdefault(joint.child, joint)
        if other is not joint:
            message = (
                f"link {quote(joint.child)} has two parents: "
                f"joint {quote(other.name)} (line {other.line}) is first"
            )
            raise _error(
                model,
                joint,
                message,
                "URDF describes trees: close a loop by <loop_joint> or <drake:ball_constraint>",
            )
    _check_loops(model, parent_joint)


def free_from_world(model: ModelDescription) -> None:
    """Remove the joints that fix a link to World: ``base="floating"``. Fills ``model.freed``."""
    kept = []
    for joint in model.joints:
        if joint.kind != "weld" or WORLD not in (joint.parent, joint.child):
            kept.append(joint)
            continue
        is_child = joint.parent == WORLD
        link = joint.child if is_child else joint.parent
        model.freed[link] = joint.X_PB if is_child else inverse_pose(joint.X_PB)
        text = f'joint {quote(joint.name)} fixes link {quote(link)} to World: base="floating" leaves it out'
        model.report.warn(text, joint.line)
    model.joints = kept


def order_depth_first(model: ModelDescription) -> None:
    """Put links, joints and actuators into the order of the velocities, and find the roots.

    The order is that in which a finalized tree numbers them: depth first, starting with what connects to
    World, then from each root; children in file order. Fills ``model.roots`` and ``joint.is_reversed``.
    """
    joints_of: dict[str, list[JointDescription]] = {WORLD: []}
    for link in model.links:
        joints_of[link.name] = []
    for joint in model.joints:
        joints_of[joint.parent].append(joint)
        joints_of[joint.child].append(joint)
    links = {link.name: link for link in model.links}
    inner = {joint.child for joint in model.joints if joint.parent not in model.twins} | model.twins
    ordered: list[JointDescription] = []
    reached: dict[str, None] = {}
    # A link that was freed is a root even where it has a parent.
    freed = [name for name in model.freed if name in inner]
    for start in (WORLD, *freed, *(name for name in links if name not in inner)):
        if start in reached:
            continue
        if start != WORLD:
            model.roots.append(start)
        stack: list[tuple[str, JointDescription | None]] = [(start, None)]
        while stack:
            name, inboard = stack.pop()
            reached[name] = None
            if inboard is not None:
                ordered.append(inboard)
                inboard.is_reversed = inboard.child != name
            for joint in reversed(joints_of[name]):
                if joint is not inboard:
                    stack.append((joint.parent if joint.child == name else joint.child, joint))
    del reached[WORLD]
    model.links = [links[name] for name in reached]
    model.joints = ordered
    place = {joint.name: i for i, joint in enumerate(ordered)}
    model.actuators.sort(key=lambda actuator: place[actuator.joint])


def find_massless_joints(model: ModelDescription) -> list[JointDescription]:
    """Return the joints of an ordered model that move no mass or rotate no inertia."""
    masses = {link.name: link.mass for link in model.links}
    moments = {link.name: link.moment for link in model.links}
    masses[WORLD] = moments[WORLD] = math.inf  # A link that carries World is not free to move.
    has_rotor = {a.joint for a in model.actuators if a.rotor_inertia != 0.0 and a.gear_ratio != 0.0}
    found = []
    for joint in reversed(model.joints):
        inboard, outboard = joint.parent, joint.child
        if joint.is_reversed:
            inboard, outboard = outboard, inboard
        masses[inboard] += masses[outboard]
        moments[inboard] += moments[outboard]
        is_massless = masses[outboard] == 0.0 and (joint.kind == "prismatic" or moments[outboard] == 0.0)
        if is_massless and joint.kind != "weld" and joint.name not in has_rotor:
            found.append(joint)
    return found[::-1]


def _check_loops(model: ModelDescription, parent_joint: dict[str, JointDescription]) -> None:
    settled: set[str] = set()
    for start in (WORLD, *(link.name for link in model.links)):
        path: dict[str, None] = {}
        link = start
        while link in parent_joint and link not in settled:
            if link in path:
                raise _loop_error(model, parent_joint, link)
            path[link] = None
            link = parent_joint[link].parent
        settled.update(path)


def _loop_error(model: ModelDescription, parent_joint: dict[str, JointDescription], start: str) -> ParseError:
    names, link = [start], parent_joint[start].parent
    while link != start:
        names.append(link)
        link = parent_joint[link].parent
    shown = [quote(name, limit=30) for name in reversed(names)]
    if len(shown) > 8:
        shown = [*shown[:7], f"... ({len(names)} links)"]
    return _error(
        model,
        parent_joint[start],
        f"joints form a loop: {' -> '.join([*shown, shown[0]])}",
        "a link of the loop must have no parent, or World as its parent",
    )


def _nearest(link: str, links: set[str]) -> str | None:
    import difflib  # Only needed for an error.

    # Comparing takes a time proportional to the product of the lengths.
    is_small = len(link) <= 200 and len(links) < 10_000
    nearest = difflib.get_close_matches(link, sorted(links), n=1) if is_small else []
    return f"did you mean {quote(nearest[0])}?" if nearest else None


def _error(
    model: ModelDescription, joint: JointDescription, message: str, hint: str | None = None
) -> ParseError:
    element = f'<joint name="{shorten(joint.name)}">'
    return ParseError(message, file=model.report.file, line=joint.line, element=element, hint=hint)
