"""A model with its tree, its reference and reproducible states."""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np

import mbt
from support.build import tree_and_reference
from support.quantities import State, random_state
from support.random_trees import CATALOGUE
from support.subject import Subject


class Case:
    """One model of the catalogue. Trees are immutable and shared between tests; Contexts never are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.model = CATALOGUE[name]()
        self.tree, self.reference = tree_and_reference(self.model)

    def state(self, k: int = 0) -> State:
        return random_state(self.reference, np.random.default_rng([zlib.crc32(self.name.encode()), k]))

    def context(self, state: State) -> mbt.Context:
        context = self.tree.create_default_context()
        context.q = state.q
        context.v = state.v
        return context

    def subject(self) -> Subject:
        return Subject(self.tree)

    def __repr__(self) -> str:
        return self.name


@cache
def get_case(name: str) -> Case:
    return Case(name)


# Cases with at least one degree of freedom.
MOVING = tuple(name for name in CATALOGUE if name not in ("world_only", "all_weld"))
# A few that together cover every joint type, direction and branching, for tests that repeat a lot.
FEW = ("one_floating_reversed", "arm7", "mixed8", "every_joint", "humanoid")
