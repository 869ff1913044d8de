"""What a tree tells about itself."""

from __future__ import annotations

from mbt.tree.coordinate_names import NamedCoordinates

__all__ = ["TreeReports"]


class TreeReports(NamedCoordinates):
    """The part of `MultibodyTree` that reports and draws."""
