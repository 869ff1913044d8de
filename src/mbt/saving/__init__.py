"""Models as text: JSON, which loses nothing, and URDF, which other programs read."""

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

    JSON loses nothing that a model is built of: `load_model` makes a tree of it that computes the same to the
    last bit, with the same names, indices and order. It has a line for each value, so that it can be
    compared, and nothing in it changes from one time to the next. The values are the defaults of the tree,
    not those of a Context.

    URDF cannot hold everything: one warning tells what is lost. See ``docs/saving.md``.

    Parameters
    ----------
    tree : MultibodyTree
        The model, finalized or not.
    path : str or path, optional
        A file. It is written whole, or when that fails left as it was.
    format : {"json", "urdf"}, optional
        The format; by default the suffix of the path decides.
    strict : bool, optional
        Refuse to lose anything, in place of the warning.
    user_elements : bool, optional
        Write elements of classes that users have written, in JSON: by the import path of the class, with
        what its attributes hold. They are refused otherwise. Nobody reads them unasked, see `load_model`.

    Returns
    -------
    str
        The text.

    Warns
    -----
    ModelWarning
        When something of the model is not in the text.

    Raises
    ------
    ArgumentTypeError
        When an element cannot be written.
    ArgumentValueError
        When there is no format, the file cannot be written, or with ``strict=True`` something would be lost.

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
        raise ArgumentTypeError(f"tree: expected a mbt.MultibodyTree, got {type(tree).__name__}")
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
        raise ArgumentValueError(f"format: expected {expected}, where no path tells it")
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in _FORMATS:
        raise ArgumentValueError(f"format: expected {expected}: the suffix of {path.name!r} does not tell it")
    return suffix
