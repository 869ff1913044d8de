"""The command line: ``mbt`` or ``python -m mbt``."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from importlib import metadata

from mbt.cli.commands import COMMANDS
from mbt.cli.terminal import complain, write
from mbt.errors import MbtError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
        0 on success, 1 when the reader of the output closed the pipe, 2 when a file or an argument cannot be
        used or the output cannot be written, 130 when interrupted.
    """
    # Python makes a closed stream None: then there is nobody to write to.
    with redirect_stderr(sys.stderr or io.StringIO()):
        try:
            code = _run(_make_parser(), arguments)
            if sys.stdout is not None:
                sys.stdout.flush()  # Here an error can still be reported.
            return code
        except OSError as error:
            _discard_output()
            if isinstance(error, BrokenPipeError):
                return 1
            complain(f"the output cannot be written: {error.strerror}")
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
    try:
        run: Callable[[argparse.Namespace], tuple[str, int]] = options.run
        text, code = run(options)
    except MbtError as error:
        if getattr(options, "json", False):
            from mbt.cli.info_json import describe_error_as_json

            _print(describe_error_as_json(error))
        complain(str(error))
        return 2
    _print(text)
    return code


def _print(text: str) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "the standard output is closed")
    write(text, sys.stdout)


def _discard_output() -> None:
    """Redirect the output to the null device: Python flushes at exit, which would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mbt", description="Rigid multibody kinematics and dynamics.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"mbt {metadata.version('multibodytree')}")
    commands = parser.add_subparsers(dest="command", title="commands")
    for add_command in COMMANDS:
        add_command(commands)
    commands.metavar = f"{{{','.join(commands.choices)}}}"
    return parser
