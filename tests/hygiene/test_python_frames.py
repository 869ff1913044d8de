"""Jacobians on Contexts of batches and with derivatives run few Python functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.case import get_case

POINT = np.array([0.0, 0.1, 0.2])
POINTS = np.stack([POINT, -POINT, 2.0 * POINT], 1)


def count_frames(call: Callable[[], Any]) -> int:
    """Return how many Python functions a call runs, not counting itself."""
    count = -1

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("points", [POINT, POINTS, POINTS.T.copy().T], ids=["one", "three", "transposed"])
@pytest.mark.parametrize(("kind", "most"), [("batch", 8), ("autodiff", 16), ("autodiff points", 16)])
def test_jacobians_of_points(kind: str, most: int, points: Any) -> None:
    tree: Any = get_case("humanoid").tree
    if kind != "batch":
        tree = tree.to_autodiff()
    context = tree.create_default_context(5) if kind == "batch" else tree.create_default_context()
    if kind == "autodiff points":
        points = mbt.autodiff.initialize(points)
    frame, world = tree.bodies[-1].body_frame, tree.world_frame

    def call() -> Any:
        return tree.calc_jacobian_translational_velocity(context, "v", frame, points, world, world)

    J = call()
    assert J.shape[-2:] == (points.size, tree.num_velocities)
    assert count_frames(call) <= most
