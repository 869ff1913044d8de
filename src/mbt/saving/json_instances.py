"""Model instances of a model in JSON, and which ones they become in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mbt.errors import quote
from mbt.tree.indices import ModelInstanceIndex, default_model_instance, world_model_instance

if TYPE_CHECKING:
    from mbt.saving.json_fields import Fields
    from mbt.saving.json_names import NamesOfTree
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["ReadInstances", "read_instances", "write_instances"]

# The first two are in every tree. Somebody may have renamed them.
_USUAL = {
    "world_model_instance": (world_model_instance(), "WorldModelInstance"),
    "default_model_instance": (default_model_instance(), "DefaultModelInstance"),
}


def write_instances(names: NamesOfTree) -> dict[str, str | list[str]]:
    """Return what JSON holds of the model instances."""
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
        Their names in the file, the first two included.
    indices : list of int
        Which ones of the tree they become.
    new : list of str
        Those that the tree is to be given.
    renamed : list of str
        Names of the first two, where the tree is new; none otherwise.
    """

    names: list[str]
    indices: list[int]
    new: list[str]
    renamed: list[str]

    @property
    def main(self) -> ModelInstanceIndex:
        """That of the model: the first one of its own, or the default one."""
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
        The tree that gets them after those that it has.
    model_name : str or None
        Another name of the main one, also where it stands in front of others: ``"arm::gripper"``. Where all
        elements are in the default one, they come into a new one of this name.
    prefix : str
        What comes in front of the name of the main one, unless that is given.
    is_alone : bool
        Whether the tree is new. Otherwise what the file has in the model instance of World comes into the
        main one.

    Raises
    ------
    ParseError
        When there are two of a name.
    """
    own = fields.take_list("model_instances")
    first = [fields.take_text(key) if fields.has(key) else usual for key, (_, usual) in _USUAL.items()]
    names = [*first, *own]
    for i, name in enumerate(names):
        if type(name) is not str or not name or name in names[:i]:
            message = f"expected a name that is not empty and occurs once, got {quote(name)}"
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
