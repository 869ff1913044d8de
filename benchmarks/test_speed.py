"""Quick runs with pytest-benchmark: one call on one state.

pytest benchmarks/test_speed.py [-k "inverse and arm7"]
"""

from __future__ import annotations

from typing import Any

import pytest

import mbt
from compare import make_states
from contenders import FUNCTIONS, PLAIN_FUNCTIONS, Functional, WithContext
from models import make_model

CALLS = [(Functional, function) for function in PLAIN_FUNCTIONS] + [
    (WithContext, function) for function in FUNCTIONS
]


@pytest.mark.parametrize("name", ["chain2", "arm7", "chain30", "chain100"])
@pytest.mark.parametrize(("kind", "function"), CALLS, ids=[f"{kind.name}-{name}" for kind, name in CALLS])
def test_speed(benchmark: Any, kind: type[Functional], function: str, name: str) -> None:
    model = make_model(name)
    tree = mbt.load_model(model.urdf)
    benchmark.group = f"{function}, {name}"
    benchmark(kind(model, tree).as_function(function, make_states(tree, floating=False)[0]))
