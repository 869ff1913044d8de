"""Names between single backticks in docstrings are links where they are names of the documentation.

Elsewhere, where they are arguments for example, they are code and no more: not every name has a page.
"""

from __future__ import annotations

from typing import Any

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment


class NameRole(PyXRefRole):
    """A name as it is known where it stands: of the class, of the module, or whole."""

    def process_link(
        self, env: BuildEnvironment, refnode: Element, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Tell what to look for; see `find_nothing`."""
        refnode["refdomain"], refnode["reftype"], refnode["may_be_missing"] = "py", "obj", True
        return super().process_link(env, refnode, has_explicit_title, title, target)


def find_nothing(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element) -> Element | None:
    """Leave the text of a name that has no page, without a warning."""
    return content if node.get("may_be_missing") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the role, which is that of single backticks."""
    app.add_role("name", NameRole())
    app.connect("missing-reference", find_nothing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
