"""Redirects links to files of the repository, meant for readers of the Markdown, to pages of the site."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

#: Links in pages of `docs/`, and their targets on the site.
PAGES = [
    (r"\]\(\.\./README\.md\)", "](index.md)"),
    (r"\]\(\.\./CONTRIBUTING\.md\)", "](contributing.md)"),
    (r"\]\(\.\./CHANGELOG\.md\)", "](changes.md)"),
    (r"\]\(\.\./examples/(\w+)\.py\)", r"](examples.md#\1-py)"),
]


def redirect(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the links of one page before it is parsed."""
    for link, here in PAGES:
        source[0] = re.sub(link, lambda found, here=here: found.expand(here).replace("_", "-"), source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Process every page after it has been read."""
    app.connect("source-read", redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
