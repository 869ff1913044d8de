"""What a scalar is: its zero and one, and the functions that arithmetic does not give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbt.errors import ArgumentTypeError, unknown_name_error
from mbt.symbolic import builtin

__all__ = ["ScalarType", "get_scalar_type"]

_FUNCTIONS = {"sin": 1, "cos": 1, "sqrt": 1, "tanh": 1, "atan2": 2, "floor": 1, "select_lt": 4}


@dataclass(frozen=True, eq=False)
class ScalarType:
    """A type of Python objects that a tree can compute with: numbers, or expressions.

    Objects need ``+ - * /`` and unary ``-`` with each other. Nothing is ever compared, or asked whether it is
    true. Only the functions that a model calls must work: `tanh`, `atan2` and `floor` are for friction,
    bushings and paths.

    Parameters
    ----------
    name : str
        Its name.
    zero, one : object
        Zero and one of the scalar. These two objects are folded: sums and products with them are not
        computed.
    sin, cos, sqrt, tanh, floor : callable
        Functions of one object.
    atan2 : callable
        ``atan2(y, x)``.
    select_lt : callable
        ``select_lt(a, b, x, y)`` is x where a < b, and y elsewhere: it may build a conditional expression.
    from_float : callable, optional
        Makes an object of a float: of the numbers of a model, and of constants of formulas.
        ``one * x`` unless given.
    entries : callable, optional
        Returns the entries of a matrix of the package in C order, as a list; None where the object is no
        matrix.

    Examples
    --------
    Decimal numbers have neither sines nor the like, which a mass on a rail does not need:

    >>> from decimal import Decimal
    >>> import mbt
    >>> def undefined(*args):
    ...     raise NotImplementedError("a decimal number has none")
    >>> decimal = mbt.symbolic.ScalarType(
    ...     "decimal", Decimal(0), Decimal(1), undefined, undefined, Decimal.sqrt, undefined, undefined,
    ...     undefined, lambda a, b, x, y: x if a < b else y, from_float=Decimal,
    ... )
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.point_mass(3.0, [0, 0, 0])))
    >>> rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, ball, None, axis=[0, 0, 1])
    >>> tree.finalize()
    >>> twin = tree.clone_to_scalar(decimal)
    >>> context = twin.create_default_context()
    >>> twin.calc_inverse_dynamics(context, [Decimal("0.1")])
    array([Decimal('0.3')], dtype=object)
    """

    name: str
    zero: Any
    one: Any
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    atan2: Callable[[Any, Any], Any]
    floor: Callable[[Any], Any]
    select_lt: Callable[[Any, Any, Any, Any], Any]
    from_float: Callable[[float], Any] | None = None
    entries: Callable[[Any], list[Any] | None] | None = None

    def __post_init__(self) -> None:
        """Check what can be checked."""
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentTypeError(f"ScalarType: name: expected text, got {self.name!r}")
        for function in _FUNCTIONS:
            if not callable(getattr(self, function)):
                got = type(getattr(self, function)).__name__
                raise ArgumentTypeError(
                    f"ScalarType {self.name!r}: {function}: expected a function, got {got}"
                )

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Sin, cos, sqrt, select_lt, tanh, atan2, floor and lift, as the compiled core takes them."""
        return (self.sin, self.cos, self.sqrt, self.select_lt, self.tanh, self.atan2, self.floor, self.lift)

    def lift(self, number: float) -> Any:
        """Return a float as an object of this scalar."""
        if number == 0.0:
            return self.zero
        if number == 1.0:
            return self.one
        return self.one * number if self.from_float is None else self.from_float(number)

    def __repr__(self) -> str:
        """Tell the name."""
        return f"<ScalarType {self.name!r}>"

    def __copy__(self) -> ScalarType:
        """Return itself: it cannot change."""
        return self

    def __deepcopy__(self, memo: object) -> ScalarType:
        """Return itself: it cannot change."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a built-in one by name, another one by its functions."""
        if _known.get(self.name) is self:
            return get_scalar_type, (self.name,)
        fields = (getattr(self, field) for field in self.__dataclass_fields__)
        return ScalarType, tuple(fields)


_known: dict[str, ScalarType] = {}


def get_scalar_type(scalar: object) -> ScalarType:
    """Return a scalar type by name; a `ScalarType` is returned as it is.

    Parameters
    ----------
    scalar : {"double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"} or ScalarType
        Which one.

    Raises
    ------
    UnknownNameError
        When there is none of this name.
    ArgumentTypeError
        When it is neither a name nor a ScalarType.
    ImportError
        When its package is not installed.
    """
    if isinstance(scalar, ScalarType):
        return scalar
    if not isinstance(scalar, str):
        raise ArgumentTypeError(
            f"scalar: expected one of {', '.join(builtin.MAKERS)}, or a mbt.symbolic.ScalarType, "
            f"got {type(scalar).__name__}"
        )
    if scalar not in builtin.MAKERS:
        raise unknown_name_error("scalar", scalar, list(builtin.MAKERS))
    if scalar not in _known:
        try:
            fields = builtin.MAKERS[scalar]()
        except ImportError as error:
            raise ImportError(
                f"scalar: {scalar!r} needs its package: pip install {scalar} ({error})"
            ) from error
        _known.setdefault(scalar, ScalarType(**fields))
    return _known[scalar]
