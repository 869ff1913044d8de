"""Operators and ufuncs in all their forms: in place, with plain arrays, broadcasting, unequal counts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, constant
from support.autodiff import assert_sound, random_array, same

# Operators

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.floordiv,
    operator.mod,
    operator.matmul,
]
IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ipow,
    operator.ifloordiv,
    operator.imod,
    operator.imatmul,
]


@pytest.mark.parametrize(("binary", "in_place"), list(zip(BINARY, IN_PLACE, strict=True)))
@pytest.mark.parametrize("other", [random_array(3, 3, seed=4), random_array(3, 3, seed=4).value])
def test_operators_in_place(binary: Any, in_place: Any, other: Any) -> None:
    x = np.abs(random_array(3, 3))
    value, derivatives = x.value, x.derivatives
    expected = binary(x.copy(), other)
    assert in_place(x, other) is x
    assert x.value is value
    assert x.derivatives is derivatives
    assert same(x, expected)


@pytest.mark.parametrize("binary", BINARY)
def test_operators_with_plain_arrays_on_either_side(binary: Any) -> None:
    x, y = np.abs(random_array(3, 3)) + 0.5, np.random.default_rng(9).uniform(1.0, 2.0, (3, 3))
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
    """As with floats: another variable may refer to the same number."""
    total = before = random_array()
    total += 1.0
    assert same(before, random_array())
    assert same(total, random_array() + 1.0)
    plain = 0.0
    plain += before
    assert_sound(plain)


def test_in_place_keeps_the_shape() -> None:
    x = random_array(3)
    with pytest.raises(mbt.ShapeError, match=r"numpy.add: out: expected shape \(2, 3\), got \(3,\)"):
        x += np.ones((2, 3))
    assert same(x, random_array(3))


def test_a_plain_array_cannot_take_derivatives() -> None:
    plain = np.zeros(3)
    for write in (
        lambda: operator.iadd(plain, random_array(3)),
        lambda: operator.setitem(plain, slice(None), random_array(3)),
        lambda: np.copyto(plain, random_array(3)),
        lambda: np.sin(random_array(3), out=plain),
        lambda: np.full(3, random_array()),
        lambda: np.fill_diagonal(np.zeros((3, 3)), random_array()),
        lambda: np.add.at(plain, 0, random_array()),
        lambda: plain.dot(random_array(3)),
        lambda: np.array([random_array(), random_array()]),
    ):
        with pytest.raises(TypeError):
            write()
    with pytest.raises(
        ValueError, match="setting an array element"
    ) as caught:  # NumPy raises this error; ours is its cause.
        plain[0] = random_array()
    assert "would lose its derivatives" in str(caught.value.__cause__)
    np.testing.assert_array_equal(plain, 0.0)


def test_out() -> None:
    x, out = random_array(3), constant(np.zeros(3), 2)
    assert np.sin(x, out=out) is out
    assert same(out, np.sin(x))
    assert np.sin(np.ones(3), out=out) is out
    assert same(out, constant(np.sin(np.ones(3)), 2))
    with pytest.raises(mbt.ShapeError, match="with 0 derivatives cannot hold numbers with 2"):
        np.sin(x, out=constant(np.zeros(3)))
    with pytest.raises(mbt.ShapeError, match="cannot hold numbers with 4"):
        np.add(random_array(3, count=4), 1.0, out=out)
    with pytest.raises(mbt.ArgumentTypeError, match="out cannot be an AutoDiffArray"):
        np.isfinite(x, out=out)
    with pytest.raises(mbt.ArgumentTypeError, match=r"numpy.modf: out= is not supported"):
        np.modf(x, out=(out, out))


def test_ufunc_methods() -> None:
    x, y = random_array(3, 2), random_array(4, seed=3)
    assert same(np.add.reduce(x), np.sum(x, axis=0))
    assert same(np.add.reduce(x, axis=None), np.sum(x))
    assert same(np.multiply.reduce(x, axis=1, keepdims=True), np.prod(x, axis=1, keepdims=True))
    assert same(np.maximum.reduce(x, 1), np.max(x, axis=1))
    assert same(np.minimum.reduce(x), np.min(x, axis=0))
    assert same(np.add.accumulate(x), np.cumsum(x, axis=0))
    assert same(np.multiply.accumulate(x, axis=1), np.cumprod(x, axis=1))
    assert same(np.subtract.outer(x, y), x[..., None] - y)
    assert same(np.multiply.outer([1.0, 2.0], y), np.array([[1.0], [2.0]]) * y)
    z = constant(np.zeros(3), 2)
    np.add.at(z, [0, 2, 0], y[:3])
    assert same(z, np.stack([y[0] + y[2], 0.0, y[1]]))
    matrix = constant(np.zeros((2, 2)), 2)
    np.add.at(matrix, (np.array([0, 1, 0]), np.array([1, 1, 1])), y[:3])
    assert same(matrix, np.array([[0.0, y[0] + y[2]], [0.0, y[1]]], like=y))
    np.subtract.at(z, [0], y[2])
    np.add.at(z, (..., 1), 1.0)
    np.testing.assert_allclose(z.derivatives, np.stack([y[0], 0.0, y[1]]).derivatives)
    np.testing.assert_allclose(z.value, np.stack([y[0], 1.0, y[1]]).value)


# Unequal numbers of derivatives


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x + y,
        lambda x, y: x @ y,
        np.maximum,
        np.dot,
        np.cross,
        np.outer,
        lambda x, y: np.stack([x, y]),
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.where(True, x, y),
        lambda x, y: np.einsum("i,i", x, y),
        lambda x, y: np.linalg.solve(np.diag(x), y),
        lambda x, y: np.array([x, y], like=x),
        np.divmod,
        lambda x, y: np.tensordot(x, y, 0),
        lambda x, y: np.clip(x, y, None),
        np.floor_divide,
    ],
)
def test_different_numbers_of_derivatives(f: Callable[..., Any]) -> None:
    with pytest.raises(
        mbt.ShapeError, match="different numbers of derivatives, 2 and 3: make them in one call"
    ):
        f(random_array(3, count=3), random_array(3, count=2))
    for both in (
        (random_array(3, count=3), constant(np.ones(3))),
        (constant(np.ones(3)), random_array(3, count=3)),
    ):
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
    x = random_array(*shape, count=count)
    plain = x.value
    for f in (
        np.sin,
        np.sum,
        np.prod,
        lambda a: a + 1.0,
        lambda a: a * np.ones((2, 1, 1)),
        lambda a: a**2,
        np.ravel,
        np.diag,
        lambda a: np.stack([a, a], -1),
        lambda a: np.reshape(a, -1),
        np.transpose,
        np.atleast_2d,
        np.floor,
        np.copy,
        lambda a: np.where(True, a, 0.0),
        lambda a: np.maximum(a, 0.0),
        lambda a: a.T,
        lambda a: a.flatten(),
        np.cumsum,
        lambda a: np.concatenate([a, a], axis=None),
        lambda a: np.linalg.norm(a.reshape(-1)),
        lambda a: np.tile(a, 2),
        lambda a: np.zeros_like(a),
        lambda a: np.einsum("...->...", a),
        lambda a: a[...],
        lambda a: np.cumprod(a),
        lambda a: np.roll(a, 1),
        lambda a: np.outer(a, a),
        lambda a: np.tensordot(a, a, 0),
        lambda a: np.kron(a, a),
    ):
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
        np.max(random_array(0))


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((0, 1), (3,))]
)
@pytest.mark.parametrize("f", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.arctan2, np.hypot])
def test_broadcasting(f: Any, shapes: Any) -> None:
    x, y = (random_array(*shape, seed=i + 3) for i, shape in enumerate(shapes))
    result = f(x, y)
    wide = [np.broadcast_to(a, result.shape).copy() for a in (x, y)]
    assert_sound(result)
    assert same(result, f(*wide))
    for mixed in (f(x, y.value), f(x.value, y)):
        assert_sound(mixed)
        assert mixed.shape == result.shape
    assert f(x, y).derivatives.flags.c_contiguous


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        random_array(3) + random_array(2)
