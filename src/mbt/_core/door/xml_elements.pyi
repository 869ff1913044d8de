from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class WrittenAttributes:
    """The attributes of all elements of a plain document."""

    @property
    def data(self) -> bytes: ...
    def __new__(cls, data: bytes) -> Self: ...

@disjoint_base
class XmlElement:
    """What an element of a document holds."""

    @property
    def tag(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def document(self) -> Any: ...
    attributes: dict[str, str]
    children: Any
    is_read: bool
    text_parts: list[str] | None

    def __init__(self, tag: str, attributes: dict[str, str], line: int, document: Any) -> None: ...
    def peek(self, name: str) -> str | None:
        """Return an attribute, or None, and let it stand."""

    def take(self, name: str) -> str | None:
        """Remove an attribute and return it, or None."""

    def require_name(self, attribute: str = "name") -> str:
        """Return a name that must be there and not be empty. It stays where it is: messages show it."""

    def take_plain_number(self, name: str) -> float | None:
        """Remove an attribute that is a number in plain text and return it; None, and nothing taken, otherwise."""

    def take_plain_numbers(self, name: str, count: int) -> list[float] | None:
        """Remove an attribute that is so many numbers in plain text and return them, or None; at most 8."""

    def take_each_plain_number(self, names: tuple[str, ...]) -> list[float] | None:
        """Remove a number of each of these attributes and return them; None, and nothing taken, where one fails."""

    def take_parts(self, tags: frozenset[str]) -> dict[str, Self]:
        """Return the children with these tags, by tag. Of several with one tag the first counts."""

    def take_children(self, *tags: str) -> list[Self]:
        """Return the children with one of these tags, in document order."""

    def take_first(self, tag: str) -> Self | None:
        """Return the child with this tag, or None. Of several the first counts."""

    def has_unread(self) -> bool:
        """Return whether anything below this element was not taken, names aside."""

    def unread(self) -> list[tuple[str, Self]]:
        """Return what nobody took below this element, in order.

        Each is a path, as ``link/visual`` or ``joint/axis@rpy``, with the element concerned.
        """
