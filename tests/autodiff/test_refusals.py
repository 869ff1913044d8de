"""What an array with derivatives refuses, and the messages of its errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import constant
from support.autodiff import random_array
from support.autodiff_cases import IS_NUMPY_2_0

# What it refuses


def test_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(random_array())


def test_truth() -> None:
    assert constant(1.0)
    assert not constant(0.0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(random_array(2))


@pytest.mark.parametrize(
    "f",
    [
        float,
        int,
        complex,
        operator.index,
        np.asarray,
        np.array,
        np.float64,
        lambda x: np.array([x], dtype=object),
        lambda x: np.asarray(x, dtype=object),
        lambda x: np.array([x, x]),
        lambda x: np.array([[1.0, x], [x, 2.0]]),
        lambda x: __import__("math").sin(x),
        lambda x: np.arange(x),
    ],
)
def test_derivatives_are_not_lost_unasked(f: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="would lose its derivatives"):
        f(random_array())


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
        (
            lambda x: np.sin(x, dtype=np.float32),
            "numpy.sin: an AutoDiffArray holds float64 only, got dtype float32",
        ),
        (lambda x: np.matmul(x, x, axes=[(0, 1)] * 3), "numpy.matmul: axes= is not supported"),
        (lambda x: np.sum(x, out=x), "numpy.sum: not supported .*'out'"),
        (lambda x: np.sum(x, initial=1.0), "numpy.sum: not supported .*'initial'"),
        (lambda x: np.sum(x, where=x > 0), "numpy.sum: not supported .*'where'"),
        (lambda x: np.sum(x, dtype=int), "numpy.sum: an AutoDiffArray holds float64 only, got dtype int64"),
        (lambda x: np.stack([x, x], dtype=np.float32), "numpy.stack: an AutoDiffArray holds float64 only"),
        (
            lambda x: np.einsum("ij->", x, dtype=np.float32),
            "numpy.einsum: an AutoDiffArray holds float64 only",
        ),
        (lambda x: x.astype(int), "AutoDiffArray.astype: an AutoDiffArray holds float64 only"),
        (lambda x: x + "text", "numpy.add: expected an AutoDiffArray or real numbers, got 'text'"),
        (lambda x: x + None, "numpy.add: expected an AutoDiffArray or real numbers, got None"),
        (lambda x: 1j * x, "numpy.multiply: expected an AutoDiffArray or real numbers, got 1j"),
        (lambda x: x * np.array([1j, 2]), "ndarray of dtype complex128"),
        (lambda x: x * np.array([1, None]), "ndarray of dtype object"),
        (
            lambda x: x + np.ma.masked_array([1.0, 2.0], [True, False]),
            "expected an AutoDiffArray or real numbers",
        ),
        (lambda x: np.add(x, [x, x]), "would lose its derivatives"),
        (lambda x: np.where(x, x), "numpy.where: expected either both or neither of x and y"),
        (lambda x: np.linalg.matrix_power(x, 1.5), "n: expected an integer, got 1.5"),
        (lambda x: np.array([x], like=x, dtype=int), "numpy.array: an AutoDiffArray holds float64 only"),
    ],
)
def test_unsupported(f: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=message):
        f(random_array(2, 2))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda x: np.linalg.norm(x, "nuc"),
            "ord: expected 'fro', 1, -1, inf or -inf for a matrix .*, got 'nuc'",
        ),
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
        (
            lambda x: np.average(x, weights=[1.0, 2.0]),
            r"weights of shape \(2,\) for an array of shape \(2, 2\)",
        ),
        (lambda x: np.select([x > 0, x < 0], [x]), "as many choices as conditions, got 1 and 2"),
        (lambda x: np.fill_diagonal(x[0], 1.0), r"expected a matrix and wrap=False, got shape \(2,\)"),
        (lambda x: np.linalg.outer(x, x), r"expected two vectors, got shapes \(2, 2\) and \(2, 2\)"),
        pytest.param(
            lambda x: np.reshape(x.T, 4, copy=False),
            "unable to avoid a copy",
            marks=pytest.mark.skipif(IS_NUMPY_2_0, reason="NumPy 2.1 brought the argument `copy`"),
        ),
        (lambda x: x[0].mT, r"mT: expected an array of two or more axes, got shape \(2,\)"),
    ],
)
def test_wrong_arguments(f: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((mbt.ArgumentValueError, mbt.ShapeError), match=message):
        f(random_array(2, 2))


@pytest.mark.parametrize(
    "f", [lambda x: x.sum(axis=2), lambda x: np.stack([x, x], 4), lambda x: np.swapaxes(x, 0, -3)]
)
def test_wrong_axis(f: Callable[[Any], Any]) -> None:
    with pytest.raises(np.exceptions.AxisError):
        f(random_array(2, 2))


def test_missing_methods_say_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'tolist': take x\.value\.tolist"):
        random_array(2).tolist()
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        random_array(2).colour  # noqa: B018
    assert not hasattr(random_array(2), "__array_interface__")


def test_foreign_types_may_compute_themselves() -> None:
    class Foreign:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

        def __array_function__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

    assert np.add(random_array(2), Foreign()) == "foreign"
    assert np.add(Foreign(), random_array(2)) == "foreign"
    assert np.stack([random_array(2), Foreign()]) == "foreign"
