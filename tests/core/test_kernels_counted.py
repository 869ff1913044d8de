"""How many operations kernels perform on Python objects, and how many results are alive at once.

A sum of symbols costs a thousand sums of doubles, and a million symbolic terms fill a memory. So equations
that are written with vectors must take no more operations than equations in components. The three
components of a vector are alive at once, which allows a few more results.
"""

from __future__ import annotations

from typing import Any

import pytest

from core.kernel_calls import call_python, get_tree, random_inputs
from core.kernel_scalars import Log, Term
from mbt._core.quantities.names import Quantity as F

# By tree: operations, including those on parameters, and results alive beside the inputs.
LIMITS = {
    "one_revolute": {
        F.INVERSE_DYNAMICS: (589, 131),
        F.GRAVITY_GENERALIZED_FORCES: (557, 111),
        F.FORWARD_DYNAMICS: (574, 128),
        F.MASS_MATRIX: (532, 107),
        F.MASS_MATRIX_INVERSE: (573, 123),
        F.BODY_POSES: (593, 116),
        F.FORWARD_DYNAMICS_DERIVATIVES: (1063, 233),
    },
    "one_prismatic": {
        F.INVERSE_DYNAMICS: (566, 112),
        F.GRAVITY_GENERALIZED_FORCES: (557, 107),
        F.FORWARD_DYNAMICS: (562, 119),
        F.MASS_MATRIX: (532, 107),
        F.MASS_MATRIX_INVERSE: (561, 118),
        F.BODY_POSES: (593, 111),
        F.FORWARD_DYNAMICS_DERIVATIVES: (891, 212),
    },
    "arm7": {
        F.INVERSE_DYNAMICS: (4465, 679),
        F.GRAVITY_GENERALIZED_FORCES: (3505, 567),
        F.FORWARD_DYNAMICS: (6623, 859),
        F.MASS_MATRIX: (4801, 622),
        F.MASS_MATRIX_INVERSE: (7153, 891),
        F.BODY_POSES: (3985, 627),
        F.FORWARD_DYNAMICS_DERIVATIVES: (14120, 1777),
    },
    "mixed4": {
        F.INVERSE_DYNAMICS: (2413, 367),
        F.GRAVITY_GENERALIZED_FORCES: (1914, 313),
        F.FORWARD_DYNAMICS: (3303, 459),
        F.MASS_MATRIX: (2177, 341),
        F.MASS_MATRIX_INVERSE: (3255, 474),
        F.BODY_POSES: (1946, 316),
        F.FORWARD_DYNAMICS_DERIVATIVES: (8448, 1104),
    },
}


class Peak(Log):
    """The largest number of terms alive after any operation is limited, too."""

    most = 0

    def call(self, *operands: Any) -> Term:
        term = super().call(*operands)
        self.most = max(self.most, self.alive)
        return term


@pytest.mark.parametrize(
    ("name", "function", "operations", "alive"),
    [
        pytest.param(name, function, *limits, id=f"{name}-{function.name}")
        for name, functions in LIMITS.items()
        for function, limits in functions.items()
    ],
)
def test_no_more_operations_and_results_than_in_components(
    name: str, function: F, operations: int, alive: int
) -> None:
    tree = get_tree(name)
    log = Peak()
    arguments = random_inputs(tree, 1, 0).state(0).arguments(function)
    terms = [[Term(log) for _ in range(array.size)] for array in arguments]
    inputs = log.alive
    call_python(tree, function, terms, log.functions)
    assert log.calls <= operations
    assert log.most - inputs <= alive
