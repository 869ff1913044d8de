"""Declared fields: an element declares its numbers, and other elements it refers to, once.

A field is a property of the class. Its accessors, the checks of constructors and setters, and the content of
JSON and pickles follow from it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mbt.math.arrays import FloatArray
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import check_context, numbers_of
from mbt.tree.element import MultibodyElement, check_element
from mbt.tree.frame import Frame, as_frame

if TYPE_CHECKING:
    from typing import Protocol, overload

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.samples import _NumberOfElement

    OwnerT = TypeVar("OwnerT")
    OwnerT_co = TypeVar("OwnerT_co", covariant=True)

    class _DefaultSetter(Protocol[OwnerT_co]):
        def __call__(self, *value: object, **named: object) -> OwnerT_co: ...

    class _Setter(Protocol[OwnerT_co]):
        def __call__(self, context: ContextCore, *value: object, **named: object) -> OwnerT_co: ...

    class _SetDefault(Protocol):
        def __get__(self, element: OwnerT, kind: type[Any]) -> _DefaultSetter[OwnerT]: ...

    class _Set(Protocol):
        def __get__(self, element: OwnerT, kind: type[Any]) -> _Setter[OwnerT]: ...

    class _GetArray(Protocol):
        def __get__(self, element: object, kind: type[Any]) -> Callable[[ContextCore], FloatArray]: ...


__all__ = [
    "FINITE",
    "NONNEGATIVE",
    "POSITIVE",
    "POSITIVE_OR_INFINITE",
    "Number",
    "Parameter",
    "Reference",
    "Vector",
]

ValueT = TypeVar("ValueT")


class Bound:
    """A bound on numbers.

    Parameters
    ----------
    check : str
        The method of `Numbers` that checks one.
    words : str
        Its text in documentation.
    """

    def __init__(self, check: str, words: str) -> None:
        self.check = check
        self.words = words


FINITE = Bound("as_finite", "")
NONNEGATIVE = Bound("as_nonnegative", ", not negative")
POSITIVE = Bound("as_positive", ", greater than zero")
POSITIVE_OR_INFINITE = Bound("as_positive_or_infinite", ", greater than zero, or infinite")


class _Field(property, Generic[ValueT]):
    """A property that a class declares, with a value type for type checkers."""

    #: Its name in constructors, setters and files.
    name: str = ""

    def __set_name__(self, owner: Any, name: str) -> None:
        if not self.name:  # Otherwise it is an alias of the same field.
            self.name = name.removeprefix("default_")
            self._join(owner)

    @abstractmethod
    def _join(self, owner: Any) -> None:
        """Add the field to a class."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, element: None, kind: type[Any] | None = None) -> Self: ...
        @overload
        def __get__(self, element: object, kind: type[Any] | None = None) -> ValueT: ...
        def __get__(self, element: Any, kind: Any = None) -> Any: ...


class Reference(_Field[ValueT]):
    """Another element of the same tree.

    Parameters
    ----------
    kind : type
        Its type. A body stands for its body frame.
    doc : str
        The documentation of the property.
    """

    def __init__(self, kind: Callable[..., ValueT], doc: str) -> None:
        self._doc = doc
        self.kind: Any = kind

    def _join(self, owner: Any) -> None:
        self.attribute = f"_{self.name}"
        super().__init__(attrgetter(self.attribute))
        self.__doc__ = self._doc
        owner._references = (*owner._references, self)

    def checked(self, value: object, what: str) -> Any:
        """Check and return a given element."""
        argument = f"{what}: {self.name}"
        if self.kind is Frame:
            return as_frame(value, argument)
        check_element(value, self.kind, argument)
        return value


class Parameter(_Field[ValueT]):
    """Numbers of an element for the core: its defaults, and parameters of each Context.

    Parameters
    ----------
    what : str
        Their meaning, for documentation.
    unit : str, optional
        Their unit.
    bound : Bound, optional
        The bound on each.
    size : int, optional
        Length of the vector; 0 for a single number.
    usual : tuple of float, optional
        Values that files leave out.
    """

    def __init__(
        self,
        what: str,
        unit: str = "",
        bound: Bound = FINITE,
        size: int = 0,
        usual: tuple[float, ...] | None = None,
    ) -> None:
        self._what = what
        self._unit = f" [{unit}]" if unit else ""
        self._shape = f", shape ({size},)" if size else ""
        self._bound = bound
        self.usual = usual
        self._check_name = f"{bound.check}_array" if size else bound.check
        self._extents = ((size,),) if size else ()
        self.size = size or 1
        read_only = ", read-only" if size else ""
        super().__init__(self._default_of)
        self.__doc__ = f"Default {what}{self._unit}{self._shape}{read_only}."

    def _join(self, owner: Any) -> None:
        before = owner._fields
        #: Index of the first among the numbers of the element.
        self.first: int = before[-1].first + before[-1].size if before else 0
        self.part = slice(self.first, self.first + self.size)
        owner._fields = (*before, self)

    @abstractmethod
    def _default_of(self, element: Any) -> Any:
        """Return the default of an element."""

    def checked(self, value: object, what: str | MultibodyElement, numbers: Numbers = DOUBLES) -> Any:
        """Check a given value of these numbers, and convert it to the scalar of a Context.

        Errors name `what`: a text, or an element.
        """
        check = getattr(numbers, self._check_name)
        if isinstance(what, MultibodyElement):
            return what._checked(check, value, self.name, *self._extents)
        return check(value, f"{what}: {self.name}", *self._extents)

    def _make_reader(self, get: Callable[..., Any]) -> Any:
        return _Accessor(self, get, f"Return the {self._what} in `context`{self._unit}{self._shape}.")

    def _make_accessors(self, get: Callable[..., Any]) -> tuple[Any, Any, Any]:
        def set_default(self: Any, value: object) -> Any:
            return self._set_defaults(field.first, field.checked(value, self), f"set_{field.name}")

        def set(self: Any, context: ContextCore, value: object) -> Any:
            checked = field.checked(value, self, numbers_of(self, context))
            write = context._set_number if is_number else context._set_entries
            write(self._section, self._placed(), field.first, checked)
            return self

        is_number = not self._extents
        field, what, bound = self, self._what, f"{self._unit}{self._shape}{self._bound.words}"
        return (
            _Accessor(field, set_default, f"Set the default {what}{bound}, before ``finalize()``."),
            self._make_reader(get),
            _Accessor(field, set, f"Set the {what} in `context`{bound}."),
        )


class Number(Parameter[float]):
    """One number."""

    def _default_of(self, element: Any) -> float:
        return float(element._defaults[self.first])

    def accessors(self) -> tuple[_SetDefault, _NumberOfElement, _Set]:
        """Return ``set_default_x``, ``get_x`` and ``set_x`` of the number x."""
        return self._make_accessors(self._make_get())

    def reader(self) -> _NumberOfElement:
        """Return ``get_x`` of the number x."""
        return self._make_reader(self._make_get())  # type: ignore[no-any-return]

    def _make_get(self) -> Callable[..., Any]:
        def get(self: Any, context: ContextCore) -> Any:
            check_context(self, context)
            return context._get_number(self._section, self._placed(), field.first)

        field = self
        return get


class Vector(Parameter[FloatArray]):
    """A vector of numbers."""

    def _default_of(self, element: Any) -> FloatArray:
        return element._defaults[self.part]  # type: ignore[no-any-return]

    def accessors(self) -> tuple[_SetDefault, _GetArray, _Set]:
        """Return ``set_default_x``, ``get_x`` and ``set_x`` of the vector x."""

        def get(self: Any, context: ContextCore) -> Any:
            return self._get_numbers(context)[..., field.part]

        field = self
        return self._make_accessors(get)


class _Accessor:
    """A member that becomes a method of its class, with the name of the field for its argument."""

    def __init__(self, field: Parameter[Any], function: Any, doc: str) -> None:
        self._field = field
        self._function = function
        self._doc = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        template: FunctionType = self._function
        code = template.__code__
        names = tuple(self._field.name if x == "value" else x for x in code.co_varnames)
        method = FunctionType(
            code.replace(co_name=name, co_varnames=names),
            template.__globals__,
            name,
            None,
            template.__closure__,
        )
        method.__doc__ = self._doc
        method.__qualname__ = f"{owner.__qualname__}.{name}"
        method.__module__ = owner.__module__
        setattr(owner, name, method)
