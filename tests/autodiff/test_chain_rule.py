"""The chain rule in random expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbt.autodiff import AutoDiffArray, initialize, jacobian
from support.autodiff import assert_sound, directional_derivatives, random_seeds

Expression = Callable[[list[Any]], Any]

# Smooth functions of moderate growth, so that finite differences of their compositions are accurate.
UNARY: list[Callable[[Any], Any]] = [
    np.sin,
    np.cos,
    np.tanh,
    np.arctan,
    np.negative,
    lambda x: np.exp(np.sin(x)),
    lambda x: np.sqrt(1.5 + x * x),
    lambda x: np.log(2.0 + np.square(x)),
    lambda x: np.arcsin(0.5 * np.cos(x)),
    np.arcsinh,
    lambda x: 2.0 - x,
    lambda x: x**3 / (1.0 + x**2),
    lambda x: np.reciprocal(3.0 + np.cos(x)),
    lambda x: np.power(1.5, np.tanh(x)),
    lambda x: x[..., ::-1],
    lambda x: np.roll(x, 1),
    lambda x: np.sum(x, axis=-1, keepdims=True) * np.ones(3),
    lambda x: np.swapaxes(x, -1, -2),
    lambda x: np.reshape(np.ravel(x), (3, 3)),
    lambda x: np.tril(x) - np.triu(x, 1),
    lambda x: np.linalg.solve(x.T @ x + 4.0 * np.eye(3), x),
    lambda x: np.cross(x, np.array([1.0, -2.0, 0.5])),
    lambda x: x * np.linalg.norm(np.cos(x), axis=0),
    lambda x: np.linalg.inv(4.0 * np.eye(3) + np.sin(x)),
    lambda x: np.cumsum(x, axis=0),
    lambda x: np.stack([x[0], x[2], 2.0 * x[1]]),
    lambda x: x - np.mean(x, axis=0),
    lambda x: np.where(np.eye(3) > 0, np.sin(x), x),
    lambda x: np.std(x + 4.0 * np.eye(3), axis=0) * x,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add,
    np.subtract,
    np.multiply,
    lambda x, y: x / (2.0 + np.cos(y)),
    lambda x, y: np.arctan2(x, 2.0 + y * y),
    lambda x, y: np.hypot(x, 1.0 + y * y),
    np.logaddexp,
    lambda x, y: np.tanh(x) @ y,
    lambda x, y: np.power(1.5 + np.sin(x), y),
    lambda x, y: np.einsum("ij,kj->ik", np.sin(x), np.cos(y)),
    lambda x, y: np.cross(np.tanh(x), y),
    lambda x, y: np.dot(x, y[0])[:, None] * np.ones(3),
    lambda x, y: np.concatenate([x[:1], y[1:]]),
    lambda x, y: np.kron(x[:1], y[:, :1]),
    lambda x, y: np.outer(x[0], y[1]),
    lambda x, y: np.inner(np.sin(x), y),
]


def expressions(num_arguments: int) -> st.SearchStrategy[Expression]:
    leaves = st.integers(0, num_arguments - 1).map(lambda i: lambda args: args[i])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda f, a: lambda args: f(a(args)), st.sampled_from(UNARY), inner),
            st.builds(
                lambda f, a, b: lambda args: f(a(args), b(args)), st.sampled_from(BINARY), inner, inner
            ),
        ),
        max_leaves=6,
    )


@settings(max_examples=150)
@given(f=expressions(2), seed=st.integers(0, 1000))
def test_random_expressions(f: Expression, seed: int) -> None:
    rng = np.random.default_rng(seed)
    args = [rng.uniform(-1.0, 1.0, (3, 3)) for _ in range(2)]
    seeds = [0.1 * s for s in random_seeds(args, 2, seed)]
    result = f([AutoDiffArray(x, s) for x, s in zip(args, seeds, strict=True)])
    assert_sound(result)
    np.testing.assert_allclose(result.value, f(args), rtol=1e-12, atol=1e-12)
    expected = directional_derivatives(lambda *x: f(list(x)), args, seeds)
    # Differences of values of size s have an error of 100 eps s / step; the step here is 1e-2.
    scale = 1.0 + np.abs(result.value).max() + np.abs(expected).max()
    np.testing.assert_allclose(result.derivatives, expected, rtol=1e-7, atol=1e-11 * scale)


@settings(max_examples=60)
@given(f=expressions(2), seed=st.integers(0, 1000))
def test_seeds_are_directions(f: Expression, seed: int) -> None:
    """The derivatives along any seeds equal the Jacobian times the seeds."""
    rng = np.random.default_rng(seed)
    args = [rng.uniform(-1.0, 1.0, (3, 3)) for _ in range(2)]
    seeds = random_seeds(args, 4, seed)
    along = f([AutoDiffArray(x, s) for x, s in zip(args, seeds, strict=True)])
    full = f(list(initialize(*args)))
    expected = full.derivatives @ np.concatenate([s.reshape(9, 4) for s in seeds])
    scale = 1.0 + np.abs(full.derivatives).max()
    np.testing.assert_allclose(along.derivatives, expected, rtol=1e-9, atol=1e-12 * scale)


@settings(max_examples=60)
@given(f=expressions(1), g=expressions(1), seed=st.integers(0, 1000))
def test_composition_is_the_product_of_jacobians(f: Expression, g: Expression, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 3))
    inner = jacobian(lambda a: g([a]), x)
    outer = jacobian(lambda a: f([a]), np.asarray(g([x])))
    both = jacobian(lambda a: f([g([a])]), x)
    expected = np.tensordot(outer, inner, 2)
    scale = 1.0 + np.abs(outer).max() * np.abs(inner).max()
    np.testing.assert_allclose(both, expected, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("count", [1, 7, 200])
def test_directions_do_not_mix(count: int) -> None:
    """Many directions at once give the same derivatives as each direction alone."""
    rng = np.random.default_rng(8)
    x, s = rng.uniform(-1.0, 1.0, (3, 3)), rng.normal(size=(3, 3, count))

    def f(a: Any) -> Any:
        return np.linalg.solve(a + 3.0 * np.eye(3), np.sin(a)) @ np.prod(a, axis=0) / np.linalg.norm(a)

    together = f(AutoDiffArray(x, s)).derivatives
    alone = [f(AutoDiffArray(x, s[..., i : i + 1])).derivatives[..., 0] for i in range(count)]
    np.testing.assert_allclose(together, np.stack(alone, -1), rtol=1e-12, atol=1e-14)
