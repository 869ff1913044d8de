"""JSON text: reads it within bounds; writes it so that small changes of a model are small changes of text.

Strict JSON has no infinity and no NaN: instead, numbers may be the texts "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from mbt.errors import ParseError, quote

__all__ = ["NON_FINITE", "dump_model", "is_json", "parse_json", "write_number"]

#: Texts for numbers that JSON does not have.
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

# The time in which Python reads an integer grows with the square of its length.
_MAX_DIGITS = 400
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKS = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"


def is_json(data: bytes) -> bool:
    """Return whether a description is JSON, by its first character."""
    return data[:4096].lstrip(_MARKS).startswith(b"{")


def parse_json(data: bytes, file: str) -> Any:
    """Return the content of a JSON text.

    Raises
    ------
    ParseError
        When it is not JSON, an object has a key twice, or numbers or nesting exceed bounds.
    """

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ParseError(f"an object has the key {quote(twice)} twice", file=file)
        return made

    def make_integer(digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            raise ParseError(f"a number has {len(digits)} digits", file=file)
        return int(digits)

    def refuse_constant(word: str) -> float:
        raise ParseError(f"{word} is not JSON", file=file, hint='write "inf", "-inf" or "nan"')

    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ParseError("the text is not Unicode, as JSON is", file=file, line=line) from None
    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=make_object,
            parse_int=make_integer,
            parse_constant=refuse_constant,
        )
    except json.JSONDecodeError as error:
        message = f"not well-formed JSON: {error.msg} (column {error.colno})"
        raise ParseError(message, file=file, line=error.lineno) from None
    except RecursionError:
        raise ParseError("the text is nested too deeply", file=file) from None


def dump_model(model: dict[str, Any]) -> str:
    """Return a model as JSON text: a line for each value of an element, and for each shape.

    Parameters
    ----------
    model : dict
        Sections by name. A section that is a list of objects has one object for each element; a value of an
        element that is a list of objects gets one line for each of them.
    """
    text = "{\n" + ",\n".join(_dump_section(name, section) for name, section in model.items()) + "\n}\n"
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _dump_section(name: str, section: Any) -> str:
    if isinstance(section, dict):
        return f"  {_dump(name)}: {_dump_object(section, '  ')}"
    if not _has_objects(section):
        return f"  {_dump(name)}: {_dump(section)}"
    elements = ",\n".join(f"    {_dump_object(element, '    ')}" for element in section)
    return f"  {_dump(name)}: [\n{elements}\n  ]"


def _dump_object(values: dict[str, Any], indent: str) -> str:
    return "{\n" + ",\n".join(_dump_values(values, indent)) + f"\n{indent}}}"


def _dump_values(values: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if _has_objects(value):
            lines = ",\n".join(f"{indent}    {_dump(entry)}" for entry in value)
            yield f"{indent}  {_dump(key)}: [\n{lines}\n{indent}  ]"
        else:
            yield f"{indent}  {_dump(key)}: {_dump(value)}"


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _dump(value: Any) -> str:
    # Floats by repr: the shortest text that is read back exactly.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_number(value: float) -> float | str:
    """Return a number in its JSON form."""
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0.0 else "-inf"
