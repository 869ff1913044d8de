"""A list or tuple of Python numbers is read as the array that NumPy makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mbt

GOOD: list[Sequence[Any]] = [
    [0.1, -0.2, 3e300],
    (1, 2.5, -7),
    [2**53, -(2**53), 0],
    [math.inf, -0.0, math.nan],
    [np.float64(0.5), 1, np.int32(4)],
    [2**53 + 1, 2**60, 2**70],
]


@pytest.fixture
def arm() -> mbt.Context:
    return mbt.load_model(mbt.models.model_path("mbt_arm")).create_default_context()


@pytest.mark.parametrize("values", GOOD, ids=str)
def test_values(values: Sequence[Any], arm: mbt.Context) -> None:
    six = type(values)([*values, *values])  # type: ignore[call-arg]
    wanted = np.array(six, dtype=float)
    arm.v = six
    np.testing.assert_array_equal(arm.v.view(np.int64), wanted.view(np.int64))
    if np.isfinite(wanted).all():
        arm.q = six
        np.testing.assert_array_equal(arm.q, wanted)


def test_points(arm: mbt.Context) -> None:
    tree = arm.tree
    tip, world = tree.frames[-1], tree.world_frame
    arm.q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    for point in ([0.1, 0, -2], (0.1, 0, -2)):
        array = np.array(point, dtype=float)
        for call in (
            lambda p: tree.calc_points_positions(arm, tip, p, world),
            lambda p: tree.calc_jacobian_spatial_velocity(arm, "v", tip, p, world, world),
            lambda p: tree.calc_jacobian_translational_velocity(arm, "qdot", tip, p, world, tip),
        ):
            np.testing.assert_array_equal(call(point), call(array))
    columns = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    np.testing.assert_array_equal(
        tree.calc_points_positions(arm, tip, columns, world),
        tree.calc_points_positions(arm, tip, np.array(columns), world),
    )


@pytest.mark.parametrize(
    "values",
    [[1.0] * 5, [1.0] * 7, [1.0, 2.0, "3", 4.0, 5.0, 6.0], [1j] * 6, [None] * 6, [[1.0]] * 6, [True] * 5],
    ids=str,
)
def test_refused(values: Any, arm: mbt.Context) -> None:
    before = arm.q.copy()
    with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError), match=r"^q: "):
        arm.q = values
    np.testing.assert_array_equal(arm.q, before)


@pytest.mark.parametrize("number", [Fraction(1, 2), Decimal("0.5"), True])
def test_other_numbers_are_as_before(number: Any, arm: mbt.Context) -> None:
    """Anything but floats and ints is left to NumPy."""
    try:
        wanted: Any = mbt.functional.integrate_positions(arm.tree, [number] * 6, np.zeros(6), 0.0)
    except mbt.MbtError as error:
        with pytest.raises(type(error)):
            arm.q = [number] * 6
    else:
        arm.q = [number] * 6
        np.testing.assert_array_equal(arm.q, wanted)
