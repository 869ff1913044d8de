"""Force elements: what acts on bodies and joints besides the mobilizers."""

from __future__ import annotations

from typing import ClassVar

from mbt._core.force_elements import ForceElementType
from mbt.tree.element import MultibodyElement
from mbt.tree.indices import ForceElementIndex

__all__ = ["ForceElement"]


class ForceElement(MultibodyElement):
    """Forces that depend on q, v and parameters. This is the base class.

    Parameters
    ----------
    model_instance : ModelInstanceIndex
        The model instance.
    """

    kind: ClassVar[str] = "force element"
    _adder: ClassVar[str] = "add_force_element"

    # What the compiled core knows it as; None for gravity, and for elements that users write.
    _type: ClassVar[ForceElementType | None] = None
    # Its number among the elements of the compiled core. Known once the tree is finalized.
    _core_index = -1

    def __init__(self, model_instance: int) -> None:
        super().__init__(None, model_instance)

    @property
    def index(self) -> ForceElementIndex:
        """Index of this force element in its tree."""
        return ForceElementIndex(self._checked_index())
