"""``mbt info``: shows the contents of a robot description."""

from __future__ import annotations

import sys
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from mbt.cli.drawing import draw_bodies
from mbt.cli.terminal import clip, line_width, make_table, number, printable
from mbt.errors import ModelWarning, ParseError
from mbt.parsing import load_model
from mbt.parsing.report import USUAL_GRAVITY
from mbt.parsing.sources import Source
from mbt.parsing.xml_reader import MAX_BYTES
from mbt.tree.joints.prismatic import PrismaticJoint
from mbt.tree.joints.revolute import RevoluteJoint
from mbt.tree.report_tables import plural

if TYPE_CHECKING:
    from mbt.parsing import ParseReport
    from mbt.tree.actuator import JointActuator
    from mbt.tree.indices import JointIndex
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["describe", "describe_bodies", "load", "read_standard_input"]

_MAX_ROWS = 120


def load(file: str, **options: Any) -> MultibodyTree:
    """Load a file, or the standard input if it is ``-``, with options of `load_model`.

    Raises
    ------
    MbtError
        When the file cannot be loaded.
    """
    source = read_standard_input() if file == "-" else file
    with warnings.catch_warnings():
        # The reports contain the warnings.
        warnings.simplefilter("ignore", ModelWarning)
        return load_model(source, **options)  # type: ignore[arg-type]


def read_standard_input() -> Source:
    """Return the contents of the standard input.

    Raises
    ------
    ParseError
        When it is closed or cannot be read.
    """
    name = "<stdin>"
    if sys.stdin is None:
        raise ParseError("the standard input is closed", file=name)
    try:
        return Source(sys.stdin.buffer.read(MAX_BYTES + 1), name, "model")
    except OSError as error:
        raise ParseError(f"the standard input cannot be read: {error.strerror}", file=name) from None


def describe(tree: MultibodyTree, *, show_all: bool) -> str:
    """Return the description of a loaded tree as a text for a terminal."""
    report = tree.parse_reports[0]
    max_rows = None if show_all else _MAX_ROWS
    lines = _describe_sizes(tree, report, show_all)
    lines += ["", *describe_bodies(tree, max_rows)]
    lines += ["", *_describe_joints(tree, max_rows)]
    lines += _describe_constraints(tree, max_rows)
    lines += _describe_massless(tree, max_rows)
    lines += ["", *_describe_report(report, show_all)]
    return "\n".join(lines) + "\n"


def describe_bodies(tree: MultibodyTree, max_rows: int | None = _MAX_ROWS) -> list[str]:
    """Return the lines of a drawing of the bodies; if `max_rows` is None, of all, with full names."""
    headers = ("body", "joint", "type", "q", "mass [kg]")
    return make_table(headers, draw_bodies(tree, max_rows), left=(0, 1, 2), whole=max_rows is None)


def _describe_sizes(tree: MultibodyTree, report: ParseReport, show_all: bool) -> list[str]:
    moving = sum(joint.num_velocities > 0 for joint in tree.joints)
    mass = sum(body.default_mass for body in tree.bodies)
    sizes = (
        f"{plural(tree.num_bodies - 1, 'body', 'bodies')} of {number(mass)} kg",
        f"{plural(tree.num_joints, 'joint')}, {moving} moving",
        plural(tree.num_positions, "position"),
        plural(tree.num_velocities, "velocity", "velocities"),
        plural(tree.num_actuators, "actuator"),
        *_describe_gravity(tree),
    )
    title, counts = f"{report.model_name} · {report.file}", " · ".join(sizes)
    return [clip(line, len(line) if show_all else line_width()) for line in (title, counts)]


def _describe_gravity(tree: MultibodyTree) -> list[str]:
    """Return a description of gravity, unless it is the usual one."""
    if tree.gravity_field is None:
        return ["no gravity"]
    numbers = tuple(tree.gravity_field.gravity_vector.tolist())
    return [] if numbers == USUAL_GRAVITY else ["gravity " + " ".join(f"{part:g}" for part in numbers)]


def _describe_joints(tree: MultibodyTree, max_rows: int | None) -> list[str]:
    moving = [joint for joint in tree.joints if joint.num_velocities]
    if not moving:
        return ["Nothing moves."]
    moving.sort(key=lambda joint: joint.position_start)
    motors: dict[JointIndex, list[JointActuator]] = {}
    for actuator in tree.joint_actuators:
        motors.setdefault(actuator.joint.index, []).append(actuator)
    rows = [_describe_joint(joint, motors.get(joint.index, [])) for joint in moving[:max_rows]]
    headers = ("q", "joint", "axis", "lower", "upper", "", "speed", "effort", "damping", "rotor")
    lines = make_table(headers, rows, left=(1, 2, 5), whole=max_rows is None)
    note = "In SI units. The inertia of a rotor is that felt at the joint, through its gear."
    lines += textwrap.wrap(note, line_width(), initial_indent="  ", subsequent_indent="  ")
    if max_rows is not None and len(moving) > max_rows:
        lines.append(f"  … {len(moving) - max_rows} more joints (--all shows them)")
    return lines


def _describe_joint(joint: Joint, motors: list[JointActuator]) -> tuple[str, ...]:
    start = str(joint.position_start)
    if joint.num_positions != 1:
        kind = joint.type_name.replace("_", " ")
        return f"{start}-{joint.position_start + joint.num_positions - 1}", joint.name, kind, *[""] * 7
    lower, upper, speed = (
        number(limits[0])
        for limits in (joint.position_lower_limits, joint.position_upper_limits, joint.velocity_upper_limits)
    )
    return (
        start,
        joint.name,
        _describe_axis(joint),
        lower or "-",
        upper or "-",
        "rad" if joint.velocity_suffixes == ("w",) else "m",
        speed or "-",
        _describe_effort(joint, motors),
        number(joint.default_damping_vector[0]),
        number(sum(motor.default_reflected_inertia for motor in motors)) if motors else "",
    )


def _describe_effort(joint: Joint, motors: list[JointActuator]) -> str:
    if motors:
        return number(sum(motor.effort_limit for motor in motors)) or "-"
    # The file has the limit, but does not declare a motor.
    limit = number(joint.effort_limit)
    return f"{limit}, no motor" if limit else "no motor"


def _describe_axis(joint: Joint) -> str:
    if isinstance(joint, RevoluteJoint):
        axis = joint.revolute_axis
    elif isinstance(joint, PrismaticJoint):
        axis = joint.translation_axis
    else:
        return joint.type_name.replace("_", " ")
    for i, letter in enumerate("xyz"):
        if abs(axis[i]) == 1.0:
            return letter if axis[i] > 0 else f"-{letter}"
    return " ".join(number(component, 2) for component in axis.tolist())


def _describe_constraints(tree: MultibodyTree, max_rows: int | None) -> list[str]:
    if not tree.constraints:
        return []
    lines = ["", *textwrap.wrap("Constraints, which forward dynamics obeys", line_width())]
    for constraint in tree.constraints[:max_rows]:
        lines += _wrap(f"{constraint.name}: {constraint.equation}", show_all=max_rows is None)
    if max_rows is not None and len(tree.constraints) > max_rows:
        lines.append(f"  … {len(tree.constraints) - max_rows} more constraints (--all shows them)")
    return lines


def _describe_massless(tree: MultibodyTree, max_rows: int | None) -> list[str]:
    branches = tree.finalize_report.massless_branches
    if not branches:
        return []
    title = "Joints without inertia: forward dynamics has no solution"
    lines = ["", *textwrap.wrap(title, line_width())]
    for branch in branches[:max_rows]:
        lines += _wrap(str(branch), show_all=max_rows is None)
    return lines


def _describe_report(report: ParseReport, show_all: bool) -> list[str]:
    if not (report.warnings or report.ignored or report.inactive):
        return textwrap.wrap("Nothing in the file was ignored or changed.", line_width())
    is_told = any(warning.about == "inactive" for warning in report.warnings)
    lines = [] if is_told else textwrap.wrap(printable(report.summarize_inactive()), line_width())
    lines += [""] if lines and (report.warnings or report.ignored) else []
    if report.warnings:
        lines.append("Warnings")
        for warning in report.warnings:
            lines += _wrap(str(warning), show_all)
    if report.ignored:
        lines += [""] if lines else []
        lines.append("Without effect")
        words = ", ".join(f"{path} ({count})" for path, count in sorted(report.ignored.items()))
        lines += textwrap.wrap(printable(words), line_width(), initial_indent="  ", subsequent_indent="  ")
    return lines


def _wrap(text: str, show_all: bool) -> list[str]:
    """Wrap a remark to at most six lines, with long names broken, unless all is shown."""
    return textwrap.wrap(
        printable(text),
        line_width(),
        initial_indent="  ",
        subsequent_indent="      ",
        max_lines=None if show_all else 6,
        break_long_words=not show_all,
    )
