"""Contexts whose q, v and time have derivatives, in the scalar type of another tree, and access to these."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.autodiff.seeds import value
from mbt.scalars.arrays import arrays_of
from mbt.scalars.context import ScalarContext
from mbt.symbolic import get_scalar_type

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.scalars.tree import ScalarTree
    from mbt.symbolic.dual import DualType

__all__ = ["derivatives_of", "lift", "make_context_along", "take_values"]


def make_context_along(
    twin: ScalarTree, context: Context, q_rates: Any, v_rates: Any, time_rates: Any
) -> ScalarContext:
    """Return a Context of a clone in numbers with derivatives; see `mbt.context.tangents`."""

    def lifted(array: Any, rates: Any = None) -> Any:
        return lift(twin, array, rates)

    state = context._get_state()
    if isinstance(context, ScalarContext):
        own, forces = state["scalars"], state["scalar_forces"]
    else:
        parameters = state["parameters"]
        assert twin._compiled is not None
        own = {
            "q": state["q"],
            "v": state["v"],
            "_actuation": state["actuation"],
            "_parameters": twin._compiled.default_parameters if parameters is None else parameters,
            "_time": state["time"],
        }
        forces = state["applied_forces"]
    time = _as_array(own["_time"])
    declared = state["declared"]
    return ScalarContext._of_state(
        twin,
        {
            **state,
            "applied_forces": None,
            "declared": {
                "numeric": [lifted(array) for array in declared["numeric"]],
                # Elements inside become those of the clone.
                "abstract": copy.deepcopy(declared["abstract"], {id(context.tree): twin}),
                "discrete": [lifted(array) for array in declared["discrete"]],
            },
            "scalars": {
                "q": lifted(own["q"], q_rates),
                "v": lifted(own["v"], v_rates),
                "_actuation": lifted(own["_actuation"]),
                "_parameters": lifted(own["_parameters"]),
                "_time": lifted(time, time_rates)[()],
            },
            "scalar_forces": None if forces is None else tuple(lifted(array) for array in forces),
        },
    )


def take_values(context: Any) -> Context:
    """Return a Context of doubles with the values of one with derivatives; its tree is a clone."""
    tree, state = context.tree, context._get_state()
    own, forces, declared = state.pop("scalars"), state.pop("scalar_forces"), state["declared"]
    plain = tree.clone_to_scalar("double")
    values: Context = plain.create_default_context()
    read = {
        "time": float(value(own["_time"])),
        "q": value(own["q"]),
        "v": value(own["v"]),
        "actuation": value(own["_actuation"]),
        "parameters": value(own["_parameters"]),
        "applied_forces": None if forces is None else tuple(value(x) for x in forces),
        "declared": {
            "numeric": [value(x) for x in declared["numeric"]],
            # Elements inside become those of the clone.
            "abstract": copy.deepcopy(declared["abstract"], {id(tree): plain}),
            "discrete": [value(x) for x in declared["discrete"]],
        },
    }
    values._set_state({**state, **read})
    return values


def derivatives_of(twin: ScalarTree, result: Any, count: int) -> Any:
    """Return the derivatives of an array along `count` directions, in the other scalar type, (..., count)."""
    if twin.scalar_type is get_scalar_type("autodiff"):
        return result.derivatives if result.num_derivatives else np.zeros((*result.shape, count))
    numbers, make = arrays_of(_dual_type(twin).scalar), _dual_type(twin).make
    entries = [
        numbers.scalar(entry.derivatives.get(k, 0.0) if type(entry) is make else 0.0)
        for entry in np.ravel(np.asarray(result, dtype=object))
        for k in range(count)
    ]
    return numbers.stack(entries).reshape(*np.shape(result), count)


def _dual_type(twin: ScalarTree) -> DualType:
    scalar_type: Any = twin.scalar_type
    return scalar_type  # type: ignore[no-any-return]


def _as_array(number: Any) -> Any:
    if isinstance(number, AutoDiffArray):
        return number
    array = np.empty((), dtype=float if isinstance(number, float) else object)
    array[()] = number
    return array


def lift(twin: ScalarTree, array: Any, rates: Any) -> Any:
    """Add derivatives, (n, count), to numbers of the other scalar type, (n,); None makes constants."""
    if twin.scalar_type is get_scalar_type("autodiff"):
        return wrap(array, np.zeros((*array.shape, 0)) if rates is None else rates)
    make = _dual_type(twin).make
    lifted = np.empty(array.shape, dtype=object)
    for i in np.ndindex(array.shape):
        value = _constant_or_object(twin, array[i])
        if rates is not None:
            pairs = ((k, _constant_or_object(twin, rate)) for k, rate in enumerate(rates[i]))
            lifted[i] = make(value, {k: rate for k, rate in pairs if type(rate) is not float or rate != 0.0})
        elif type(value) is float:
            lifted[i] = value if value in (0.0, 1.0) else make(value)
        else:
            lifted[i] = make(value)
    return lifted


def _constant_or_object(twin: ScalarTree, entry: Any) -> Any:
    """Return an entry of an array, as a float if it is known to be constant."""
    if isinstance(entry, AutoDiffArray):
        return entry if entry.derivatives.any() else float(entry.value)
    if isinstance(entry, np.floating):
        return float(entry)
    scalar = _dual_type(twin).scalar
    if entry is scalar.zero:
        return 0.0
    return 1.0 if entry is scalar.one else entry
