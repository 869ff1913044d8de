"""Detects the format of a description from its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mbt.parsing.description import ModelDescription
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf import read_sdf
from mbt.parsing.sources import Source
from mbt.parsing.urdf import read_urdf
from mbt.parsing.xml_reader import parse_xml
from mbt.parsing.xml_tree import Document, Element

__all__ = ["read_description"]


class Format(NamedTuple):
    """A format that can be read.

    Attributes
    ----------
    name : str
        Its usual name.
    model_name : str
        The attribute of the root element that is the name of the model, if there is one.
    read : callable
        Reads a document.
    """

    name: str
    model_name: str
    read: Callable[[Element, ParseReport, ReadOptions, Source], ModelDescription]


def _read_mjcf(root: Element, report: ParseReport, options: ReadOptions, source: Source) -> ModelDescription:
    from mbt.parsing.mjcf import read_mjcf  # Most programs never need it.

    return read_mjcf(root, report, options, source)


# By the tag of the root element.
_FORMATS = {
    "robot": Format("URDF", "name", lambda root, report, options, source: read_urdf(root, report, options)),
    "sdf": Format("SDF", "", read_sdf),
    "mujoco": Format("MJCF", "model", _read_mjcf),
}
# Known formats that are not read.
_OTHER_FORMATS = {"mujocoinclude": "a part of MJCF"}


def read_description(source: Source, options: ReadOptions) -> ModelDescription:
    """Read and check a whole document.

    Raises
    ------
    ParseError
        When it is of another format, or anything in it cannot be modelled.
    """
    report = ParseReport(source.file)
    document = Document(source.file, bool(options.strict), report.warnings, source.folder)
    root = parse_xml(source.data, document, source.encoding)
    format_ = _FORMATS.get(root.tag)
    if format_ is None:
        other = _OTHER_FORMATS.get(root.tag)
        what = (
            "this is not a robot description" if other is None else f"this is {other}, which is not read yet"
        )
        *all_but_one, last = (f"<{tag}> ({known.name})" for tag, known in _FORMATS.items())
        raise root.error(f"{what}: expected {', '.join(all_but_one)} or {last}")
    report.format = format_.name
    written = (root.take(format_.model_name) or "").strip() if format_.model_name else ""
    report.model_name = options.model_name or written or source.stem
    return format_.read(root, report, options, source)
