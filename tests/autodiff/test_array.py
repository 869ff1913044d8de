"""The array itself: parts, entries, views, writing, copies, texts, and what it refuses."""

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
from support.autodiff import assert_sound

import mbt
from mbt.autodiff import AutoDiffArray, constant, initialize


def _make(*shape: int, count: int = 2, seed: int = 1) -> AutoDiffArray:
    rng = np.random.default_rng(seed)
    return AutoDiffArray(rng.normal(size=shape), rng.normal(size=(*shape, count)))


def _same(x: AutoDiffArray, y: AutoDiffArray) -> bool:
    return np.array_equal(x.value, y.value) and np.array_equal(x.derivatives, y.derivatives)


# Making one


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


# Entries

KEYS: list[Any] = [
    0, -1, (1, 2), (1, 2, 0), ..., (..., 0), (0, ...), (0, ..., 1), slice(1, None), (slice(None), 1), None,
    (None, ..., None), (slice(None, None, -1), ..., slice(0, 2)), [1, 0], ([0, 1], [2, 0]), (0, slice(None), [1, 0, 1]),
    ([1, 0], slice(None), [0, 1]), (..., [1, 0]), np.array([True, False]), (), (0, np.array([True, False, True])),
    np.arange(24).reshape(2, 3, 4) % 3 == 0, (1, 2, 0, None), (np.int64(1), ..., np.int64(0)), np.zeros((0,), int),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key: Any) -> None:
    x = _make(2, 3, 4, count=5)
    part = x[key]
    assert_sound(part)
    np.testing.assert_array_equal(part.value, x.value[key])
    for i in range(5):
        np.testing.assert_array_equal(part.derivatives[..., i], x.derivatives[..., i][key])
    assert np.shares_memory(part.derivatives, x.derivatives) == np.shares_memory(part.value, x.value)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("kind", ["array", "number", "plain", "float"])
def test_writing(key: Any, kind: str) -> None:
    x = _make(2, 3, 4, count=5)
    expected = [x.value.copy(), *np.moveaxis(x.derivatives, -1, 0).copy()]
    shape = x.value[key].shape
    entries: Any = {
        "array": _make(*shape, count=5, seed=2), "number": _make(count=5), "plain": np.ones(shape), "float": 7.0,
    }[kind]  # fmt: skip
    new = entries if isinstance(entries, AutoDiffArray) else constant(entries, 5)
    for plane, part in zip(expected, [new.value, *np.moveaxis(new.derivatives, -1, 0)], strict=True):
        plane[key] = part
    x[key] = entries
    np.testing.assert_array_equal(x.value, expected[0])
    np.testing.assert_array_equal(np.moveaxis(x.derivatives, -1, 0), expected[1:])


@pytest.mark.parametrize("key", [5, (0, 0, 0, 0), "a", (0, 9), 1.5], ids=repr)
def test_wrong_index(key: Any) -> None:
    x = _make(2, 3, 4)
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 0.0
    assert _same(x, _make(2, 3, 4))


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        (_make(2, count=3), mbt.ShapeError, r"with 2 derivatives cannot hold numbers with 3: .*constant\(value, 3\)"),
        (_make(3), ValueError, "could not broadcast"),
        ("text", mbt.ArgumentTypeError, "assignment: expected an AutoDiffArray or real numbers, got 'text'"),
        (None, mbt.ArgumentTypeError, "got None"),
        (1j, mbt.ArgumentTypeError, "got 1j"),
    ],
)  # fmt: skip
def test_a_failed_assignment_changes_nothing(entries: Any, error: type[Exception], message: str) -> None:
    x = _make(2)
    with pytest.raises(error, match=message):
        x[:] = entries
    assert _same(x, _make(2))


def test_writing_over_itself() -> None:
    x, expected = _make(5), _make(5)
    x[1:] = x[:-1]
    assert _same(x[1:], expected[:-1])


def test_an_index_with_derivatives_is_refused() -> None:
    with pytest.raises(TypeError):
        np.zeros(3)[_make(2)]
    with pytest.raises(TypeError):
        [1, 2][_make()]


def test_read_only() -> None:
    x = _make(3)
    x.value.flags.writeable = False
    for write in (
        lambda: operator.setitem(x, 0, 1.0), lambda: operator.iadd(x, 1.0), lambda: np.add.at(x, 0, 1.0),
        lambda: np.add(x, 1.0, out=x), lambda: np.copyto(x, 0.0),
    ):  # fmt: skip
        with pytest.raises(mbt.ArgumentValueError, match="read-only"):
            write()
    assert _same(x, _make(3))


def test_iteration() -> None:
    x = _make(3, 2)
    assert [_same(row, x[i]) for i, row in enumerate(x)] == [True] * 3
    a, b, c = _make(3)
    assert a.shape == b.shape == c.shape == ()
    for scalar in (lambda: len(a), lambda: list(a)):
        with pytest.raises(TypeError, match="unsized"):
            scalar()


def test_an_entry_is_a_copy_of_its_own() -> None:
    x = _make(3)
    entry = x[1]
    x[1] = 0.0
    assert _same(entry, _make(3)[1])


# Views


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T, lambda x: x.mT, lambda x: x.reshape(-1), lambda x: x.reshape(3, 2, 4), lambda x: x.ravel(),
        lambda x: x.reshape((6, 4)), lambda x: x.transpose(1, 0, 2), lambda x: x.transpose(), lambda x: x[0],
        lambda x: x.swapaxes(0, 2), lambda x: np.moveaxis(x, 0, 1), lambda x: x[:, ::-1], lambda x: np.flip(x, 1),
        lambda x: np.expand_dims(x, 1), lambda x: x[None].squeeze(), lambda x: np.split(x, 3, axis=1)[1],
        lambda x: (x + 0.0).T.T.reshape(-1), lambda x: np.atleast_1d(x), lambda x: x.T.reshape(4, 3, 2),
    ],
)  # fmt: skip
def test_views_are_written_through(view: Callable[[AutoDiffArray], AutoDiffArray]) -> None:
    """Values and derivatives alike, whatever made the array."""
    for x in (_make(2, 3, 4), _make(4, 3, 2).T + 1.0, np.einsum("ijk->kij", _make(3, 4, 2))):
        view(x)[...] = 5.0
        written = x.value == 5.0
        shared = np.shares_memory(view(x).value, x.value)
        assert written.any() == shared
        np.testing.assert_array_equal((x.derivatives == 0.0).all(axis=-1), written)


def test_copies() -> None:
    x = _make(2, 3)
    for twin in (
        x.copy(),
        copy.copy(x),
        copy.deepcopy(x),
        np.copy(x),
        x.flatten().reshape(2, 3),
        x.astype(float),
    ):
        assert _same(twin, x)
        assert not np.shares_memory(twin.value, x.value)
        assert not np.shares_memory(twin.derivatives, x.derivatives)
    assert x.astype(np.float64, copy=False) is x


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    for x in (_make(2, 3), _make(), _make(0, 3), constant([1.0]), _make(2, 3).T):
        assert _same(pickle.loads(pickle.dumps(x, protocol)), x)


# Operators

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod,
    operator.matmul,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.ifloordiv, operator.imod,
    operator.imatmul,
]  # fmt: skip


@pytest.mark.parametrize(("binary", "in_place"), list(zip(BINARY, IN_PLACE, strict=True)))
@pytest.mark.parametrize("other", [_make(3, 3, seed=4), _make(3, 3, seed=4).value])
def test_operators_in_place(binary: Any, in_place: Any, other: Any) -> None:
    x = np.abs(_make(3, 3))
    value, derivatives = x.value, x.derivatives
    expected = binary(x.copy(), other)
    assert in_place(x, other) is x
    assert x.value is value
    assert x.derivatives is derivatives
    assert _same(x, expected)


@pytest.mark.parametrize("binary", BINARY)
def test_operators_with_plain_arrays_on_either_side(binary: Any) -> None:
    x, y = np.abs(_make(3, 3)) + 0.5, np.random.default_rng(9).uniform(1.0, 2.0, (3, 3))
    for left, right in ((x, y), (y, x), (x, y.tolist()), (y.tolist(), x)):
        result = binary(left, right)
        assert_sound(result)
        np.testing.assert_array_equal(
            result.value, binary(*(np.asarray(getattr(a, "value", a)) for a in (left, right)))
        )
        lifted = [a if isinstance(a, AutoDiffArray) else constant(a, 2) for a in (left, right)]
        np.testing.assert_allclose(result.derivatives, binary(*lifted).derivatives, rtol=1e-15)
    if binary is not operator.matmul:
        for number in (2, 2.0, np.float64(2.0), np.float32(2.0), np.int8(2), True, np.array(2.0)):
            assert_sound(binary(x, number))
            assert_sound(binary(number, x))


def test_a_number_is_not_changed_in_place() -> None:
    """As with floats: others may know it by another name."""
    total = before = _make()
    total += 1.0
    assert _same(before, _make())
    assert _same(total, _make() + 1.0)
    plain = 0.0
    plain += before
    assert_sound(plain)


def test_in_place_keeps_the_shape() -> None:
    x = _make(3)
    with pytest.raises(mbt.ShapeError, match=r"numpy.add: out: expected shape \(2, 3\), got \(3,\)"):
        x += np.ones((2, 3))
    assert _same(x, _make(3))


def test_a_plain_array_cannot_take_derivatives() -> None:
    plain = np.zeros(3)
    for write in (
        lambda: operator.iadd(plain, _make(3)), lambda: operator.setitem(plain, slice(None), _make(3)),
        lambda: np.copyto(plain, _make(3)), lambda: np.sin(_make(3), out=plain), lambda: np.full(3, _make()),
        lambda: np.fill_diagonal(np.zeros((3, 3)), _make()),
        lambda: np.add.at(plain, 0, _make()), lambda: plain.dot(_make(3)), lambda: np.array([_make(), _make()]),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            write()
    with pytest.raises(
        ValueError, match="setting an array element"
    ) as caught:  # NumPy's text; ours is the cause.
        plain[0] = _make()
    assert "would lose its derivatives" in str(caught.value.__cause__)
    np.testing.assert_array_equal(plain, 0.0)


def test_out() -> None:
    x, out = _make(3), constant(np.zeros(3), 2)
    assert np.sin(x, out=out) is out
    assert _same(out, np.sin(x))
    assert np.sin(np.ones(3), out=out) is out
    assert _same(out, constant(np.sin(np.ones(3)), 2))
    with pytest.raises(mbt.ShapeError, match="with 0 derivatives cannot hold numbers with 2"):
        np.sin(x, out=constant(np.zeros(3)))
    with pytest.raises(mbt.ShapeError, match="cannot hold numbers with 4"):
        np.add(_make(3, count=4), 1.0, out=out)
    with pytest.raises(mbt.ArgumentTypeError, match="out cannot be an AutoDiffArray"):
        np.isfinite(x, out=out)
    with pytest.raises(mbt.ArgumentTypeError, match=r"numpy.modf: out= is not supported"):
        np.modf(x, out=(out, out))


def test_ufunc_methods() -> None:
    x, y = _make(3, 2), _make(4, seed=3)
    assert _same(np.add.reduce(x), np.sum(x, axis=0))
    assert _same(np.add.reduce(x, axis=None), np.sum(x))
    assert _same(np.multiply.reduce(x, axis=1, keepdims=True), np.prod(x, axis=1, keepdims=True))
    assert _same(np.maximum.reduce(x, 1), np.max(x, axis=1))
    assert _same(np.minimum.reduce(x), np.min(x, axis=0))
    assert _same(np.add.accumulate(x), np.cumsum(x, axis=0))
    assert _same(np.multiply.accumulate(x, axis=1), np.cumprod(x, axis=1))
    assert _same(np.subtract.outer(x, y), x[..., None] - y)
    assert _same(np.multiply.outer([1.0, 2.0], y), np.array([[1.0], [2.0]]) * y)
    z = constant(np.zeros(3), 2)
    np.add.at(z, [0, 2, 0], y[:3])
    assert _same(z, np.stack([y[0] + y[2], 0.0, y[1]]))
    np.subtract.at(z, [0], y[2])
    np.add.at(z, (..., 1), 1.0)
    np.testing.assert_allclose(z.derivatives, np.stack([y[0], 0.0, y[1]]).derivatives)
    np.testing.assert_allclose(z.value, np.stack([y[0], 1.0, y[1]]).value)


# Different numbers of derivatives


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x + y, lambda x, y: x @ y, np.maximum, np.dot, np.cross, np.outer, lambda x, y: np.stack([x, y]),
        lambda x, y: np.concatenate([x, y]), lambda x, y: np.where(True, x, y), lambda x, y: np.einsum("i,i", x, y),
        lambda x, y: np.linalg.solve(np.diag(x), y), lambda x, y: np.array([x, y], like=x), np.divmod,
        lambda x, y: np.tensordot(x, y, 0), lambda x, y: np.clip(x, y, None), np.floor_divide,
    ],
)  # fmt: skip
def test_different_numbers_of_derivatives(f: Callable[..., Any]) -> None:
    with pytest.raises(
        mbt.ShapeError, match="different numbers of derivatives, 2 and 3: make them in one call"
    ):
        f(_make(3, count=3), _make(3, count=2))
    for both in ((_make(3, count=3), constant(np.ones(3))), (constant(np.ones(3)), _make(3, count=3))):
        result = f(*both)
        for part in result if isinstance(result, tuple) else (result,):
            assert_sound(part)
            assert part.num_derivatives == 3


def test_constants_among_themselves() -> None:
    x = constant([1.0, 2.0]) * constant([3.0, 4.0])
    assert_sound(x)
    assert x.num_derivatives == 0


# Shapes

SHAPES = [(), (0,), (3,), (0, 3), (2, 3), (2, 0, 3), (1, 3)]


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: tuple[int, ...], count: int) -> None:
    x = _make(*shape, count=count)
    plain = x.value
    for f in (
        np.sin, np.sum, np.prod, lambda a: a + 1.0, lambda a: a * np.ones((2, 1, 1)), lambda a: a**2, np.ravel, np.diag,
        lambda a: np.stack([a, a], -1), lambda a: np.reshape(a, -1), np.transpose, np.atleast_2d, np.floor, np.copy,
        lambda a: np.where(True, a, 0.0), lambda a: np.maximum(a, 0.0), lambda a: a.T, lambda a: a.flatten(), np.cumsum,
        lambda a: np.concatenate([a, a], axis=None), lambda a: np.linalg.norm(a.reshape(-1)), lambda a: np.tile(a, 2),
        lambda a: np.zeros_like(a), lambda a: np.einsum("...->...", a), lambda a: a[...], lambda a: np.cumprod(a),
        lambda a: np.roll(a, 1), lambda a: np.outer(a, a), lambda a: np.tensordot(a, a, 0), lambda a: np.kron(a, a),
    ):  # fmt: skip
        if f is np.diag and len(shape) not in (1, 2):
            continue
        result = f(x)
        assert_sound(result)
        assert result.num_derivatives == count
        np.testing.assert_array_equal(result.value, f(plain))
    for f in (np.mean, np.max, np.std):
        if x.size:
            assert_sound(f(x))


def test_empty_maximum_is_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match="empty"):
        np.max(_make(0))


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((0, 1), (3,))]
)
@pytest.mark.parametrize("f", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.arctan2, np.hypot])
def test_broadcasting(f: Any, shapes: Any) -> None:
    x, y = (_make(*shape, seed=i + 3) for i, shape in enumerate(shapes))
    result = f(x, y)
    wide = [np.broadcast_to(a, result.shape).copy() for a in (x, y)]
    assert_sound(result)
    assert _same(result, f(*wide))
    for mixed in (f(x, y.value), f(x.value, y)):
        assert_sound(mixed)
        assert mixed.shape == result.shape
    assert f(x, y).derivatives.flags.c_contiguous


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        _make(3) + _make(2)


# Texts


def test_repr() -> None:
    assert repr(_make(0, 3)) == "AutoDiffArray([], shape=(0, 3), num_derivatives=2)"
    assert eval(repr(initialize([1.0, 2.0]))).derivatives.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert repr(initialize(2.5)) == "AutoDiffArray(2.5, derivatives=[1.])"
    assert str(initialize(2.5)) == f"{initialize(2.5)}" == repr(initialize(2.5))
    assert f"{initialize(2.5):.3f}" == "2.500"
    assert np.array_repr(initialize(2.5)) == repr(initialize(2.5))
    assert len(repr(_make(100, 100))) < 3000


# What it refuses


def test_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(_make())


def test_truth() -> None:
    assert constant(1.0)
    assert not constant(0.0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(_make(2))


@pytest.mark.parametrize(
    "f",
    [float, int, complex, operator.index, np.asarray, np.array, np.float64, lambda x: np.array([x], dtype=object),
     lambda x: np.asarray(x, dtype=object), lambda x: np.array([x, x]), lambda x: np.array([[1.0, x], [x, 2.0]]),
     lambda x: __import__("math").sin(x), lambda x: np.arange(x)],
)  # fmt: skip
def test_derivatives_are_not_lost_unasked(f: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="would lose its derivatives"):
        f(_make())


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.unique(x), "numpy.unique is not supported"),
        (lambda x: np.linalg.svd(x), "numpy.linalg.svd is not supported"),
        (lambda x: np.fft.fft(x), "numpy.fft.fft is not supported"),
        (lambda x: np.frexp(x), "numpy.frexp is not supported"),
        (lambda x: np.bitwise_and(x, 1), "numpy.bitwise_and is not supported"),
        (lambda x: np.add.reduceat(x, [0]), "numpy.add.reduceat is not supported"),
        (lambda x: np.sin.at(x, [0]), "numpy.sin.at is not supported"),
        (lambda x: np.maximum.accumulate(x), "numpy.maximum.accumulate is not supported"),
        (lambda x: np.add.reduce(x, 0, None, x), "numpy.add.reduce: dtype and out are not supported"),
        (lambda x: np.add.reduce(x, out=x), "numpy.add.reduce: dtype and out are not supported"),
        (lambda x: np.sin(x, where=x > 0), "numpy.sin: where= is not supported .* use numpy.where"),
        (lambda x: np.sin(x, dtype=np.float32), "numpy.sin: an AutoDiffArray holds float64 only, got dtype float32"),
        (lambda x: np.matmul(x, x, axes=[(0, 1)] * 3), "numpy.matmul: axes= is not supported"),
        (lambda x: np.sum(x, out=x), "numpy.sum: not supported .*'out'"),
        (lambda x: np.sum(x, initial=1.0), "numpy.sum: not supported .*'initial'"),
        (lambda x: np.sum(x, where=x > 0), "numpy.sum: not supported .*'where'"),
        (lambda x: np.sum(x, dtype=int), "numpy.sum: an AutoDiffArray holds float64 only, got dtype int64"),
        (lambda x: np.stack([x, x], dtype=np.float32), "numpy.stack: an AutoDiffArray holds float64 only"),
        (lambda x: np.einsum("ij->", x, dtype=np.float32), "numpy.einsum: an AutoDiffArray holds float64 only"),
        (lambda x: x.astype(int), "AutoDiffArray.astype: an AutoDiffArray holds float64 only"),
        (lambda x: x + "text", "numpy.add: expected an AutoDiffArray or real numbers, got 'text'"),
        (lambda x: x + None, "numpy.add: expected an AutoDiffArray or real numbers, got None"),
        (lambda x: 1j * x, "numpy.multiply: expected an AutoDiffArray or real numbers, got 1j"),
        (lambda x: x * np.array([1j, 2]), "ndarray of dtype complex128"),
        (lambda x: x * np.array([1, None]), "ndarray of dtype object"),
        (lambda x: x + np.ma.masked_array([1.0, 2.0], [True, False]), "expected an AutoDiffArray or real numbers"),
        (lambda x: x + [x, x], "would lose its derivatives"),
        (lambda x: np.where(x, x), "numpy.where: expected either both or neither of x and y"),
        (lambda x: np.linalg.matrix_power(x, 1.5), "n: expected an integer, got 1.5"),
        (lambda x: np.array([x], like=x, dtype=int), "numpy.array: an AutoDiffArray holds float64 only"),
    ],
)  # fmt: skip
def test_unsupported(f: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=message):
        f(_make(2, 2))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.linalg.norm(x, "nuc"), "ord: expected 'fro', 1, -1, inf or -inf for a matrix .*, got 'nuc'"),
        (lambda x: np.linalg.norm(x, 2), "ord: expected 'fro'"),
        (lambda x: np.linalg.norm(x[0], "fro"), "ord: expected a number for a vector, got 'fro'"),
        (lambda x: np.linalg.norm(x[None], 1), "axis: expected one or two axes, got 3"),
        (lambda x: np.pad(x, 1, "mean"), "mode: expected one of .*, got 'mean'"),
        (lambda x: np.pad(x, 1, constant_values=2.0), "constant_values: expected 0"),
        (lambda x: np.cross(x, x), r"numpy.cross: a: expected shape \(..., 3\), got \(2, 2\)"),
        (lambda x: np.einsum("ij,jk", x), "subscripts of 2 operands, but 1 operands"),
        (lambda x: np.block([[x], x]), "lists of different depths"),
        (lambda x: np.block([x, []]), "a list is empty"),
        (lambda x: np.block([[], [x]]), "a list is empty"),
        (lambda x: np.diff(x, n=-1), "n: expected an integer >= 0, got -1"),
        (lambda x: np.average(x, weights=[1.0, 2.0]), r"weights of shape \(2,\) for an array of shape \(2, 2\)"),
        (lambda x: np.select([x > 0, x < 0], [x]), "as many choices as conditions, got 1 and 2"),
        (lambda x: np.fill_diagonal(x[0], 1.0), r"expected a matrix and wrap=False, got shape \(2,\)"),
        (lambda x: np.linalg.outer(x, x), r"expected two vectors, got shapes \(2, 2\) and \(2, 2\)"),
        (lambda x: np.reshape(x.T, 4, copy=False), "unable to avoid a copy"),
        (lambda x: x[0].mT, r"mT: expected an array of two or more axes, got shape \(2,\)"),
    ],
)  # fmt: skip
def test_wrong_arguments(f: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((mbt.ArgumentValueError, mbt.ShapeError), match=message):
        f(_make(2, 2))


@pytest.mark.parametrize(
    "f", [lambda x: x.sum(axis=2), lambda x: np.stack([x, x], 4), lambda x: np.swapaxes(x, 0, -3)]
)
def test_wrong_axis(f: Callable[[Any], Any]) -> None:
    with pytest.raises(np.exceptions.AxisError):
        f(_make(2, 2))


def test_missing_methods_say_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'tolist': take x\.value\.tolist"):
        _make(2).tolist()
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        _make(2).colour  # noqa: B018
    assert not hasattr(_make(2), "__array_interface__")


def test_foreign_types_may_compute_themselves() -> None:
    class Foreign:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

        def __array_function__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

    assert np.add(_make(2), Foreign()) == "foreign"
    assert np.add(Foreign(), _make(2)) == "foreign"
    assert np.stack([_make(2), Foreign()]) == "foreign"


# Methods


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("clip", (-0.1, 0.1)), ("conj", ()), ("cumprod", (1,)), ("cumsum", ()), ("diagonal", ()), ("max", (0,)),
        ("dot", (np.ones((3, 2)),)), ("mean", ()), ("min", ()), ("prod", (-1,)), ("ravel", ()), ("repeat", (2,)),
        ("round", (1,)), ("squeeze", ()), ("std", ()), ("sum", (1,)), ("swapaxes", (0, 1)), ("take", ([1],)), ("trace", ()),
        ("var", (0,)),
    ],
)  # fmt: skip
def test_methods(name: str, args: tuple[Any, ...]) -> None:
    x = _make(2, 3)
    assert _same(getattr(x, name)(*args), getattr(np, name)(x, *args))
    np.testing.assert_allclose(getattr(x, name)(*args).value, getattr(x.value, name)(*args), rtol=1e-15)


def test_every_method_says_what_it_is() -> None:
    for name in dir(AutoDiffArray):
        if not name.startswith("_"):
            assert getattr(AutoDiffArray, name).__doc__, name


def test_python_functions() -> None:
    x = _make(3)
    assert _same(sum(x), 0.0 + x[0] + x[1] + x[2])
    assert _same(abs(x), np.abs(x))
    assert _same(max(x), np.max(x))
    assert _same(pow(x, 3), x**3)
    assert _same(divmod(x, 0.3)[1], x % 0.3)
    assert _same(-x, np.negative(x))
    assert _same(+x, x)


def test_like() -> None:
    x = initialize([1.0, 2.0, 3.0])
    for made, expected in (
        (np.zeros((2, 3), like=x), np.zeros((2, 3))), (np.ones(2, like=x), np.ones(2)), (np.eye(3, like=x), np.eye(3)),
        (np.identity(2, like=x), np.eye(2)), (np.full(2, 7.0, like=x), np.full(2, 7.0)),
        (np.empty(2, like=x), np.zeros(2)), (np.array([1, 2], like=x), [1.0, 2.0]), (np.asarray(3.0, like=x), 3.0),
    ):  # fmt: skip
        assert_sound(made)
        assert _same(made, constant(expected, 3))
    rotation = np.array([[np.cos(x[0]), -np.sin(x[0])], (np.sin(x[0]), np.cos(x[0]))], like=x)
    assert rotation.shape == (2, 2)
    np.testing.assert_allclose(
        rotation.derivatives[..., 0], [[-np.sin(1), -np.cos(1)], [np.cos(1), -np.sin(1)]]
    )
    assert _same(np.array([x, 2.0 * x], like=x), np.stack([x, 2.0 * x]))
    assert np.array(x, like=x, ndmin=3).shape == (1, 1, 3)
    assert np.asarray(x, like=x) is not None
    assert np.shares_memory(np.asarray(x, like=x).value, x.value)
    assert not np.shares_memory(np.array(x, like=x).value, x.value)
    assert np.zeros(3, dtype=int, like=x).dtype == int
    assert np.zeros_like(x, dtype=bool).dtype == bool
    assert _same(np.full(2, x[1], like=x), np.stack([x[1], x[1]]))


def test_import_on_demand() -> None:
    code = "import sys, mbt; print('mbt.autodiff' in sys.modules); mbt.autodiff.initialize(1.0); print(mbt.autodiff)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("False\n<module 'mbt.autodiff'")
    assert "autodiff" in dir(mbt)
