"""Tables of the coordinates of a finalized tree by name, made once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ForeignElementError,
    quote,
    unknown_name_error,
)
from mbt.tree.coordinates import CoordinateOwner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from mbt.math.arrays import FloatArray
    from mbt.tree.element import MultibodyElement
    from mbt.tree.finalization import FinalizationPlan
    from mbt.tree.mobilizer import Mobilizer

__all__ = ["CoordinateLookup", "distinct_names_of"]


class CoordinateLookup:
    """The mobilizers of a plan by name, as keys of dictionaries.

    Attributes
    ----------
    plan : FinalizationPlan
        The plan of the tree.
    keys : dict of Mobilizer to str
        A different name for each mobilizer that moves: that of its joint, scoped on a clash.
    positions, velocities : list of (str, range)
        The indices of the positions, and of the velocities, of each key.
    draw : callable, or None
        Draws a sample of random positions from a generator; made at the first request.
    """

    def __init__(self, plan: FinalizationPlan) -> None:
        self.plan = plan
        moving = [m for m in plan.mobilizer_of_node if m.num_positions]
        self.keys = dict(zip(moving, distinct_names_of(moving), strict=True))
        self.positions = [(key, m._position_range()) for m, key in self.keys.items()]
        self.velocities = [(key, m._velocity_range()) for m, key in self.keys.items()]
        self._by_key = {key: mobilizer for mobilizer, key in self.keys.items()}
        self._by_name: dict[str, list[Mobilizer]] = {}
        self._by_element: dict[CoordinateOwner | None, Mobilizer] = {}
        for mobilizer in plan.mobilizer_of_node:
            for name in {mobilizer.name, mobilizer.scoped_name}:
                self._by_name.setdefault(name, []).append(mobilizer)
            self._by_element[mobilizer] = self._by_element[mobilizer.joint or mobilizer] = mobilizer
        self.draw: Callable[[np.random.Generator], FloatArray] | None = None

    def find(self, key: object, method: str) -> Mobilizer:
        """Return the mobilizer that a key of a dictionary refers to; `method` is for messages."""
        if isinstance(key, CoordinateOwner):
            if key not in self._by_element:
                raise ForeignElementError(f"{method}: {key._label} does not belong to this tree")
            return self._by_element[key]
        if not isinstance(key, str):
            raise ArgumentTypeError(f"{method}: expected names of joints as keys, got {quote(key)}")
        found = [self._by_key[key]] if key in self._by_key else self._by_name.get(key, [])
        if not found:
            raise unknown_name_error("joint", key, self._by_key)
        if len(found) > 1:
            names = " or ".join(quote(self.keys.get(m, m.scoped_name)) for m in found)
            raise ArgumentValueError(f"{method}: several joints are named {quote(key)}: write {names}")
        return found[0]


def distinct_names_of(elements: Sequence[MultibodyElement]) -> list[str]:
    """Return the names of elements, scoped where several are the same; "_" is appended if they still are."""
    count = Counter(element.name for element in elements)
    names: list[str] = []
    taken: set[str] = set()
    for element in elements:
        name = element.name if count[element.name] == 1 else element.scoped_name
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names
