"""Files that MJCF names: looked for in its own folder and in those that the caller names, nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mbt.errors import ParseError, quote, shorten
from mbt.parsing.report import ParseRemark
from mbt.parsing.sources import Source, read_source
from mbt.parsing.xml_declaration import DECLARED_ENCODING
from mbt.parsing.xml_tree import MAX_BYTES, Document, Element, parse_xml

__all__ = ["Files"]

_MAX_FILES = 1000
# Files of these are seen to once MuJoCo has read the text.
_ASSETS = ("mesh", "texture", "hfield", "skin")


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
        The text for MuJoCo.
    included : dict of str to bytes
        What it includes, by the name that is written.
    """

    def __init__(self, source: Source, folders: Sequence[Path]) -> None:
        self.text = _decode(source)
        self._file = source.file
        self.included: dict[str, bytes] = {}
        self._paths: dict[str, Path] = {}
        self._size = len(source.data)
        own = [] if source.folder is None else [Path(source.folder)]
        self._folders = [folder.resolve() for folder in (*own, *folders)]

    def collect(self, root: Element, near: Path | None = None) -> None:
        """Read what a document includes; refuse files that lead out of the folders.

        Raises
        ------
        ParseError
            When a file is missing, leads out, or cannot be read; when they are too many or too large.
        """
        waiting = [root]
        while waiting:
            element = waiting.pop()
            waiting += element.children
            file = element.attributes.get("file")
            if file is None or element.tag in _ASSETS:
                continue
            if element.tag in ("include", "model"):
                self._include(element, file, near)
            else:
                self._find(element.error, file, near)

    def find_asset(self, file: str, element: str) -> Path:
        """Return the path of a file that an element has and MuJoCo needs to open.

        Raises
        ------
        ParseError
            When it is missing or leads out.
        """

        def fail(message: str, hint: str) -> ParseError:
            return ParseError(message, file=self._file, element=element, hint=hint)

        return self._find(fail, file, None)

    def _include(self, element: Element, file: str, near: Path | None) -> None:
        path = self._find(element.error, file, near)
        if file in self.included:
            if self._paths[file] == path and element.tag == "model":
                return
            raise element.error(f"{quote(file)} is included twice")
        source = read_source(path)
        self._size += len(source.data)
        if len(self.included) >= _MAX_FILES or self._size > MAX_BYTES:
            raise element.error("it includes more than a description may have")
        warnings: list[ParseRemark] = []
        root = parse_xml(source.data, Document(source.file, warnings=warnings), source.encoding)
        if warnings:
            raise ParseError(f"{warnings[0].text}: MuJoCo does not read it", file=source.file)
        self._paths[file] = path
        self.included[file] = _decode(source).encode("utf-8")
        self.collect(root, path.parent)

    def _find(self, fail: Callable[[str, str], ParseError], file: str, near: Path | None) -> Path:
        folders = self._folders if near is None else [*self._folders[:1], near, *self._folders[1:]]
        leads_out = False
        for folder in folders:
            try:
                path = (folder / file).resolve()
                if not any(path.is_relative_to(allowed) for allowed in self._folders):
                    leads_out = True
                elif path.is_file():
                    return path
            except (OSError, ValueError, RuntimeError):  # The last of links that form a loop.
                continue
        hint = "name a folder that holds it in package_paths"
        if leads_out:
            raise fail(f"{quote(file)} leads out of the folders that are allowed", hint)
        searched = ", ".join(shorten(str(folder), 200) for folder in folders[:5]) or "no folder"
        raise fail(f"there is no file {quote(file)} (searched: {searched})", hint)


def _decode(source: Source) -> str:
    """Return the text, which expat has read, so that it is well-formed."""
    data = source.data
    if source.encoding is not None:
        return data.decode(source.encoding, "replace")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    declared = DECLARED_ENCODING.match(data[: data.find(b">") + 1])
    if declared is not None and declared.group(1).lower() == b"iso-8859-1":
        return data.decode("latin-1")
    return data.decode("utf-8-sig", "replace")
