"""Checks that the meshes of a description exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.errors import ParseError, quote, quote_path
from mbt.parsing.meshes import resolve_mesh

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from mbt.checking.subject import Subject
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_meshes"]


def check_meshes(
    tree: MultibodyTree, subject: Subject, package_paths: Sequence[str | os.PathLike[str]]
) -> None:
    """Find missing meshes; one finding, at the first of them, counts them all."""
    missing: dict[str, str] = {}
    for body in tree.bodies:
        for shape in (*body.visuals, *body.collisions):
            if shape.kind != "mesh" or shape.mesh is None:
                continue
            try:
                resolve_mesh(shape, package_paths)
            except ParseError:
                missing.setdefault(shape.mesh, body.scoped_name)
    if not missing:
        return
    mesh, body_name = next(iter(missing.items()))
    count = "it is" if len(missing) == 1 else f"it and {len(missing) - 1} more are"
    message = f"the mesh {quote_path(mesh)} is not found: {count} not where the file says"
    cure = "--package-path FOLDER (package_paths=) names where packages are; dynamics needs no meshes"
    line = subject.line_of("link", body_name)
    subject.report(
        "note", "missing-mesh", f"link {quote(body_name.rpartition('::')[2])}", message, cure, line=line
    )
