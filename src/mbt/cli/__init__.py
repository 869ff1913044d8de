"""The command line: ``mbt`` or ``python -m mbt``."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from importlib import metadata
from typing import Any

from mbt.cli.terminal import printable, write
from mbt.errors import MbtError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments; otherwise those of the process.

    Returns
    -------
    int
        0 when all is well, 1 when the reader of the output went away, 2 when a file or an argument cannot be
        used or the output not written, 130 when interrupted.
    """
    # Of a closed stream Python makes None. What nobody hears need not be said.
    with redirect_stderr(sys.stderr or io.StringIO()):
        try:
            code = _run(_make_parser(), arguments)
            if sys.stdout is not None:
                sys.stdout.flush()  # Here an error can still be told.
            return code
        except OSError as error:
            _discard_output()
            if isinstance(error, BrokenPipeError):
                return 1
            _complain(f"the output cannot be written: {error.strerror}")
            return 2
        except KeyboardInterrupt:
            return 130


def _run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse printed its own message.
        return stop.code if isinstance(stop.code, int) else 2
    if options.command is None:
        _print(parser.format_help())
        return 0
    code = 0
    try:
        if options.command == "info":
            text = _describe_file(options)
        elif options.command == "convert":
            text = _convert_file(options)
        elif options.command == "simulate":
            text, code = _simulate_file(options)
        else:
            from mbt.cli.demo import run_demo

            text = run_demo()
    except MbtError as error:
        if getattr(options, "json", False):
            from mbt.cli.info_json import describe_error_as_json

            _print(describe_error_as_json(error))
        _complain(str(error))
        return 2
    _print(text)
    return code


def _print(text: str) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "the standard output is closed")
    write(text, sys.stdout)


def _complain(message: str) -> None:
    with suppress(OSError):
        write(f"mbt: {printable(message)}\n", sys.stderr)


def _discard_output() -> None:
    """Point the output at nothing: Python flushes at exit, and that would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe_file(options: argparse.Namespace) -> str:
    from mbt.cli.info import describe, load

    tree = load(options.file, gravity=None, **_reading_options(options))
    if options.json:
        from mbt.cli.info_json import describe_as_json

        return describe_as_json(tree)
    return describe(tree, show_all=options.all)


def _convert_file(options: argparse.Namespace) -> str:
    from mbt.cli.convert import convert

    text, remarks = convert(
        options.file,
        options.output,
        options.to,
        **_reading_options(options),
    )
    for remark in remarks:
        _complain(remark)
    return text


def _simulate_file(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.simulate import run_simulation

    text, complaint = run_simulation(options, **_reading_options(options))
    if complaint is not None:
        _complain(complaint)
    return text, 0 if complaint is None else 2


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mbt", description="Rigid multibody kinematics and dynamics.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"mbt {metadata.version('mbt')}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="{info,convert,simulate,demo}")

    info = commands.add_parser(
        "info",
        help="show what is in a robot description",
        description="Show bodies, joints, limits, masses and actuators of a file, and what is ignored.",
        allow_abbrev=False,
    )
    _add_reading_options(info)
    form = info.add_mutually_exclusive_group()
    form.add_argument("--all", action="store_true", help="show every body and joint, with whole names")
    form.add_argument("--json", action="store_true", help="print one JSON object, errors too")

    convert = commands.add_parser(
        "convert",
        help="write a robot description in another format",
        description="Read a robot description and write it as JSON, which loses nothing, or as URDF.",
        allow_abbrev=False,
    )
    _add_reading_options(convert)
    convert.add_argument(
        "--to", choices=("json", "urdf"), help="the format; told by the suffix of OUT if any"
    )
    convert.add_argument("-o", "--output", metavar="OUT", help="file to write, whole or not at all")

    _add_simulate(commands)

    commands.add_parser(
        "demo",
        help="load an arm, compute with it and let it fall",
        description="Load the arm that comes with mbt: poses, mass matrix, torques, a fall, and times.",
        allow_abbrev=False,
    )
    return parser


def _add_simulate(commands: Any) -> None:
    simulate = commands.add_parser(
        "simulate",
        help="let a robot move",
        description="Simulate a robot description, from the default positions and at rest unless given.",
        allow_abbrev=False,
    )
    _add_reading_options(simulate)
    simulate.add_argument("--duration", type=float, default=1.0, metavar="S", help="seconds (default: 1)")
    simulate.add_argument(
        "--dt", type=float, default=1e-3, metavar="S", help="length of a step (default: 0.001)"
    )
    simulate.add_argument(
        "--method",
        default="rk4",
        help="rk4 (default), semi_implicit_euler, or a solver of SciPy: RK45, DOP853, Radau, ...",
    )
    for name, what in (
        ("position", "where a joint is at the beginning [rad, m]"),
        ("velocity", "how it moves there [rad/s, m/s]"),
        ("torque", "torque or force on it, all the time [N m, N]"),
    ):
        simulate.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="JOINT=VALUE",
            help=f"{what}; VALUE,VALUE,... where it has several; may be repeated",
        )
    simulate.add_argument(
        "--limit-efforts", action="store_true", help="clip torques to the limits of the file"
    )
    simulate.add_argument("--save", metavar="OUT", help="write the trajectory to OUT.npz or OUT.csv")
    simulate.add_argument("--plot", metavar="OUT", help="draw it to OUT.png, .svg or .pdf, with matplotlib")
    simulate.add_argument("--json", action="store_true", help="print one JSON object, errors too")


def _add_reading_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", help="URDF, SDF, MJCF or JSON file, package://name/path, or - for the standard input"
    )
    command.add_argument(
        "--base",
        choices=("fixed", "floating"),
        help="weld the root link to World, or leave it free (default: as the file says, and fixed in URDF)",
    )
    command.add_argument(
        "--strict", action="store_true", help="refuse impossible inertias and whatever is repaired"
    )
    command.add_argument(
        "--package-path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where to look for packages; may be repeated",
    )


def _reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what `load_model` is given."""
    return {"base": options.base, "strict": options.strict, "package_paths": options.package_path}
