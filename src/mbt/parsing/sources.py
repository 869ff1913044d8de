"""Where a description comes from: a file, text, or bytes."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from mbt.errors import ArgumentTypeError, ParseError, quote, show_path
from mbt.parsing.packages import PACKAGE_SCHEMES, as_folders, as_path, find_in_packages
from mbt.parsing.xml_declaration import XML_DECLARATION
from mbt.parsing.xml_reader import MAX_BYTES

__all__ = ["Source", "read_source"]

_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
# First bytes of files that hold a description in packed form.
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


@dataclass(frozen=True)
class Source:
    """The bytes of a description.

    Attributes
    ----------
    data : bytes
        The XML document.
    file : str
        The name of the source in messages: the path, or ``<text>``.
    stem : str
        The name for a model that has none.
    encoding : str or None
        The encoding where it is known for certain.
    folder : str or None
        The folder of the file, absolute; None if there is no file.
    """

    data: bytes
    file: str
    stem: str
    encoding: str | None = None
    folder: str | None = None


def read_source(source: object, package_paths: object = (), name: str = "source") -> Source:
    """Read a description.

    Parameters
    ----------
    source : str, path or bytes
        Text that begins with ``<`` or ``{`` is the XML or JSON itself; any other text is a path.
        ``package://name/path`` is looked up in packages. Bytes are the document. A `Source` is returned
        unchanged.
    package_paths : sequence of paths
        Package folders, or folders that contain them. Folders from environment variables come after these:
        see `mbt.parsing.packages`.
    name : str
        Name of the argument `source` in messages.

    Raises
    ------
    ArgumentTypeError
        When `source` is of another type.
    ParseError
        When the file does not exist or cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        source = Source(bytes(source), "<bytes>", "model")
    if isinstance(source, Source):
        return _check_packing(source)
    folders = as_folders(package_paths)
    if isinstance(source, str):
        # A byte order mark may come first, if the text was read from a file.
        text = source.lstrip("\ufeff \t\r\n")
        if text.startswith(("<", "{")):
            return _read_text(text, source)
        if text.startswith(PACKAGE_SCHEMES):
            return _read_file(find_in_packages(text, folders))
        return _read_file(Path(_checked_path(source)))
    if isinstance(source, os.PathLike):
        return _read_file(as_path(source, name))
    cure = ": pass file.read() or its path" if hasattr(source, "read") else ""
    raise ArgumentTypeError(
        f"{name}: expected a path, XML or JSON text, or bytes, got {type(source).__name__}{cure}"
    )


def _check_packing(source: Source) -> Source:
    for beginning, packing in _PACKED.items():
        if source.data.startswith(beginning):
            raise ParseError(f"this is {packing}, not XML text", file=source.file, hint="unpack it first")
    return source


def _read_text(text: str, source: str) -> Source:
    # Blank lines in front stay, so that line numbers are the caller's. The declaration goes: XML allows
    # nothing in front of it, and it is useless, as the encoding of a string is known.
    in_front = source[: len(source) - len(text)]
    declaration = XML_DECLARATION.match(text)
    if declaration is not None:
        in_front += declaration.group()
        text = text[declaration.end() :]
    try:
        data = ("\n" * in_front.count("\n") + text).encode("utf-8")
    except UnicodeEncodeError:
        lone = next(i for i, character in enumerate(source) if "\ud800" <= character <= "\udfff")
        line = source.count("\n", 0, lone) + 1
        raise ParseError("the text contains an unpaired surrogate", file="<text>", line=line) from None
    return Source(data, "<text>", "model", "utf-8")


def _checked_path(text: str) -> str:
    if not text.strip():
        raise ParseError("the source is empty: expected a path, or text that begins with '<' or '{'")
    if "\n" in text or "\0" in text:
        raise ParseError(
            f"{quote(text)} is neither a path nor XML or JSON text, which begins with '<' or '{{'"
        )
    if _ADDRESS.match(text):
        raise ParseError(f"{quote(text)} is a URL: nothing is downloaded", hint="pass the path of a file")
    return text


def _read_file(path: Path) -> Source:
    file = str(path)
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise ParseError("this is a folder: expected a file", file=file)
        if not stat.S_ISREG(status.st_mode):
            raise ParseError("this is not a regular file", file=file)
        with open(path, "rb") as stream:
            # read(n) allocates n bytes at once. Some files are longer than their reported size.
            data = stream.read(min(status.st_size, MAX_BYTES) + 1)
            if len(data) > status.st_size:
                data += stream.read(MAX_BYTES + 1 - len(data))
    except FileNotFoundError:
        raise ParseError("there is no such file", file=file, hint=_hint_for_missing(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ParseError(f"the file cannot be read: {reason}", file=file) from None
    if len(data) > MAX_BYTES:
        raise ParseError(f"the file is larger than the limit of {MAX_BYTES} bytes", file=file)
    folder = os.path.dirname(os.path.abspath(path))
    return _check_packing(Source(data, file, path.stem or "model", folder=folder))


def _hint_for_missing(path: Path) -> str:
    text = "to pass the model itself as text, begin it with '<' or '{'"
    if path.is_absolute():
        return text
    try:
        folder = f"relative to {show_path(Path.cwd())}"
    except OSError:
        folder = "relative to the working directory, which does not exist"
    return f"the path is {folder}; {text}"
