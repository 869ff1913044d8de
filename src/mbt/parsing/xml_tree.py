"""A light tree of XML elements with line numbers, which tracks what has been read."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbt.errors import ParseError, shorten, show_path
from mbt.parsing.report import ParseRemark

__all__ = ["XACRO_HINT", "Document", "Element"]

#: Advice for a file with macros.
XACRO_HINT = "the file holds macros: expand it with xacro first, as mbt.parsing.expand_xacro does"

# Elements that do not affect the motion.
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
    """The data that all elements of a document share: its name in messages, and how to handle faults.

    `folder` is that of the file, or None if there is no file. If `is_included` in another document, warnings
    name its file. If it `is_large`, only elements that are still to be read are kept in memory. If expat
    refused the document, `repaired` is the text that was read instead.
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
        """Warn of a fault and of its remedy; raise an error when strict."""
        if self.is_strict:
            hint = "strict=False goes on with a warning"
            raise ParseError(fault, file=self.file, line=line, element=element, hint=hint)
        file = f"{show_path(self.file)}: " if self.is_included else ""
        text = file + ": ".join(filter(None, (element, fault, remedy)))
        self.warnings.append(ParseRemark(text, line, about))


class Element:
    """One element of an XML document.

    Taking an attribute removes it, taking a child marks it: what remains is what the reader ignored.
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
        """Return an attribute, or None, without removing it."""
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
        """Return a name that must be there and not be empty. It is not removed: messages show it."""
        name = self.peek(attribute)
        if name is None:
            raise self.missing(attribute)
        if not name or name.isspace():
            raise self.error(f"the attribute {attribute!r} is empty: expected a name")
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
        """Return the children with these tags, by tag. Of several with the same tag the first counts."""
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
        """Warn of a child whose tag has occurred already."""
        self.repair(f"it has a second <{child.tag}>", "the first one counts", at=child)
        child.dismiss()

    def require_first(self, tag: str, hint: str | None = None) -> Element:
        """Return the child with this tag, which must be there. Of several the first counts."""
        child = self.take_first(tag)
        if child is None:
            raise self.missing_child(tag, hint)
        return child

    def dismiss(self) -> None:
        """Mark this element and everything inside as read: it was handled as a whole."""
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
        """Return everything below this element that was not taken, in order.

        Each item is a path, such as ``link/visual`` or ``joint/axis@rpy``, with the element concerned.
        """
        found: list[tuple[str, Element]] = []
        # Nesting is bounded, so recursion is safe.
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
        """Release the content once it is read and reported: large files take much memory."""
        if self.document.is_large and not self.has_unread():
            self.children = ()

    def error(self, message: str, hint: str | None = None) -> ParseError:
        """Return an error that names this element and its place, and xacro if a macro is to blame."""
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
        """Warn of a fault of this element and of its remedy; raise an error when strict.

        The line is that of this element, or of one inside it that is to blame.
        """
        about = "looks" if self.tag in _LOOKS else ""
        self.document.repair(fault, remedy, (at or self).line, str(self), about)

    def __str__(self) -> str:
        """Return the start tag, with the name alone."""
        name = self.peek("name")
        return f"<{shorten(self.tag)}>" if name is None else f'<{shorten(self.tag)} name="{shorten(name)}">'
