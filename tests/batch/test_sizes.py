"""Batches of any size: the shapes of results; a sample's result depends on no other sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import (
    CALLS,
    arrays_of,
    make_batch,
    tree_of,
    tree_without_dofs,
    tree_without_users,
    world_alone,
)
from support.calls import METHODS

TREES: dict[str, Callable[[], mbt.MultibodyTree]] = {
    "everything": tree_of,
    "without users": tree_without_users,
    "without dofs": tree_without_dofs,
    "World alone": world_alone,
}
SHAPES = [(0,), (1,), (5,), (0, 3), (2, 1, 3)]
CASES = [(name, call) for name, make in TREES.items() for call in CALLS(make())]


@cache
def wanted(name: str, call: str) -> list[Any]:
    """Results of 17 samples."""
    tree = TREES[name]()
    return [np.array(array) for array in arrays_of(CALLS(tree)[call](make_batch(tree, (17,))))]


@pytest.mark.parametrize(("name", "call"), CASES)
def test_what_a_sample_gets_is_the_same_in_every_batch(name: str, call: str) -> None:
    tree = TREES[name]()
    for shape in SHAPES:
        count = int(np.prod(shape))
        got = arrays_of(CALLS(tree)[call](make_batch(tree, shape)))
        for array, of_17 in zip(got, wanted(name, call), strict=True):
            if isinstance(array, (bool, np.bool_)):
                continue
            assert np.shape(array) == (*shape, *of_17.shape[1:])
            assert np.asarray(array).flags.c_contiguous or call not in METHODS
            np.testing.assert_array_equal(array, of_17[:count].reshape(np.shape(array)))


def test_batch_shapes() -> None:
    tree = tree_of()
    for given, shape in ((5, (5,)), (np.int64(2), (2,)), ([2, 3], (2, 3)), ((np.int32(4), 0), (4, 0))):
        context = tree.create_default_context(given)
        assert context.batch_shape == shape
        assert context.q.shape == (*shape, tree.num_positions)
        assert context.time.shape == shape
    # No axes: the Context of one state.
    assert type(tree.create_default_context(())) is mbt.Context
    assert type(tree.create_default_context([])) is mbt.Context


@pytest.mark.parametrize(
    "shape",
    [
        -1,
        (2, -3),
        2.0,
        (1.5,),
        "3",
        None,
        True,
        (True,),
        ((2, 3),),
        {"a": 1},
        2**70,
        (2**40, 2**40),
        (2**61, 0),
    ],
)
def test_batch_shapes_that_are_refused(shape: Any) -> None:
    for make in (tree_of().create_default_context, partial(mbt.MultibodyForces, tree_of())):
        with pytest.raises((mbt.ArgumentTypeError, mbt.ArgumentValueError), match="batch_shape"):
            make(shape)


def test_what_no_memory_holds_says_how_much_it_is() -> None:
    with pytest.raises(MemoryError, match=r"Unable to allocate \d+ bytes"):
        tree_of().create_default_context(10**12)


def test_trees_of_other_scalars_compute_one_state_at_a_time() -> None:
    tree = tree_without_dofs().to_autodiff()
    with pytest.raises(mbt.ShapeError, match=r"batch_shape: expected \(\), got \(3,\)"):
        tree.create_default_context(3)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_presentations(shape: tuple[int, ...]) -> None:
    for make in TREES.values():
        context = make_batch(make(), shape)
        assert f"batch_shape={shape}" in repr(context)
        assert f"batch_shape={shape}" in context._repr_html_()
        assert context.validate() is None
        report = make().calc_energy_report(context)
        assert "d(KE)/dt" in str(report)
        assert repr(report)
        assert report._repr_html_()


def test_the_html_of_a_batch_is_that_of_its_first_sample() -> None:
    context = make_batch(tree_of(), (2, 3))
    context.time = np.arange(6.0).reshape(2, 3) + 0.5
    html = context._repr_html_()
    assert "time 0.5, first sample of batch_shape=(2, 3)" in html


def test_the_text_of_an_energy_report_tells_the_range() -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, ball, None, [1, 0, 0], damping=3)
    tree.finalize()
    context = tree.create_default_context(3)
    context.v = [[1.0], [2.0], [3.0]]
    report = tree.calc_energy_report(context)
    np.testing.assert_array_equal(report.kinetic_energy, [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(report.balance, np.zeros(3))
    np.testing.assert_array_equal(report["body 'ball'"].potential_energy, np.zeros(3))
    assert "1 .. 9" in str(report)
    assert "-27 .. -3" in str(report)
