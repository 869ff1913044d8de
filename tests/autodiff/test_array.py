"""The array itself: its parts, indexing, views, writes, copies, text forms and methods."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, constant, initialize
from support.autodiff import assert_sound, random_array, same

# Construction


def test_parts() -> None:
    x = AutoDiffArray([1, 2], [[1, 0, 0], [0, 1, 0]])
    assert_sound(x)
    assert (x.shape, x.ndim, x.size, x.num_derivatives, len(x)) == ((2,), 1, 2, 3, 2)
    assert x.dtype == np.float64


def test_arrays_are_shared() -> None:
    value, derivatives = np.zeros(3), np.zeros((3, 2))
    x = AutoDiffArray(value, derivatives)
    assert x.value is value
    assert x.derivatives is derivatives


def test_without_derivatives() -> None:
    x = AutoDiffArray(2.0)
    assert x.derivatives.shape == (0,)
    assert repr(x) == "AutoDiffArray(2., num_derivatives=0)"


@pytest.mark.parametrize(
    ("value", "derivatives", "message"),
    [
        ([1.0], [1.0, 2.0], r"derivatives: expected shape \(1, n\), got \(2,\)"),
        ([1.0, 2.0], np.zeros((3, 2)), r"derivatives: expected shape \(2, n\), got \(3, 2\)"),
        (1.0, 1.0, r"derivatives: expected shape \(n,\), got \(\)"),
        ("abc", None, "value: expected real numbers"),
        ([1j], None, "value: expected real numbers"),
        ([1.0], [["x"]], "derivatives: expected real numbers"),
        ([None], None, "value: expected real numbers"),
    ],
)
def test_wrong_parts(value: Any, derivatives: Any, message: str) -> None:
    with pytest.raises(mbt.MbtError, match=message):
        AutoDiffArray(value, derivatives)


# Indexing

KEYS: list[Any] = [
    0,
    -1,
    (1, 2),
    (1, 2, 0),
    ...,
    (..., 0),
    (0, ...),
    (0, ..., 1),
    slice(1, None),
    (slice(None), 1),
    None,
    (None, ..., None),
    (slice(None, None, -1), ..., slice(0, 2)),
    [1, 0],
    ([0, 1], [2, 0]),
    (0, slice(None), [1, 0, 1]),
    ([1, 0], slice(None), [0, 1]),
    (..., [1, 0]),
    np.array([True, False]),
    (),
    (0, np.array([True, False, True])),
    np.arange(24).reshape(2, 3, 4) % 3 == 0,
    (1, 2, 0, None),
    (np.int64(1), ..., np.int64(0)),
    np.zeros((0,), int),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key: Any) -> None:
    x = random_array(2, 3, 4, count=5)
    part = x[key]
    assert_sound(part)
    np.testing.assert_array_equal(part.value, x.value[key])
    for i in range(5):
        np.testing.assert_array_equal(part.derivatives[..., i], x.derivatives[..., i][key])
    assert np.shares_memory(part.derivatives, x.derivatives) == np.shares_memory(part.value, x.value)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("kind", ["array", "number", "plain", "float"])
def test_writing(key: Any, kind: str) -> None:
    x = random_array(2, 3, 4, count=5)
    expected = [x.value.copy(), *np.moveaxis(x.derivatives, -1, 0).copy()]
    shape = x.value[key].shape
    entries: Any = {
        "array": random_array(*shape, count=5, seed=2),
        "number": random_array(count=5),
        "plain": np.ones(shape),
        "float": 7.0,
    }[kind]
    new = entries if isinstance(entries, AutoDiffArray) else constant(entries, 5)
    for plane, part in zip(expected, [new.value, *np.moveaxis(new.derivatives, -1, 0)], strict=True):
        plane[key] = part
    x[key] = entries
    np.testing.assert_array_equal(x.value, expected[0])
    np.testing.assert_array_equal(np.moveaxis(x.derivatives, -1, 0), expected[1:])


@pytest.mark.parametrize("key", [5, (0, 0, 0, 0), "a", (0, 9), 1.5], ids=repr)
def test_wrong_index(key: Any) -> None:
    x = random_array(2, 3, 4)
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 0.0
    assert same(x, random_array(2, 3, 4))


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        (
            random_array(2, count=3),
            mbt.ShapeError,
            r"with 2 derivatives cannot hold numbers with 3: .*constant\(value, 3\)",
        ),
        (random_array(3), ValueError, "could not broadcast"),
        ("text", mbt.ArgumentTypeError, "assignment: expected an AutoDiffArray or real numbers, got 'text'"),
        (None, mbt.ArgumentTypeError, "got None"),
        (1j, mbt.ArgumentTypeError, "got 1j"),
    ],
)
def test_a_failed_assignment_changes_nothing(entries: Any, error: type[Exception], message: str) -> None:
    x = random_array(2)
    with pytest.raises(error, match=message):
        x[:] = entries
    assert same(x, random_array(2))


def test_writing_over_itself() -> None:
    x, expected = random_array(5), random_array(5)
    x[1:] = x[:-1]
    assert same(x[1:], expected[:-1])


def test_an_index_with_derivatives_is_refused() -> None:
    with pytest.raises(TypeError):
        np.zeros(3)[random_array(2)]
    with pytest.raises(TypeError):
        [1, 2][random_array()]


def test_read_only() -> None:
    x = random_array(3)
    x.value.flags.writeable = False
    for write in (
        lambda: operator.setitem(x, 0, 1.0),
        lambda: operator.iadd(x, 1.0),
        lambda: np.add.at(x, 0, 1.0),
        lambda: np.add(x, 1.0, out=x),
        lambda: np.copyto(x, 0.0),
    ):
        with pytest.raises(mbt.ArgumentValueError, match="read-only"):
            write()
    assert same(x, random_array(3))


def test_iteration() -> None:
    x = random_array(3, 2)
    assert [same(row, x[i]) for i, row in enumerate(x)] == [True] * 3
    a, b, c = random_array(3)
    assert a.shape == b.shape == c.shape == ()
    for scalar in (lambda: len(a), lambda: list(a)):
        with pytest.raises(TypeError, match="unsized"):
            scalar()


def test_an_entry_is_a_copy_of_its_own() -> None:
    x = random_array(3)
    entry = x[1]
    x[1] = 0.0
    assert same(entry, random_array(3)[1])


# Views


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.reshape(-1),
        lambda x: x.reshape(3, 2, 4),
        lambda x: x.ravel(),
        lambda x: x.reshape((6, 4)),
        lambda x: x.transpose(1, 0, 2),
        lambda x: x.transpose(),
        lambda x: x[0],
        lambda x: x.swapaxes(0, 2),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: x[:, ::-1],
        lambda x: np.flip(x, 1),
        lambda x: np.expand_dims(x, 1),
        lambda x: x[None].squeeze(),
        lambda x: np.split(x, 3, axis=1)[1],
        lambda x: (x + 0.0).T.T.reshape(-1),
        lambda x: np.atleast_1d(x),
        lambda x: x.T.reshape(4, 3, 2),
    ],
)
def test_views_are_written_through(view: Callable[[AutoDiffArray], AutoDiffArray]) -> None:
    """Both values and derivatives are written, however the array was made."""
    for x in (
        random_array(2, 3, 4),
        random_array(4, 3, 2).T + 1.0,
        np.einsum("ijk->kij", random_array(3, 4, 2)),
    ):
        view(x)[...] = 5.0
        written = x.value == 5.0
        shared = np.shares_memory(view(x).value, x.value)
        assert written.any() == shared
        np.testing.assert_array_equal((x.derivatives == 0.0).all(axis=-1), written)


def test_copies() -> None:
    x = random_array(2, 3)
    for twin in (
        x.copy(),
        copy.copy(x),
        copy.deepcopy(x),
        np.copy(x),
        x.flatten().reshape(2, 3),
        x.astype(float),
    ):
        assert same(twin, x)
        assert not np.shares_memory(twin.value, x.value)
        assert not np.shares_memory(twin.derivatives, x.derivatives)
    assert x.astype(np.float64, copy=False) is x


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    for x in (random_array(2, 3), random_array(), random_array(0, 3), constant([1.0]), random_array(2, 3).T):
        assert same(pickle.loads(pickle.dumps(x, protocol)), x)


# Text forms


def test_repr() -> None:
    assert repr(random_array(0, 3)) == "AutoDiffArray([], shape=(0, 3), num_derivatives=2)"
    assert eval(repr(initialize([1.0, 2.0]))).derivatives.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert repr(initialize(2.5)) == "AutoDiffArray(2.5, derivatives=[1.])"
    assert str(initialize(2.5)) == f"{initialize(2.5)}" == repr(initialize(2.5))
    assert f"{initialize(2.5):.3f}" == "2.500"
    assert np.array_repr(initialize(2.5)) == repr(initialize(2.5))
    assert len(repr(random_array(100, 100))) < 3000


# Methods


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("clip", (-0.1, 0.1)),
        ("conj", ()),
        ("cumprod", (1,)),
        ("cumsum", ()),
        ("diagonal", ()),
        ("max", (0,)),
        ("dot", (np.ones((3, 2)),)),
        ("mean", ()),
        ("min", ()),
        ("prod", (-1,)),
        ("ravel", ()),
        ("repeat", (2,)),
        ("round", (1,)),
        ("squeeze", ()),
        ("std", ()),
        ("sum", (1,)),
        ("swapaxes", (0, 1)),
        ("take", ([1],)),
        ("trace", ()),
        ("var", (0,)),
    ],
)
def test_methods(name: str, args: tuple[Any, ...]) -> None:
    x = random_array(2, 3)
    assert same(getattr(x, name)(*args), getattr(np, name)(x, *args))
    np.testing.assert_allclose(getattr(x, name)(*args).value, getattr(x.value, name)(*args), rtol=1e-15)


def test_every_method_says_what_it_is() -> None:
    for name in dir(AutoDiffArray):
        if not name.startswith("_"):
            assert getattr(AutoDiffArray, name).__doc__, name


def test_python_functions() -> None:
    x = random_array(3)
    assert same(sum(x), 0.0 + x[0] + x[1] + x[2])
    assert same(abs(x), np.abs(x))
    assert same(max(x), np.max(x))
    assert same(pow(x, 3), x**3)
    assert same(divmod(x, 0.3)[1], x % 0.3)
    assert same(-x, np.negative(x))
    assert same(+x, x)


def test_like() -> None:
    x = initialize([1.0, 2.0, 3.0])
    for made, expected in (
        (np.zeros((2, 3), like=x), np.zeros((2, 3))),
        (np.ones(2, like=x), np.ones(2)),
        (np.eye(3, like=x), np.eye(3)),
        (np.identity(2, like=x), np.eye(2)),
        (np.full(2, 7.0, like=x), np.full(2, 7.0)),
        (np.empty(2, like=x), np.zeros(2)),
        (np.array([1, 2], like=x), [1.0, 2.0]),
        (np.asarray(3.0, like=x), 3.0),
    ):
        assert_sound(made)
        assert same(made, constant(expected, 3))
    rotation = np.array([[np.cos(x[0]), -np.sin(x[0])], (np.sin(x[0]), np.cos(x[0]))], like=x)
    assert rotation.shape == (2, 2)
    np.testing.assert_allclose(
        rotation.derivatives[..., 0], [[-np.sin(1), -np.cos(1)], [np.cos(1), -np.sin(1)]]
    )
    assert same(np.array([x, 2.0 * x], like=x), np.stack([x, 2.0 * x]))
    assert np.array(x, like=x, ndmin=3).shape == (1, 1, 3)
    assert np.asarray(x, like=x) is not None
    assert np.shares_memory(np.asarray(x, like=x).value, x.value)
    assert not np.shares_memory(np.array(x, like=x).value, x.value)
    assert np.zeros(3, dtype=int, like=x).dtype == int
    assert np.zeros_like(x, dtype=bool).dtype == bool
    assert same(np.full(2, x[1], like=x), np.stack([x[1], x[1]]))


def test_import_on_demand() -> None:
    code = "import sys, mbt; print('mbt.autodiff' in sys.modules); mbt.autodiff.value(1); print(mbt.autodiff)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("False\n<module 'mbt.autodiff'")
    assert "autodiff" in dir(mbt)
