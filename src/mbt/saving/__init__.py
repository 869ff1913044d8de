"""Saves models as text: as JSON, without any loss, or as URDF for other programs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

from mbt.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, quote
from mbt.math.arrays import as_bool
from mbt.saving.files import as_path, write_file

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Format", "save_model"]

Format = Literal["json", "urdf"]
_FORMATS = ("json", "urdf")


def save_model(
    tree: MultibodyTree,
    path: str | os.PathLike[str] | None = None,
    *,
    format: Format | None = None,
    strict: bool = False,
    user_elements: bool = False,
) -> str:
    """Return a model as text, and write it to a file where a path is given.

    JSON keeps the whole model: `load_model` makes a tree from it with the same names, indices and order, and
    with bitwise equal results. Each value has its own line, so that files can be compared, and saving again
    gives the same text. The values are the defaults of the tree, not those of a Context.

    URDF cannot hold everything: one warning lists the losses. See ``docs/saving.md``.

    Parameters
    ----------
    tree : MultibodyTree
        The model, finalized or not.
    path : str or path, optional
        The file to write. If writing fails, it stays unchanged.
    format : {"json", "urdf"}, optional
        The format; by default the suffix of the path decides.
    strict : bool, optional
        Raise an error instead of the warning about losses.
    user_elements : bool, optional
        In JSON, write elements of user-written classes: the import path of the class, and the values of the
        attributes. By default they raise an error. `load_model` reads them only on request.

    Returns
    -------
    str
        The text.

    Warns
    -----
    ModelWarning
        When the text does not contain the whole model.

    Raises
    ------
    ArgumentTypeError
        When an element cannot be written.
    ArgumentValueError
        When the format is not determined, the file cannot be written, or, with ``strict=True``, something
        would be lost.

    Examples
    --------
    >>> import mbt
    >>> arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> text = mbt.save_model(arm, format="json")
    >>> mbt.load_model(text)
    <MultibodyTree: 9 bodies, 8 joints, 6 positions, 6 velocities>
    """
    from mbt.tree.multibody_tree import MultibodyTree

    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
    file = None if path is None else as_path(path)
    is_strict = as_bool(strict, "strict")
    with_users = as_bool(user_elements, "user_elements")
    if _find_format(file, format) == "json":
        from mbt.saving.json_writer import write_json

        text = write_json(tree, user_elements=with_users)
    else:
        from mbt.saving.urdf import write_urdf

        text, losses = write_urdf(tree, None if file is None else file.parent)
        if losses and is_strict:
            raise ArgumentValueError(f"save_model: {losses.describe()}")
        if losses:
            warnings.warn(losses.describe(), ModelWarning, stacklevel=2)
    if file is not None:
        write_file(file, text)
    return text


def _find_format(path: Path | None, format_: object) -> str:
    expected = " or ".join(map(repr, _FORMATS))
    if format_ is not None:
        if not isinstance(format_, str):
            raise ArgumentTypeError(f"format: expected {expected}, got {type(format_).__name__}")
        if format_ not in _FORMATS:
            raise ArgumentValueError(f"format: expected {expected}, got {quote(format_)}")
        return format_
    if path is None:
        raise ArgumentValueError(f"format: expected {expected} if no path determines it")
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in _FORMATS:
        raise ArgumentValueError(f"format: expected {expected}: the suffix of {path.name!r} is neither")
    return suffix
