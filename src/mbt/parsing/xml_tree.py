"""XML text as a light tree of elements that knows its line numbers and what of it was read.

The standard library's expat does the parsing, within bounds: no document type, so no entities; limited
nesting, size and number of elements. Nothing is fetched and no other file is opened. What expat refuses is
repaired where that can be done, and parsed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from mbt.errors import ParseError, shorten, show_path
from mbt.parsing.report import ParseRemark
from mbt.parsing.xml_declaration import DECLARED_ENCODING

__all__ = [
    "MAX_BYTES",
    "MAX_ELEMENTS",
    "MAX_NESTING",
    "XACRO_HINT",
    "Document",
    "Element",
    "parse_xml",
]

MAX_BYTES = 64 * 2**20
# Bytes of a document whose elements take too much memory to be kept until all is read: some 20 times as much.
_LARGE = 2**20
MAX_NESTING = 64
# By the root of the document. Bodies of MJCF are nested, so a rope of a hundred links is a hundred deep.
_NESTING = {"mujoco": 400, "mujocoinclude": 400}
MAX_ELEMENTS = 2_000_000

#: What to do about a file with macros.
XACRO_HINT = "the file holds macros: expand it with xacro first, as mbt.parsing.expand_xacro does"

# Those that expat knows; what it makes of the names that Python has for codecs is not to be relied on.
_OF_EXPAT = {b"utf-8", b"utf-16", b"us-ascii", b"iso-8859-1"}

# By the root of the document: elements whose text matters, and elements in which nothing does. Of other
# documents everything is kept.
_NOTHING: frozenset[str] = frozenset()
_TEXT_TAGS = {
    "robot": frozenset(
        ("damping", "gravity", "kinematic", "springStiffness", "static", "turnGravityOff", "type")
    ),
    "mujoco": _NOTHING,
}
_OPAQUE_TAGS = {
    "sdf": frozenset(
        ("actor", "gui", "light", "physics", "plugin", "population", "scene", "sensor", "state", "surface")
    ),
}


# Elements whose faults do not change the motion.
_LOOKS = frozenset(
    [
        "box",
        "capsule",
        "collision",
        "color",
        "cylinder",
        "diffuse",
        "drake:capsule",
        "drake:ellipsoid",
        "ellipsoid",
        "geometry",
        "material",
        "mesh",
        "plane",
        "sphere",
        "texture",
        "visual",
    ]
)


@dataclass
class Document:
    """What all elements of a document have in common: what messages call it, and how faults are met.

    `folder` is that of the file, or None of what is not a file. Warnings of one that another document
    includes tell its file. Of one that `is_large` no more is kept in memory than is still to be read. Of one
    that expat refuses, `repaired` is the text that was read in its place.
    """

    file: str
    is_strict: bool = False
    warnings: list[ParseRemark] = field(default_factory=list)
    folder: str | None = None
    is_included: bool = False
    is_large: bool = False
    repaired: str | None = None

    def repair(
        self, fault: str, remedy: str, line: int | None, element: str | None = None, about: str = "text"
    ) -> None:
        """Warn of a fault and of what is made of it; refuse it when strict."""
        if self.is_strict:
            hint = "strict=False goes on with a warning"
            raise ParseError(fault, file=self.file, line=line, element=element, hint=hint)
        file = f"{show_path(self.file)}: " if self.is_included else ""
        text = file + ": ".join(filter(None, (element, fault, remedy)))
        self.warnings.append(ParseRemark(text, line, about))


class Element:
    """One element of an XML document.

    To take an attribute removes it, to take a child marks it: what remains is what the reader ignored.
    """

    __slots__ = ("attributes", "children", "document", "is_read", "line", "tag", "text_parts")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, document: Document) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.document = document
        # Most elements have none.
        self.children: list[Element] | tuple[()] = ()
        self.text_parts: list[str] | None = None
        self.is_read = False

    @property
    def text(self) -> str:
        """The character data directly inside, without blanks around it."""
        return "".join(self.text_parts or ()).strip()

    def peek(self, name: str) -> str | None:
        """Return an attribute, or None, and let it stand."""
        return self.attributes.get(name)

    def take(self, name: str) -> str | None:
        """Remove an attribute and return it, or None."""
        return self.attributes.pop(name, None)

    def require(self, name: str, hint: str | None = None) -> str:
        """Remove and return an attribute that must be there."""
        value = self.take(name)
        if value is None:
            raise self.missing(name, hint)
        return value

    def require_name(self, attribute: str = "name") -> str:
        """Return a name that must be there and not be empty. It stays where it is: messages show it."""
        name = self.peek(attribute)
        if name is None:
            raise self.missing(attribute)
        if not name or name.isspace():
            raise self.error(f"the attribute {attribute!r} is empty: a name is expected")
        if attribute != "name":
            self.take(attribute)
        return name

    def take_children(self, *tags: str) -> list[Element]:
        """Return the children with one of these tags, in document order."""
        found = [child for child in self.children if child.tag in tags]
        for child in found:
            child.is_read = True
        return found

    def take_parts(self, tags: frozenset[str]) -> dict[str, Element]:
        """Return the children with these tags, by tag. Of several with one tag the first counts."""
        parts: dict[str, Element] = {}
        for child in self.children:
            if child.tag in tags:
                child.is_read = True
                if parts.setdefault(child.tag, child) is not child:
                    self.dismiss_second(child)
        return parts

    def take_first(self, tag: str) -> Element | None:
        """Return the child with this tag, or None. Of several the first counts."""
        first = None
        for child in self.children:
            if child.tag == tag:
                child.is_read = True
                if first is None:
                    first = child
                else:
                    self.dismiss_second(child)
        return first

    def dismiss_second(self, child: Element) -> None:
        """Warn of a child of which there is one already."""
        self.repair(f"it has a second <{child.tag}>", "the first one counts", at=child)
        child.dismiss()

    def require_first(self, tag: str, hint: str | None = None) -> Element:
        """Return the child with this tag, which must be there. Of several the first counts."""
        child = self.take_first(tag)
        if child is None:
            raise self.missing_child(tag, hint)
        return child

    def dismiss(self) -> None:
        """Count this element and all inside as read: it was accounted for as a whole."""
        self.is_read = True
        self.children = ()
        name = self.peek("name")
        self.attributes = {} if name is None else {"name": name}

    def has_unread(self) -> bool:
        """Return whether anything below this element was not taken, names aside."""
        return any(
            not child.is_read or child.attributes.keys() - {"name"} or (child.children and child.has_unread())
            for child in self.children
        )

    def unread(self) -> list[tuple[str, Element]]:
        """Return what nobody took below this element, in order.

        Each is a path, as ``link/visual`` or ``joint/axis@rpy``, with the element concerned.
        """
        found: list[tuple[str, Element]] = []
        # Nesting is bounded, so this may call itself.
        for child in self.children:
            if not child.is_read:
                found.append((child.tag, child))
                continue
            for name in child.attributes:
                if name != "name" and not name.startswith("xmlns"):
                    found.append((f"{child.tag}@{name}", child))
            if child.children:
                found += [(f"{child.tag}/{path}", element) for path, element in child.unread()]
        return found

    def forget_read(self) -> None:
        """Let go of all inside, once nothing of it is left to read or to tell of: large files take much."""
        if self.document.is_large and not self.has_unread():
            self.children = ()

    def error(self, message: str, hint: str | None = None) -> ParseError:
        """Return an error that names this element and its place; where a macro is to blame, xacro too."""
        if "${" in message or "$(" in message:
            hint = XACRO_HINT
        return ParseError(message, file=self.document.file, line=self.line, element=str(self), hint=hint)

    def missing(self, attribute: str, hint: str | None = None) -> ParseError:
        """Return the error of an element without an attribute that it needs."""
        return self.error(f"the attribute {attribute!r} is missing", hint)

    def missing_child(self, tag: str, hint: str | None = None) -> ParseError:
        """Return the error of an element without a child that it needs."""
        return self.error(f"the element <{tag}> is missing", hint)

    def repair(self, fault: str, remedy: str, *, at: Element | None = None) -> None:
        """Warn of a fault of this element, and of what is made of it; refuse it when strict.

        The line is that of this element, or of one inside it that is to blame.
        """
        about = "looks" if self.tag in _LOOKS else ""
        self.document.repair(fault, remedy, (at or self).line, str(self), about)

    def __str__(self) -> str:
        """Return the start tag, with the name alone."""
        name = self.peek("name")
        return f"<{shorten(self.tag)}>" if name is None else f'<{shorten(self.tag)} name="{shorten(name)}">'


def parse_xml(data: bytes, document: Document, encoding: str | None = None) -> Element:
    """Return the root element of an XML document.

    Parameters
    ----------
    data : bytes
        The text.
    document : Document
        What errors call it; what is repaired is added to its warnings.
    encoding : str, optional
        The encoding, whatever the text declares.

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
        reason = ParseError("no well-formed XML: unknown encoding", file=document.file)
    else:
        try:
            return _parse(data, document, encoding)
        except expat.ExpatError as error:
            reason = _as_parse_error(error, document.file)
    return _parse_repaired(data, document, encoding, reason)


def _parse_repaired(data: bytes, document: Document, encoding: str | None, reason: ParseError) -> Element:
    """Return the root of a text that expat refused for a `reason`."""
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
    """Parse in one pass. The handlers are closures: no method is looked up for each of the elements."""
    parser = expat.ParserCreate(encoding)
    top = Element("", {}, 0, document)
    # The elements that are open, from the root inwards, behind one that holds the root.
    path = [top]
    count = 0
    max_nesting = MAX_NESTING
    # How many elements are open inside one that is opaque, itself included; what ends elements outside.
    depth_inside = 0
    end_outside: Any = None
    text_tags: frozenset[str] = frozenset()
    opaque_tags: frozenset[str] = frozenset()
    # One look for both: most elements are neither.
    special_tags: frozenset[str] = frozenset()

    def start_root(tag: str, attributes: dict[str, str]) -> None:
        nonlocal text_tags, opaque_tags, special_tags, max_nesting
        parser.StartElementHandler = start
        max_nesting = _NESTING.get(tag, MAX_NESTING)
        start(tag, attributes)
        opaque_tags = _OPAQUE_TAGS.get(tag, opaque_tags)
        # Most character data are blanks between elements: where the text of a few elements matters, expat
        # gives that alone.
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
    # The parser and its handlers hold each other and `top`, until garbage is collected: not the document too.
    top.children = ()
    return root


def _as_parse_error(error: expat.ExpatError, file: str) -> ParseError:
    problem = expat.ErrorString(error.code) or "unknown problem"
    if problem == expat.errors.XML_ERROR_NO_MEMORY:
        raise MemoryError("no memory is left to read XML") from None
    hint = {
        "no element found": "the text ends early, or is no XML",
        "not well-formed (invalid token)": "look for a stray '<' or '&', or a missing quote",
        "mismatched tag": "an element is closed by another one's name, or not at all",
    }.get(problem)
    return ParseError(
        f"no well-formed XML: {problem} (column {error.offset + 1})", file=file, line=error.lineno, hint=hint
    )
