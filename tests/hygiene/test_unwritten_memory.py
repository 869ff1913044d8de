"""No call computes with uninitialized memory: neither working memory, nor results, nor the stack.

Such memory holds pointers and small integers, which are subnormal as numbers: each operation on one
takes some processors a hundred times as long. A program that traps invalid operations would end.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from mbt import functional
from support.calls import CONSTRAINT_FUNCTIONS, FUNCTIONS, STEPS
from support.case import MOVING
from support.isas import usable_isas
from support.malloc import compile_malloc, run_with_malloc
from support.unwritten_memory import CONTROL, MALLOC, WORDS


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("reads what MXCSR of x86-64 notices")
    return compile_malloc(tmp_path_factory.mktemp("malloc"), MALLOC)


def look(library: Path, isa: str, *trees: str) -> None:
    output = run_with_malloc(library, "-m", "support.unwritten_memory", *trees, MBT_ISA=isa)
    found: dict[str, Any] = json.loads(output)
    assert found["isa"] == isa
    assert found["calls"] > 50 * len(trees)
    controls = [touched for touched in found["touched"] if touched[1] == CONTROL]
    assert controls == [[tree, CONTROL, word, "computed with"] for tree in trees for word in WORDS]
    others = [", ".join(touched) for touched in found["touched"] if touched not in controls]
    assert not others, "\n".join([f"{isa}: {len(others)} of {found['calls']}", *others])


def test_every_function_is_called() -> None:
    # One of these is a 6x6 inverse, which is undefined for a frame that cannot move in all directions.
    # The other one searches.
    others = {"operational_space_inertia", "inverse_kinematics"}
    called = FUNCTIONS.keys() | STEPS.keys() | CONSTRAINT_FUNCTIONS.keys()
    assert called | others == set(functional.__all__)


@pytest.mark.parametrize("isa", usable_isas())
def test_no_call_computes_with_unwritten_memory(library: Path, isa: str) -> None:
    look(library, isa, "everything", "everything in Python", "every constraint", "arm7")


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", usable_isas())
def test_no_call_on_any_tree(library: Path, isa: str) -> None:
    look(library, isa, *MOVING)
