"""Reports and drawings of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mbt.tree.coordinate_names import NamedCoordinates

if TYPE_CHECKING:
    from mbt.tree.report import FinalizeReport

__all__ = ["TreeReports"]


class TreeReports(NamedCoordinates):
    """The part of `MultibodyTree` that reports and draws, with modules that most programs never import."""

    @property
    def parse_reports(self) -> list[Any]:
        """Content that the reader of robot descriptions ignored or repaired: an `mbt.ParseReport` per file.

        Empty if the tree was built in Python alone.
        """
        # Pickles hold it in the dictionary under this name.
        reports: list[Any] = vars(self).setdefault("parse_reports", [])
        return reports

    @property
    def finalize_report(self) -> FinalizeReport:
        """The results of ``finalize()``: the forest, coordinates, free bodies, massless branches, and more.

        Print it, or let a notebook show it. Each access gives a new report, which computes its parts on
        demand.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        from mbt.tree.report import FinalizeReport

        return FinalizeReport(cast(Any, self))

    def get_topology_graphviz_string(self) -> str:
        """Return the forest in the language of Graphviz, for ``dot -Tsvg``.

        World is at the bottom, model instances are boxes, joints that ``finalize()`` added are dashed.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        from mbt.tree.report import make_tree_graphviz

        return make_tree_graphviz(cast(Any, self))

    def _repr_html_(self) -> str:
        """Return a drawing for a notebook."""
        from mbt.tree.report import describe_tree_as_html

        return describe_tree_as_html(cast(Any, self))
