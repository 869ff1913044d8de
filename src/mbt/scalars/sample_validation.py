"""Problems of samples of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.context.validation import find_singularities, index_text, name_samples

if TYPE_CHECKING:
    from mbt.scalars.batch_context import BatchContext

__all__ = ["find_singularities_of_samples"]

# At most this many samples without a result are examined one by one.
_MAX_SAMPLES = 64


def find_singularities_of_samples(context: BatchContext) -> list[str]:
    """Return what is undefined in which samples."""
    suspects = np.argwhere(_find_samples_without_result(context))
    samples: dict[str, list[str]] = {}
    for i in suspects[:_MAX_SAMPLES]:
        for problem in find_singularities(context._sample(tuple(map(int, i)))):
            samples.setdefault(problem, []).append(index_text(i))
    problems = [f"{name_samples(where)}: {problem}" for problem, where in samples.items()]
    more = len(suspects) - _MAX_SAMPLES
    if problems and more > 0:
        problems.append(f"{more} more samples have no result, perhaps for the same reasons")
    return problems


def _find_samples_without_result(context: BatchContext) -> Any:
    """Return whether rates, accelerations or constraints of a sample are NaN or infinite, (*batch_shape)."""
    zeros = np.zeros(context.tree.num_velocities)
    # With the forces of all compiled elements, and no others.
    vdot = context._evaluate(Quantity.FORWARD_DYNAMICS, (0,), zeros)
    qdot = context.tree.map_velocity_to_qdot(context, zeros)
    found: Any = np.isfinite(vdot).all(-1) & np.isfinite(qdot).all(-1)
    if context.tree.num_constraint_equations:
        found &= np.isfinite(context.tree.calc_constraint_jacobian(context)).all((-2, -1))
    return ~found
