"""Finds files that an SDF file includes, in the allowed folders and within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mbt.errors import ParseError, quote_path, show_path
from mbt.parsing.packages import PACKAGE_SCHEMES, list_packages, split_package_address
from mbt.parsing.report import ParseRemark
from mbt.parsing.sdf_versions import read_version
from mbt.parsing.sources import Source, read_source
from mbt.parsing.xml_reader import MAX_BYTES, parse_xml
from mbt.parsing.xml_tree import Document, Element

__all__ = ["Includes"]

#: The most includes in a description, of the same file or others, and their greatest depth.
MAX_FILES = 500
MAX_DEPTH = 16

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


class Includes:
    """Finds and reads included files.

    Parameters
    ----------
    folders : sequence of Path
        The folders that the caller names. Otherwise includes are searched only in the folder of the
        including file.
    warnings : list of ParseRemark
        The report, which lists repairs.
    """

    def __init__(self, folders: Sequence[Path], warnings: list[ParseRemark]) -> None:
        self._folders = list(folders)
        self._warnings = warnings
        self._count = 0
        self._num_bytes = 0

    def read(self, include: Element, path: Path, files: tuple[str, ...]) -> tuple[Element, Source]:
        """Return the root of an included document, and where it comes from.

        Raises
        ------
        ParseError
            When it includes itself through `files`; when there are too many files, or too deep ones.
        """
        self._count += 1
        if self._count > MAX_FILES:
            raise include.error(f"more than {MAX_FILES} files are included")
        if str(path) in files:
            raise include.error(f"{quote_path(path)} includes itself")
        if len(files) >= MAX_DEPTH:
            raise include.error(f"files are included deeper than {MAX_DEPTH} levels")
        source = read_source(path)
        self._num_bytes += len(source.data)
        if self._num_bytes > MAX_BYTES:
            raise include.error(f"more than {MAX_BYTES} bytes are included")
        return self._parse(source, include.document.is_strict), source

    def find(self, include: Element, address: str, source: Source) -> Path | None:
        """Return the path of an included document, without links; None where there is no such file.

        Raises
        ------
        ParseError
            When the address is of an unsupported kind, or leads out of the folder in which it was found.
        """
        for folder, inside in self._list_places(include, address, _list_near(source)):
            try:
                path = self._choose_file(_confine(folder / inside, folder), folder)
            except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that form a loop.
                if isinstance(error, ParseError):
                    raise include.error(error.message, error.hint) from None
                continue
            if path is not None:
                return path
        return None

    def criticize_missing(self, include: Element, address: str, source: Source) -> ParseError:
        """Return the error of an include that is not found."""
        folders = [show_path(folder) for folder in [*self._folders[:5], *_list_near(source)]]
        searched = ", ".join(folders) or "no folder"
        hint = "add the folder that contains it to package_paths"
        return include.error(f"{quote_path(address)} was not found (searched: {searched})", hint)

    def _parse(self, source: Source, is_strict: bool) -> Element:
        document = Document(source.file, is_strict, self._warnings, source.folder, is_included=True)
        return parse_xml(source.data, document, source.encoding)

    def _list_places(self, include: Element, address: str, near: list[Path]) -> Iterator[tuple[Path, str]]:
        """Yield folders to which the file is confined, with a path inside to which the address may refer."""
        folders = [*self._folders, *near]
        if address.startswith(PACKAGE_SCHEMES):
            try:
                name, inside = split_package_address(address)
                yield from ((package, inside) for package in list_packages(name, folders))
            except ParseError as error:
                raise include.error(error.message, error.hint) from None
            return
        scheme = _SCHEME.match(address)
        if scheme is not None:
            raise include.error(
                f"{quote_path(address)}: {scheme.group(1)} addresses are not supported",
                "include package://name/path, model://name or a path inside the folder of the file",
            )
        if Path(address).is_absolute():
            raise include.error(f"{quote_path(address)} is an absolute path: expected a relative one")
        for folder in [*near, *self._folders]:
            yield folder, address

    def _choose_file(self, path: Path, folder: Path) -> Path | None:
        """Return a file; for a folder, the one that its ``model.config`` names."""
        if path.is_file():
            return path
        if not path.is_dir():
            return None
        config = _confine(path / "model.config", folder)
        name = self._read_config(config) if config.is_file() else "model.sdf"
        chosen = _confine(path / name, folder)
        return chosen if chosen.is_file() else None

    def _read_config(self, config: Path) -> str:
        """Return the file that a ``model.config`` names; of several, that of the highest version."""
        root = self._parse(read_source(config), False)
        found = [
            (read_version(element.take("version")), element.text) for element in root.take_children("sdf")
        ]
        named = [(version or (0, 0), name) for version, name in found if name]
        return max(named, key=lambda each: each[0])[1] if named else "model.sdf"


def _list_near(source: Source) -> list[Path]:
    return [] if source.folder is None else [Path(source.folder)]


def _confine(path: Path, folder: Path) -> Path:
    """Return a path with links resolved, which must not lead out of a folder."""
    resolved = path.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        shown = f"{quote_path(path)} leads out of {quote_path(folder)}"
        raise ParseError(shown)
    return resolved
