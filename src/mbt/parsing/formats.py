"""The format of a description is told by its content."""

from __future__ import annotations

from mbt.parsing.description import ModelDescription
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf import read_sdf
from mbt.parsing.sources import Source
from mbt.parsing.urdf import read_urdf
from mbt.parsing.xml_reader import parse_xml
from mbt.parsing.xml_tree import Document

__all__ = ["read_description"]

_FORMATS = {"sdf": "SDF", "robot": "URDF", "mujoco": "MJCF"}
# Formats that are not read, by the tag of the root element.
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
    report.format = _FORMATS.get(root.tag, "")
    if root.tag == "sdf":
        report.model_name = options.model_name or source.stem
        return read_sdf(root, report, options, source)
    if root.tag == "robot":
        written = (root.take("name") or "").strip()
        report.model_name = options.model_name or written or source.stem
        return read_urdf(root, report, options)
    if root.tag == "mujoco":
        from mbt.parsing.mjcf import read_mjcf  # Most programs never need it.

        written = (root.take("model") or "").strip()
        report.model_name = options.model_name or written or source.stem
        return read_mjcf(root, report, options, source)
    format_ = _OTHER_FORMATS.get(root.tag)
    what = (
        "this is not a robot description" if format_ is None else f"this is {format_}, which is not read yet"
    )
    raise root.error(f"{what}: expected <robot> (URDF), <sdf> (SDF) or <mujoco> (MJCF)")
