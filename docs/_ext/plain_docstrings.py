"""Bars and stars in docstrings are characters, ``|cos(pitch)|`` and ``(*shape, 3)``, and not markup."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def escape(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escape them in all lines but examples and those with literals."""
    for i, line in enumerate(lines):
        if "``" not in line and not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(?<=\()\*(?=\w)|\|", lambda found: "\\" + found[0], line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every docstring before numpydoc does."""
    app.connect("autodoc-process-docstring", escape, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
