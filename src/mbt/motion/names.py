"""Names of equations of constraints, and of contact points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbt.motion.over_time import contacts_of

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["contact_names", "equation_names"]

# Names by number of equations; see each type of constraint.
_SUFFIXES = {1: ("",), 3: ("_x", "_y", "_z"), 6: ("_wx", "_wy", "_wz", "_x", "_y", "_z")}


def equation_names(tree: MultibodyTree) -> tuple[str, ...]:
    """Return a name for each equation: its constraint, and the axis in A if it has several equations."""
    return _numbered(f"{c.name}{suffix}" for c in tree.constraints for suffix in _SUFFIXES[c.num_equations])


def contact_names(tree: MultibodyTree) -> tuple[str, ...]:
    """Return a name for each point of each `PointContact`: its frame, with a number."""
    return _numbered(f"{x.frame.name}_contact" for x in contacts_of(tree) for _ in range(x.num_points))


def _numbered(names: Iterable[str]) -> tuple[str, ...]:
    """Return all names; those that occur several times get a number: ``foot_contact_0``."""
    names = list(names)
    times, seen = Counter(names), Counter[str]()
    results = []
    for name in names:
        results.append(name if times[name] == 1 else f"{name}_{seen[name]}")
        seen[name] += 1
    return tuple(results)
