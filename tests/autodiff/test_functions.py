"""Every function with a rule: its values equal NumPy's, its derivatives equal finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mbt.autodiff import AutoDiffArray, queries, rules
from mbt.autodiff.ufuncs import VALUES_ONLY, supported_ufuncs
from support.autodiff import assert_sound, directional_derivatives, random_seeds
from support.autodiff_cases import FUNCTIONS, UFUNCS

UFUNC_CASES = [
    (name, getattr(np, name), args) for name, cases in UFUNCS.items() for args in cases if hasattr(np, name)
]
FUNCTION_CASES = [
    (name, f, args)
    for name, cases in FUNCTIONS.items()
    if name not in rules.UNKNOWN_NAMES
    for f, args in cases
]


def _compare(f: Callable[..., Any], args: tuple[Any, ...], count: int = 3) -> None:
    """Differentiate with respect to each subset of arguments; the others are constants."""
    for variable in itertools.product([True, False], repeat=len(args)):
        if not any(variable):
            continue
        seeds = [
            s if moves else np.zeros_like(s)
            for s, moves in zip(random_seeds(args, count, 5), variable, strict=True)
        ]
        mixed = [
            AutoDiffArray(x, s) if moves else x for x, s, moves in zip(args, seeds, variable, strict=True)
        ]
        kept = [np.array(x.derivatives) if isinstance(x, AutoDiffArray) else None for x in mixed]
        result = f(*mixed)
        assert_sound(result)
        plain = np.asarray(f(*args))
        assert result.num_derivatives == count
        assert result.shape == plain.shape
        np.testing.assert_allclose(result.value, plain, rtol=1e-13, atol=1e-14)
        expected = directional_derivatives(f, args, seeds)
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(result.derivatives, expected, rtol=1e-9, atol=2e-11 * scale)
        for x in mixed:  # Where the value is a view of an operand's, so are the derivatives.
            if isinstance(x, AutoDiffArray):
                shared = np.shares_memory(result.value, x.value)
                assert np.shares_memory(result.derivatives, x.derivatives) == shared
        for x, before in zip(mixed, kept, strict=True):  # The operands are unchanged.
            assert before is None or np.array_equal(x.derivatives, before)


@pytest.mark.parametrize(
    ("name", "ufunc", "args"), UFUNC_CASES, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(UFUNC_CASES)]
)
def test_ufunc(name: str, ufunc: np.ufunc, args: tuple[Any, ...]) -> None:
    if ufunc.nout == 1:
        _compare(ufunc, args)
    for i in range(ufunc.nout if ufunc.nout > 1 else 0):
        _compare(lambda *x, i=i: ufunc(*x)[i], args)


@pytest.mark.parametrize(
    ("name", "f", "args"), FUNCTION_CASES, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(FUNCTION_CASES)]
)
def test_function(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    _compare(f, args)


def test_every_ufunc_has_a_case() -> None:
    tested = {getattr(np, name) for name in UFUNCS if hasattr(np, name)}
    assert supported_ufuncs() - VALUES_ONLY == tested


def test_every_function_has_a_case() -> None:
    of_values = {getattr(np, name) for name in queries._QUERIES.split()} | {
        np.array_repr,
        np.array_str,
        np.array2string,
    }
    names = set(FUNCTIONS) - rules.UNKNOWN_NAMES
    tested = {_function(name) for name in names}
    assert set(rules.FUNCTIONS) - of_values == tested


def test_names_are_those_of_numpy() -> None:
    """A misspelt name would look like a function that this NumPy lacks."""
    if np.lib.NumpyVersion(np.__version__) >= "2.2.0":
        assert not rules.UNKNOWN_NAMES


def _function(name: str) -> Any:
    target: Any = np
    for part in name.split("."):
        target = getattr(target, part)
    return target


# The complex step checks the rules of smooth functions to rounding.

ANALYTIC = """square sqrt reciprocal exp expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh
tanh arcsinh arctanh negative positive"""


@pytest.mark.parametrize("name", ANALYTIC.split())
def test_ufunc_vs_complex_step(name: str) -> None:
    ufunc = getattr(np, name)
    x = np.random.default_rng(3).uniform(0.05, 0.95, 200)
    step = 1e-30
    expected = ufunc(x + 1j * step).imag / step
    result = ufunc(AutoDiffArray(x, np.ones((200, 1))))
    np.testing.assert_allclose(result.derivatives[:, 0], expected, rtol=2e-14)


@pytest.mark.parametrize("ufunc", [np.arcsin, np.arccos, np.arctanh])
def test_near_the_ends(ufunc: np.ufunc) -> None:
    """Where 1 - x^2 loses digits."""
    from mpmath import mp

    names = {"arcsin": mp.asin, "arccos": mp.acos, "arctanh": mp.atanh}
    for x in (1.0 - 1e-12, -1.0 + 1e-14):
        with mp.workdps(60):
            expected = float(mp.diff(names[ufunc.__name__], mp.mpf(x), h=mp.mpf("1e-25")))
        np.testing.assert_allclose(ufunc(AutoDiffArray(x, [1.0])).derivatives[0], expected, rtol=1e-14)


# Where general formulas fail


def _derivative(f: Callable[[Any], Any], x: float) -> float:
    result = f(AutoDiffArray(x, [1.0]))
    assert_sound(result)
    return float(result.derivatives[0])


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**2, -3.0, -6.0),
        (lambda x: x**3, -2.0, 12.0),
        (lambda x: x**-1, -2.0, -0.25),
        (lambda x: 0.0**x, 2.0, 0.0),
        (lambda x: np.power(x, np.array(2)), 3.0, 6.0),
        (np.abs, 0.0, 0.0),
        (np.sqrt, 0.0, np.inf),
        (np.tanh, 800.0, 0.0),
        (lambda x: np.maximum(x, 1.0), 1.0, 1.0),
        (lambda x: np.maximum(1.0, x), 1.0, 0.0),
        (lambda x: np.minimum(x, 1.0), 1.0, 1.0),
        (lambda x: np.fmax(x, np.nan), 1.0, 1.0),
        (lambda x: np.fmin(np.nan, x), 1.0, 1.0),
        (lambda x: np.arctan2(x, 1e-200), 1e-200, 5e199),
        (lambda x: np.hypot(x, 1e-200), 1e-200, np.sqrt(0.5)),
        (lambda x: np.where(x > 0.0, x, 1.0 / x), 1.0, 1.0),
        (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1.0),
        (lambda x: np.logaddexp(x, 1000.0), 1000.0, 0.5),
        (lambda x: np.prod(np.stack([x, x, 0.0])), 3.0, 0.0),
        (lambda x: np.prod(np.stack([x, 2.0, 3.0])), 0.0, 6.0),
        (lambda x: np.prod(np.stack([x, x])), 0.0, 0.0),
        (lambda x: np.cumprod(np.stack([2.0, x, 3.0]))[2], 0.0, 6.0),
        (lambda x: np.linalg.det(np.array([[x, 1.0], [2.0, 1.0]], like=x)), 2.0, 1.0),
    ],
)
def test_special_places(f: Callable[[Any], Any], x: float, expected: float) -> None:
    np.testing.assert_allclose(_derivative(f, x), expected, rtol=1e-14)


def test_undefined_derivatives_are_nan_without_a_warning() -> None:
    x = AutoDiffArray([0.0, 0.0], np.eye(2))
    assert np.isnan(np.linalg.norm(x).derivatives).all()
    assert np.isnan(np.hypot(x[0], x[1]).derivatives).all()
    assert np.isnan(np.sqrt(AutoDiffArray(0.0, [0.0])).derivatives).all()


def test_values_warn_as_numpy_does() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.isinf((1.0 / AutoDiffArray([0.0], [[1.0]])).value).all()


def test_nan_passes_through() -> None:
    x = AutoDiffArray([np.nan, 1.0], np.eye(2))
    assert np.isnan(np.max(x).value)
    assert np.isnan(np.maximum(x, 0.0).value[0])
    np.testing.assert_array_equal(np.sin(x).derivatives[1], [0.0, np.cos(1.0)])


@pytest.mark.parametrize("name", sorted(ufunc.__name__ for ufunc in VALUES_ONLY))
def test_truth_values_come_from_values(name: str) -> None:
    ufunc = getattr(np, name)
    values = [np.array([1.0, np.nan, -2.0, 0.0]), np.array([1.0, 0.0, -3.0, np.inf])][: ufunc.nin]
    arrays = [AutoDiffArray(x, np.ones((4, i + 2))) for i, x in enumerate(values)]
    result = ufunc(*arrays)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, ufunc(*values))
    out = np.zeros(4, bool)
    assert ufunc(*arrays, out=out) is out
    np.testing.assert_array_equal(out, ufunc(*values))


@pytest.mark.parametrize(
    "query",
    [
        np.shape,
        np.ndim,
        np.size,
        np.argmax,
        np.argmin,
        np.argsort,
        np.argwhere,
        np.nonzero,
        np.flatnonzero,
        np.count_nonzero,
        np.any,
        np.all,
        np.isposinf,
        np.isneginf,
        np.isreal,
        np.iscomplex,
        np.isrealobj,
        np.iscomplexobj,
        lambda x: np.lexsort((x[0], x[1])),
        lambda x: np.searchsorted([0.0, 1.0], x),
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.isclose(x, x + 1e-12),
        lambda x: np.allclose(x, 1.0),
        lambda x: np.allclose(a=x, b=x),
        lambda x: np.array_equal(x, x),
        lambda x: np.array_equiv(x, x[0]),
        lambda x: np.isin(x, [x[0, 0]] if isinstance(x, np.ndarray) else [x.value[0, 0]]),
        np.where,
        lambda x: x.argmax(axis=1),
        lambda x: x.any(),
        lambda x: np.logical_or.reduce(x),
        lambda x: np.logical_and.reduce(x, axis=1),
        lambda x: x.nonzero(),
        len,
        lambda x: x.ndim,
        lambda x: x.size,
        lambda x: x.shape,
        lambda x: 0.0 in x,
        lambda x: 5.0 in x,
        lambda x: x > 0.0,
        lambda x: x == x,
    ],
)
def test_queries_look_at_values(query: Callable[[Any], Any]) -> None:
    plain = np.array([[1.5, 0.0, -2.0], [0.3, np.inf, 1.0]])
    got, expected = query(AutoDiffArray(plain, np.ones((2, 3, 4)))), query(plain)
    assert type(got) is type(expected)
    np.testing.assert_array_equal(got, expected)
