"""Reads MJCF: MuJoCo compiles it, and the compiled model becomes a description.

MuJoCo would open any file that a text names. So expat reads the text first, within its bounds; included files
are looked up in the allowed folders and handed over; and textures, skins, and meshes that no inertia needs
are removed before MuJoCo looks for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentValueError, ParseError, SingularityError, shorten
from mbt.parsing.description import ModelDescription
from mbt.parsing.mjcf_assets import Assets
from mbt.parsing.mjcf_files import Files
from mbt.parsing.mjcf_warnings import warnings_of_mujoco
from mbt.parsing.mujoco_description import describe_mujoco_model
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport
from mbt.parsing.sources import Source
from mbt.parsing.xml_tree import Element

if TYPE_CHECKING:
    import mujoco

__all__ = ["read_mjcf"]

_OLDEST = 4
_LINE = re.compile(r"\bline (\d+)")
_ELEMENT = re.compile(r"Element (?:name )?'([^']*)'")


def read_mjcf(root: Element, report: ParseReport, options: ReadOptions, source: Source) -> ModelDescription:
    """Read and check a whole MJCF document.

    Parameters
    ----------
    root : Element
        The ``<mujoco>``.
    report : ParseReport
        The report, which lists content without a counterpart.
    options : ReadOptions
        The options of the caller.
    source : Source
        The text itself.

    Raises
    ------
    ParseError
        When MuJoCo is not installed, or does not compile the model; when a file is missing or outside of
        the allowed folders.
    """
    hint = 'pip install "multibodytree[mjcf]"'
    try:
        import mujoco
    except ImportError:
        raise root.error("MJCF needs the package mujoco, which is not installed", hint) from None
    if int(mujoco.__version__.partition(".")[0]) < _OLDEST:
        version = shorten(mujoco.__version__)
        raise root.error(f"MJCF needs mujoco {_OLDEST} or later, but {version} is installed", hint)
    files = Files(source, options.package_folders)
    files.collect(root)
    with warnings_of_mujoco(mujoco, report):
        m, assets = _compile(mujoco, source, files)
    try:
        model = describe_mujoco_model(m, report, options, folder=source.folder, meshes=assets.references(m))
    except (ArgumentValueError, SingularityError) as error:
        raise ParseError(str(error), file=report.file) from None
    if options.leaves_out(report.gravity):
        report.ignore("option@gravity")
    return model


def _compile(mujoco: Any, source: Source, files: Files) -> tuple[mujoco.MjModel, Assets]:
    try:
        spec = mujoco.MjSpec.from_string(files.text, include=files.included)
        assets = Assets(mujoco, spec, files)
        return spec.compile(), assets
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        if isinstance(error, ParseError):
            raise
        raise _as_parse_error(error, source.file, bool(files.included)) from None


def _as_parse_error(error: Exception, file: str, has_includes: bool) -> ParseError:
    """Return the error of MuJoCo, whose message has two lines: the fault, and its place."""
    fault, _, place = str(error).strip().partition("\n")
    fault = re.sub(r"^(XML )?Error: ", "", fault)
    line, element = _LINE.search(place), _ELEMENT.search(place)
    number = int(line.group(1)) if line else 0
    hint = "the line may be in a file that it includes" if has_includes and number else None
    return ParseError(
        f"MuJoCo refuses it: {shorten(fault, 500)}",
        file=file,
        line=number or None,
        element=shorten(element.group(1)) if element and element.group(1) else None,
        hint=hint,
    )
