"""Derivatives of NumPy's functions, computed without mbt's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbt.autodiff import AutoDiffArray

STEP = 1e-2
# Weights of the symmetric difference of order eight: its error is of the order of (step * rate)^8.
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def directional_derivatives(f: Callable[..., Any], values: Sequence[Any], seeds: Sequence[Any]) -> Any:
    """Return df along each direction i, in which argument k moves along ``seeds[k][..., i]``."""
    count = seeds[0].shape[-1]
    columns = [
        sum(
            weight
            / STEP
            * (
                np.asarray(f(*(x + j * STEP * s[..., i] for x, s in zip(values, seeds, strict=True))))
                - np.asarray(f(*(x - j * STEP * s[..., i] for x, s in zip(values, seeds, strict=True))))
            )
            for j, weight in WEIGHTS.items()
        )
        for i in range(count)
    ]
    shape = np.shape(f(*values))
    return np.stack(columns, -1) if columns else np.zeros((*shape, 0))


def random_seeds(values: Sequence[Any], count: int, seed: int) -> list[Any]:
    """Return directions along which all arguments move at once, slowly."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-0.3, 0.3, (*np.shape(x), count)) for x in values]


def assert_sound(x: AutoDiffArray) -> None:
    """The array has the right type, and two float64 parts that fit together."""
    assert type(x) is AutoDiffArray
    assert type(x.value) is np.ndarray
    assert type(x.derivatives) is np.ndarray
    assert x.value.dtype == x.derivatives.dtype == np.float64
    assert x.derivatives.shape == (*x.value.shape, x.num_derivatives)


def random_array(*shape: int, count: int = 2, seed: int = 1) -> AutoDiffArray:
    """Return random values and derivatives."""
    rng = np.random.default_rng(seed)
    return AutoDiffArray(rng.normal(size=shape), rng.normal(size=(*shape, count)))


def same(x: AutoDiffArray, y: AutoDiffArray) -> bool:
    """Return whether all values and derivatives are the same."""
    return np.array_equal(x.value, y.value) and np.array_equal(x.derivatives, y.derivatives)
