"""``mbt convert``: a robot description in another format."""

from __future__ import annotations

import warnings
from typing import Any

from mbt.cli.info import load
from mbt.errors import ArgumentValueError, ModelWarning
from mbt.saving import Format, save_model

__all__ = ["convert"]


def convert(file: str, output: str | None, to: Format | None, **options: Any) -> tuple[str, list[str]]:
    """Read a file, or the standard input if it is ``-``, and write it in another format.

    Parameters
    ----------
    file : str
        The file to read.
    output : str or None
        The file to write; None to return the text.
    to : {"json", "urdf"} or None
        The format; by default the suffix of `output` decides.
    **options
        As in `load_model`. With ``strict=True``, any loss is an error, too.

    Returns
    -------
    text : str
        The text to print; empty if it was written to a file.
    remarks : list of str
        Repairs, and content that the format cannot hold.

    Raises
    ------
    MbtError
        When the file cannot be loaded, or the output cannot be written.
    """
    if output is None and to is None:
        raise ArgumentValueError("give --to json or --to urdf, or an --output that ends in .json or .urdf")
    tree = load(file, **options)
    remarks = [f"{report.file}: {remark}" for report in tree.parse_reports for remark in report.warnings]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        text = save_model(tree, output, format=to, strict=options.get("strict", False))
    remarks += [str(warning.message) for warning in caught]
    return text if output is None else "", remarks
