"""Scalars by name as parameters of tests, those of optional packages among them."""

from __future__ import annotations

from typing import Any

import pytest

# Large, unlike SymPy and mpmath, which all tests may use.
OPTIONAL = ("casadi", "jax")


def scalar_names(*names: str) -> list[Any]:
    """Return parameters for ``pytest.mark.parametrize``: those of optional packages belong to the oracles.

    Pass each to `require` before it is used.
    """
    return [pytest.param(name, marks=pytest.mark.oracle) if name in OPTIONAL else name for name in names]


def require(scalar: str) -> None:
    """Skip a test whose scalar is of an optional package that is not here."""
    if scalar in OPTIONAL:
        pytest.importorskip(scalar)
