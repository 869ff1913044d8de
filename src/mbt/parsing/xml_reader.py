"""Turns XML text into a tree of elements.

The standard library's expat does the parsing, within bounds: no document type, so no entities; limited
nesting, size and number of elements. Nothing is downloaded and no other file is opened. Text that expat
refuses is repaired if possible, and parsed again.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from mbt.errors import ParseError
from mbt.parsing.xml_declaration import DECLARED_ENCODING
from mbt.parsing.xml_tree import Document, Element

__all__ = ["MAX_BYTES", "MAX_ELEMENTS", "MAX_NESTING", "parse_xml"]

MAX_BYTES = 64 * 2**20
# Bytes of a document whose elements, some 20 times larger, take too much memory to keep until all is read.
_LARGE = 2**20
MAX_NESTING = 64
# By the root element. Bodies of MJCF are nested, so a rope of a hundred links is nested a hundred deep.
_NESTING = {"mujoco": 400, "mujocoinclude": 400}
MAX_ELEMENTS = 2_000_000

# Encodings that expat supports itself; its handling of other names of Python codecs is not reliable.
_OF_EXPAT = {b"utf-8", b"utf-16", b"us-ascii", b"iso-8859-1"}

# By the root element: the elements whose text matters, and the elements whose content is skipped. For other
# root elements everything is kept.
_NOTHING: frozenset[str] = frozenset()
_TEXT_TAGS = {
    "robot": frozenset(
        ("damping", "gravity", "kinematic", "springStiffness", "static", "turnGravityOff", "type")
    ),
    "mujoco": _NOTHING,
}
_OPAQUE_TAGS = {
    "sdf": frozenset(
        ("actor", "gui", "light", "physics", "plugin", "population", "scene", "sensor", "state")
    ),
}


def parse_xml(data: bytes, document: Document, encoding: str | None = None) -> Element:
    """Return the root element of an XML document.

    Parameters
    ----------
    data : bytes
        The text.
    document : Document
        The name of the document in errors; repairs are added to its warnings.
    encoding : str, optional
        The encoding; it overrides the declaration.

    Raises
    ------
    ParseError
        When the text is not well-formed XML and cannot be repaired, or goes beyond the bounds.
    """
    if len(data) > MAX_BYTES:
        message = f"{len(data)} bytes are more than a description may have ({MAX_BYTES})"
        raise ParseError(message, file=document.file)
    if not data or data.isspace():
        raise ParseError("the text is empty", file=document.file)
    document.is_large = len(data) > _LARGE
    beginning = data[: data.find(b">") + 1].replace(b"\0", b"")  # Without the zeros of wide characters.
    declared = DECLARED_ENCODING.match(beginning) if encoding is None else None
    if declared is not None and declared.group(1).lower() not in _OF_EXPAT:
        reason = ParseError("not well-formed XML: unknown encoding", file=document.file)
    else:
        try:
            return _parse(data, document, encoding)
        except expat.ExpatError as error:
            reason = _as_parse_error(error, document.file)
    return _parse_repaired(data, document, encoding, reason)


def _parse_repaired(data: bytes, document: Document, encoding: str | None, reason: ParseError) -> Element:
    """Return the root of a text that expat refused with the error `reason`."""
    from mbt.parsing.recovery import recover  # Most files need no repair.

    text, repairs = recover(data, document.file, encoding)
    repaired = text.encode("utf-8", "replace")
    if repaired == data:
        raise reason
    try:
        root = _parse(repaired, document, "utf-8")
    except expat.ExpatError as error:
        raise _as_parse_error(error, document.file) from None
    document.repaired = text
    for fault, remedy, line in repairs:
        document.repair(fault, remedy, line)
    return root


def _parse(data: bytes, document: Document, encoding: str | None) -> Element:
    """Parse in one pass. The handlers are closures, so that no method is looked up for each element."""
    parser = expat.ParserCreate(encoding)
    top = Element("", {}, 0, document)
    # `top`, which holds the root, then the open elements, from the root inwards.
    path = [top]
    count = 0
    max_nesting = MAX_NESTING
    # The number of open elements in an opaque one, itself included; and the end handler outside of it.
    depth_inside = 0
    end_outside: Any = None
    text_tags: frozenset[str] = frozenset()
    opaque_tags: frozenset[str] = frozenset()
    # A single test for both: most elements are neither.
    special_tags: frozenset[str] = frozenset()

    def start_root(tag: str, attributes: dict[str, str]) -> None:
        nonlocal text_tags, opaque_tags, special_tags, max_nesting
        parser.StartElementHandler = start
        max_nesting = _NESTING.get(tag, MAX_NESTING)
        start(tag, attributes)
        opaque_tags = _OPAQUE_TAGS.get(tag, opaque_tags)
        # Most character data are blanks between elements: where the text of only a few elements matters, the
        # handler is set for these alone.
        if tag in _TEXT_TAGS:
            text_tags = _TEXT_TAGS[tag]
        else:
            parser.CharacterDataHandler = add_text
        special_tags = text_tags | opaque_tags

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count, depth_inside, end_outside
        element = Element(tag, attributes, parser.CurrentLineNumber, document)
        parent = path[-1]
        if parent.children:
            parent.children.append(element)
        else:
            parent.children = [element]
        count += 1
        if count > MAX_ELEMENTS or len(path) > max_nesting:
            raise out_of_bounds(element)
        path.append(element)
        if tag not in special_tags:
            return
        if tag in text_tags:
            parser.CharacterDataHandler, parser.EndElementHandler = add_text, end_text
        else:
            end_outside = parser.EndElementHandler
            parser.StartElementHandler, parser.EndElementHandler = start_inside, end_inside
            depth_inside = 1

    def end(_: str) -> None:
        path.pop()

    def end_text(tag: str) -> None:
        path.pop()
        if tag in text_tags:
            parser.CharacterDataHandler, parser.EndElementHandler = None, end

    def start_inside(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count, depth_inside
        count += 1
        if count > MAX_ELEMENTS or len(path) - 1 + depth_inside > max_nesting:
            raise out_of_bounds(Element(tag, attributes, parser.CurrentLineNumber, document))
        depth_inside += 1

    def end_inside(tag: str) -> None:
        nonlocal depth_inside
        depth_inside -= 1
        if depth_inside == 0:
            parser.StartElementHandler, parser.EndElementHandler = start, end_outside
            path.pop()

    def out_of_bounds(element: Element) -> ParseError:
        if count > MAX_ELEMENTS:
            return element.error(f"more than {MAX_ELEMENTS} elements")
        return element.error(f"elements are nested deeper than {max_nesting} levels")

    def add_text(data: str) -> None:
        if not data.isspace():
            element = path[-1]
            if element.text_parts is None:
                element.text_parts = []
            element.text_parts.append(data)

    def refuse_document_type(*_: object) -> None:
        raise ParseError(
            "a document type (<!DOCTYPE>) is refused",
            file=document.file,
            line=parser.CurrentLineNumber,
            hint="remove it: a robot description needs no entities",
        )

    parser.buffer_text = True
    parser.StartElementHandler = start_root
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse_document_type
    parser.Parse(data, True)
    root = next(iter(top.children))
    # The parser and its handlers hold each other and `top` until garbage collection; release the document.
    top.children = ()
    return root


def _as_parse_error(error: expat.ExpatError, file: str) -> ParseError:
    problem = expat.ErrorString(error.code) or "unknown problem"
    if problem == expat.errors.XML_ERROR_NO_MEMORY:
        raise MemoryError("no memory is left to read XML") from None
    hint = {
        "no element found": "the text ends early, or is not XML",
        "not well-formed (invalid token)": "look for a stray '<' or '&', or a missing quote",
        "mismatched tag": "an element is closed with the name of another one, or not at all",
    }.get(problem)
    return ParseError(
        f"not well-formed XML: {problem} (column {error.offset + 1})", file=file, line=error.lineno, hint=hint
    )
