"""Values with derivatives in any scalar: directional derivatives of functions of objects."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NoReturn

import numpy as np

from mbt.errors import ArgumentTypeError
from mbt.symbolic.scalar_type import ScalarType, get_scalar_type

__all__ = ["Dual", "DualType", "dual"]

Derivatives = dict[int, Any]


class Dual:
    """A value with derivatives, all objects of the same scalar; ``dual(scalar).make`` makes it.

    Attributes
    ----------
    value : object
        The value.
    derivatives : dict of int to object
        The derivatives along directions; missing ones are zero.
    """

    __slots__ = ("derivatives", "value")

    # For each class that `dual` makes: the scalar of values and derivatives, and its depth of nested duals.
    _scalar: ClassVar[ScalarType]
    _depth: ClassVar[int]

    def __init__(self, value: Any, derivatives: Derivatives | None = None) -> None:
        self.value = value
        self.derivatives = {} if derivatives is None else derivatives

    def _lifted(self, other: Any) -> Dual | None:
        """Return another operand as an object of this class; None if the operand's own method must act."""
        if type(other) is type(self):
            return other
        if isinstance(other, np.ndarray) or (isinstance(other, Dual) and other._depth > self._depth):
            return None
        return self._constant(other)

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        """Add."""
        if _is(other, 0.0):
            return self
        b = self._lifted(other)
        if b is None:
            return NotImplemented
        return type(self)(_add(self.value, b.value), _sum(self.derivatives, b.derivatives))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        """Change the sign."""
        return type(self)(-self.value, {k: -d for k, d in self.derivatives.items()})

    def __pos__(self) -> Dual:
        """Return itself."""
        return self

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        b = self._lifted(other)
        return NotImplemented if b is None else self + -b

    def __rsub__(self, other: Any) -> Any:
        """Subtract this from another operand."""
        b = self._lifted(other)
        return NotImplemented if b is None else b + -self

    def __mul__(self, other: Any) -> Any:
        """Multiply."""
        if _is(other, 1.0):
            return self
        b = self._lifted(other)
        if b is None:
            return NotImplemented
        derivatives = _sum(_scaled(self.derivatives, b.value), _scaled(b.derivatives, self.value))
        return type(self)(_multiply(self.value, b.value), derivatives)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divide."""
        b = self._lifted(other)
        if b is None:
            return NotImplemented
        value = self.value / b.value
        rates = self.derivatives
        if b.derivatives:
            rates = _sum(rates, _scaled(b.derivatives, -value))
        return type(self)(value, {k: rate / b.value for k, rate in rates.items()})

    def __rtruediv__(self, other: Any) -> Any:
        """Divide another operand by this."""
        b = self._lifted(other)
        return NotImplemented if b is None else b / self

    def __pow__(self, exponent: Any) -> Any:
        """Raise to a constant power."""
        if isinstance(exponent, Dual):
            if exponent.derivatives:
                return NotImplemented
            exponent = exponent.value
        if isinstance(exponent, (int, float)) and exponent == 0:
            return type(self)(self._scalar.one)
        rate = exponent * self.value ** (exponent - 1) if self.derivatives else None
        return self._chain(self.value**exponent, rate)

    def __abs__(self) -> Dual:
        """Return the magnitude."""
        return self._select_lt(self, 0.0, -self, self)

    # Comparisons of values.

    def _compare(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        return compare(self.value, other.value if type(other) is type(self) else other)

    def __lt__(self, other: Any) -> Any:
        """Compare values."""
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        """Compare values."""
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        """Compare values."""
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        """Compare values."""
        return self._compare(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        """Compare values."""
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        """Compare values."""
        return self._compare(other, operator.ne)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        """Return the truth of the value."""
        return bool(self.value)

    def __float__(self) -> NoReturn:
        """Raise an error, as the derivatives would be lost."""
        raise ArgumentTypeError(
            "a Dual would lose its derivatives as a float: use x.value, or np.sin for math.sin"
        )

    # Functions under the names that NumPy calls: `np.sin` of an array of objects calls `sin()` of each.

    def _chain(self, value: Any, rate: Any) -> Dual:
        """Return a function of this number from its value and its derivative."""
        return type(self)(value, _scaled(self.derivatives, rate) if self.derivatives else None)

    def sin(self) -> Dual:
        """Return the sine."""
        return self._chain(self._scalar.sin(self.value), self._scalar.cos(self.value))

    def cos(self) -> Dual:
        """Return the cosine."""
        return self._chain(self._scalar.cos(self.value), -self._scalar.sin(self.value))

    def tan(self) -> Dual:
        """Return the tangent."""
        quotient: Dual = self.sin() / self.cos()
        return quotient

    def sqrt(self) -> Dual:
        """Return the square root."""
        root = self._scalar.sqrt(self.value)
        return type(self)(root, {k: d / (2 * root) for k, d in self.derivatives.items()})

    def tanh(self) -> Dual:
        """Return the hyperbolic tangent."""
        t = self._scalar.tanh(self.value)
        return self._chain(t, 1 - t * t)

    def arctan2(self, x: Any) -> Dual:
        """Return the angle of the point (x, this)."""
        y, x = self, self._constant(x)
        norm = x.value * x.value + y.value * y.value
        rates = _sum(_scaled(y.derivatives, x.value), _scaled(x.derivatives, -y.value))
        angle = self._scalar.atan2(y.value, x.value)
        return type(self)(angle, {k: rate / norm for k, rate in rates.items()})

    def arctan(self) -> Dual:
        """Return the arc tangent."""
        return self.arctan2(self._scalar.one)

    def hypot(self, other: Any) -> Dual:
        """Return the length of the vector with these two components."""
        squares: Dual = self * self + other * other
        return squares.sqrt()

    def exp(self) -> Dual:
        """Return the exponential, if NumPy can compute that of the value."""
        value = np.exp(self.value)
        return self._chain(value, value)

    def log(self) -> Dual:
        """Return the natural logarithm, if NumPy can compute that of the value."""
        return type(self)(np.log(self.value), {k: d / self.value for k, d in self.derivatives.items()})

    def floor(self) -> Dual:
        """Return the greatest integer that is not greater, as a constant."""
        return type(self)(self._scalar.floor(self.value))

    __floor__ = floor

    def conjugate(self) -> Dual:
        """Return itself."""
        return self

    @classmethod
    def _constant(cls, number: Any) -> Dual:
        return (
            number
            if type(number) is cls
            else cls(cls._scalar.lift(number) if type(number) is float else number)
        )

    @classmethod
    def _select_lt(cls, a: Any, b: Any, x: Any, y: Any) -> Dual:
        """Return x if a < b, otherwise y."""
        a, b, x, y = (cls._constant(number) for number in (a, b, x, y))

        def select(u: Any, v: Any) -> Any:
            return cls._scalar.select_lt(a.value, b.value, u, v)

        zero = cls._scalar.zero
        directions = sorted({*x.derivatives, *y.derivatives})
        return cls(
            select(x.value, y.value),
            {k: select(x.derivatives.get(k, zero), y.derivatives.get(k, zero)) for k in directions},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the scalar."""
        return _restore, (self._scalar, self.value, self.derivatives)

    def __repr__(self) -> str:
        """Return a text with value and derivatives."""
        return f"Dual({self.value!r}, {self.derivatives!r})"


class DualType(ScalarType):
    """The scalar of values with derivatives over another scalar: `dual` makes it.

    Attributes
    ----------
    scalar : ScalarType
        The scalar of values and derivatives.
    make : callable
        ``make(value, derivatives)`` makes a `Dual`.
    """

    scalar: ScalarType
    make: type[Dual]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the other scalar."""
        return dual, (self.scalar,)


def dual(scalar: str | ScalarType) -> DualType:
    """Return the scalar of values with derivatives over another scalar.

    A tree of this scalar computes directional derivatives of every quantity, exactly, in objects of the
    other scalar.

    Parameters
    ----------
    scalar : str or ScalarType
        The scalar of values and derivatives.

    Returns
    -------
    ScalarType
        Its ``make(value, derivatives)`` makes a `Dual`; `derivatives` maps directions (integers) to
        objects of the other scalar.

    Examples
    --------
    The derivative of the energy of a pendulum, in symbols:

    >>> import sympy
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -1])))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
    >>> tree.finalize()
    >>> scalar = mbt.symbolic.dual("sympy")
    >>> context = tree.clone_to_scalar(scalar).create_default_context()
    >>> q = sympy.Symbol("q")
    >>> context.q = [scalar.make(q, {0: sympy.Integer(1)})]
    >>> energy = context.tree.calc_potential_energy(context)
    >>> energy.derivatives[0]
    20*sin(q)
    """
    return _make_type(get_scalar_type(scalar))


@cache
def _make_type(scalar: ScalarType) -> DualType:
    depth = scalar.make._depth + 1 if isinstance(scalar, DualType) else 1
    make: type[Dual] = type("Dual", (Dual,), {"__slots__": (), "_scalar": scalar, "_depth": depth})
    made = DualType(
        name=f"dual of {scalar.name}",
        zero=make(scalar.zero),
        one=make(scalar.one),
        sin=lambda x: make._constant(x).sin(),
        cos=lambda x: make._constant(x).cos(),
        sqrt=lambda x: make._constant(x).sqrt(),
        tanh=lambda x: make._constant(x).tanh(),
        atan2=lambda y, x: make._constant(y).arctan2(x),
        floor=lambda x: make._constant(x).floor(),
        select_lt=make._select_lt,
        from_float=lambda number: make(scalar.lift(number)),
        digits=scalar.digits,
    )
    object.__setattr__(made, "scalar", scalar)
    object.__setattr__(made, "make", make)
    return made


def _restore(scalar: ScalarType, value: Any, derivatives: Derivatives) -> Dual:
    return dual(scalar).make(value, derivatives)


# Floats that are exactly zero or one are folded, so that expressions stay small, as in kernels.


def _is(number: Any, what: float) -> bool:
    return type(number) is float and number == what


def _add(a: Any, b: Any) -> Any:
    if _is(a, 0.0):
        return b
    return a if _is(b, 0.0) else a + b


def _multiply(a: Any, b: Any) -> Any:
    if _is(a, 0.0) or _is(b, 1.0):
        return a
    return b if _is(b, 0.0) or _is(a, 1.0) else a * b


def _sum(a: Derivatives, b: Derivatives) -> Derivatives:
    if not a or not b:
        return a or b
    total = dict(a)
    for k, d in b.items():
        total[k] = total[k] + d if k in total else d
    return total


def _scaled(derivatives: Derivatives, factor: Any) -> Derivatives:
    return {} if _is(factor, 0.0) else {k: _multiply(d, factor) for k, d in derivatives.items()}
