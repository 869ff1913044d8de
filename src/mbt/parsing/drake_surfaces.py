"""How shapes touch, in Drake's notation: ``<drake:proximity_properties>`` of URDF and SDF."""

from __future__ import annotations

import math

from mbt.errors import quote
from mbt.parsing.xml_tree import Element
from mbt.tree.surface import Surface

__all__ = ["read_proximity"]

_NUMBERS = {
    "drake:mu_dynamic": "friction",
    "drake:point_contact_stiffness": "stiffness",
    "drake:hunt_crossley_dissipation": "dissipation",
}


def read_proximity(collision: Element) -> Surface | None:
    """Return the surface of a collision, or None where it is not specified.

    The friction is the dynamic one: implicit steps, like Drake's discrete ones, use no other.
    """
    properties = collision.take_first("drake:proximity_properties")
    if properties is None:
        return None
    found: dict[str, float] = {}
    for tag, name in _NUMBERS.items():
        child = properties.take_first(tag)
        if child is None:
            continue
        text = child.take("value") or child.text
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number >= 0.0:
            found[name] = number
        else:
            child.repair(f"expected a finite number >= 0, got {quote(text)}", "ignored")
    if not found:
        return None
    return Surface(found.get("friction"), found.get("stiffness"), found.get("dissipation"))
