"""Cases of a parametrized test that are left to the exhaustive run."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def taking_long(names: Iterable[str], *left: str) -> list[object]:
    """All names; those to leave, which must be among them, are marked as exhaustive."""
    names = list(names)
    assert set(left) <= set(names)
    return [pytest.param(name, marks=pytest.mark.exhaustive) if name in left else name for name in names]
