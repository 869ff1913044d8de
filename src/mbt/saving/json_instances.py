"""Model instances of a model in JSON, and the model instances that they become in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mbt.errors import quote
from mbt.tree.indices import ModelInstanceIndex, default_model_instance, world_model_instance

if TYPE_CHECKING:
    from mbt.saving.json_fields import Fields
    from mbt.saving.json_names import NamesOfTree
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["ReadInstances", "read_instances", "write_instances"]

# Every tree has these two, perhaps renamed.
_USUAL = {
    "world_model_instance": (world_model_instance(), "WorldModelInstance"),
    "default_model_instance": (default_model_instance(), "DefaultModelInstance"),
}


def write_instances(names: NamesOfTree) -> dict[str, str | list[str]]:
    """Return the JSON values of the model instances."""
    renamed: dict[str, str | list[str]] = {
        key: names.instances[index]
        for key, (index, usual) in _USUAL.items()
        if names.instances[index] != usual
    }
    return {**renamed, "model_instances": names.instances[len(_USUAL) :]}


class ReadInstances(NamedTuple):
    """The model instances of a file.

    Attributes
    ----------
    names : list of str
        Their names in the file, including the first two.
    indices : list of int
        The indices of the model instances that they become in the tree.
    new : list of str
        Names of the ones to add to the tree.
    renamed : list of str
        Names of the first two if the tree is new; otherwise empty.
    """

    names: list[str]
    indices: list[int]
    new: list[str]
    renamed: list[str]

    @property
    def main(self) -> ModelInstanceIndex:
        """The main model instance: the first one of its own, or the default one."""
        return ModelInstanceIndex(
            self.indices[len(_USUAL)] if self.indices[len(_USUAL) :] else self.indices[1]
        )


def read_instances(
    fields: Fields, tree: MultibodyTree, model_name: str | None, prefix: str, *, is_alone: bool
) -> ReadInstances:
    """Take the model instances of a file.

    Parameters
    ----------
    fields : Fields
        The whole file.
    tree : MultibodyTree
        The tree to which they are added.
    model_name : str or None
        Another name for the main one, also as a prefix of others: ``"arm::gripper"``. If all elements are in
        the default one, they move to a new one with this name.
    prefix : str
        Text to put before the name of the main one, unless `model_name` is given.
    is_alone : bool
        Whether the tree is new. Otherwise the elements in the model instance of World move to the main one.

    Raises
    ------
    ParseError
        When two have the same name.
    """
    own = fields.take_list("model_instances")
    first = [fields.take_text(key) if fields.has(key) else usual for key, (_, usual) in _USUAL.items()]
    names = [*first, *own]
    for i, name in enumerate(names):
        if type(name) is not str or not name or name in names[:i]:
            message = f"expected a unique name that is not empty, got {quote(name)}"
            raise fields.error("model_instances", message)
    count, default = tree.num_model_instances, int(default_model_instance())
    indices = [int(world_model_instance()), default, *range(count, count + len(own))]
    new = own
    if model_name is None and prefix and own:
        model_name = prefix + own[0]
    if model_name is not None:
        new = [_rename(name, own[0], model_name) for name in own] or [model_name]
        if not own:
            indices[default] = count
    read = ReadInstances(names, indices, new, first if is_alone else [])
    if not is_alone:
        indices[world_model_instance()] = read.main
    return read


def _rename(name: str, old: str, new: str) -> str:
    inner = name.removeprefix(f"{old}::")
    return new if name == old else f"{new}::{inner}" if inner != name else name
