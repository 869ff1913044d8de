"""Finds the files of meshes. They are looked up on request, and never opened."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mbt.errors import ArgumentTypeError, ArgumentValueError, ParseError, quote_path
from mbt.parsing.packages import PACKAGE_SCHEMES, as_folders, find_in_packages, list_roots
from mbt.tree.shape import Claim, Shape

__all__ = ["resolve_mesh"]

# At least two letters: a single one is a drive.
_HINT = "add the folder that contains it to package_paths, and write package://name/path"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def resolve_mesh(shape: Shape, package_paths: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Return the path of the file that holds a mesh. It is not opened, and nothing is downloaded.

    ``package://name/path`` and ``model://name/path`` are looked up in a package of this name: in
    `package_paths`, in the folders that the environment variables ``ROS_PACKAGE_PATH`` and
    ``AMENT_PREFIX_PATH`` list, and in the folders above ``shape.folder``. Other paths are relative to
    ``shape.folder``.

    The file must be inside that folder, its package (a folder above it with a ``package.xml`` or
    ``model.config``), a folder ``meshes`` next to it, `package_paths`, or a folder that the environment
    lists: no ``..``, link, absolute path or ``file://`` leads elsewhere.

    Parameters
    ----------
    shape : Shape
        A mesh.
    package_paths : sequence of paths, optional
        Package folders, or folders that contain them.

    Returns
    -------
    Path
        A file that exists.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When the shape is not a mesh.
    ParseError
        When there is no such file, or the path leads out of these folders, or out of its package; the error
        lists the searched folders.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> import mbt
    >>> shape = mbt.Shape("mesh", mesh="package://ball_description/meshes/ball.stl")
    >>> with tempfile.TemporaryDirectory() as workspace:
    ...     folder = pathlib.Path(workspace, "ball_description", "meshes")
    ...     folder.mkdir(parents=True)
    ...     (folder / "ball.stl").touch()
    ...     mbt.parsing.resolve_mesh(shape, [workspace]).name
    'ball.stl'
    """
    if not isinstance(shape, Shape):
        raise ArgumentTypeError(f"shape: expected an mbt.Shape, got {type(shape).__name__}")
    if shape.mesh is None:
        raise ArgumentValueError(f"shape: expected a mesh, got a {shape.kind}")
    folders = as_folders(package_paths)
    address = shape.mesh.strip()
    if address.startswith(PACKAGE_SCHEMES):
        return find_in_packages(address, folders, _folder_of(shape))
    path = Path(_strip_scheme(address))
    folder = _folder_of(shape)
    if not path.is_absolute():
        if folder is None:
            why = "the path is relative, but the shape has no folder, as it was not read from a file"
            if shape.folder is not None:
                said = quote_path(shape.folder)
                why = f"the path is relative to {said}, a folder that only the description names"
            raise ParseError(f"{quote_path(address)} cannot be found: {why}", hint=_HINT)
        path = Path(folder, path)
    try:
        found = path.resolve() if path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        # The name is too long or contains a null byte, or links form a loop.
        found = None
    if found is None:
        where = "" if folder is None else f" (searched: {quote_path(folder)})"
        raise ParseError(
            f"{quote_path(address)} was not found{where}", hint=f"expected it at {quote_path(path)}"
        )
    # A program may name any file; a description only files in the folders above.
    is_own = shape.folder is None and not isinstance(shape.mesh, Claim)
    if not is_own and not any(map(found.is_relative_to, list_roots(folders, folder))):
        place = "a text" if folder is None else quote_path(folder)
        hint = f"add a folder that contains it to package_paths, such as {quote_path(found.parent)}"
        raise ParseError(f"{quote_path(address)} leads out of {place}, and of every package", hint=hint)
    return found


def _folder_of(shape: Shape) -> str | None:
    """Return the folder of the file that a shape comes from; None where only a text names it."""
    return None if isinstance(shape.folder, Claim) else shape.folder


def _strip_scheme(address: str) -> str:
    """Return the path in a ``file:`` address, or a path as it is."""
    scheme = _SCHEME.match(address)
    if scheme is None:
        return address
    if scheme.group(1).lower() != "file":
        raise ParseError(f"{quote_path(address)} is a URL: nothing is downloaded")
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ParseError(f"{quote_path(address)} is not a valid URL: {error}") from None
    if parts.netloc not in ("", "localhost"):
        raise ParseError(f"{quote_path(address)} is on another machine: nothing is downloaded")
    return unquote(parts.path)
