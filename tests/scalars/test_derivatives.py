"""Clones with derivatives: every method has the values of doubles and the derivatives of differences."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray
from scalars.scalar_trees import CALLS, Point, evaluate, random_point, richardson, set_context, third
from support.build import build_tree
from support.description import Array
from support.force_element_types import make_everything
from support.random_trees import ALL_KINDS, every_kind, one_joint
from support.taking_long import taking_long

TREES = {
    "every_kind": lambda: build_tree(every_kind(3)),
    **{
        f"{kind}_{'reversed' if is_reversed else 'forward'}": (
            lambda kind=kind, is_reversed=is_reversed: build_tree(one_joint(kind, is_reversed=is_reversed))
        )
        for kind in ALL_KINDS
        for is_reversed in (False, True)
    },
}


@cache
def pair(name: str) -> tuple[mbt.MultibodyTree, mbt.MultibodyTree]:
    tree = make_everything() if name == "everything" else TREES[name]()
    return tree, tree.to_autodiff()


@cache
def point_of(name: str, shape: tuple[int, ...]) -> Point:
    """With two directions; the method's argument is drawn last, so all else is the same for every shape."""
    return random_point(pair(name)[0], np.random.default_rng(7).normal(size=shape), 2)


@cache
def context_of(name: str, step: float | None, direction: int = 0) -> Any:
    """Set the state and all parameters, moved along a direction, or with derivatives if no step is given."""
    tree, ad = pair(name)
    context = (ad if step is None else tree).create_default_context()
    set_context(context, point_of(name, (0,)), step, direction)
    return context


def with_derivatives(name: str, method: str, point: Point) -> AutoDiffArray:
    _, ad = pair(name)
    result = evaluate(method, ad, context_of(name, None).clone(), third(point, None))
    assert isinstance(result, AutoDiffArray)
    return result


def along(name: str, method: str, point: Point, direction: int) -> Any:
    tree, _ = pair(name)

    def f(step: float) -> Array:
        context = context_of(name, step, direction).clone()
        return np.asarray(evaluate(method, tree, context, third(point, step, direction)))

    return f


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("name", TREES)
def test_values_and_derivatives_of_every_method(name: str, method: str) -> None:
    """Along random directions in which positions, velocities, the argument and all parameters change."""
    check_method(name, method)


@pytest.mark.parametrize("method", taking_long(CALLS, "calc_forward_dynamics_derivatives"))
def test_values_and_derivatives_of_elements(method: str) -> None:
    check_method("everything", method)


def check_method(name: str, method: str) -> None:
    shapes = [*CALLS[method].shapes(pair(name)[0]).values(), (0,)]
    point = point_of(name, shapes[0])
    result = with_derivatives(name, method, point)
    value = along(name, method, point, 0)(0.0)
    scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
    np.testing.assert_allclose(result.value, value, rtol=0, atol=1e-9 * scale)
    assert result.derivatives.shape == (*value.shape, 2)
    # Only the last direction: `test_directions` compares directions with each other.
    wanted = richardson(along(name, method, point, 1))
    scale = max(scale, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(result.derivatives[..., 1], wanted, rtol=0, atol=2e-6 * scale)
