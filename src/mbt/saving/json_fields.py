"""Objects of a model in JSON: values are taken one by one, and errors name their place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mbt.errors import MbtError, ParseError, quote
from mbt.saving.json_text import NON_FINITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbt.parsing.report import ParseReport

__all__ = ["Document", "Fields", "as_float"]

MadeT = TypeVar("MadeT")


class Document:
    """A file being read.

    Parameters
    ----------
    report : ParseReport
        The report, which lists ignored content.
    is_strict : bool
        Whether unread content is an error.
    """

    def __init__(self, report: ParseReport, is_strict: bool) -> None:
        self.report = report
        self.is_strict = is_strict

    def has_inside(self, folder: str) -> bool:
        """Return whether a folder is that of the file or inside it; a text has no folder."""
        try:
            file = Path(self.report.file).resolve()
            return file.is_file() and Path(folder).resolve().is_relative_to(file.parent)
        except (OSError, ValueError, RuntimeError):  # RuntimeError: links that form a loop.
            return False

    def error(self, message: str, place: str = "", hint: str | None = None) -> ParseError:
        """Return an error with its place in the file, such as ``joints[3].axis``."""
        return ParseError(message, file=self.report.file, element=place or None, hint=hint)


class Fields:
    """An object of the file. Taking a value removes it: the values that remain are unknown.

    Parameters
    ----------
    document : Document
        The file.
    place : str
        Where the object is: ``"joints[3]"``; empty for the whole file.
    values : object
        The JSON value there.

    Raises
    ------
    ParseError
        When it is not an object.
    """

    __slots__ = ("_values", "document", "place")

    def __init__(self, document: Document, place: str, values: object) -> None:
        self.document = document
        self.place = place
        if type(values) is not dict:
            raise document.error(f"expected an object, got {quote(values)}", place)
        self._values = values

    def place_of(self, key: str) -> str:
        """Return the place of a value."""
        return f"{self.place}.{key}" if self.place else key

    def error(self, key: str, message: str, hint: str | None = None) -> ParseError:
        """Return an error about a value."""
        return self.document.error(message, self.place_of(key), hint)

    def remaining_keys(self) -> list[str]:
        """Return the keys of the values that are not taken yet."""
        return list(self._values)

    def has(self, key: str) -> bool:
        """Return whether there is a value that is not taken yet."""
        return key in self._values

    def take(self, key: str) -> Any:
        """Remove a value and return it; it must be there."""
        try:
            return self._values.pop(key)
        except KeyError:
            raise self.document.error(f"the key {quote(key)} is missing", self.place) from None

    def take_text(self, key: str) -> str:
        """Remove a text and return it."""
        value = self.take(key)
        if type(value) is not str:
            raise self.error(key, f"expected text, got {quote(value)}")
        return value

    def take_bool(self, key: str) -> bool:
        """Remove true or false and return it."""
        value = self.take(key)
        if type(value) is not bool:
            raise self.error(key, f"expected true or false, got {quote(value)}")
        return value

    def take_list(self, key: str) -> list[Any]:
        """Remove a list and return it; an empty one where there is none."""
        value = self._values.pop(key, [])
        if type(value) is not list:
            raise self.error(key, f"expected a list, got {quote(value)}")
        return value

    def take_objects(self, key: str) -> list[Fields]:
        """Remove a list of objects and return them; none where there is no list."""
        place = self.place_of(key)
        return [
            Fields(self.document, f"{place}[{i}]", values) for i, values in enumerate(self.take_list(key))
        ]

    def take_fields(self, key: str) -> Fields:
        """Remove an object and return it."""
        return Fields(self.document, self.place_of(key), self.take(key))

    def take_number(self, key: str) -> float:
        """Remove a number and return it."""
        value = self.take(key)
        number = as_float(value)
        if number is None:
            raise self.error(key, f"expected a number, got {quote(value)}")
        return number

    def take_numbers(self, key: str, count: int | None) -> list[float]:
        """Remove a list of `count` numbers, or of any length if that is None, and return it."""
        value = self.take(key)
        numbers = list(map(as_float, value)) if type(value) is list else [None]
        if None in numbers or (count is not None and len(numbers) != count):
            wanted = "numbers" if count is None else f"{count} numbers"
            raise self.error(key, f"expected {wanted}, got {quote(value)}")
        return numbers  # type: ignore[return-value]

    def take_rows(self, key: str, columns: int | None) -> list[list[float]]:
        """Remove a matrix by rows and return it; `columns` is None if the rows may have any length."""
        rows = Fields(self.document, self.place, dict(self._rows(key)))
        return [rows.take_numbers(place, columns) for place in rows.remaining_keys()]

    def _rows(self, key: str) -> list[tuple[str, Any]]:
        value = self.take(key)
        if type(value) is not list:
            raise self.error(key, f"expected a matrix by rows, got {quote(value)}")
        return [(f"{key}[{i}]", row) for i, row in enumerate(value)]

    def make(self, make: Callable[..., MadeT], *args: Any, **kwargs: Any) -> MadeT:
        """Return the result of a call with values of this object; its errors become errors of the file.

        Raises
        ------
        ParseError
            When it raises an error of mbt.
        """
        try:
            return make(*args, **kwargs)
        except ParseError:
            raise
        except MbtError as error:
            raise self.document.error(str(error), self.place) from error

    def finish(self) -> None:
        """Report values that were not taken; raise an error when strict."""
        for key in self._values:
            if self.document.is_strict:
                hint = "strict=False ignores it"
                raise self.document.error(f"the key {quote(key)} is not known", self.place, hint)
            section = self.place.partition("[")[0]
            self.document.report.ignore(f"{section}/{key}" if section else key)


def as_float(value: object) -> float | None:
    """Return a number of a file as a float, or None when it is not one, or too large."""
    if type(value) is str:
        return NON_FINITE.get(value)
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
