"""Distances of random pairs of each two kinds: proofs, and comparisons with Coal and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from support.distance_proof import PAIRS, Findings, prove
from support.shape_pairs import BOX, CAPSULE, CYLINDER, ELLIPSOID, NAMES

pytestmark = pytest.mark.oracle
each_pair = pytest.mark.parametrize("kinds", PAIRS, ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in PAIRS])


def check(kinds: tuple[int, int], found: Findings, gap: float = 1e-12) -> None:
    """Planes across normals and points on surfaces pin down distances; no peer finds a better direction."""
    assert found.pairs // 10 < found.apart < found.pairs * 9 // 10
    assert found.gap < gap
    assert found.surface < 1e-11
    # For a half-space, a normal that differs only by rounding proves nothing.
    assert found.shallower < 1e-10
    # Both bounds prove that peers are wrong where they differ. Coal stops early on curved shapes.
    assert found.coal.apart_off <= 0.01 * found.pairs
    assert found.mujoco.apart_off == found.mujoco.given_up == 0
    if not {CYLINDER, ELLIPSOID} & set(kinds):
        assert found.coal.given_up == found.coal.apart_off == found.coal.deep_off == 0
    if kinds != (CAPSULE, BOX):  # there, MuJoCo looks for contacts and not for the way out
        assert found.mujoco.deep_off <= 0.001 * found.pairs


@each_pair
def test_distances(kinds: tuple[int, int]) -> None:
    pytest.importorskip("coal", reason="needs the `oracle` extra")
    pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    check(kinds, prove(kinds, 200, np.random.default_rng(0)))


@pytest.mark.exhaustive
@each_pair
def test_many(kinds: tuple[int, int]) -> None:
    """`tools/prove_distances.py` checks a million each."""
    pytest.importorskip("coal", reason="needs the `oracle` extra")
    pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    # If capsule axes almost cross, normals have fewer digits: visible in one of several thousand pairs.
    check(kinds, prove(kinds, 5000, np.random.default_rng(1)), gap=1e-11)
