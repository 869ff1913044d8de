"""What a tree tells about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbt.tree.coordinate_names import NamedCoordinates
from mbt.tree.report import FinalizeReport, draw_tree, make_tree_graphviz
from mbt.tree.report_tables import Section, Table, as_html

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["TreeReports"]

# Rows that a notebook shows of a tree.
_MAX_ROWS = 60


class TreeReports(NamedCoordinates):
    """The part of `MultibodyTree` that reports and draws."""

    @property
    def finalize_report(self) -> FinalizeReport:
        """What ``finalize()`` did: the forest, coordinates, free bodies, massless branches, and more.

        Print it, or let a notebook show it. Each access gives a new report, which computes what is asked of
        it.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        return FinalizeReport(cast("MultibodyTree", self))

    def get_topology_graphviz_string(self) -> str:
        """Return the forest in the language of Graphviz, for ``dot -Tsvg``.

        World is at the bottom, model instances are boxes, joints that ``finalize()`` added are dashed.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        return make_tree_graphviz(cast("MultibodyTree", self))

    def _repr_html_(self) -> str:
        """Return a drawing for a notebook."""
        tree = cast("MultibodyTree", self)
        if self.is_finalized:
            table = draw_tree(tree, _MAX_ROWS)
            title = "Forest"
        else:
            table = Table(("body", "joints"), left=(0, 1), max_rows=_MAX_ROWS)
            title = "Bodies, and the joints of which they are the child"
            joints: dict[object, list[str]] = {}
            for joint in tree.joints:
                joints.setdefault(joint.child_body, []).append(f"{joint.name} ({joint.type_name})")
            for body in tree.bodies[:_MAX_ROWS]:
                table.add(body.scoped_name, ", ".join(joints.get(body, [])))
            table.num_rows = tree.num_bodies
        return as_html(repr(self), [Section(title, table=table, is_open=True)])
