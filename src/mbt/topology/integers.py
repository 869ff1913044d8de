"""Shared integer objects: a large tree has the same integers in many places."""

from __future__ import annotations

__all__ = ["shared_integers"]

_integers: list[int] = []


def shared_integers(count: int) -> list[int]:
    """Return a list that begins with the integers below `count`. It is shared: do not change it.

    For 100,000 joints it saves 25 MB.

    Examples
    --------
    >>> shared_integers(1001)[1000] is shared_integers(2000)[1000]
    True
    """
    global _integers
    integers = _integers
    if len(integers) < count:
        # Not extended in place: other threads read it, and may be here too.
        size = max(count, 2 * len(integers))
        integers = _integers = [*integers, *range(len(integers), size)]
    return integers
