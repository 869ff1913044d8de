"""Files of xacro: macros that expand to a robot description. Expanding executes code: only on request."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mbt.errors import ArgumentTypeError, MissingPackageError, ParseError, quote, shorten
from mbt.parsing.packages import as_folders, as_path, find_package

__all__ = ["expand_xacro"]

# The package xacro keeps its state in global variables.
_lock = threading.Lock()


def expand_xacro(
    path: str | os.PathLike[str],
    args: Mapping[str, object] | None = None,
    *,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> str:
    """Return the robot description that a file of xacro expands to: a text for `load_model`.

    **Only for files that you trust**: expanding them evaluates Python expressions, and reads other files and
    environment variables that they name. It needs the package ``xacro``:
    ``pip install "multibodytree[xacro]"``.

    Parameters
    ----------
    path : str or path
        The file. Files that it includes are relative to its folder.
    args : mapping of str to str, bool or number, optional
        Values of its arguments, ``<xacro:arg name=>``.
    package_paths : sequence of paths, optional
        Where to look for packages, ``$(find name)``: package folders, or folders that contain them. The
        folders in ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH`` come after these, then the folders above
        the file that names the package.

    Returns
    -------
    str
        The text, without macros.

    Raises
    ------
    ArgumentTypeError
        When an argument is of the wrong type.
    ParseError
        When the file cannot be read or expanded.
    MissingPackageError
        When the package ``xacro`` is not installed.

    Examples
    --------
    >>> import mbt
    >>> text = mbt.parsing.expand_xacro("arm.urdf.xacro", {"payload": 2.5})  # doctest: +SKIP
    >>> tree = mbt.load_model(text)  # doctest: +SKIP
    """
    file = str(as_path(path, "path"))
    folders = as_folders(package_paths)
    values = _as_values(args)
    try:
        import xacro
        from xacro import substitution_args
    except ImportError as error:
        reason = f"expand_xacro needs its package: pip install xacro ({error})"
        raise MissingPackageError(reason) from None
    with _lock, _finding_packages(xacro, substitution_args, folders):
        try:
            text: str = xacro.process_file(file, mappings=values).toprettyxml(indent="  ")
        except Exception as error:
            # The expressions in the file may raise anything.
            cause = getattr(error, "exc", None)
            reason = cause.message if isinstance(cause, ParseError) else str(error) or type(error).__name__
            place = (xacro.filestack or [file])[-1]
            raise ParseError(f"xacro cannot expand it: {shorten(reason, 1000)}", file=place) from error
    return text


def _as_values(args: object) -> dict[str, str]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise ArgumentTypeError(f"args: expected a mapping of names to values, got {type(args).__name__}")
    for name, value in args.items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int, float)):
            got = f"{quote(name)}: {quote(value)}"
            raise ArgumentTypeError(f"args: expected text, True, False or a number for each name, got {got}")
    return {name: str(value) for name, value in args.items()}


@contextmanager
def _finding_packages(xacro: Any, substitution: Any, folders: list[Path]) -> Iterator[None]:
    """Let xacro find packages as this reader does; on its own it uses a package of ROS."""

    def find(name: str) -> str:
        file = xacro.filestack[-1]
        return str(find_package(name, folders, os.path.dirname(os.path.abspath(file))))

    functions = substitution._eval_dict
    before = substitution._eval_find, functions["find"]
    substitution._eval_find = functions["find"] = find
    try:
        yield
    finally:
        substitution._eval_find, functions["find"] = before
