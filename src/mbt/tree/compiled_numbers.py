"""The numbers of elements of the compiled core: defaults of the element, parameters of each Context."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import quote
from mbt.math.arrays import FloatArray
from mbt.tree.context_access import check_context, get_parameter
from mbt.tree.element import MultibodyElement
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.fields import Parameter, Reference

__all__ = ["CompiledNumbers"]


class CompiledNumbers(MultibodyElement):
    """An element with numbers that the compiled core reads as one contiguous vector."""

    # The section of the parameters that holds them.
    _section: ClassVar[str]

    # Declared by the class: its numbers, in the order of the core, and other elements that it needs.
    _fields: ClassVar[tuple[Parameter[Any], ...]] = ()
    _references: ClassVar[tuple[Reference[Any], ...]] = ()

    _defaults: FloatArray

    def _refer_to(self, what: str, **elements: object) -> tuple[Any, ...]:
        """Store elements, by the names of the references, and return them; errors begin with `what`."""
        references = {reference.name: reference for reference in self._references}
        found = tuple(references[name].checked(element, what) for name, element in elements.items())
        for name, element in zip(elements, found, strict=True):
            setattr(self, references[name].attribute, element)
        return found

    @classmethod
    def _checked_numbers(cls, what: str, **values: Any) -> list[float]:
        """Return numbers, by the names of the fields, in the order of the core."""
        fields = [field for field in cls._fields if field.name in values]
        numbers: list[float] = np.hstack([x.checked(values[x.name], what) for x in fields] or [[]]).tolist()
        return numbers

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        """Return the elements that must belong to the same tree, each with its role here."""
        return ((getattr(self, x.attribute), x.name) for x in self._references)

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return "".join(f" {name}={quote(element.name)}" for element, name in self._needs())

    @abstractmethod
    def _placed(self) -> int:
        """Return its index in the section, in a finalized tree."""

    def _default_parameters(self) -> FloatArray:
        """Return the numbers of a new Context, in the order of the core."""
        return self._defaults

    def _get_numbers(self, context: ContextCore) -> FloatArray:
        """Return its numbers in `context`, in the order of the core; a copy."""
        check_context(self, context)
        return get_parameter(self, context, self._section, self._placed())

    def _set_numbers(self, context: ContextCore, first: int, values: FloatArray) -> None:
        """Write some of the numbers, from entry `first` on; they were checked before."""
        check_context(self, context)
        context._set_entries(self._section, self._placed(), first, values)

    def _set_defaults(self, first: int, values: Any, setter: str) -> Self:
        """Write some of the default numbers, already checked; `setter` sets those of one Context."""
        self._check_not_finalized("the default constants", f"Set those of a Context with {setter}().")
        defaults = self._defaults.copy()
        defaults[first : first + np.size(values)] = values
        self._defaults = frozen(defaults)
        return self
