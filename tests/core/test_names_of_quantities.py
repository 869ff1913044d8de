"""The numbers of quantities are the same in Python and in the compiled modules."""

from __future__ import annotations

import re
from pathlib import Path

from mbt._core.quantities.names import Quantity

DECLARATION = Path(__file__).parents[2] / "src" / "mbt" / "_core" / "quantities" / "names.pxd"


def test_the_names_are_those_of_the_declaration_in_its_order() -> None:
    members = DECLARATION.read_text(encoding="utf-8").partition("cdef enum Quantity:\n")[2]
    names = re.findall(r"^    (\w+)$", members, re.MULTILINE)
    assert len(names) > 90
    assert {name: i for i, name in enumerate(names)} == {q.name: q.value for q in Quantity}
