"""Fixtures of the tests of the tree."""

from __future__ import annotations

import pytest

from mbt.math import SpatialInertia
from mbt.tree import MultibodyTree, RigidBody


@pytest.fixture
def tree() -> MultibodyTree:
    return MultibodyTree()


@pytest.fixture
def M_BBo_B() -> SpatialInertia:
    return SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)


@pytest.fixture
def link(tree: MultibodyTree, M_BBo_B: SpatialInertia) -> RigidBody:
    return tree.add_body(RigidBody("link", M_BBo_B))
