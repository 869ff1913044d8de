"""Scalar types by name as parameters of tests, including those of optional packages."""

from __future__ import annotations

from typing import Any

import pytest

# Large packages, unlike SymPy and mpmath, which all tests may use.
OPTIONAL = ("casadi", "jax")


def scalar_names(*names: str) -> list[Any]:
    """Return parameters for ``pytest.mark.parametrize``; tests of optional packages are marked as oracles.

    Pass each name to `require` before use.
    """
    return [pytest.param(name, marks=pytest.mark.oracle) if name in OPTIONAL else name for name in names]


def require(scalar: str) -> None:
    """Skip a test whose scalar type needs an optional package that is not installed."""
    if scalar in OPTIONAL:
        pytest.importorskip(scalar)
