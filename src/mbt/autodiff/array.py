"""The array type whose entries carry derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from mbt.autodiff.rules import CREATORS, FUNCTIONS, UFUNC_RULE, as_constant, check_dtype
from mbt.errors import ArgumentTypeError, ArgumentValueError, MbtError, ShapeError, shape_error
from mbt.math.arrays import FloatArray, as_float_array

__all__ = ["AutoDiffArray", "key_of_derivatives", "take_apart", "wrap"]


def _delegate(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"AutoDiffArray.{name}"
    method.__doc__ = f"Return ``np.{name}`` of the array."
    return method


class AutoDiffArray(NDArrayOperatorsMixin):
    """An array of values, each with its partial derivatives: two float64 arrays.

    It behaves like a NumPy array: operators, ufuncs (``np.sin(x)``), functions (``np.linalg.norm``),
    indexing and assignment. Plain numbers and arrays are constants, and so are AutoDiffArrays without
    derivatives; constants combine with any array. Comparisons use only the values. Unsupported operations
    raise a TypeError: nothing becomes an array of objects or silently loses its derivatives.

    Parameters
    ----------
    value : array_like, shape S
        Values. A C-contiguous float64 array is shared, not copied; the same holds for ``derivatives``.
    derivatives : array_like, shape S + (num_derivatives,), optional
        ``derivatives[..., i]`` is the derivative of ``value`` along direction i. By default, there are none:
        the array is a constant.

    Raises
    ------
    ShapeError
        When the shapes do not match.
    ArgumentTypeError
        When an argument does not consist of real numbers.

    Notes
    -----
    At a kink, mbt chooses one derivative: 0 for `absolute` at 0, and that of the first argument for `maximum`
    and `minimum` where both arguments are equal. Step functions (`floor`, `sign`) have zero derivatives.
    A derivative that is infinite or undefined becomes inf or nan, without a warning.

    An array of shape ``()`` behaves like a number: ``s += 1`` creates a new one and does not change the old
    one.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> x = mbt.autodiff.AutoDiffArray([3.0, 4.0], [[1, 0], [0, 1]])
    >>> np.linalg.norm(x)
    AutoDiffArray(5., derivatives=[0.6, 0.8])
    >>> (x * x)[1]
    AutoDiffArray(16., derivatives=[0., 8.])
    """

    __slots__ = ("__weakref__", "_derivatives", "_value")

    _value: FloatArray
    _derivatives: FloatArray

    def __init__(self, value: npt.ArrayLike, derivatives: npt.ArrayLike | None = None) -> None:
        checked = as_float_array(value, "value")
        if derivatives is None:
            partials = np.zeros((*checked.shape, 0))
        else:
            partials = as_float_array(derivatives, "derivatives")
            if partials.shape[:-1] != checked.shape or partials.ndim == 0:
                raise shape_error("derivatives", (*checked.shape, None), partials.shape)
        self._value = checked
        self._derivatives = partials

    # Properties

    @property
    def value(self) -> FloatArray:
        """The values, shape ``S``: the array itself, not a copy."""
        return self._value

    @property
    def derivatives(self) -> FloatArray:
        """The derivatives, shape ``S + (num_derivatives,)``: the array itself, not a copy."""
        return self._derivatives

    @property
    def num_derivatives(self) -> int:
        """The number of derivatives of each entry."""
        return int(self._derivatives.shape[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self._value.shape

    @property
    def ndim(self) -> int:
        """Number of axes of the values."""
        return self._value.ndim

    @property
    def size(self) -> int:
        """Number of values."""
        return self._value.size

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Always float64."""
        return self._value.dtype

    @property
    def T(self) -> AutoDiffArray:
        """The transposed array, a view."""
        return wrap(self._value.T, np.moveaxis(self._derivatives.T, 0, -1))

    @property
    def mT(self) -> AutoDiffArray:
        """The array with its last two axes exchanged, a view."""
        if self.ndim < 2:
            raise ArgumentValueError(f"mT: expected an array of two or more axes, got shape {self.shape}")
        return wrap(self._value.swapaxes(-1, -2), self._derivatives.swapaxes(-2, -3))

    # NumPy protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute a ufunc."""
        (rule,) = UFUNC_RULE
        return rule(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Compute a NumPy function that is not a ufunc."""
        if not all(issubclass(kind, (AutoDiffArray, np.ndarray)) for kind in types):
            return NotImplemented
        name = f"{func.__module__}.{func.__name__}"
        rule = FUNCTIONS.get(func)
        if rule is None and func in CREATORS:
            rule, args = CREATORS[func], (self, *args)
        if rule is None:
            raise ArgumentTypeError(
                f"{name} is not supported for an AutoDiffArray: use supported functions, "
                "or take the values alone, x.value"
            )
        try:
            return rule(*args, **kwargs)
        except TypeError as error:
            if not isinstance(error, MbtError):
                _check_arguments(rule, name, args, kwargs)
            raise

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Raise: conversion to a plain array or an array of objects would lose the derivatives."""
        raise ArgumentTypeError(
            "an AutoDiffArray would lose its derivatives as a plain array: x.value gives its values; "
            "np.stack([x, y]) and np.array([x, y], like=x) put several into one; "
            "np.zeros_like(x, shape=...) can be written into; tree.to_autodiff() makes a tree that takes it"
        )

    def __float__(self) -> NoReturn:
        """Raise: the derivatives would be lost."""
        raise ArgumentTypeError(
            "an AutoDiffArray would lose its derivatives as a float: use x.value, or np.sin for math.sin"
        )

    __int__ = __complex__ = __index__ = __float__

    def __bool__(self) -> bool:
        """Return the truth of the value."""
        return bool(self._value)

    # Entries

    def __len__(self) -> int:
        """Return the extent of the first axis."""
        return len(self._value)

    def __iter__(self) -> Iterator[AutoDiffArray]:
        """Iterate over the first axis."""
        for i in range(len(self._value)):
            yield self[i]

    def __contains__(self, number: object) -> bool:
        """Return whether this number is among the values."""
        return bool(np.any(self == number))

    def __getitem__(self, key: Any) -> AutoDiffArray:
        """Return entries: a view wherever NumPy returns one."""
        value = self._value[key]
        derivatives = self._derivatives[key_of_derivatives(key)]
        if not isinstance(value, np.ndarray):  # NumPy copies a single entry, so copy its derivatives.
            return wrap(np.asarray(value), derivatives.copy())
        return wrap(value, derivatives)

    def __setitem__(self, key: Any, entries: Any) -> None:
        """Write values and derivatives; the derivatives of constants are zero."""
        self._check_writeable()
        self._check_holds(entries, "assignment")
        value, derivatives = take_apart(entries, self.num_derivatives, "assignment")
        self._value[key] = value
        self._derivatives[key_of_derivatives(key)] = 0.0 if derivatives is None else derivatives

    def _write(self, result: AutoDiffArray, what: str) -> AutoDiffArray:
        """Copy the values and derivatives of a `result` of the same shape."""
        self._check_writeable()
        self._check_holds(result, what)
        if result.shape != self.shape:
            raise shape_error(f"{what}: out", result.shape, self.shape)
        self._value[...] = result.value
        self._derivatives[...] = result.derivatives if result.num_derivatives else 0.0
        return self

    def _check_writeable(self) -> None:
        if not (self._value.flags.writeable and self._derivatives.flags.writeable):
            raise ArgumentValueError(
                "this AutoDiffArray is read-only: write into a copy(), and into a Context as a whole, as in "
                "context.q = ..."
            )

    def _check_holds(self, entries: object, what: str) -> None:
        if isinstance(entries, AutoDiffArray) and entries.num_derivatives not in (0, self.num_derivatives):
            raise ShapeError(
                f"{what}: an array with {self.num_derivatives} derivatives cannot hold numbers with "
                f"{entries.num_derivatives}: make it with "
                f"mbt.autodiff.constant(value, {entries.num_derivatives})"
            )

    # In-place operators. The mixin provides the others.

    def _in_place(self, ufunc: np.ufunc, other: object) -> AutoDiffArray:
        result: AutoDiffArray = ufunc(self, other)
        return (
            result if self.ndim == 0 and result.ndim == 0 else self._write(result, f"numpy.{ufunc.__name__}")
        )

    def __iadd__(self, other: Any) -> AutoDiffArray:
        """Add in place."""
        return self._in_place(np.add, other)

    def __isub__(self, other: Any) -> AutoDiffArray:
        """Subtract in place."""
        return self._in_place(np.subtract, other)

    def __imul__(self, other: Any) -> AutoDiffArray:
        """Multiply in place."""
        return self._in_place(np.multiply, other)

    def __itruediv__(self, other: Any) -> AutoDiffArray:
        """Divide in place."""
        return self._in_place(np.divide, other)

    def __ifloordiv__(self, other: Any) -> AutoDiffArray:
        """Divide and round down in place."""
        return self._in_place(np.floor_divide, other)

    def __imod__(self, other: Any) -> AutoDiffArray:
        """Take the remainder in place."""
        return self._in_place(np.remainder, other)

    def __ipow__(self, other: Any) -> AutoDiffArray:
        """Raise to a power in place."""
        return self._in_place(np.power, other)

    def __imatmul__(self, other: Any) -> AutoDiffArray:
        """Multiply matrices in place."""
        return self._in_place(np.matmul, other)

    __hash__ = None  # type: ignore[assignment]

    # Copies and representations

    def copy(self, order: str = "C") -> AutoDiffArray:
        """Return a C-contiguous copy; `order` is ignored and only matches NumPy's signature."""
        return wrap(self._value.copy(), self._derivatives.copy())

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> AutoDiffArray:
        """Return a copy."""
        return self.copy()

    def __reduce__(self) -> tuple[type[AutoDiffArray], tuple[FloatArray, FloatArray]]:
        """Pickle as two arrays."""
        return type(self), (self._value, self._derivatives)

    def __repr__(self) -> str:
        """Show values and derivatives."""
        name = type(self).__name__
        if not self._derivatives.size and not self.size:
            return f"{name}([], shape={self.shape}, num_derivatives={self.num_derivatives})"
        value = np.array2string(self._value, separator=", ", prefix=f"{name}(")
        if not self._derivatives.size:
            return f"{name}({value}, num_derivatives=0)"
        gap = " " if self.ndim == 0 else "\n" + " " * (len(name) + 1)
        partials = np.array2string(
            self._derivatives, separator=", ", prefix=" " * (len(name) + 1) + "derivatives="
        )
        return f"{name}({value},{gap}derivatives={partials})"

    def __format__(self, specification: str) -> str:
        """Format the value of an array of shape ``()``; without a specification, return the `repr`."""
        return format(self._value[()], specification) if specification else repr(self)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise; for a method that only ndarray has, the message suggests the alternative."""
        hint = f": take x.value.{name}" if hasattr(np.ndarray, name) and not name.startswith("_") else ""
        raise AttributeError(f"AutoDiffArray has no attribute {name!r}{hint}")

    # Methods of ndarray: see NumPy's functions of the same names

    def flatten(self) -> AutoDiffArray:
        """Return a copy with one axis."""
        return self.copy().reshape(-1)

    def astype(self, dtype: Any, *, copy: bool = True) -> AutoDiffArray:
        """Return a copy; float64 is the only dtype."""
        check_dtype(dtype, "AutoDiffArray.astype")
        return self.copy() if copy else self

    def fill(self, number: Any) -> None:
        """Write one number everywhere."""
        self[...] = number

    def reshape(self, *shape: Any, order: str = "C") -> AutoDiffArray:
        """Return the array with another shape, a view where possible."""
        if order == "C":
            value = self._value.reshape(*shape)
            return wrap(value, self._derivatives.reshape(*value.shape, self._derivatives.shape[-1]))
        reshape: Any = np.reshape
        reshaped: AutoDiffArray = reshape(self, shape[0] if len(shape) == 1 else shape, order=order)
        return reshaped

    def transpose(self, *axes: Any) -> AutoDiffArray:
        """Return a view with the axes in another order."""
        transpose: Any = np.transpose
        view: AutoDiffArray = transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)
        return view

    all = _delegate("all")
    any = _delegate("any")
    argmax = _delegate("argmax")
    argmin = _delegate("argmin")
    argsort = _delegate("argsort")
    clip = _delegate("clip")
    conj = _delegate("conj")
    cumprod = _delegate("cumprod")
    cumsum = _delegate("cumsum")
    diagonal = _delegate("diagonal")
    dot = _delegate("dot")
    max = _delegate("max")
    mean = _delegate("mean")
    min = _delegate("min")
    nonzero = _delegate("nonzero")
    prod = _delegate("prod")
    ravel = _delegate("ravel")
    repeat = _delegate("repeat")
    round = _delegate("round")
    squeeze = _delegate("squeeze")
    std = _delegate("std")
    sum = _delegate("sum")
    swapaxes = _delegate("swapaxes")
    take = _delegate("take")
    trace = _delegate("trace")
    var = _delegate("var")


def wrap(value: FloatArray, derivatives: FloatArray) -> AutoDiffArray:
    """Return an array of two parts whose shapes are known to match, without a check."""
    array = AutoDiffArray.__new__(AutoDiffArray)
    array._value = value
    array._derivatives = derivatives
    return array


def take_apart(operand: object, count: int, what: str) -> tuple[FloatArray, FloatArray | None]:
    """Return values and derivatives of an operand; None for the latter unless it has `count` of them."""
    if isinstance(operand, AutoDiffArray):
        return operand.value, operand.derivatives if operand.num_derivatives == count else None
    return as_constant(operand, what), None


def key_of_derivatives(key: Any) -> Any:
    """Return the index that selects from the derivatives what `key` selects from the values."""
    entries = key if isinstance(key, tuple) else (key,)
    # Without an ellipsis, the key does not reach the axis of the derivatives, which is the last one.
    return (*entries, slice(None)) if any(entry is Ellipsis for entry in entries) else key


def _check_arguments(
    rule: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Explain an argument that NumPy's function accepts but our rule does not."""
    try:
        inspect.signature(rule).bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"{name}: not supported for an AutoDiffArray: {error}") from None
