"""``mbt check``: a linter for robot descriptions."""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Any

from mbt.checking import SelftestReport, check_model, repair_urdf, selftest
from mbt.checking.findings import CheckReport, Finding, Severity
from mbt.cli.info import read_standard_input
from mbt.cli.terminal import paint, printable
from mbt.errors import ArgumentValueError, ModelWarning, ParseError
from mbt.parsing import load_model
from mbt.parsing.sources import Source
from mbt.saving.files import as_path, write_file

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

__all__ = ["run_check"]

_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}
_UNREADABLE, _FOUND = 2, 1


def run_check(options: Namespace) -> tuple[str, int]:
    """Check files, and return the report and the exit code.

    Raises
    ------
    MbtError
        When the options contradict each other, or the repaired file cannot be written.
    """
    if options.fix is not None and len(options.files) != 1:
        raise ArgumentValueError(f"--fix: expected one FILE, got {len(options.files)}")
    sources: list[Any] = [read_standard_input() if file == "-" else file for file in options.files]
    reports = [_check(source, options) for source in sources]
    changes: tuple[str, ...] = ()
    judged = reports
    if options.fix is not None and reports[0].is_readable:
        text, changes = repair_urdf(sources[0])
        write_file(as_path(options.fix), text)
        # The remaining faults count.
        judged = [_check(as_path(options.fix), options)]
        reports = reports + judged
    code = max(_exit_code(report, options.fail_on) for report in judged)
    tests = _run_selftests(sources, reports, options) if options.selftest else []
    if code == 0 and not all(test.ok for test in tests):
        code = _FOUND
    if options.json:
        files = [report.as_dict() for report in reports]
        value = {"files": files, "changes": list(changes), "exit_code": code}
        if options.selftest:
            value["selftests"] = [test.as_dict() for test in tests]
        return json.dumps(value, indent=2, allow_nan=False) + "\n", code
    lines = _describe(reports[0], options)
    if judged is not reports:
        lines += ["", *_describe_changes(options.fix, changes, reports[0]), ""]
    for report in reports[1:]:
        lines += _describe(report, options)
    for test in tests:
        lines += ["", *map(printable, str(test).splitlines())]
    return "\n".join(lines) + "\n", code


def _run_selftests(
    sources: list[Any], reports: list[CheckReport], options: Namespace
) -> list[SelftestReport]:
    """Test the models that can be read; the faults of the others are in their reports."""
    tests = []
    for source, report in zip(sources, reports, strict=False):
        if report.is_readable:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                tree = load_model(source, base=options.base, package_paths=options.package_path)
            tests.append(selftest(tree))
    return tests


def _check(source: str | Path | Source, options: Namespace) -> CheckReport:
    try:
        return check_model(source, base=options.base, package_paths=options.package_path)  # type: ignore[arg-type]
    except ParseError as error:  # The file does not exist, or is not a regular file.
        file = error.file or "<text>"
        finding = Finding("error", "unreadable", file, None, "", error.message, error.hint or "")
        return CheckReport(file, "", (finding,), is_readable=False)


def _exit_code(report: CheckReport, fail_on: Severity | str) -> int:
    if not report.is_readable:
        return _UNREADABLE
    return _FOUND if fail_on != "never" and report.at_least(fail_on) else 0  # type: ignore[arg-type]


def _describe(report: CheckReport, options: Namespace) -> list[str]:
    lines = []
    for finding in report.findings:
        if not (options.quiet and finding.severity == "note"):
            lines.append(_paint(finding))
    return [*lines, paint(f"{printable(report.file)}: {report.summarize()}", "bold", sys.stdout)]


def _paint(finding: Finding) -> str:
    text = printable(str(finding))
    color = _COLORS[finding.severity]
    return text.replace(f": {finding.severity}: ", f": {paint(finding.severity, color, sys.stdout)}: ", 1)


def _describe_changes(file: str, changes: tuple[str, ...], report: CheckReport) -> list[str]:
    if not changes:
        has_faults = report.at_least("warning")
        why = ", as no fault has only one remedy" if has_faults else ": nothing to repair"
        return [printable(f"{file}: written unchanged{why}")]
    return [
        printable(line)
        for line in (f"{file}: written, {len(changes)} repaired", *(f"    {c}" for c in changes))
    ]
