"""Reports what a reader left out: by name where it would change the motion, else as a count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mbt.parsing.report import ParseReport
from mbt.parsing.xml_tree import Element

__all__ = ["report_left_out", "warn_of_gazebo"]

# Elements that change the motion wherever they stand, unless their text is false or zero.
_MOVING = {
    "damping",
    "drake:damping",
    "drake:gear_ratio",
    "drake:mimic",
    "drake:rotor_inertia",
    "drake:tendon_constraint",
    "fluid_added_mass",
    "force_element",
    "kinematic",
    "mimic",
    "spring_stiffness",
    "velocity_decay",
}
_GAINS = "drake:controller_gains"


def report_left_out(root: Element, report: ParseReport) -> None:
    """Count unread elements; warn of those that change the motion (when strict, raise an error).

    Elements of one path share one warning, with the line of the first.
    """
    moving: dict[str, list[Element]] = {}
    for path, element in root.unread():
        report.ignore(path)
        if "@" not in path and _moves(path, element):
            moving.setdefault(path, []).append(element)
    for path, elements in moving.items():
        if elements[0].tag == _GAINS:
            report.warn(f"{path}: no controller acts{_count(elements)}: apply its force", elements[0].line)
        else:
            outside = path.rpartition("/")[0]
            it = f"this child of {outside}" if outside else "it"
            elements[0].repair(f"mbt does not support {it}{_count(elements)}", "ignored")


def _moves(path: str, element: Element) -> bool:
    tag = element.tag
    if tag == _GAINS:
        return True
    if tag == "gravity":
        return _says_no(element)
    if tag in _MOVING:
        return bool(element.children or element.attributes) or not _says_no(element, if_empty=False)
    if tag == "plugin":
        return _makes_mimics(element)
    # Next to links and joints.
    is_outside = path in (tag, f"model/{tag}", f"world/model/{tag}")
    return is_outside and tag.startswith("drake:")


def _says_no(element: Element, *, if_empty: bool = False) -> bool:
    """Return whether the text of an element is false, or zero."""
    text = element.text.lower()
    if not text:
        return if_empty
    try:
        return float(text) == 0.0
    except ValueError:
        return text == "false"


def _says_yes(element: Element) -> bool:
    return bool(element.text) and not _says_no(element)


def _makes_mimics(element: Element) -> bool:
    return "mimic" in element.attributes.get("filename", "").lower()


# Contents of <gazebo> that change the motion: the fault, and how to recognize it.
_OF_GAZEBO: tuple[tuple[str, Callable[[Element], bool]], ...] = (
    (
        "Gazebo is told that gravity does not act on",
        lambda e: (e.tag == "gravity" and _says_no(e)) or (e.tag == "turnGravityOff" and _says_yes(e)),
    ),
    ("Gazebo is told to hold", lambda e: e.tag in ("kinematic", "static") and _says_yes(e)),
    ("Gazebo is given a spring on", lambda e: e.tag == "springStiffness" and _says_yes(e)),
    (
        "Gazebo is given joints or links beside",
        lambda e: e.tag in ("joint", "link") and "name" in e.attributes,
    ),
    ("Gazebo is given a plugin that couples joints of", lambda e: e.tag == "plugin" and _makes_mimics(e)),
)


def warn_of_gazebo(robot: Element) -> None:
    """Warn of ``<gazebo>`` elements that concern the motion; raise an error when strict."""
    found: dict[str, list[tuple[Element, str]]] = {}
    for gazebo in robot.children:
        if gazebo.tag != "gazebo":
            continue
        subject = gazebo.attributes.get("reference", "the robot")
        for element in _walk(gazebo):
            for fault, is_it in _OF_GAZEBO:
                if is_it(element):
                    found.setdefault(fault, []).append((element, subject))
    for fault, places in found.items():
        subjects = list(dict.fromkeys(subject for _, subject in places))
        shown = ", ".join(subjects[:5]) + (f" and {len(subjects) - 5} more" if len(subjects) > 5 else "")
        places[0][0].repair(f"{fault} {shown}", "ignored")


def _walk(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        if child.tag != "plugin":  # The elements of a plugin are its own.
            yield from _walk(child)


def _count(elements: list[Element]) -> str:
    return f" ({len(elements)} of them)" if len(elements) > 1 else ""
