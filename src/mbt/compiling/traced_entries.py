"""Entries of traced arrays: numbers and conditions that record the operations on them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.compiling.user_code import raise_branch, raise_not_a_float

if TYPE_CHECKING:
    from mbt.compiling.tracing import Trace
    from mbt.symbolic import ScalarType

__all__ = ["HANDLERS", "Condition", "Number", "Symbol"]

#: Compute NumPy's ufuncs and other functions, and create arrays; registered by `traced_arrays`.
HANDLERS: dict[str, Callable[..., Any]] = {}

#: Powers up to this one are products; with more factors, rounding errors exceed those of the C library.
_LARGEST_PRODUCT = 4


class Symbol:
    """The result of an operation, known only when the compiled function runs."""

    __slots__ = ("index", "trace")

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def __init__(self, trace: Trace, index: int) -> None:
        self.trace = trace
        self.index = index

    @property
    def scalar_type(self) -> ScalarType:
        """The scalar type with which functions of `mbt.math` compute."""
        return self.trace.scalar_type

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute a ufunc."""
        return HANDLERS["ufunc"](self.trace, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Compute a NumPy function that is not a ufunc."""
        return HANDLERS["function"](self.trace, func, args, kwargs)

    def __reduce__(self) -> NoReturn:
        """Raise: it is meaningless outside its trace."""
        raise TypeError("a traced number cannot be pickled or copied")

    def __copy__(self) -> Symbol:
        """Return itself: it cannot change."""
        return self

    def __deepcopy__(self, memo: object) -> Symbol:
        """Return itself: it cannot change."""
        return self

    def __bool__(self) -> bool:
        """Raise: the value is not known yet."""
        raise_branch()

    def __iter__(self) -> NoReturn:
        """Raise: it is a single number."""
        raise TypeError("iteration over a 0-d array")

    def __getitem__(self, key: Any) -> Any:
        """Return itself or an array of it, as NumPy's scalars do for ``()``, ``None`` and ``...``."""
        return HANDLERS["array"](self.trace, self)[key]

    def __eq__(self, other: object) -> Any:
        """Return whether two numbers are equal, as a condition."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.compare("equal", self, other)

    def __ne__(self, other: object) -> Any:
        """Return whether two numbers differ, as a condition."""
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.trace.negate(self.trace.compare("equal", self, other))

    __hash__ = None  # type: ignore[assignment]


class Condition(Symbol):
    """A comparison of numbers, for `np.where`; in sums and products it is one or zero."""

    __slots__ = ()

    def __and__(self, other: Any) -> Any:
        """Return whether both conditions hold."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.join("both", self, other)

    def __or__(self, other: Any) -> Any:
        """Return whether at least one condition holds."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.join("either", self, other)

    def __xor__(self, other: Any) -> Any:
        """Return whether exactly one condition holds."""
        if isinstance(other, np.ndarray):
            return NotImplemented
        t = self.trace
        return t.join("both", t.join("either", self, other), t.negate(t.join("both", self, other)))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        """Return the negation."""
        return self.trace.negate(self)

    def __add__(self, other: Any) -> Any:
        """Add one or zero."""
        return self.trace.lift(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        return self.trace.lift(self) - other

    def __rsub__(self, other: Any) -> Any:
        """Subtract one or zero."""
        return other - self.trace.lift(self)

    def __mul__(self, other: Any) -> Any:
        """Multiply by one or zero."""
        return self.trace.lift(self) * other

    __rmul__ = __mul__

    def __float__(self) -> NoReturn:
        """Raise: the value is not known yet."""
        raise_not_a_float()

    __int__ = __index__ = __float__


class Number(Symbol):
    """The result of an operation on numbers."""

    __slots__ = ()

    @property
    def value(self) -> float | None:
        """The value of a constant; None for other numbers."""
        name, *rest = self.trace.operations[self.index]
        return float(struct.unpack("d", rest[0])[0]) if name == "constant" else None

    @property
    def opposite(self) -> Number | None:
        """The number of which this is the negative; None if there is none."""
        name, *rest = self.trace.operations[self.index]
        return self.trace.numbers[rest[0]] if name == "negative" else None  # type: ignore[return-value]

    def __float__(self) -> float:
        """Return the value of a constant; raise for a value that is not known yet."""
        if (value := self.value) is None:
            raise_not_a_float()
        return value

    def __int__(self) -> int:
        """Return the value of a constant; raise for a value that is not known yet."""
        return int(float(self))

    __index__ = __int__

    def __bool__(self) -> bool:
        """Return whether a constant is not zero; raise for a value that is not known yet."""
        return super().__bool__() if self.value is None else bool(self.value)

    def __neg__(self) -> Number:
        """Change the sign."""
        if (value := self.value) is not None:
            return self.trace.constant(-value)
        minus = self.opposite
        return self.trace.record("negative", self.index) if minus is None else minus

    def __pos__(self) -> Number:
        """Return itself."""
        return self

    def __abs__(self) -> Number:
        """Return the magnitude."""
        return self.trace.apply("fabs", self)

    def __add__(self, other: Any) -> Any:
        """Add."""
        if type(other) is not Number or other.trace is not self.trace:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self.trace.lift(other)
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a + b)
        if a == 0.0 or b == 0.0:
            return other if a == 0.0 else self
        if (minus := other.opposite) is not None:
            return self - minus
        if (minus := self.opposite) is not None:
            return other - minus
        return self.trace.record("add", *sorted((self.index, other.index)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        if type(other) is not Number or other.trace is not self.trace:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self.trace.lift(other)
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a - b)
        if b == 0.0:
            return self
        if a == 0.0:
            return -other
        if (minus := other.opposite) is not None:
            return self + minus
        if (minus := self.opposite) is not None:
            return -(minus + other)
        return self.trace.record("subtract", self.index, other.index)

    def __rsub__(self, other: Any) -> Any:
        """Subtract from another number."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.lift(other) - self

    def __mul__(self, other: Any) -> Any:
        """Multiply."""
        if type(other) is not Number or other.trace is not self.trace:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self.trace.lift(other)
        a, b = self.value, other.value
        if a is not None and b is not None:
            return self.trace.constant(a * b)
        for value, number in ((a, other), (b, self)):
            if value == 0.0:
                return self.trace.zero
            if value is not None and abs(value) == 1.0:
                return number if value > 0.0 else -number
        if (minus := self.opposite) is not None:
            return -(minus * other)
        if (minus := other.opposite) is not None:
            return -(self * minus)
        if a is not None and a < 0.0:
            return -(self.trace.constant(-a) * other)
        if b is not None and b < 0.0:
            return -(self * self.trace.constant(-b))
        return self.trace.record("multiply", *sorted((self.index, other.index)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divide."""
        if type(other) is not Number or other.trace is not self.trace:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self.trace.lift(other)
        a, b = self.value, other.value
        if a is not None and b:
            return self.trace.constant(a / b)
        if a == 0.0:
            return self.trace.zero
        if b is not None and abs(b) == 1.0:
            return self if b > 0.0 else -self
        if b and math.frexp(b)[0] == 0.5:
            return self * self.trace.constant(1.0 / b)
        if (minus := self.opposite) is not None:
            return -(minus / other)
        return self.trace.record("divide", self.index, other.index)

    def __rtruediv__(self, other: Any) -> Any:
        """Divide another number by this."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.lift(other) / self

    def __pow__(self, exponent: Any) -> Any:
        """Raise to a power."""
        if isinstance(exponent, np.ndarray):
            return NotImplemented
        value = self.trace.lift(exponent).value
        if value == 0.5:
            return self.trace.apply("sqrt", self)
        if value is None or value != int(value) or not 0 <= abs(value) <= _LARGEST_PRODUCT:
            return self.trace.apply("pow", self, exponent)
        power: Any = self.trace.one
        for _ in range(int(abs(value))):
            power = power * self
        return power if value >= 0 else 1.0 / power

    def __rpow__(self, base: Any) -> Any:
        """Raise another number to this power."""
        return NotImplemented if isinstance(base, np.ndarray) else self.trace.lift(base) ** self

    def __mod__(self, divisor: Any) -> Any:
        """Return the remainder, which has the sign of the divisor."""
        return NotImplemented if isinstance(divisor, np.ndarray) else _call("remainder", self, divisor)

    def __rmod__(self, number: Any) -> Any:
        """Return the remainder of another number."""
        return NotImplemented if isinstance(number, np.ndarray) else _call("remainder", number, self)

    def __floordiv__(self, divisor: Any) -> Any:
        """Divide and round down."""
        return NotImplemented if isinstance(divisor, np.ndarray) else _call("floor_divide", self, divisor)

    def __rfloordiv__(self, number: Any) -> Any:
        """Divide another number by this and round down."""
        return NotImplemented if isinstance(number, np.ndarray) else _call("floor_divide", number, self)

    def __lt__(self, other: Any) -> Any:
        """Return whether this is less, as a condition."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.compare("less", self, other)

    def __gt__(self, other: Any) -> Any:
        """Return whether this is greater, as a condition."""
        return NotImplemented if isinstance(other, np.ndarray) else self.trace.compare("less", other, self)

    def __le__(self, other: Any) -> Any:
        """Return whether this is less or equal, as a condition."""
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.trace.compare("less_equal", self, other)

    def __ge__(self, other: Any) -> Any:
        """Return whether this is greater or equal, as a condition."""
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.trace.compare("less_equal", other, self)

    def conjugate(self) -> Number:
        """Return itself."""
        return self

    def item(self) -> Number:
        """Return itself."""
        return self


def _call(name: str, *operands: Any) -> Any:
    return getattr(np, name)(*operands)


def _method(name: str) -> Any:
    def method(self: Number, *others: Any) -> Any:
        return _call(name, self, *others)

    method.__name__ = name
    method.__doc__ = f"Return ``np.{name}`` of the number: NumPy calls it for arrays of objects."
    return method


for _name in (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "fabs", "rint",
    "trunc", "floor", "ceil", "square", "arctan2", "hypot", "fmod", "copysign", "degrees", "radians",
    "deg2rad", "rad2deg",
):  # fmt: skip
    setattr(Number, _name, _method(_name))
