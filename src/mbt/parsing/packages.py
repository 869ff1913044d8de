"""Finds packages: resolves ``package://name/path`` and ``model://name/path`` on this machine.

Folders are listed; files are only checked for existence, not opened.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mbt.errors import ArgumentTypeError, ParseError, quote, quote_path, shorten, show_path

__all__ = [
    "PACKAGE_SCHEMES",
    "as_folders",
    "as_path",
    "find_in_packages",
    "find_package",
    "list_packages",
    "list_roots",
    "split_package_address",
]

#: Beginnings of addresses that are looked up in packages.
PACKAGE_SCHEMES = ("package://", "model://")


def as_path(path: object, name: str) -> Path:
    """Return a path of any class; `name` is that of the argument.

    Raises
    ------
    ArgumentTypeError
        When it is not a path, for whatever reason.
    """
    try:
        return Path(os.fsdecode(path))  # type: ignore[arg-type]
    except MemoryError:
        raise
    except Exception as error:
        # A user-written __fspath__ may raise anything.
        reason = f"{type(error).__name__}: {shorten(str(error))}"
        raise ArgumentTypeError(
            f"{name}: expected a path, got a {type(path).__name__} that returns none ({reason})"
        ) from error


def as_folders(package_paths: object) -> list[Path]:
    """Return the argument `package_paths` as paths.

    Raises
    ------
    ArgumentTypeError
        When it is not a sequence of paths.
    """
    if isinstance(package_paths, (str, bytes, os.PathLike)) or not isinstance(package_paths, Sequence):
        got = type(package_paths).__name__
        raise ArgumentTypeError(f"package_paths: expected a sequence of folders, got {got}")
    for folder in package_paths:
        if not isinstance(folder, (str, os.PathLike)):
            raise ArgumentTypeError(f"package_paths: expected folders, got {type(folder).__name__}")
    return [as_path(folder, "package_paths") for folder in package_paths]


def split_package_address(address: str) -> tuple[str, str]:
    """Return the name of the package in an address, and the path inside, which may be empty.

    Raises
    ------
    ParseError
        When it names no package.
    """
    scheme, _, rest = address.strip().partition("://")
    # Some files have an extra slash: package:///name/path, package://name//path.
    name, _, path = rest.lstrip("/").partition("/")
    if f"{scheme}://" not in PACKAGE_SCHEMES or not name or name in (".", "..") or "\\" in name:
        raise ParseError(f"{quote_path(address)}: expected package://name/path")
    return name, path.lstrip("/")


def find_in_packages(address: str, folders: Sequence[Path], near: str | None = None) -> Path:
    """Return the path of the file ``package://name/path``, which is always inside the package.

    Parameters
    ----------
    address : str
        The address.
    folders : sequence of Path
        Package folders, or folders that contain them.
    near : str, optional
        The folder of the file that holds the address.

    Raises
    ------
    ParseError
        When there is no such file, or the path leads out of the package, directly or through links.
    """
    name, inside = split_package_address(address)
    if not inside:
        raise ParseError(f"{quote_path(address)}: expected package://name/path")
    for package in _find_packages(name, folders, near):
        try:
            path = (package / inside).resolve()
            is_inside = path.is_relative_to(package.resolve())
            is_file = path.is_file()
        except (OSError, ValueError, RuntimeError):  # RuntimeError: links that form a loop.
            continue
        if not is_inside:
            raise ParseError(
                f"{quote_path(address)} leads out of the package {quote(name)}", file=str(package)
            )
        if is_file:
            return path
    raise _not_found(quote_path(address), name, folders, near)


def find_package(name: str, folders: Sequence[Path], near: str | None = None) -> Path:
    """Return the folder of a package.

    Parameters
    ----------
    name : str
        Name of the package.
    folders, near
        As in `find_in_packages`.

    Raises
    ------
    ParseError
        When there is none, or the name cannot be that of a folder.
    """
    if name and name not in (".", "..") and not any(c in name for c in "/\\\0"):
        for package in _find_packages(name, folders, near):
            return package
    raise _not_found(f"the package {quote(name)}", name, folders, near)


def list_packages(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the package folders of a name that are among some folders, or directly inside one of them.

    Raises
    ------
    ParseError
        When one is a link that leads out of its folder.
    """
    for folder in folders:
        for package in _find_at(folder, name):
            if not _leads_to_inside(package, folder):
                shown = quote_path(folder)
                raise ParseError(
                    f"the package {quote(name)} in {shown} is a link that leads out of it",
                    hint=f"add its target folder to package_paths: {shorten(str(package), 200)}",
                )
            yield package


def list_roots(folders: Sequence[Path], near: str | None) -> list[Path]:
    """Return the folders, with links resolved, in which the meshes of a description in `near` may be.

    These are the folders that the caller names, those that the environment lists, the folder of the
    description, its package, and a folder ``meshes`` next to it.
    """
    roots = [*folders, *_read_environment("ROS_PACKAGE_PATH"), *_read_environment("AMENT_PREFIX_PATH")]
    if near is not None:
        own = Path(near)
        roots.append(own)
        packages = (
            a for a in (own, *own.parents) if any(map(_is_file, (a / "package.xml", a / "model.config")))
        )
        roots += itertools.islice(packages, 1)
        meshes = own.parent / "meshes"
        if _leads_to_inside(meshes, own.parent):
            roots.append(meshes)
    found = []
    for root in roots:
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: links that form a loop.
            found.append(root.resolve())
    return found


def _leads_to_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _find_packages(name: str, folders: Sequence[Path], near: str | None) -> Iterator[Path]:
    """Yield the folders that may be a package: first those that the caller names, then the environment's."""
    yield from list_packages(name, folders)
    for folder in _read_environment("ROS_PACKAGE_PATH"):
        yield from _find_at(folder, name)
        # A workspace holds repositories, which hold packages.
        for repository in _list_folder(folder):
            if _is_folder(repository / name):
                yield repository / name
    for prefix in _read_environment("AMENT_PREFIX_PATH"):
        if _is_folder(prefix / "share" / name):
            yield prefix / "share" / name
    if near is not None:
        for ancestor in (Path(near), *Path(near).parents):
            if ancestor.name == name:
                yield ancestor


def _find_at(folder: Path, name: str) -> Iterator[Path]:
    """Yield a folder if it has the name of the package, and its subfolder of this name."""
    try:
        is_package = folder.resolve().name == name
    except (OSError, ValueError, RuntimeError):
        return
    if is_package:
        yield folder
    if _is_folder(folder / name):
        yield folder / name


def _read_environment(variable: str) -> list[Path]:
    """Return the absolute paths that an environment variable lists; other entries are ignored."""
    listed = os.environ.get(variable, "").split(os.pathsep)
    return [Path(entry) for entry in listed if os.path.isabs(entry)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # The name is too long, or the folder is not accessible.
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def _not_found(what: str, name: str, folders: Sequence[Path], near: str | None) -> ParseError:
    searched = [("package_paths", list(folders))]
    searched += [(name, _read_environment(name)) for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")]
    if near is not None:
        searched.append(("the folders above", [Path(near)]))
    shown = "; ".join(f"{where}: {_show(paths)}" for where, paths in searched)
    hint = f"add the folder {quote(name)}, or the one that contains it, to package_paths"
    return ParseError(f"{what} was not found (searched: {shown})", hint=hint)


def _show(folders: list[Path]) -> str:
    shown = [show_path(folder) for folder in folders[:5]] + ["..."] * (len(folders) > 5)
    return ", ".join(shown) or "none"
