"""The other elements to which the attributes of an element refer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from mbt.tree.element import MultibodyElement

__all__ = ["elements_among", "slots_of"]


def elements_among(element: MultibodyElement) -> Iterator[tuple[MultibodyElement, str]]:
    """Yield the other elements among the attributes of an element, each with the name of the attribute.

    Lists, dictionaries, data classes and the like are searched to any depth, but not objects of other
    classes.
    """
    for name, value in _attributes(element).items():
        seen: dict[int, Any] = {}
        rest = [value]
        while rest:
            part = rest.pop()
            if isinstance(part, MultibodyElement):
                if part is not element:
                    yield part, name
            elif id(part) not in seen:
                # Kept alive, so that no other object gets its id.
                seen[id(part)] = part
                rest.extend(_parts(part))


def _parts(value: Any) -> list[Any]:
    """Return the items of a container; nothing for other objects."""
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(value)
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return list(value.flat)
    # The mark of a dataclass, without importing `dataclasses`, which most programs do not need.
    if isinstance(value, SimpleNamespace) or hasattr(type(value), "__dataclass_fields__"):
        return list(_attributes(value).values())
    return []


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, including those in slots."""
    in_slots = {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}
    return {**getattr(value, "__dict__", {}), **in_slots}


def slots_of(kind: type[Any]) -> list[str]:
    """Return the names of the attributes that a class keeps in slots."""
    slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = [name for s in slots for name in ((s,) if isinstance(s, str) else s)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]
