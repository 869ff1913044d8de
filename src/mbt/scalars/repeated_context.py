"""Copies of a Context, for example for many times: a batch with a further axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.scalars.batch_context import BatchContext
from mbt.scalars.sample_parameters import SampleParameters

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["repeat_context"]


def repeat_context(context: Context, count: int) -> BatchContext:
    """Return a Context with this many copies of each sample, along a new last axis.

    Parameters
    ----------
    context : Context
        One state of doubles, or a batch.
    count : int
        Number of copies.

    Returns
    -------
    BatchContext
        With the batch shape ``(*context.batch_shape, count)``.
    """
    shape = (*context.batch_shape, count)
    own = context._get_state()
    twin = BatchContext(context.tree, shape)
    state = twin._get_state()
    scalars = state["scalars"]
    if context.batch_shape:
        common, held, forces = own["parameters"], own["scalars"], own["scalar_forces"]
        parameters = _repeat_parameters(held["_parameters"], shape)
        actuation, time = held["_actuation"], held["_time"]
    else:
        common, forces = own["parameters"], own["applied_forces"]
        parameters = scalars["_parameters"]
        if common is not None:
            parameters = SampleParameters.all_equal(common, shape)
        actuation, time = own["actuation"], np.asarray(own["time"])
        held = own

    def repeat(array: FloatArray, num_axes: int) -> FloatArray:
        core = array.shape[array.ndim - num_axes :]
        lead = array.shape[: array.ndim - num_axes]
        return np.array(np.broadcast_to(array.reshape(*lead, 1, *core), (*shape, *core)))

    def repeat_declared(vectors: list[Any]) -> list[Any]:
        return [repeat(vector, 1) if vector.ndim > 1 else vector for vector in vectors]

    declared = own["declared"]
    twin._set_state(
        {
            **state,
            "parameters": common,
            "locked": own["locked"],
            "weightless": own["weightless"],
            "disabled": own["disabled"],
            "declared": {
                "numeric": repeat_declared(declared["numeric"]),
                "discrete": repeat_declared(declared["discrete"]),
                "abstract": declared["abstract"],
            },
            "scalars": {
                "q": repeat(held["q"], 1),
                "v": repeat(held["v"], 1),
                "_actuation": repeat(actuation, 1),
                "_parameters": parameters,
                "_time": repeat(time, 0),
            },
            "scalar_forces": None if forces is None else (repeat(forces[0], 2), repeat(forces[1], 1)),
        }
    )
    return twin


def _repeat_parameters(parameters: SampleParameters, shape: tuple[int, ...]) -> SampleParameters:
    rows = np.repeat(parameters.rows, shape[-1], axis=0)
    everywhere = SampleParameters.all_equal(parameters.common.copy(), shape)
    return everywhere.replaced(parameters.columns, rows.reshape(*shape, rows.shape[-1]))
