"""Names between single backticks in docstrings become links if the documentation has an entry for them.

All others, such as names of arguments, are only formatted as code: not every name has a page.
"""

from __future__ import annotations

from typing import Any

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment


class NameRole(PyXRefRole):
    """A name as known in its context: in the class, in the module, or fully qualified."""

    def process_link(
        self, env: BuildEnvironment, refnode: Element, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Set what to look for; see `find_nothing`."""
        refnode["refdomain"], refnode["reftype"], refnode["may_be_missing"] = "py", "obj", True
        return super().process_link(env, refnode, has_explicit_title, title, target)


def find_nothing(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element) -> Element | None:
    """Keep the text of a name without a page, without a warning."""
    return content if node.get("may_be_missing") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the role for single backticks."""
    app.add_role("name", NameRole())
    app.connect("missing-reference", find_nothing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
