"""A linter for robot descriptions: finds faults, with their places and remedies."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mbt.checking.dynamics import check_dynamics
from mbt.checking.findings import EFFECTS, SEVERITIES, CheckReport, Effect, Finding, Severity
from mbt.checking.identities import selftest
from mbt.checking.joints import check_joints, check_keyframes, check_lengths
from mbt.checking.mass_properties import check_mass_properties
from mbt.checking.meshes import check_meshes
from mbt.checking.mjcf_text import angles_are_in_degrees, check_ranges, has_no_contact
from mbt.checking.overlaps import check_overlaps
from mbt.checking.repair import repair_urdf
from mbt.checking.selftest_report import SelftestReport, SelftestRow
from mbt.checking.subject import Subject, find_lines
from mbt.checking.urdf_text import check_urdf_text
from mbt.errors import MbtError, ModelWarning, ParseError
from mbt.parsing import load_model
from mbt.parsing.sources import Source, read_source
from mbt.parsing.xml_reader import parse_xml
from mbt.parsing.xml_tree import Document
from mbt.saving.json_text import is_json

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from mbt.parsing.options import Base
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "CheckReport",
    "Finding",
    "SelftestReport",
    "SelftestRow",
    "Severity",
    "check_model",
    "repair_urdf",
    "selftest",
]

# Remarks of the reader for which there is a more precise check.
_SAID_BETTER = ("inertia", "massless")


def check_model(
    path_or_text_or_bytes: str | os.PathLike[str] | bytes,
    *,
    base: Base = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> CheckReport:
    """Look for mistakes in a robot description, like ``python -m mbt check FILE``.

    It finds impossible inertias, and names the nearest physical ones; masses, inertias and mass centres that
    do not fit the shapes; angles that look like degrees, or radians, and lengths that look like millimetres;
    invalid limits, and keyframes outside of limits; damping too stiff for the default step; names that occur
    twice, and links that nothing connects; joints without inertia; a mass matrix that is singular or not
    finite at the default positions; collision shapes that overlap there; missing meshes; and content that
    the reader ignores or repairs.

    Parameters
    ----------
    path_or_text_or_bytes : str, path or bytes
        URDF, SDF, MJCF or JSON, as `load_model` takes it.
    base : {"fixed", "floating"}, optional
        As in `load_model`.
    package_paths : sequence of paths, optional
        As in `load_model`; meshes are looked up there, too.

    Returns
    -------
    CheckReport
        With a finding for each fault. If the description cannot be read, ``is_readable`` is False, and a
        finding of severity ``"error"`` says why.

    Raises
    ------
    ParseError
        When there is no such file.

    Examples
    --------
    >>> import mbt
    >>> report = mbt.check_model('''<robot name="plate">
    ...   <link name="base"/>
    ...   <link name="plate"><inertial><mass value="1"/>
    ...     <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="plate"/></joint>
    ... </robot>''')
    >>> report.worst, report.counts
    ('error', {'error': 1, 'warning': 0, 'note': 0})
    >>> (finding,) = report.findings
    >>> finding.rule, finding.line, finding.element
    ('impossible-inertia', 3, "link 'plate'")
    """
    source = read_source(path_or_text_or_bytes, package_paths, "path_or_text_or_bytes")
    subject = Subject(source.file)
    _check_text(source, subject)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            tree = load_model(source, base=base, package_paths=package_paths)  # type: ignore[call-overload]
    except ParseError as error:
        # Findings in the text are not repeated.
        if error.line not in {finding.line for finding in subject.findings if finding.severity == "error"}:
            _report_parse_error(error, subject)
        return _make_report(subject, "", is_readable=False)
    _report_remarks(tree, subject)
    check_mass_properties(tree, subject)
    check_joints(tree, subject)
    check_ranges(tree, subject)
    check_keyframes(tree, subject)
    check_lengths(tree, subject)
    check_meshes(tree, subject, package_paths)
    subject.attempt("", check_dynamics, tree, subject)
    subject.attempt("", check_overlaps, tree, subject, source if subject.has_rules else None)
    return _make_report(subject, tree.parse_reports[0].model_name, is_readable=True)


def _check_text(source: Source, subject: Subject) -> None:
    """Find the lines of elements, and check the text of a URDF."""
    if is_json(source.data):
        return
    try:
        root = parse_xml(source.data, Document(source.file, folder=source.folder), source.encoding)
    except MbtError:
        return  # The reader will report why.
    subject.lines = find_lines(root)
    subject.has_rules = root.tag == "mujoco"
    subject.touches_nothing = subject.has_rules and has_no_contact(root)
    subject.may_mean_radians = root.tag == "mujoco" and angles_are_in_degrees(root)
    if root.tag == "robot":
        check_urdf_text(root, subject)


def _report_parse_error(error: ParseError, subject: Subject) -> None:
    subject.report(
        "error", "unreadable", error.element or "", error.message, error.hint or "", line=error.line
    )


def _report_remarks(tree: MultibodyTree, subject: Subject) -> None:
    for report in tree.parse_reports:
        for remark in report.warnings:
            if remark.about in ("mimic", "inactive"):  # These are not faults of the file.
                subject.report("note", remark.about, "", remark.text, line=remark.line)
            elif remark.about not in _SAID_BETTER:
                effect: Effect = "looks" if remark.about in ("looks", "text") else "motion"
                subject.report("warning", "repaired", "", remark.text, line=remark.line, effect=effect)


def _make_report(subject: Subject, model_name: str, *, is_readable: bool) -> CheckReport:
    order = {severity: i for i, severity in enumerate(SEVERITIES)}
    found = sorted(subject.findings, key=lambda f: (order[f.severity], EFFECTS.index(f.effect), f.line or 0))
    return CheckReport(subject.file, model_name, tuple(found), is_readable)
