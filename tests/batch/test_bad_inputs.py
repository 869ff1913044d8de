"""Unusable arguments of any kind raise an error that names them, and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import make_batch, tree_of
from support.calls import METHODS


class Hostile:
    """An object that poses as an array but is not one."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array")


class Liar:
    """An array whose shape is not the one it reports."""

    shape, ndim, dtype = (2, 3), 2, np.float64

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.ones((2, 3, 1, 1, 1))


NO_NUMBERS: list[Any] = [
    None,
    "x",
    b"x",
    {},
    object(),
    Hostile(),
    [[1.0], [2.0, 3.0]],
    [None],
    1j,
    np.ones((2, 3), complex),
    np.array(["a", "b"]),
    np.array([None, 1.0]),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.zeros(3, "datetime64[s]"),
    mbt.autodiff.AutoDiffArray(np.zeros(3), np.zeros((3, 1))),
    10**400,
]
SHAPES = [(0,), (2,), (2, 3), (0, 3), (2, 3, 0), (2, 3, 1000), (1, 2, 2), (7, 7, 7, 7)]
ARGUMENTS = [(name, argument) for name, call in METHODS.items() for argument in call.arguments]


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_arguments_of_methods(name: str, argument: str) -> None:
    tree = tree_of()
    context = make_batch(tree, (2, 3))
    serials = context._serials
    call = METHODS[name]
    k = list(call.arguments).index(argument)
    bad_ones = [*NO_NUMBERS, Liar(), *map(np.zeros, SHAPES)]
    if argument == "tau_applied":
        # None means zero.
        bad_ones = [bad for bad in bad_ones if bad is not None]
    for bad in bad_ones:
        values = call.values(tree)
        values[k] = bad
        with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError), match=argument):
            call.run(tree, context, *values)
    assert context._serials == serials


@pytest.mark.parametrize("name", ["q", "v", "actuation", "time", "applied_forces"])
def test_what_is_assigned(name: str) -> None:
    context = make_batch(tree_of(), (2, 3))
    before = context._get_state()["scalars"]
    for bad in [*NO_NUMBERS, Liar(), *map(np.zeros, SHAPES[-5:])]:
        with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError), match=name):
            setattr(context, name, bad)
    for key, value in context._get_state()["scalars"].items():
        assert value is before[key]


def test_contexts_of_other_trees() -> None:
    tree = tree_of()
    other = make_batch(mbt.MultibodyTree.clone(tree), (2, 3))
    for name in ("calc_mass_matrix", "calc_energy_report", "get_inertial_parameters", "calc_bias_term"):
        with pytest.raises(mbt.ContextMismatchError):
            getattr(tree, name)(other)
        with pytest.raises((mbt.ArgumentTypeError, mbt.ContextMismatchError)):
            getattr(tree, name)("context")


def test_misspelt_attributes_are_errors() -> None:
    context = make_batch(tree_of(), (2, 3))
    with pytest.raises(AttributeError):
        context.Q = context.q
    with pytest.raises(AttributeError):
        context.batch_shape = (3,)
