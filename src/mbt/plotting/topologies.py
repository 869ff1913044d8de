"""Draws the topology of a tree, and the pattern of its mass matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError
from mbt.plotting.matplotlib_parts import axes_for
from mbt.tree.multibody_tree import MultibodyTree
from mbt.tree.pictures.colours import GREY
from mbt.tree.pictures.stick_figure import as_configurations
from mbt.tree.pictures.topology import lay_out_topology

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["plot_mass_matrix", "plot_topology"]

_FONT_SIZE = 9.0
_POINTS_PER_INCH = 72.0
# The most rows and columns that are labelled.
_MOST_NAMES = 60


def plot_topology(tree: MultibodyTree, ax: Any = None) -> Any:
    """Draw the topology of a tree, with matplotlib: World on the left, the tips on the right.

    Boxes are bodies. Lines are joints, with name and type: blue for revolute, red for prismatic, purple for
    free, green for other joints, dashed and grey for welds.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of at most 400 bodies.
    ax : matplotlib.axes.Axes, optional
        The axes to draw in, with letters as large as fit; by default those of a new figure of suitable size.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed: ``pip install "multibodytree[plot]"``.
    ArgumentValueError
        When the tree has more bodies; use `MultibodyTree.get_topology_graphviz_string` for those.
    NotFinalizedError
        Before ``finalize()``.
    """
    _check_tree(tree)
    picture = lay_out_topology(tree, "plot_topology")
    is_new = ax is None
    inches = (_FONT_SIZE / _POINTS_PER_INCH) * np.array([picture.width + 2.0, picture.height + 2.0])
    ax = axes_for(ax, "plot_topology", size=(float(max(inches[0], 2.0)), float(max(inches[1], 1.0))))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-1.0, picture.width + 1.0)
    ax.set_ylim(-2.0, picture.height)
    size = _FONT_SIZE
    if not is_new:
        box = ax.get_window_extent()
        pixels = min(box.width / (picture.width + 2.0), box.height / (picture.height + 2.0))
        size = min(size, float(pixels) * _POINTS_PER_INCH / float(ax.figure.dpi))
    small = {"fontsize": 0.85 * size, "ha": "center"}
    for edge in picture.edges:
        upper, lower = picture.boxes[edge.inboard], picture.boxes[edge.outboard]
        # From inside one box to inside the other, so that the boxes hide the ends.
        ax.plot(
            [upper.x + 0.5, edge.x, edge.x], [upper.y, upper.y, lower.y],
            color=GREY, linewidth=1.0, zorder=0, gid="branch",
        )  # fmt: skip
        ax.plot(
            [edge.x, lower.x + 0.5], [lower.y, lower.y], color=edge.color, linewidth=1.8, zorder=1,
            linestyle=(0, (3, 1.5)) if edge.is_dashed else "-", gid="joint",
        )  # fmt: skip
        middle = 0.5 * (edge.x + lower.x)
        name = edge.name.replace("$", r"\$")
        ax.text(middle, lower.y + 0.2, name, va="bottom", color=edge.color, gid="joint", **small)
        ax.text(middle, lower.y - 0.25, edge.kind, va="top", color=edge.color, alpha=0.8, **small)
    for body in picture.boxes:
        ax.text(
            body.x + 0.5, body.y, body.text.replace("$", r"\$"), fontsize=size, ha="left", va="center",
            gid="body",
            bbox={"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "0.4", "linewidth": 0.8},
        )  # fmt: skip
    return ax


def plot_mass_matrix(tree: MultibodyTree, q: npt.ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw the pattern of the mass matrix, with matplotlib: which velocities are coupled, and how strongly.

    An entry is ``|M_ij| / sqrt(M_ii M_jj)``, from 0 to 1 in any units. Entries that are zero at every
    configuration, because neither joint carries the other, are white.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree with at least one velocity.
    q : array_like, shape (num_positions,), optional
        The configuration; by default the default one.
    ax : matplotlib.axes.Axes, optional
        The axes to draw in; by default those of a new figure of ``matplotlib.pyplot``.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed: ``pip install "multibodytree[plot]"``.
    NotFinalizedError
        Before ``finalize()``.
    ShapeError, ArgumentValueError, ArgumentTypeError
        When an argument is invalid.
    """
    _check_tree(tree)
    (configuration, *others) = as_configurations(tree, q, "plot_mass_matrix")
    if others:
        raise ArgumentValueError(f"q: expected one configuration, got {1 + len(others)}")
    nv = tree.num_velocities
    if not nv:
        raise ArgumentValueError("plot_mass_matrix: tree: expected a tree with velocities")
    context = tree.create_default_context()
    context.q = configuration
    M = tree.calc_mass_matrix(context)
    d = np.sqrt(np.maximum(np.diag(M), 0.0))
    scale = np.outer(d, d)
    coupling = np.divide(np.abs(M), scale, out=np.zeros_like(M), where=scale > 0.0)
    pattern = _find_pattern(tree)
    ax = axes_for(ax, "plot_mass_matrix", size=(2.5 + 0.22 * min(nv, 40), 2.0 + 0.22 * min(nv, 40)))
    shown = np.ma.masked_where(~pattern, np.minimum(coupling, 1.0))
    image = ax.imshow(shown, cmap=_make_colour_map(), vmin=0.0, vmax=1.0)
    ax.figure.colorbar(image, ax=ax, label="coupling |M$_{ij}$| / $\\sqrt{M_{ii} M_{jj}}$", shrink=0.8)
    if nv <= _MOST_NAMES:
        names = [name.replace("$", r"\$") for name in tree.velocity_names]
        size = "x-small" if nv <= 40 else 5.0
        ax.set_xticks(range(nv), names, rotation=90, fontsize=size)
        ax.set_yticks(range(nv), names, fontsize=size)
    count = int(np.count_nonzero(pattern))
    ax.set_title(
        f"mass matrix: {count} of {nv * nv} entries ({count / nv**2:.0%}) can be nonzero", fontsize="small"
    )
    return ax


def _make_colour_map() -> Any:
    """Return blue from light to dark, never white, which stays monotonic in grey."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    return ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.15, 1.0, 256)))


def _find_pattern(tree: MultibodyTree) -> npt.NDArray[np.bool_]:
    """Return which entries of the mass matrix can be nonzero: those where one joint carries the other."""
    plan = tree._finalized("plot_mass_matrix")
    pattern = np.zeros((tree.num_velocities, tree.num_velocities), dtype=bool)
    columns_on_path: list[list[int]] = [[]]
    for b, mobilizer in enumerate(plan.mobilizer_of_node, start=1):
        own = list(mobilizer._velocity_range())
        path = columns_on_path[plan.forest.parent[b]] + own
        columns_on_path.append(path)
        for k in own:
            pattern[k, path] = pattern[path, k] = True
    return pattern


def _check_tree(tree: object) -> None:
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
