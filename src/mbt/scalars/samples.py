"""Selection of samples of a batch as a batch of their own, and the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.scalars.batch_context import BatchContext
from mbt.scalars.sample_parameters import SampleParameters

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.instance_state import IndexArray

__all__ = ["put_samples", "spread_declared", "take_samples"]

_DECLARED = ("numeric", "discrete")


def take_samples(context: BatchContext, samples: IndexArray) -> BatchContext:
    """Return a Context of some samples, with all their values, in the given order.

    Parameters
    ----------
    context : BatchContext
        A batch with one axis.
    samples : ndarray of int, shape (n,)
        Indices of the samples.
    """
    own = context._get_state()
    held, shape = own["scalars"], (samples.size,)
    parameters, forces = held["_parameters"], own["scalar_forces"]
    scalars = {name: array[samples] for name, array in held.items() if name != "_parameters"}
    scalars["_parameters"] = SampleParameters.all_equal(parameters.common, shape).replaced(
        parameters.columns, parameters.rows[samples]
    )
    declared = {kind: [array[samples] for array in own["declared"][kind]] for kind in _DECLARED}
    state = {
        **own,
        "batch_shape": shape,
        "declared": {**own["declared"], **declared},
        "scalars": scalars,
        "scalar_forces": None if forces is None else tuple(x[samples] for x in forces),
    }
    taken = BatchContext._of_state(context.tree, state)
    taken._has_actuation = context._has_actuation
    return taken


def put_samples(context: BatchContext, samples: IndexArray, others: BatchContext) -> None:
    """Replace some samples of a Context by those of another, which has as many, with all their values.

    Values that all samples of a Context share, such as locks, are not changed.
    """
    context.q = _put(context.q, samples, others.q)
    context.v = _put(context.v, samples, others.v)
    context.time = _put(context.time, samples, others.time)
    if context._has_actuation or others._has_actuation:
        context.actuation = _put(context.actuation, samples, others.actuation)
    if context._has_applied_forces or others._has_applied_forces:
        forces, new = context.applied_forces, others.applied_forces
        forces.body_forces = _put(forces.body_forces, samples, new.body_forces)
        forces.generalized_forces = _put(forces.generalized_forces, samples, new.generalized_forces)
    own, theirs = context._declared.get_state(), others._declared.get_state()
    setters = context.set_numeric_parameter, context.set_discrete_state
    for kind, set_vector in zip(_DECLARED, setters, strict=True):
        for i, (array, new) in enumerate(zip(own[kind], theirs[kind], strict=True)):
            set_vector(i, _put(array, samples, new))
    merged = _merge(context._parameters, samples, others._parameters)
    if merged is not context._parameters:
        context._note_change("parameters")
        context._parameters = merged
        context._stale.add("parameters")


def _put(array: FloatArray, samples: IndexArray, rows: FloatArray) -> FloatArray:
    array = np.array(array)
    array[samples] = rows
    return array


def spread_declared(context: BatchContext) -> None:
    """Give each sample its own copy of values that elements declared, if the Context has one for all."""
    own = context._declared.get_state()
    setters = context.set_numeric_parameter, context.set_discrete_state
    for kind, set_vector in zip(_DECLARED, setters, strict=True):
        for i, array in enumerate(own[kind]):
            set_vector(i, array)


def _merge(a: SampleParameters, samples: IndexArray, b: SampleParameters) -> SampleParameters:
    """Return parameters a, with samples replaced by those of b."""
    differing: Any = () if a.common is b.common else np.flatnonzero(a.common != b.common)
    columns = np.unique(np.concatenate([a.columns, b.columns, differing])).astype(np.intp)
    if not columns.size:
        return a
    rows = _values_at(a, columns)
    rows[samples] = _values_at(b, columns)
    return SampleParameters.all_equal(a.common, a.batch_shape).replaced(columns, rows)


def _values_at(parameters: SampleParameters, columns: IndexArray) -> FloatArray:
    """Return the values of all samples at some columns, in order, which include all that differ."""
    own, rows = parameters.columns, parameters.rows
    values = np.empty((len(rows), columns.size))
    values[:] = parameters.common[columns]
    values[:, np.searchsorted(columns, own)] = rows
    return values
