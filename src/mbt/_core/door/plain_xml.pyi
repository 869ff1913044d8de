from typing import TypeVar

from mbt._core.door.xml_elements import XmlElement

_ElementT = TypeVar("_ElementT", bound=XmlElement)

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
