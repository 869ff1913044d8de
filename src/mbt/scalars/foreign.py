"""Array functions for the arguments of functions without a Context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mbt.autodiff.array import AutoDiffArray
from mbt.errors import ArgumentTypeError
from mbt.math.arrays import check_leading_axes, is_foreign
from mbt.math.pose_arguments import leading_axes_of
from mbt.scalars.arrays import ObjectArrays, ScalarArrays, arrays_of
from mbt.scalars.batch_arrays import BatchArrays
from mbt.symbolic import Dual, ScalarType, dual, get_scalar_type

__all__ = ["find_numbers"]

# Scalar types by the packages of their numbers.
_NAMES = {
    "sympy": "sympy",
    "casadi": "casadi",
    "mpmath": "mpmath",
    "fractions": "fraction",
    "jax": "jax",
    "jaxlib": "jax",
}


def find_numbers(arguments: Sequence[tuple[Any, int]], present: Any) -> ScalarArrays:
    """Return the array functions that compute with some arguments.

    Parameters
    ----------
    arguments : sequence of tuple
        Arguments, each with the number of its axes for one state.
    present : Numbers or None
        The numbers of the Context that runs the calling code.
    """
    number = _find([value for value, _ in arguments])
    if number is None:
        return _of_several_states(arguments)
    if isinstance(number, AutoDiffArray):
        return arrays_of(get_scalar_type("autodiff"))
    if isinstance(present, ObjectArrays):
        return present
    own = getattr(number, "scalar_type", None)
    if isinstance(own, ScalarType):
        return arrays_of(own)
    if isinstance(number, Dual):
        return arrays_of(dual(number._scalar))
    kind: Any = type(number)
    packages = (base.__module__.partition(".")[0] for base in kind.__mro__)
    name = next((_NAMES[package] for package in packages if package in _NAMES), None)
    return arrays_of(_by_methods(kind) if name is None else get_scalar_type(name))


def _of_several_states(arguments: Sequence[tuple[Any, int]]) -> ScalarArrays:
    """Return the array functions for doubles with leading axes."""
    leads = [leading_axes_of(value, ndim) for value, ndim in arguments]
    for lead in leads:
        check_leading_axes(lead, "an argument")
    try:
        return BatchArrays(np.broadcast_shapes(*leads))
    except ValueError:
        # The check of the other arguments will name the wrong one.
        return BatchArrays(leads[0])


def _find(value: Any) -> Any:
    """Return the first number that is not a double, or the first matrix of such numbers; or None."""
    if isinstance(value, (list, tuple)):
        return next((_find(entry) for entry in value if is_foreign(entry)), None)
    if isinstance(value, np.ndarray):
        return next((entry for entry in value.flat if is_foreign(entry)), None)
    return value if is_foreign(value) else None


@cache
def _by_methods(kind: Any) -> ScalarType:
    """Return the scalar type of objects of an unknown class, whose methods are its functions, as in NumPy."""

    def call(method: str) -> Any:
        def function(x: Any, *others: Any) -> Any:
            own = getattr(x, method, None) or getattr(np, method)
            try:
                return own(*others) if hasattr(x, method) else own(x, *others)
            except TypeError:
                raise ArgumentTypeError(
                    f"{kind.__name__} has no method {method}: a tree.clone_to_scalar(mbt.symbolic.ScalarType("
                    f"..., {method}=...)) has the function, also in functions that its elements call"
                ) from None

        return function

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return x if a < b else y

    functions = {name: call(name) for name in ("sin", "cos", "sqrt", "tanh", "floor")}
    functions |= {"atan2": call("arctan2"), "select_lt": select_lt, "from_float": float}
    return ScalarType(0.0, 1.0, name=kind.__name__, **functions)
