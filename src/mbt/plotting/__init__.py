"""Drawings of trees and trajectories, with matplotlib: ``pip install "multibodytree[plot]"``."""

from __future__ import annotations

from mbt.plotting.stick_figures import plot
from mbt.plotting.topologies import plot_mass_matrix, plot_topology

__all__ = ["plot", "plot_mass_matrix", "plot_topology"]
