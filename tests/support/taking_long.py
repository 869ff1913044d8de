"""Cases of a parametrized test that only the exhaustive run takes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def taking_long(cases: Iterable[object], *left: object) -> list[object]:
    """Return all cases; those in `left`, which must be among them, are marked as exhaustive."""
    cases = list(cases)
    assert set(left) <= set(cases)
    return [pytest.param(case, marks=pytest.mark.exhaustive) if case in left else case for case in cases]
