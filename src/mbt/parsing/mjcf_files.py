"""Finds files that MJCF names: only in its own folder and in those that the caller names."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mbt.errors import ParseError, quote_path, show_path
from mbt.parsing.sources import Source, read_source
from mbt.parsing.xml_declaration import DECLARED_ENCODING
from mbt.parsing.xml_reader import MAX_BYTES, parse_xml
from mbt.parsing.xml_tree import Document, Element

__all__ = ["Files"]

_MAX_FILES = 1000
# Files of these elements are handled after MuJoCo has read the text.
_ASSETS = ("mesh", "texture", "hfield", "skin")
_FILE = re.compile(
    r"""(<(include|model|mesh|flexcomp)\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*?\bfile\s*=\s*)(["'])([^<]*?)\3"""
)
# The folder by which a mesh of another file is recognized: no real path has such a name.
_MARK = "?{}"


class _Mesh(NamedTuple):
    """A mesh that an included or attached file names."""

    written: str
    near: Path
    home: Path | None


class _Flex(NamedTuple):
    """A mesh of a flexible body: MuJoCo opens it while it reads the text."""

    name: str
    element: Element
    file: str
    place: _Place


class _Place(NamedTuple):
    """The folder of a file, and the folder of the attached model to which it belongs, if any."""

    near: Path | None = None
    home: Path | None = None


class Files:
    """The text of a model, and of all that it includes.

    Parameters
    ----------
    source : Source
        The text.
    folders : sequence of Path
        Folders that the caller names.

    Attributes
    ----------
    text : str
        The text that MuJoCo is given.
    included : dict of str to bytes
        The included files, by their name in the texts. MuJoCo takes files with the same name for the same
        file, even in different folders, so some are renamed in the texts.
    """

    def __init__(self, source: Source, folders: Sequence[Path]) -> None:
        self.text = ""
        self._source = source
        self.included: dict[str, bytes] = {}
        self._names: dict[Path, str] = {}
        self._taken: set[str] = set()
        self._meshes: dict[str, _Mesh] = {}
        self._flexes: list[_Flex] = []
        # The attributes of <compiler> elements, by the folder of the model.
        self._compilers: dict[Path | None, dict[str, str]] = {}
        self._size = len(source.data)
        self._given = ([] if source.folder is None else [Path(source.folder)], folders)

    @cached_property
    def _folders(self) -> list[Path]:
        """The allowed folders, resolved when first needed: most models have no other files."""
        own, others = self._given
        return [folder.resolve() for folder in (*own, *others)]

    def collect(self, root: Element) -> None:
        """Read the files that a document includes; refuse those outside of the allowed folders.

        Raises
        ------
        ParseError
            When a file is missing, outside, or cannot be read; when there are too many, or too large ones.
        """
        self.text = self._collect(root, root.document.repaired or _decode(self._source), _Place())
        for flex in self._flexes:
            self.included[flex.name] = self._read(flex.element, self._locate_flex(flex)).data

    def locate_mesh(self, folder: str, file: str, strips_paths: bool = False) -> str:
        """Return the path of a mesh, relative to the folder of the model or one that the caller names.

        MuJoCo looks for it in the folder of meshes, and then next to an included file that names it.

        Parameters
        ----------
        folder : str
            The folder of meshes.
        file : str
            The file of the mesh, as MuJoCo read it.
        strips_paths : bool
            Whether to use only the last part of its path.
        """
        file = _with_slashes(file)
        mesh = self._meshes.get("/".join(file.split("/")[-2:]))
        if strips_paths:
            file = _last_part(file)
            mesh = mesh and mesh._replace(written=_last_part(mesh.written))
        if mesh is None:
            return _with_slashes(os.path.join(folder, file))
        usual = _with_slashes(os.path.join(self._shorten(mesh.home), folder, mesh.written))
        if self._search(usual, self._folders)[0] is None and self._search(mesh.written, [mesh.near])[0]:
            return os.path.normpath(os.path.join(self._shorten(mesh.near), mesh.written))
        return usual

    def _shorten(self, folder: Path | None) -> Path:
        """Return the path of an allowed folder, relative to the one that contains it."""
        if folder is None:
            return Path()
        return folder.relative_to(next(base for base in self._folders if folder.is_relative_to(base)))

    def find_asset(self, file: str, element: str) -> Path:
        """Return the path of a file that an element names and MuJoCo needs to open.

        Raises
        ------
        ParseError
            When it is missing or outside of the allowed folders.
        """

        def fail(message: str, hint: str) -> ParseError:
            return ParseError(message, file=self._source.file, element=element, hint=hint)

        return self._find(fail, file, _Place())

    def _collect(self, root: Element, text: str, place: _Place) -> str:
        """Return the text of a document in which included files have the names that MuJoCo is given."""
        names = {}
        flexes: list[Element] = []
        waiting = [root]
        while waiting:
            element = waiting.pop()
            waiting += element.children
            file = element.peek("file")
            if element.tag == "compiler":
                self._compilers.setdefault(place.home, {}).update(element.attributes)
            if file is None:
                continue
            if element.tag in ("include", "model"):
                names[element.tag, file] = self._include(element, file, place)
            elif element.tag == "flexcomp":
                name = self._find_name(_last_part(_with_slashes(file)))
                self._flexes.append(_Flex(name, element, file, place))
                flexes.append(element)
                names["flexcomp", file] = name
            elif element.tag not in _ASSETS:
                self._find(element.error, file, place)
            elif element.tag == "mesh" and place.near is not None:
                written = _with_slashes(file)
                name = f"{_MARK.format(len(self._meshes))}/{Path(written).name}"
                self._meshes[name] = _Mesh(written, place.near, place.home)
                names["mesh", file] = name
        text = _rename(text, names)
        if flexes:
            self._check_flexes(text, flexes)
        return text

    def _check_flexes(self, text: str, flexes: Sequence[Element]) -> None:
        """Check that MuJoCo opens none of the files itself: each must have a name that it was given."""
        known = {flex.name for flex in self._flexes}
        waiting = [parse_xml(text.encode("utf-8"), Document("<text>"), "utf-8")]
        while waiting:
            element = waiting.pop()
            waiting += element.children
            if element.tag == "flexcomp" and element.peek("file") not in {None, *known}:
                raise flexes[0].error("its file is written in an unknown notation")

    def _include(self, element: Element, file: str, place: _Place) -> str:
        """Read a file that an element includes or attaches, and return its name."""
        path = self._find(element.error, file, place)
        is_attached = element.tag == "model"
        if path in self._names:
            if is_attached:
                return self._names[path]
            raise element.error(f"{quote_path(file)} is included twice")
        source = self._read(element, path)
        document = replace(element.document, file=source.file, is_included=True, repaired=None)
        root = parse_xml(source.data, document, source.encoding)
        name = self._names[path] = self._find_name(file)
        own = _Place(path.parent, path.parent if is_attached else place.home)
        text = self._collect(root, document.repaired or _decode(source), own)
        self.included[name] = text.encode("utf-8")
        return name

    def _locate_flex(self, flex: _Flex) -> Path:
        """Return where the mesh of a flexible body is: in the folder of meshes."""
        compiler = self._compilers.get(flex.place.home, {})
        folder, file = compiler.get("meshdir", compiler.get("assetdir", "")), _with_slashes(flex.file)
        if compiler.get("strippath") == "true":
            file = _last_part(file)
        return self._find(flex.element.error, os.path.join(_with_slashes(folder), file), flex.place)

    def _read(self, element: Element, path: Path) -> Source:
        source = read_source(path)
        self._size += len(source.data)
        if len(self._names) + len(self._flexes) >= _MAX_FILES or self._size > MAX_BYTES:
            raise element.error("it includes too many files, or too large ones")
        return source

    def _find_name(self, file: str) -> str:
        """Return a name for a file whose last part, ignoring case, is unique."""
        folder, last = os.path.split(_with_slashes(file))
        stem, extension = os.path.splitext(last)
        name, number = last, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{stem}_{number}{extension}"
        self._taken.add(name.lower())
        return file if name == last else os.path.join(folder, name)

    def _find(self, fail: Callable[[str, str], ParseError], file: str, place: _Place) -> Path:
        first = self._folders[:1] if place.home is None else [place.home]
        near = [] if place.near is None else [place.near]
        folders = list(dict.fromkeys([*first, *near, *self._folders]))
        path, outside = self._search(_with_slashes(file), folders)
        if path is not None:
            return path
        if outside is not None:
            hint = f"package_paths=[{_find_common_folder(folders[0], outside)!r}] allows it"
            raise fail(f"{quote_path(file)} leads out of the allowed folders", hint)
        searched = ", ".join(map(show_path, folders[:5])) or "no folder"
        hint = "add a folder that contains it to package_paths"
        raise fail(f"there is no file {quote_path(file)} (searched: {searched})", hint)

    def _search(self, file: str, folders: Sequence[Path]) -> tuple[Path | None, Path | None]:
        """Return the path of a file, and where it would be outside of the allowed folders."""
        outside = None
        for folder in folders:
            try:
                path = (folder / file).resolve()
                if not any(path.is_relative_to(allowed) for allowed in self._folders):
                    outside = outside or path
                elif path.is_file():
                    return path, None
            except (OSError, ValueError, RuntimeError):  # RuntimeError: links that form a loop.
                continue
        return None, outside


def _find_common_folder(folder: Path, outside: Path) -> str:
    """Return the deepest folder that contains a folder and a file; that of the file where there is none."""
    common = os.path.commonpath([folder, outside.parent]) if folder.anchor == outside.anchor else ""
    return str(outside.parent) if common in ("", folder.anchor) else common


def _with_slashes(file: str) -> str:
    """Return a path with slashes, as MuJoCo reads it, even if it was written on Windows."""
    return file.replace("\\", "/")


def _last_part(file: str) -> str:
    return file.rpartition("/")[2]


def _rename(text: str, names: dict[tuple[str, str], str]) -> str:
    """Return a text with other names for files, given by element and old name."""
    if all(file == name for (_, file), name in names.items()):
        return text

    def rename(match: re.Match[str]) -> str:
        file = html.unescape(match[4])
        name = names.get((match[2], file), file)
        return match[0] if name == file else f'{match[1]}"{html.escape(name)}"'

    return _FILE.sub(rename, text)


def _decode(source: Source) -> str:
    """Return the text. It is well-formed, as expat has read it."""
    data = source.data
    if source.encoding is not None:
        return data.decode(source.encoding, "replace")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    declared = DECLARED_ENCODING.match(data[: data.find(b">") + 1])
    if declared is not None and declared.group(1).lower() == b"iso-8859-1":
        return data.decode("latin-1")
    return data.decode("utf-8-sig", "replace")
