"""Models in JSON, as `mbt.save_model` writes them: what the options of the reader mean for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mbt.errors import ArgumentValueError, MbtError, ParseError
from mbt.parsing.report import ParseReport
from mbt.saving.json_reader import JsonModel, JsonOptions

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.parsing.assembly import Mount
    from mbt.parsing.options import ReadOptions
    from mbt.parsing.sources import Source
    from mbt.saving.permission import Permission
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["finish_json_tree", "read_json_model"]


def read_json_model(
    tree: MultibodyTree,
    source: Source,
    options: ReadOptions,
    mount: Mount,
    gravity: FloatArray | Literal["as written"] | None,
    user_elements: Permission,
) -> JsonModel:
    """Read a model for a tree, which is not changed yet. It says itself what is free, and has its friction.

    Raises
    ------
    ParseError
        When it cannot be read.
    ArgumentValueError
        When the tree has one of its names already, or `base` is given.
    """
    if options.base is not None:
        raise ArgumentValueError(
            f"base: a model in JSON says itself which bodies are free: leave base={options.base!r} out, and "
            "change the joints of tree.edit()"
        )
    report = ParseReport(source.file, options.model_name or source.stem)
    model = JsonModel(
        tree,
        source.data,
        report,
        JsonOptions(
            mount.frame,
            mount.X_FR,
            options.model_name,
            bool(options.strict),
            gravity,
            user_elements,
            actuate_all=options.actuators == "all",
            prefix=options.prefix,
        ),
    )
    if not model.is_alone:
        model.join()
    return model


def finish_json_tree(tree: MultibodyTree, source: Source) -> None:
    """Finalize a tree that holds a model in JSON alone.

    Raises
    ------
    ParseError
        When its joints form a loop.
    """
    try:
        tree.finalize()
    except MbtError as error:
        raise ParseError(str(error), file=source.file) from error
