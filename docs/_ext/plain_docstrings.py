"""Docstrings with literal bars and stars, as in ``|cos(pitch)|`` and ``(*shape, 3)``.

A NewType is documented by the comment above it, not by Python's general text for all of them.
"""

from __future__ import annotations

import re
from typing import Any, NewType

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer


def say_what_new_types_are(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Use the comment that begins with ``#:``."""
    if isinstance(thing, NewType):
        comments = ModuleAnalyzer.for_module(thing.__module__).find_attr_docs()
        lines[:] = comments["", thing.__name__]


def escape(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escape bars and stars in all lines except examples and those with literals."""
    for i, line in enumerate(lines):
        if "``" not in line and not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(?<=\()\*(?=\w)|\|", lambda found: "\\" + found[0], line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Process every docstring before numpydoc does."""
    app.connect("autodoc-process-docstring", say_what_new_types_are, priority=300)
    app.connect("autodoc-process-docstring", escape, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
