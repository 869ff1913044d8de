"""Text for terminals: tables, bars, and a fallback for terminals that support only ASCII."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

__all__ = [
    "can_write",
    "clip",
    "complain",
    "fixed",
    "line_width",
    "make_bar",
    "make_table",
    "number",
    "printable",
    "write",
]

_MIN_WIDTH = 40

_ASCII = str.maketrans(
    {
        "│": "|",
        "├": "+",
        "└": "`",
        "─": "-",
        "█": "#",
        "░": ".",
        "·": "-",
        "…": "~",
        "→": ">",
        "²": "2",
        "µ": "u",
        "\N{REPLACEMENT CHARACTER}": "?",
    }
)


def line_width() -> int:
    """Return the longest line: the variable COLUMNS, or else the width of the terminal, or 100."""
    return max(shutil.get_terminal_size((100, 24)).columns, _MIN_WIDTH)


def can_write(text: str, stream: TextIO | None) -> bool:
    """Return whether a stream can encode a text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write(text: str, stream: TextIO) -> None:
    """Write `text`, in ASCII if the stream cannot encode it."""
    if not can_write(text, stream):
        text = text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
    stream.write(text)


def complain(message: str) -> None:
    """Write a message to the standard error stream, if it is open."""
    with suppress(OSError):
        write(f"mbt: {printable(message)}\n", sys.stderr)


def printable(text: str) -> str:
    """Return `text` without control characters for the terminal; line breaks and blanks remain."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


_COLORS = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


def paint(text: str, color: str, stream: TextIO | None) -> str:
    """Return `text` in a colour if the stream is a terminal, otherwise unchanged.

    There are no colours if NO_COLOR is set (https://no-color.org) or the terminal is dumb.
    """
    if stream is None or not stream.isatty():
        return text
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


def clip(text: str, width: int) -> str:
    """Return `text` on one line, cut to `width` characters."""
    text = printable(text).replace("\n", " ")
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits; -0 becomes 0, infinity an empty text."""
    if value in (float("inf"), float("-inf")):
        return ""
    return f"{value + 0.0:.{digits}g}"


def fixed(value: float, decimals: int) -> str:
    """Return a number with `decimals` decimals, without a sign if it rounds to zero."""
    text = f"{value:.{decimals}f}"
    return text if float(text) else f"{0.0:.{decimals}f}"


def make_bar(share: float, width: int = 20) -> str:
    """Return a bar filled to `share`, between 0 and 1."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    return "█" * filled + "░" * (width - filled)


def make_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (), *, whole: bool = False
) -> list[str]:
    """Return the lines of a table with two blanks between the columns.

    Parameters
    ----------
    headers : sequence of str
        Titles of the columns.
    rows : sequence of sequence of str
        Cells. Columns are as wide as their widest cell; the widest left-aligned one is cut to fit the line.
    left : sequence of int
        Indices of left-aligned columns.
    whole : bool
        Show every cell in full, however long the lines become.
    """
    widths = [max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers))]
    needed = 2 + sum(widths) + 2 * (len(widths) - 1)
    width_of_line = needed if whole else line_width()
    surplus = needed - width_of_line
    while surplus > 0 and left:
        widest = max(left, key=lambda i: widths[i])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
        surplus -= 1
    lines = []
    for row in (headers, *rows):
        cells = (
            clip(cell, width).ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(clip("  " + "  ".join(cells).rstrip(), width_of_line))
    return lines
