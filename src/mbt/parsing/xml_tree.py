"""XML text as a light tree of elements that knows its line numbers and what of it was read.

The standard library's expat does the parsing, within bounds: no document type, so no entities; limited
nesting, size and number of elements. Nothing is fetched and no other file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from mbt.errors import ParseError

__all__ = ["MAX_BYTES", "MAX_ELEMENTS", "MAX_NESTING", "Element", "parse_xml"]

MAX_BYTES = 64 * 2**20
MAX_NESTING = 64
MAX_ELEMENTS = 1_000_000


class Element:
    """One element of an XML document.

    `take` and `take_children` note what was read: what remains unread is what the reader ignored.
    """

    __slots__ = ("_text", "_unread", "attributes", "children", "file", "is_read", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, file: str) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.file = file
        self.children: list[Element] = []
        self.is_read = False
        self._unread = dict.fromkeys(attributes)
        self._text: list[str] = []

    @property
    def text(self) -> str:
        """The character data directly inside, without blanks around it."""
        return "".join(self._text).strip()

    @property
    def unread_attributes(self) -> list[str]:
        """Names of the attributes that nobody took."""
        return list(self._unread)

    def take(self, name: str) -> str | None:
        """Return an attribute, or None."""
        self._unread.pop(name, None)
        return self.attributes.get(name)

    def require(self, name: str, hint: str | None = None) -> str:
        """Return an attribute that must be there."""
        value = self.take(name)
        if value is None:
            raise self.error(f"the attribute {name!r} is missing", hint)
        return value

    def require_name(self, attribute: str = "name") -> str:
        """Return a name that must be there and not be empty."""
        name = self.require(attribute)
        if not name.strip():
            raise self.error(f"the attribute {attribute!r} is empty: a name is expected")
        return name

    def take_children(self, *tags: str) -> list[Element]:
        """Return the children with one of these tags, in document order."""
        found = [child for child in self.children if child.tag in tags]
        for child in found:
            child.is_read = True
        return found

    def take_single(self, tag: str) -> Element | None:
        """Return the only child with this tag, or None."""
        found = self.take_children(tag)
        if len(found) > 1:
            raise found[1].error(f"{self} has {len(found)} elements <{tag}>: one is expected")
        return found[0] if found else None

    def require_single(self, tag: str, hint: str | None = None) -> Element:
        """Return the only child with this tag, which must be there."""
        child = self.take_single(tag)
        if child is None:
            raise self.error(f"the element <{tag}> is missing", hint)
        return child

    def dismiss(self) -> None:
        """Count this element and all inside as read: it was accounted for as a whole."""
        self.is_read = True
        self.children = []
        self._unread = {}

    def append_text(self, data: str) -> None:
        """Add character data."""
        self._text.append(data)

    def unread(self) -> Iterator[str]:
        """Yield what nobody took below this element, as ``link/visual`` or ``joint/axis@rpy``, in order."""
        stack = [("", child) for child in reversed(self.children)]
        while stack:
            folder, element = stack.pop()
            path = folder + element.tag
            if not element.is_read:
                yield path
                continue
            yield from (
                f"{path}@{name}" for name in element.unread_attributes if not name.startswith("xmlns")
            )
            stack.extend((f"{path}/", child) for child in reversed(element.children))

    def error(self, message: str, hint: str | None = None) -> ParseError:
        """Return an error that names this element and its place."""
        return ParseError(message, file=self.file, line=self.line, element=str(self), hint=hint)

    def __str__(self) -> str:
        """Return the start tag, with the name alone."""
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f'<{self.tag} name="{_shortened(name)}">'


def parse_xml(data: bytes, file: str, encoding: str | None = None) -> Element:
    """Return the root element of an XML document.

    Parameters
    ----------
    data : bytes
        The document.
    file : str
        What errors call it.
    encoding : str, optional
        The encoding, whatever the document declares.

    Raises
    ------
    ParseError
        When the text is no well-formed XML, or goes beyond the bounds.
    """
    if len(data) > MAX_BYTES:
        raise ParseError(f"{len(data)} bytes are more than a description may have ({MAX_BYTES})", file=file)
    if not data.strip():
        raise ParseError("the text is empty", file=file)
    builder = _TreeBuilder(file, encoding)
    try:
        builder.parser.Parse(data, True)
    except ParseError:
        raise
    except expat.ExpatError as error:
        raise _as_parse_error(error, file) from None
    except (ValueError, LookupError) as error:  # An encoding that the parser does not know.
        raise ParseError(f"no well-formed XML: {error}", file=file) from None
    return builder.root


class _TreeBuilder:
    """Receives what expat finds."""

    def __init__(self, file: str, encoding: str | None) -> None:
        self.root: Element
        self._file = file
        self._open: list[Element] = []
        self._count = 0
        self.parser = expat.ParserCreate(encoding)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse_document_type

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self._file)
        self._count += 1
        if len(self._open) >= MAX_NESTING:
            raise element.error(f"elements are nested deeper than {MAX_NESTING} levels")
        if self._count > MAX_ELEMENTS:
            raise element.error(f"more than {MAX_ELEMENTS} elements")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _text(self, data: str) -> None:
        if not data.isspace():
            self._open[-1].append_text(data)

    def _refuse_document_type(self, name: str, *_: object) -> None:
        raise ParseError(
            "a document type (<!DOCTYPE>) is refused",
            file=self._file,
            line=self.parser.CurrentLineNumber,
            hint="remove it: a robot description needs no entities",
        )


def _as_parse_error(error: expat.ExpatError, file: str) -> ParseError:
    problem = expat.ErrorString(error.code) or "unknown problem"
    hint = {
        "no element found": "the text ends early, or is no XML",
        "not well-formed (invalid token)": "look for a stray '<' or '&', or a missing quote",
        "mismatched tag": "an element is closed by another one's name, or not at all",
    }.get(problem)
    return ParseError(
        f"no well-formed XML: {problem} (column {error.offset + 1})", file=file, line=error.lineno, hint=hint
    )


def _shortened(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
