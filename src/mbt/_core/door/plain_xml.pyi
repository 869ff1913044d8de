from typing import Any, TypeVar

from typing_extensions import Self, disjoint_base

_ElementT = TypeVar("_ElementT", bound=XmlElement)

@disjoint_base
class XmlElement:
    """What an element of a document holds."""

    tag: str
    attributes: dict[str, str]
    line: int
    document: Any
    children: Any
    is_read: bool
    text_parts: list[str] | None

    def __init__(self, tag: str, attributes: dict[str, str], line: int, document: Any) -> None: ...
    def take_parts(self, tags: frozenset[str]) -> dict[str, Self]:
        """Return the children with these tags, by tag. Of several with one tag the first counts."""

    def has_unread(self) -> bool:
        """Return whether anything below this element was not taken, names aside."""

def parse_plain_xml(
    data: bytes,
    start: int,
    element_type: type[_ElementT],
    document: object,
    root_tag: str,
    text_tags: frozenset[str],
    opaque_tags: frozenset[str],
    max_nesting: int,
    max_elements: int,
) -> _ElementT | None:
    """Return the root of a document, or None where it is not plain, or beyond the bounds.

    Parameters
    ----------
    data : bytes
        The document.
    start : int
        Where its elements begin: behind the declaration.
    element_type : type
        Class of the elements, derived from `XmlElement`.
    document : object
        What each of them refers to.
    root_tag : str
        That of its root; another document is not for this.
    text_tags : frozenset of str
        Whose text is kept.
    opaque_tags : frozenset of str
        What is inside of these is not kept.
    max_nesting, max_elements : int
        How deep elements may be nested, and how many there may be.
    """
