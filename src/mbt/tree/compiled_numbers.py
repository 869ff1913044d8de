"""The numbers of elements of the compiled core: defaults of the element, parameters of each Context."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.numbers import DOUBLES
from mbt.tree.context_access import check_context, get_parameter, numbers_of, set_parameter
from mbt.tree.element import MultibodyElement
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["CompiledNumbers"]


class CompiledNumbers(MultibodyElement):
    """An element with numbers that the compiled core reads, one behind the other."""

    # The section of the parameters that they are in.
    _section: ClassVar[str]

    _defaults: FloatArray

    @abstractmethod
    def _placed(self) -> int:
        """Return its number in the section, of a finalized tree."""

    def _default_parameters(self) -> FloatArray:
        """Return the numbers of a new Context, in the order of the core."""
        return self._defaults

    def _get_numbers(self, context: ContextCore) -> FloatArray:
        """Return the numbers that `context` has, in the order of the core; a copy."""
        check_context(self, context)
        return get_parameter(self, context, self._section, self._placed())

    def _set_number(self, context: ContextCore, index: int, value: float) -> None:
        """Write one of the numbers; it was checked before."""
        numbers = numbers_of(self, context)
        if numbers is DOUBLES:
            self._write(context, index, value)
        else:
            self._set_numbers(context, index, numbers.stack([value]))

    def _set_numbers(self, context: ContextCore, first: int, values: FloatArray) -> None:
        """Write some of the numbers, from entry `first` on; they were checked before."""
        numbers = numbers_of(self, context)
        part = slice(first, first + values.shape[-1])
        if numbers is DOUBLES:
            self._write(context, part, values)
        else:
            changed = numbers.replaced(self._get_numbers(context), part, values)
            set_parameter(self, context, self._section, self._placed(), changed)

    def _write(self, context: ContextCore, part: int | slice, values: Any) -> None:
        """Write some of the numbers of one state of doubles."""
        index = self._placed()
        changed = context._get_parameter(self._section, index)
        changed[part] = values
        context._set_parameter(self._section, index, changed)

    def _set_defaults(self, first: int, values: Any, setter: str) -> Self:
        """Write some of the numbers of a new Context, which were checked; `setter` is for those of one."""
        self._check_not_finalized("the default constants", f"Set those of a Context with {setter}().")
        defaults = self._defaults.copy()
        defaults[first : first + np.size(values)] = values
        self._defaults = frozen(defaults)
        return self
