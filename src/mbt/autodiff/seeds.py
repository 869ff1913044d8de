"""Seeding variables, and extracting values, derivatives and Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mbt.autodiff.array import AutoDiffArray, wrap
from mbt.errors import ArgumentTypeError, ShapeError
from mbt.math.arrays import FloatArray, as_count, as_float_array

__all__ = ["constant", "derivatives", "initialize", "jacobian", "value"]


def initialize(*values: npt.ArrayLike) -> AutoDiffArray | tuple[AutoDiffArray, ...]:
    """Create variables: arrays whose derivatives are taken with respect to their own entries.

    Parameters
    ----------
    *values : array_like
        Values, of any shapes. Each entry is a direction: first the entries of the first argument in C order,
        then those of the second, and so on. Together, the derivatives form an identity matrix.

    Returns
    -------
    AutoDiffArray or tuple of AutoDiffArray
        One for each argument; a tuple if there are several. The values are copies.

    Raises
    ------
    ArgumentTypeError
        When there is no argument, or one does not consist of real numbers.

    Examples
    --------
    >>> import mbt
    >>> q, v = mbt.autodiff.initialize([0.5, 1.0], [2.0])
    >>> q
    AutoDiffArray([0.5, 1. ],
                  derivatives=[[1., 0., 0.],
                               [0., 1., 0.]])
    >>> v.derivatives
    array([[0., 0., 1.]])
    """
    if not values:
        raise ArgumentTypeError("initialize: expected one array or more, got none")
    for i, entry in enumerate(values):
        if isinstance(entry, AutoDiffArray):
            raise ArgumentTypeError(
                f"values[{i}]: expected real numbers, got an AutoDiffArray: it has derivatives already. "
                "mbt.symbolic.dual computes second derivatives"
            )
    arrays = [as_float_array(entry, f"values[{i}]").copy() for i, entry in enumerate(values)]
    identity = np.eye(sum(array.size for array in arrays))
    variables = []
    start = 0
    for array in arrays:
        rows = identity[start : start + array.size].copy()
        variables.append(wrap(array, rows.reshape(*array.shape, len(identity))))
        start += array.size
    return variables[0] if len(variables) == 1 else tuple(variables)


def constant(value: npt.ArrayLike, num_derivatives: int = 0) -> AutoDiffArray:
    """Create an array with zero derivatives, into which other values can be written.

    Parameters
    ----------
    value : array_like
        Values; copied.
    num_derivatives : int, optional
        The number of derivatives. An array without derivatives combines with any array.

    Returns
    -------
    AutoDiffArray
        The array.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an argument is invalid.

    Examples
    --------
    >>> import mbt
    >>> mbt.autodiff.constant([1.0, 2.0], 3).derivatives
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    array = as_float_array(value, "value").copy()
    return wrap(array, np.zeros((*array.shape, as_count(num_derivatives, "num_derivatives", 0))))


def value(x: npt.ArrayLike | AutoDiffArray) -> FloatArray:
    """Return the values of an AutoDiffArray, or of a plain array.

    Parameters
    ----------
    x : AutoDiffArray or array_like
        The array.

    Returns
    -------
    ndarray, float64
        Its values; a float64 array is shared, not copied.

    Raises
    ------
    ArgumentTypeError
        When `x` does not consist of real numbers.
    """
    return x.value if isinstance(x, AutoDiffArray) else as_float_array(x, "x")


def derivatives(x: npt.ArrayLike | AutoDiffArray, num_derivatives: int | None = None) -> FloatArray:
    """Return the derivatives of an AutoDiffArray, or zeros for a plain array.

    Parameters
    ----------
    x : AutoDiffArray or array_like, shape S
        The array.
    num_derivatives : int, optional
        The expected number of derivatives; by default, that of `x`, which is 0 for a constant.

    Returns
    -------
    ndarray, shape S + (num_derivatives,), float64
        The derivatives; those of an AutoDiffArray are shared, not copied.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an argument is invalid.
    ShapeError
        When `x` has a different number of derivatives.
    """
    wanted = None if num_derivatives is None else as_count(num_derivatives, "num_derivatives", 0)
    own = 0
    if isinstance(x, AutoDiffArray):
        own = x.num_derivatives
        if wanted is None or wanted == own:
            return x.derivatives
        if own:
            raise ShapeError(f"x: expected {wanted} derivatives, got an AutoDiffArray with {own}")
    return np.zeros((*value(x).shape, wanted or 0))


def jacobian(function: Callable[..., Any], *args: npt.ArrayLike) -> FloatArray | tuple[FloatArray, ...]:
    """Return the partial derivatives of a function at a point.

    Parameters
    ----------
    function : callable
        Takes one array for each of `args` and returns an array of shape S.
    *args : array_like
        The point. Bind any other arguments in the function: ``lambda q: f(tree, q)``.

    Returns
    -------
    ndarray, shape S + shape of the argument, or tuple of these
        One for each argument; a tuple if there are several.

    Raises
    ------
    ArgumentTypeError
        When `function` is not callable, or does not return an array of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> mbt.autodiff.jacobian(lambda q: np.stack([q[0] * q[1], np.sin(q[0])]), [0.0, 3.0])
    array([[3., 0.],
           [1., 0.]])
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected something to call, got {type(function).__name__}")
    variables = initialize(*args)
    variables = variables if isinstance(variables, tuple) else (variables,)
    result = function(*variables)
    if not isinstance(result, AutoDiffArray):
        result = constant(as_float_array(result, "the result of the function"))
    partials = derivatives(result, variables[0].num_derivatives)
    blocks = []
    start = 0
    for variable in variables:
        block = partials[..., start : start + variable.size]
        blocks.append(np.array(block.reshape(result.shape + variable.shape), order="C"))
        start += variable.size
    return blocks[0] if len(blocks) == 1 else tuple(blocks)
