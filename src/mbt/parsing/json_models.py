"""Reads models in JSON, as `mbt.save_model` writes them, with the options of `load_model`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError, MbtError, ParseError
from mbt.parsing.inactive import count_inactive_elements
from mbt.parsing.report import ParseReport
from mbt.saving.json_reader import JsonModel, JsonOptions

if TYPE_CHECKING:
    from mbt.parsing.assembly import Mount
    from mbt.parsing.options import ReadOptions
    from mbt.parsing.sources import Source
    from mbt.saving.permission import Permission
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["finish_json_tree", "read_json_model"]

# A number of 1e50 or more. Without one, no mass times a length squared overflows.
_HUGE = re.compile(rb"[eE]\+?0*(?:[5-9]\d|[1-9]\d\d)|\d{50}")


def read_json_model(
    tree: MultibodyTree,
    source: Source,
    options: ReadOptions,
    mount: Mount,
    user_elements: Permission,
) -> JsonModel:
    """Read a model for a tree, which stays unchanged. The model defines its own free bodies and friction.

    Raises
    ------
    ParseError
        When it cannot be read.
    ArgumentValueError
        When the tree has one of its names already, or `base` is given.
    """
    if options.base is not None:
        raise ArgumentValueError(
            f"base: a model in JSON itself defines which bodies are free: leave out base={options.base!r}, "
            "and change the joints of tree.edit()"
        )
    report = ParseReport(source.file, options.model_name or source.stem, format="JSON")
    model = JsonModel(
        tree,
        source.data,
        report,
        JsonOptions(
            mount.frame,
            mount.X_FR,
            options.model_name,
            bool(options.strict),
            options.gravity,
            user_elements,
            actuate_all=options.actuators == "all",
            prefix=options.prefix,
        ),
    )
    of_world = model.shapes.get("collisions", ())
    count_inactive_elements(report, model.elements, of_world, with_contacts=options.contacts)
    # A text in UTF-16 has zeros between its digits.
    if _HUGE.search(source.data.replace(b"\0", b"")):
        _check_magnitudes(model)
    if not model.is_alone:
        model.join()
    return model


def _check_magnitudes(model: JsonModel) -> None:
    """Warn of a mass matrix that is not finite."""
    tree = model.make_alone()
    with np.errstate(all="ignore"):
        M = tree.calc_mass_matrix(tree.create_default_context())
    if not np.isfinite(M).all():
        text = "masses and lengths are so large that the mass matrix is not finite"
        model.report.warn(text, about="massless")


def finish_json_tree(tree: MultibodyTree, source: Source) -> None:
    """Finalize a tree that holds only a model in JSON.

    Raises
    ------
    ParseError
        When its joints form a loop.
    """
    try:
        tree.finalize()
    except MbtError as error:
        raise ParseError(str(error), file=source.file) from error
