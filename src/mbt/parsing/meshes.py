"""Where the meshes of shapes are. They are looked for on request, and never opened."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mbt.errors import ArgumentTypeError, ArgumentValueError, ParseError, quote_path
from mbt.parsing.packages import PACKAGE_SCHEMES, as_folders, find_in_packages
from mbt.tree.shape import Shape

__all__ = ["resolve_mesh"]

# Two letters at least: one alone is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def resolve_mesh(shape: Shape, package_paths: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Return the path of the file that holds a mesh. It is not opened, and nothing is fetched.

    ``package://name/path`` and ``model://name/path`` are looked for inside a package of this name: in
    `package_paths`, in what the environment variables ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH`` list,
    and in the folders above ``shape.folder``. Other paths count from ``shape.folder``.

    Parameters
    ----------
    shape : Shape
        A mesh.
    package_paths : sequence of paths, optional
        Folders of packages, or folders that contain such folders.

    Returns
    -------
    Path
        A file that exists.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When the shape is not a mesh.
    ParseError
        When there is no such file, or the path leads out of its package; the error tells what was searched.

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
        raise ArgumentTypeError(f"shape: expected a mbt.Shape, got {type(shape).__name__}")
    if shape.mesh is None:
        raise ArgumentValueError(f"shape: expected a mesh, got a {shape.kind}")
    folders = as_folders(package_paths)
    address = shape.mesh.strip()
    if address.startswith(PACKAGE_SCHEMES):
        return find_in_packages(address, folders, shape.folder)
    path = Path(_strip_scheme(address))
    if not path.is_absolute():
        if shape.folder is None:
            why = "the path is relative, and the shape has no folder: it was not read from a file"
            raise ParseError(f"{quote_path(address)} cannot be found: {why}")
        path = Path(shape.folder, path)
    try:
        if path.is_file():
            return path
    except (OSError, ValueError):  # A name that is too long, or has a zero inside.
        pass
    where = "" if shape.folder is None else f" (searched: {quote_path(shape.folder)})"
    raise ParseError(f"{quote_path(address)} was not found{where}")


def _strip_scheme(address: str) -> str:
    """Return the path in a ``file:`` address, or a path as it is."""
    scheme = _SCHEME.match(address)
    if scheme is None:
        return address
    if scheme.group(1).lower() != "file":
        raise ParseError(f"{quote_path(address)} is an address: nothing is fetched")
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ParseError(f"{quote_path(address)} is not an address: {error}") from None
    if parts.netloc not in ("", "localhost"):
        raise ParseError(f"{quote_path(address)} is on another machine: nothing is fetched")
    return unquote(parts.path)
