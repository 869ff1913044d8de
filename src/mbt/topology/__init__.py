"""Topology: from a graph of bodies and joints to a spanning forest.

It handles integers and names only: no numerics, and from the rest of the package only errors.
"""

from mbt.topology.drawing import draw_branches, make_graphviz
from mbt.topology.forest import SpanningForest
from mbt.topology.graph import Edge, JointGraph
from mbt.topology.growth import grow_forest

__all__ = ["Edge", "JointGraph", "SpanningForest", "draw_branches", "grow_forest", "make_graphviz"]
