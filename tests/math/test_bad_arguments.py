"""Functions of `mbt.math` refuse non-arrays and arrays with too many axes, with mbt's own messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt


def _endless() -> list[Any]:
    """Return a list that contains itself twice."""
    entries: list[Any] = []
    entries += [entries, entries]
    return entries


def _deep() -> list[Any]:
    entries: list[Any] = [1.0]
    for _ in range(5000):
        entries = [entries]
    return entries


BAD: dict[str, Callable[[], Any]] = {
    "endless": _endless,
    "deep": _deep,
    "40 axes of vectors": lambda: np.zeros((1,) * 40 + (3,)),
    "40 axes of matrices": lambda: np.zeros((1,) * 40 + (4, 4)),
}


def _takers() -> dict[str, Callable[[Any], Any]]:
    """Return functions that take only arrays, by name; each is called with one value for every argument."""
    found: dict[str, Callable[[Any], Any]] = {}
    for name in mbt.math.__all__:
        function = getattr(mbt.math, name)
        if not callable(function) or inspect.isclass(function):
            continue
        parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        count = len(parameters)
        if parameters and not any(p.name == "name" for p in parameters):
            found[name] = lambda value, f=function, n=count: f(*[value] * n)
    for option in ("p", "rpy", "quaternion", "R"):
        found[f"make_pose({option}=)"] = lambda value, option=option: mbt.math.make_pose(**{option: value})
    return found


TAKERS = _takers()


def test_there_are_many() -> None:
    assert len(TAKERS) > 20


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("name", TAKERS)
def test_refused(name: str, what: str) -> None:
    with pytest.raises((mbt.ArgumentTypeError, mbt.ShapeError, mbt.ArgumentValueError)):
        TAKERS[name](BAD[what]())
