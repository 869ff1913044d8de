"""As ADR 8 requires, there is one function for each quantity, found by its number alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mbt._core.quantities.names import Quantity

CORE = Path(__file__).parents[2] / "src" / "mbt" / "_core"
REGISTERED = re.compile(r"functions\.set\(\s*(\w+),\s*(\w+)\[T\]")
TEXT = re.compile(r'""".*?"""|#[^\n]*', re.DOTALL)


def _code(path: Path) -> str:
    return TEXT.sub("", path.read_text(encoding="utf-8"))


def _registered() -> list[tuple[str, str]]:
    return [
        pair
        for path in sorted((CORE / "quantities").glob("*.pxd"))
        for pair in REGISTERED.findall(_code(path))
    ]


def test_each_quantity_has_one_function() -> None:
    assert Counter(quantity for quantity, _ in _registered()) == Counter(q.name for q in Quantity)


def test_no_function_serves_two_quantities() -> None:
    assert {name: n for name, n in Counter(name for _, name in _registered()).items() if n > 1} == {}


@pytest.mark.parametrize("room", ["api", "engines", "quantities"])
def test_the_order_of_quantities_means_nothing(room: str) -> None:
    orders = re.compile(r"\bquantity\s*(?:<|>)|(?:<|>)=?\s*quantity\b")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted((CORE / room).glob("*.p[yx][xd]"))
        for line in _code(path).splitlines()
        if orders.search(line) and "NUM_QUANTITIES" not in line
    ]
    assert found == []


def test_engines_tell_quantities_apart_where_they_are_named_here() -> None:
    """Only for the layout of sparse results, and for the texts of errors."""
    found = Counter(
        path.name
        for path in sorted((CORE / "engines").glob("*.p[yx][xd]"))
        for line in _code(path).splitlines()
        if re.search(r"\bquantity\s*(?:==|!=)", line)
    )
    assert set(found) <= {"context.pyx", "dual_engine.pyx", "lane_blocks.pxd"}
