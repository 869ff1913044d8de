"""A drawing that shows the quality of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError
from mbt.identification.accumulator import scales
from mbt.tree.pictures.colours import CYCLE, GREY

if TYPE_CHECKING:
    from mbt.identification.identified import Identified

__all__ = ["draw"]

_WIDTH, _ROW, _MARGIN = 12.0, 0.17, 1.2
_MOST_LETTERS = 34
_LEAST = 1e-2  # of the least standard error


def draw(found: Identified, figure: Any) -> Any:
    """Draw forces on the left, base parameters on the right; see ``Identified.plot``."""
    size = _WIDTH, _MARGIN + _ROW * max(found.rank, 4 * len(found.noise), 10)
    if figure is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size)
    elif not hasattr(figure, "subplots"):
        raise ArgumentTypeError(f"figure: expected one of matplotlib, got {type(figure).__name__}")
    else:
        figure.set_size_inches(size)
    figure.set_layout_engine("constrained")
    forces, parameters = figure.subplots(1, 2)
    _draw_forces(found, forces)
    _draw_parameters(found, parameters)
    return figure


def _draw_forces(found: Identified, axes: Any) -> None:
    columns = found._columns
    rows = np.arange(len(found.noise))
    bars = (
        ("measured", found._force_rms, GREY),
        ("left over", found.residual_rms, CYCLE[0]),
        ("noise", found.noise, CYCLE[1]),
    )
    for i, (label, values, color) in enumerate(bars):
        finite = np.where(np.isfinite(values), values, np.nan)
        axes.barh(rows + 0.27 * (i - 1), finite, height=0.25, color=color, label=label)
    axes.set_yticks(rows, [_short(name) for name in columns.tree.velocity_names], fontsize=8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("force, root mean square [N m, N]")
    _add_legend(axes)


def _draw_parameters(found: Identified, axes: Any) -> None:
    columns, rows = found._columns, np.arange(found.rank)
    units = scales(columns.description(), columns.num_inertial)[found.base.independent]
    change = np.abs(found.base_values - found.described_base_values) / units
    errors = found.base_standard_errors / units
    seen = np.isfinite(errors)
    axes.barh(rows, change, height=0.7, color=CYCLE[0], alpha=0.5, label="change from description")
    axes.plot(errors[seen], rows[seen], "o", color=CYCLE[1], markersize=4, label="standard error")
    if not seen.all():
        # On the right edge of the axes.
        axes.plot(
            np.ones((~seen).sum()), rows[~seen], "x", color=CYCLE[3], markersize=5, clip_on=False,
            transform=axes.get_yaxis_transform(), label="undetermined",
        )  # fmt: skip
    axes.set_yticks(rows, [_short(text) for text in found.base.descriptions], fontsize=7)
    axes.set_ylim(found.rank - 0.4, -0.6)
    axes.set_xscale("log")
    if seen.any():
        # Changes that are only rounding errors must not extend the axis.
        axes.set_xlim(left=_LEAST * errors[seen].min())
    axes.set_xlabel("in units of the mean body; friction and rotors in SI units")
    _add_legend(axes)


def _add_legend(axes: Any) -> None:
    """Add a legend above the axes, where it covers nothing."""
    axes.legend(
        fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, columnspacing=1.0
    )


def _short(text: str) -> str:
    short = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."
    return short.replace("$", r"\$")
