"""Tables and sections of reports, as text and as HTML. Names may contain anything: HTML is escaped."""

from __future__ import annotations

import html
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbt.tree.element import MultibodyElement

__all__ = [
    "Section",
    "Table",
    "as_html",
    "as_text",
    "distinct_names",
    "plural",
    "show_limit",
    "show_number",
    "show_range",
]

_WIDTH = 100
_LONGEST_PARAGRAPH = 3000

# No style sheets, scripts or external resources: notebooks and their themes do the rest.
_CELL = "padding:0 0.8em 0 0;white-space:pre;font-family:monospace;"


@dataclass
class Table:
    """Rows of text below titles.

    Attributes
    ----------
    headers : tuple of str
        Titles of the columns.
    left : tuple of int
        Columns that are aligned to the left.
    max_rows : int or None
        Number of rows shown; the rest is only counted; None shows all.
    rows : list of tuple of str
        The cells of the rows that are shown.
    num_rows : int
        Number of all rows, shown or not.
    """

    headers: tuple[str, ...]
    left: tuple[int, ...] = ()
    max_rows: int | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)
    num_rows: int = 0

    def add(self, *cells: str) -> None:
        """Add a row, as one line whatever the cells contain."""
        self.rows.append(tuple(map(one_line, cells)))
        self.num_rows = max(self.num_rows, len(self.rows))

    @property
    def rest(self) -> str:
        """The remark about rows that are not shown."""
        count = self.num_rows - len(self.rows)
        return f"… {count} more" if count else ""


@dataclass
class Section:
    """A part of a report: a title, and a table or paragraphs.

    Attributes
    ----------
    title : str
        The title.
    paragraphs : list of str
        Texts, one line each.
    table : Table or None
        The table, if it has one.
    is_open : bool
        Whether HTML shows it open.
    picture : str
        SVG at the top, with escaped names; text reports leave it out.
    """

    title: str
    paragraphs: list[str] = field(default_factory=list)
    table: Table | None = None
    is_open: bool = False
    picture: str = ""

    def cut(self, max_rows: int | None) -> Section:
        """Return this section with at most `max_rows` paragraphs."""
        if max_rows is not None and len(self.paragraphs) > max_rows:
            rest = f"… {len(self.paragraphs) - max_rows} more"
            self.paragraphs = [*self.paragraphs[:max_rows], rest]
        return self

    def text_lines(self) -> list[str]:
        """Return the lines below the title."""
        lines = as_text(self.table) if self.table is not None and self.table.rows else []
        for paragraph in self.paragraphs:
            lines += textwrap.wrap(one_line(paragraph), _WIDTH - 2, subsequent_indent="    ")
        return lines


def as_text(table: Table) -> list[str]:
    """Return the lines of a table, with two blanks between the columns."""
    widths = [max(len(row[i]) for row in (table.headers, *table.rows)) for i in range(len(table.headers))]
    lines = [
        "  ".join(
            cell.ljust(width) if i in table.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (table.headers, *table.rows)
    ]
    return [*lines, table.rest] if table.rest else lines


def as_html(title: str, sections: Iterable[Section]) -> str:
    """Return a report as HTML: sections that open and close, without style sheets or scripts."""
    parts = [f"<div><div><b>{_escape(title.strip('<>'))}</b></div>"]
    for section in sections:
        inside = f"<div>{section.picture}</div>" if section.picture else ""
        inside += "".join(f"<div>{_escape(_cut(paragraph))}</div>" for paragraph in section.paragraphs)
        if section.table is not None and section.table.rows:
            inside += table_as_html(section.table)
        if inside:
            state = " open" if section.is_open else ""
            parts.append(
                f"<details{state}><summary>{_escape(section.title)}</summary>"
                f'<div style="margin-left:1.2em">{inside}</div></details>'
            )
        else:
            parts.append(f'<div style="margin-left:1.2em">{_escape(section.title)}</div>')
    return "".join([*parts, "</div>"])


def table_as_html(table: Table) -> str:
    """Return a table as HTML."""
    align = ["left" if i in table.left else "right" for i in range(len(table.headers))]

    def row(cells: tuple[str, ...], tag: str) -> str:
        inside = "".join(
            f'<{tag} style="{_CELL}text-align:{align[i]}">{_escape(cell)}</{tag}>'
            for i, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    rest = f"<div>{_escape(table.rest)}</div>" if table.rest else ""
    return (
        f'<table style="border-collapse:collapse"><thead>{row(table.headers, "th")}</thead>'
        f"<tbody>{body}</tbody></table>{rest}"
    )


def one_line(text: str) -> str:
    """Return `text` without anything that breaks lines or steers a terminal."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    )


def distinct_names(elements: Sequence[MultibodyElement]) -> dict[MultibodyElement, str]:
    """Return the name of each element, with that of its model instance where several have the same."""
    count = Counter(element.name for element in elements)
    return {e: e.name if count[e.name] == 1 else e.scoped_name for e in elements}


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def show_number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value + 0.0:.4g}"


def show_limit(value: float) -> str:
    """Return a limit; a dash if there is none."""
    return "-" if math.isinf(value) else show_number(value)


def show_range(indices: range) -> str:
    """Return the first and last of some indices: ``"0-6"``, ``"7"``, or nothing."""
    if not indices:
        return ""
    return str(indices[0]) if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"


def _cut(paragraph: str) -> str:
    """Return a paragraph, cut to the length that a notebook shows: of many names the first ones."""
    return paragraph if len(paragraph) <= _LONGEST_PARAGRAPH else f"{paragraph[:_LONGEST_PARAGRAPH]} …"


def _escape(text: str) -> str:
    return html.escape(one_line(text))
