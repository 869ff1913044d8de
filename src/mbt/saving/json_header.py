"""The beginning of a model in JSON: the format and its version."""

from __future__ import annotations

from mbt.errors import quote
from mbt.saving.json_fields import Fields

__all__ = ["HEADER", "take_header"]

_FORMAT = "mbt"
# Files of other versions are not read. New keys need no new version if older files can do without them.
_VERSION = 1

#: The first keys of a file.
HEADER = {"format": _FORMAT, "version": _VERSION}


def take_header(fields: Fields) -> None:
    """Take the first keys of a file.

    Raises
    ------
    ParseError
        When it is not a model of mbt, or has a version that is not supported.
    """
    if not fields.has("format"):
        raise fields.error("format", "this is not a model of mbt", 'expected the first key "format": "mbt"')
    format_ = fields.take("format")
    if format_ != _FORMAT:
        raise fields.error("format", f'expected "{_FORMAT}", got {quote(format_)}')
    version = fields.take("version")
    if type(version) is not int or version != _VERSION:
        hint = "read it with the version of mbt that wrote it"
        raise fields.error("version", f"this is version {quote(version)}, but only {_VERSION} is read", hint)
