"""Trajectories as drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError, MissingPackageError
from mbt.motion.units import effort_unit

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory

__all__ = ["draw"]

# So many lines can be told apart, and named beside a panel.
_MOST_NAMES = 12
_WIDTH, _HEIGHT_OF_PANEL = 9.0, 2.1


class _Panel(NamedTuple):
    """Lines over time with one unit."""

    label: str
    names: tuple[str, ...]
    values: FloatArray


def draw(trajectory: Trajectory, figure: Any) -> Any:
    """Draw a trajectory; see ``Trajectory.plot``."""
    trajectory._check_one_state("plot")
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError(f"plot needs matplotlib: pip install 'mbt[plot]' ({error})") from error
    panels = _panels_of(trajectory)
    size = _WIDTH, 0.6 + _HEIGHT_OF_PANEL * len(panels)
    if figure is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size)
    elif not hasattr(figure, "subplots"):
        raise ArgumentTypeError(f"figure: expected one of matplotlib, got {type(figure).__name__}")
    else:
        figure.set_size_inches(size)
    figure.set_layout_engine("constrained")
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        _draw_panel(axes, panel, trajectory, matplotlib.colormaps["tab20"])
    rows[-1].set_xlabel("time [s]")
    figure.align_ylabels(rows)
    return figure


def _panels_of(trajectory: Trajectory) -> list[_Panel]:
    """Return positions, velocities and forces by their units, and energies."""
    quantities = {
        "position": (trajectory.q, trajectory.position_names, trajectory.position_units),
        "velocity": (trajectory.v, trajectory.velocity_names, trajectory.velocity_units),
        "applied": (
            trajectory.tau, trajectory.velocity_names,
            tuple(map(effort_unit, trajectory.velocity_units)),
        ),
    }  # fmt: skip
    labels = {"": "quaternion", "rad": "angle", "m": "position", "N m": "torque", "N": "force"}
    panels = []
    for quantity, (values, names, units) in quantities.items():
        for unit in dict.fromkeys(units):
            places = [i for i, own in enumerate(units) if own == unit]
            if quantity == "applied":  # Where nothing is, there is nothing to see.
                places = [i for i in places if values[:, i].any()]
            if not places:
                continue
            label = labels.get(unit, quantity)
            panels.append(
                _Panel(
                    f"{label} [{unit}]" if unit else label,
                    tuple(names[i] for i in places),
                    values[:, places],
                )
            )
    return [*panels, _Panel("energy [J]", trajectory.energy._fields, np.stack(trajectory.energy, axis=-1))]


def _draw_panel(axes: Any, panel: _Panel, trajectory: Trajectory, colours: Any) -> None:
    marker = "." if len(trajectory) == 1 else None
    count = len(panel.names)
    for i, name in enumerate(panel.names):
        # The strong ones of the colour map first.
        colour = colours((2 * i + (i // 10) % 2) % 20)
        axes.plot(
            trajectory.time,
            panel.values[:, i],
            label=_shorten(name),
            color=colour,
            linewidth=1.2,
            marker=marker,
        )
    axes.set_ylabel(panel.label)
    axes.grid(True, alpha=0.3)
    axes.margins(x=0.01)
    if count <= _MOST_NAMES:
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False,
            fontsize="x-small", labelspacing=0.25,
        )  # fmt: skip
    else:
        axes.set_title(f"{count} lines", loc="right", fontsize="small")


def _shorten(name: str) -> str:
    # A name that begins with an underscore would be left out.
    short = name if len(name) <= 24 else f"{name[:11]}…{name[-12:]}"
    return short if not short.startswith("_") else f" {short}"
