"""Functions of `mbt.functional` for trees of scalar types other than double: one state after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt._core.quantities.table import shape_of
from mbt.context.checks import check_tuple, write_parts
from mbt.errors import ArgumentTypeError, ShapeError, SingularityError
from mbt.math.arrays import check_leading_axes
from mbt.scalars.stand_ins import standing_in

if TYPE_CHECKING:
    from mbt.scalars.tree import ScalarTree

__all__ = ["of_each_state", "steps_of_each_state"]

_STEPS = {
    Quantity.INTEGRATED_POSITIONS: "integrate_positions",
    Quantity.POSITION_DIFFERENCE: "difference_positions",
}


def of_each_state(
    tree: ScalarTree,
    quantity: int,
    operands: dict[str, Any],
    out: Any,
    method: str | None = None,
    integers: tuple[int, ...] = (),
    **options: Any,
) -> Any:
    """Compute a quantity of states with leading axes, written into `out` if that is given.

    Parameters
    ----------
    tree : ScalarTree
        A tree of a scalar type other than double, or one that such a tree stands in for.
    quantity : int
        A `Quantity`.
    operands : dict of str to array_like
        By name: q, v if needed, and a further argument. Leading axes broadcast.
    out : array or tuple of arrays, optional
        Where results are written.
    method : str, optional
        The method of the tree that computes the quantity, called with a Context, the further argument and
        `options`; by default the quantity is evaluated with `integers`.
    """
    given, tree = tree, standing_in(tree)
    if tree is not given and options.get("external_forces") is not None:
        raise ArgumentTypeError(
            "external_forces: expected none in a function that mbt.compile traces: add J.T @ force instead"
        )
    context: Any = tree.create_default_context()

    def calc(q: Any, v: Any = None, *further: Any) -> Any:
        context.q = q
        if v is not None:
            context.v = v
        if method is None:
            return context._evaluate(quantity, integers, *further)
        result = getattr(tree, method)(context, *further, **options)
        return np.stack(result) if isinstance(result, tuple) else result

    result = _calc_each(tree, quantity, integers, operands, calc)
    result = tree._numbers.finish(result, quantity, operands.values())
    return (
        _write_three(tree, out, result)
        if method and method.endswith("_derivatives")
        else _write(tree, out, result)
    )


def steps_of_each_state(tree: ScalarTree, quantity: int, operands: dict[str, Any], out: Any) -> Any:
    """Return positions, or the difference between some, with leading axes."""
    tree = standing_in(tree)
    if "dt" in operands:
        operands["dt"] = tree._numbers.as_finite_array(operands["dt"], "dt", (...,))
    calc = getattr(tree, _STEPS[Quantity(quantity)])
    result = _calc_each(tree, quantity, (), operands, calc)
    return _write(tree, out, tree._numbers.finish(result, quantity, operands.values()))


def _calc_each(
    tree: ScalarTree,
    quantity: int,
    integers: tuple[int, ...],
    operands: dict[str, Any],
    calc: Callable[..., Any],
) -> Any:
    """Return the results of `calc` on the operands of each state, with leading axes in front.

    A singular state raises an error if it is the only one, and is NaN otherwise.
    """
    numbers = tree._numbers
    cores = {name: _core_of(tree, name) for name in operands}
    given = [numbers.as_float_array(value, name, (..., *cores[name])) for name, value in operands.items()]
    leads = {
        name: array.shape[: array.ndim - len(core)]
        for (name, core), array in zip(cores.items(), given, strict=True)
    }
    for name, lead in leads.items():
        check_leading_axes(lead, name)
    try:
        lead = np.broadcast_shapes(*leads.values())
    except ValueError:
        described = ", ".join(f"{name} {lead}" for name, lead in leads.items())
        raise ShapeError(f"leading axes do not broadcast: {described}") from None
    arrays = [
        np.broadcast_to(array, (*lead, *core)) for array, core in zip(given, cores.values(), strict=True)
    ]
    assert tree._compiled is not None
    empty = numbers.zeros(shape_of(tree._compiled, quantity, integers), *given)
    results = []
    for i in np.ndindex(lead):
        try:
            results.append(calc(*(array[i] for array in arrays)))
        except SingularityError:
            if not lead:
                raise
            results.append(numbers.scale(empty, np.nan))
    if not results:
        return numbers.zeros((*lead, *empty.shape), *given)
    return np.stack(results).reshape(*lead, *empty.shape) if lead else results[0]


def _core_of(tree: ScalarTree, name: str) -> tuple[int, ...]:
    """Return the shape of an operand of one state."""
    if name == "dt":
        return ()
    if name.startswith("p_"):
        return (3,)
    if name == "multipliers":
        return (tree.num_constraint_equations,)
    if name == "restitution":
        return (1,)
    return (tree.num_positions if name.startswith("q") else tree.num_velocities,)


def _write(tree: ScalarTree, out: Any, result: Any) -> Any:
    return tree._numbers.write(out, result, "out")


def _write_three(tree: ScalarTree, out: Any, matrices: Any) -> Any:
    """Return the three matrices that one axis of an array counts, or write them into three arrays."""
    return write_parts(tree._numbers, check_tuple(out, 3), [matrices[..., i, :, :].copy() for i in range(3)])
