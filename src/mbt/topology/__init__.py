"""Topology: from a graph of bodies and joints to a spanning forest.

Integers and names only: no numerics, nothing of the rest of the package but its errors.
"""

from mbt.topology.forest import SpanningForest
from mbt.topology.graph import Edge, JointGraph
from mbt.topology.growth import grow_forest

__all__ = ["Edge", "JointGraph", "SpanningForest", "grow_forest"]
