"""The numbers of quantities are indices into tables of the compiled modules."""

from __future__ import annotations

from mbt._core.quantities.names import Quantity


def test_the_numbers_count_from_zero_and_no_two_are_the_same() -> None:
    # Iterating over the class itself would skip aliases.
    assert list(Quantity.__members__.values()) == list(range(len(Quantity.__members__)))
