"""The definition of a scalar: its zero and one, and the functions beyond arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbt.errors import ArgumentTypeError, MissingPackageError, quote, unknown_name_error
from mbt.symbolic import builtin

__all__ = ["ScalarType", "get_scalar_type"]

_FUNCTIONS = ("sin", "cos", "sqrt", "tanh", "atan2", "floor", "select_lt")


@dataclass(frozen=True)
class _Missing:
    """Replaces a function that a scalar does not have: calling it raises an error that names the remedy."""

    scalar: str
    function: str

    def __call__(self, *operands: Any) -> Any:
        raise ArgumentTypeError(
            f"scalar {quote(self.scalar)} has no {self.function}, which the model needs: "
            f"mbt.symbolic.ScalarType(..., {self.function}=...) defines it"
        )


@dataclass(frozen=True, eq=False)
class ScalarType:
    """A type of Python objects that a tree can compute with: numbers, or expressions.

    Objects must support ``+ - * /`` with each other, and unary ``-``. Kernels never compare them or test
    their truth. Only the functions that a model calls are needed: sines for rotations, roots for quaternions
    and springs between points, the others for friction, bushings and paths. If one is missing, computing
    raises an ArgumentTypeError that names it.

    Parameters
    ----------
    zero, one : object
        Zero and one of the scalar. Sums and products with these two objects are not computed but folded.
    sin, cos, sqrt, tanh, floor : callable, optional
        Functions of one object.
    atan2 : callable, optional
        ``atan2(y, x)``.
    select_lt : callable, optional
        ``select_lt(a, b, x, y)`` is x if a < b, otherwise y: it may build a conditional expression.
    from_float : callable, optional
        Converts a float to an object: the numbers of a model, and constants of formulas;
        by default ``one * x``.
    entries : callable, optional
        Returns the entries of a matrix of the package as a list in C order; None if the object is not a
        matrix.
    name : str, optional
        Name of the scalar; by default that of the type of `one`.
    digits : int or None, optional
        The largest number of digits of its numbers: series are summed to this accuracy. None for exact
        numbers and formulas, for which no series is truncated; they can be compared, ``x == 0``.

    Examples
    --------
    Decimal numbers have no sines, but a mass on a rail needs none:

    >>> from decimal import Decimal
    >>> import mbt
    >>> decimal = mbt.symbolic.ScalarType(Decimal(0), Decimal(1), sqrt=Decimal.sqrt, from_float=Decimal)
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.point_mass(3.0, [0, 0, 0])))
    >>> rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, ball, None, axis=[0, 0, 1])
    >>> tree.finalize()
    >>> twin = tree.clone_to_scalar(decimal)
    >>> context = twin.create_default_context()
    >>> twin.calc_inverse_dynamics(context, [Decimal("0.1")])
    array([Decimal('0.3')], dtype=object)
    """

    zero: Any
    one: Any
    sin: Callable[[Any], Any] = None  # type: ignore[assignment]
    cos: Callable[[Any], Any] = None  # type: ignore[assignment]
    sqrt: Callable[[Any], Any] = None  # type: ignore[assignment]
    tanh: Callable[[Any], Any] = None  # type: ignore[assignment]
    atan2: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    floor: Callable[[Any], Any] = None  # type: ignore[assignment]
    select_lt: Callable[[Any, Any, Any, Any], Any] = None  # type: ignore[assignment]
    from_float: Callable[[float], Any] | None = None
    entries: Callable[[Any], list[Any] | None] | None = None
    name: str = None  # type: ignore[assignment]
    digits: int | None = 100

    def __post_init__(self) -> None:
        """Check the fields, and fill in the missing ones."""
        name: object = type(self.one).__name__ if self.name is None else self.name
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"ScalarType: name: expected text, got {quote(name)}")
        # Sets a field of a frozen dataclass.
        object.__setattr__(self, "name", name)
        if self.digits is not None and (type(self.digits) is not int or self.digits < 1):
            raise ArgumentTypeError(
                f"ScalarType {quote(name)}: digits: expected a positive int or None, got {quote(self.digits)}"
            )
        for field in (*_FUNCTIONS, "from_float", "entries"):
            function = getattr(self, field)
            if function is None and field in _FUNCTIONS:
                object.__setattr__(self, field, _Missing(name, field))
            elif function is not None and not callable(function):
                got = type(function).__name__
                raise ArgumentTypeError(f"ScalarType {quote(name)}: {field}: expected a function, got {got}")

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Sin, cos, sqrt, select_lt, tanh, atan2, floor and lift, in the order of the compiled core."""
        return (self.sin, self.cos, self.sqrt, self.select_lt, self.tanh, self.atan2, self.floor, self.lift)

    def lift(self, number: float) -> Any:
        """Return a float as an object of this scalar."""
        if number == 0.0:
            return self.zero
        if number == 1.0:
            return self.one
        return self.one * number if self.from_float is None else self.from_float(number)

    def __repr__(self) -> str:
        """Return a text with the name."""
        return f"<ScalarType {quote(self.name)}>"

    def __copy__(self) -> ScalarType:
        """Return itself, as it is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> ScalarType:
        """Return itself, as it is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a built-in scalar by name, others by their functions."""
        if _known.get(self.name) is self:
            return get_scalar_type, (self.name,)
        fields = (getattr(self, field) for field in self.__dataclass_fields__)
        return ScalarType, tuple(fields)


_known: dict[str, ScalarType] = {}


def get_scalar_type(scalar: object) -> ScalarType:
    """Return a scalar type by name; a `ScalarType` is returned unchanged.

    Parameters
    ----------
    scalar : {"double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"} or ScalarType
        The scalar.

    Raises
    ------
    UnknownNameError
        When no scalar has this name.
    ArgumentTypeError
        When it is neither a name nor a ScalarType.
    MissingPackageError
        When its package is not installed.
    """
    if isinstance(scalar, ScalarType):
        if scalar.name in ("double", "autodiff") and scalar is not _known.get(scalar.name):
            raise ArgumentTypeError(
                f"scalar: the name {quote(scalar.name)} belongs to a scalar of mbt: choose another"
            )
        return scalar
    if not isinstance(scalar, str):
        raise ArgumentTypeError(
            f"scalar: expected one of {', '.join(builtin.MAKERS)}, or an mbt.symbolic.ScalarType, "
            f"got {type(scalar).__name__}"
        )
    if scalar not in builtin.MAKERS:
        raise unknown_name_error("scalar", scalar, list(builtin.MAKERS))
    if scalar not in _known:
        try:
            fields = builtin.MAKERS[scalar]()
        except ImportError as error:
            raise MissingPackageError(
                f"scalar: {quote(scalar)} needs its package: pip install {scalar} ({error})"
            ) from error
        _known.setdefault(scalar, ScalarType(**fields))
    return _known[scalar]
