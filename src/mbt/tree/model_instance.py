"""Model instances: groups of elements, such as an arm, its gripper, and what the gripper holds."""

from __future__ import annotations

from typing import ClassVar

from mbt.tree.element import MultibodyElement
from mbt.tree.indices import ModelInstanceIndex

__all__ = ["ModelInstance"]


class ModelInstance(MultibodyElement):
    """A named group of elements. Add one with ``tree.add_model_instance(name)``.

    Every tree has instance 0, ``"WorldModelInstance"``, of the world body, and instance 1,
    ``"DefaultModelInstance"``, of all elements that are given none.

    Parameters
    ----------
    name : str
        Name, unique in the tree.
    """

    kind: ClassVar[str] = "model instance"
    _adder: ClassVar[str] = "add_model_instance"

    def __init__(self, name: str) -> None:
        super().__init__(name, None)

    @property
    def index(self) -> ModelInstanceIndex:
        """Index of this model instance."""
        return ModelInstanceIndex(self._checked_index())

    @property
    def scoped_name(self) -> str:
        """The name: a model instance lies in no other."""
        return self.name

    @property
    def model_instance(self) -> ModelInstanceIndex:
        """Index of this model instance."""
        return self.index

    @property
    def _name_scope(self) -> int:
        """All model instances have different names."""
        return 0
