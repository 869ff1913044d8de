"""``mbt.plot``: draws a tree as a stick figure in three dimensions, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import as_bool
from mbt.plotting.matplotlib_parts import import_matplotlib
from mbt.tree.multibody_tree import MultibodyTree
from mbt.tree.pictures.colours import BLUE, GREEN, GREY, VERMILION
from mbt.tree.pictures.stick_figure import as_configurations, calc_stick_figure

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.tree.pictures.stick_figure import StickFigure

__all__ = ["Names", "plot"]

Names = Literal["all", "joints", "bodies", "none"]

_SIZE = (7.5, 6.5)
# Keeps the labels of the axes from being cut off in any view.
_ZOOM = 0.88
# Relative to the size of the figure.
_LENGTH_OF_AXIS = 0.05
_LENGTH_OF_TRIAD = 0.08
_MARGIN = 0.06
# Darkness of the first of several configurations; that of the last one is 1.
_FAINTEST = 0.15
_KINDS_OF_NAMES: dict[str, tuple[str, ...]] = {
    "all": ("joint", "body"),
    "joints": ("joint",),
    "bodies": ("body", "welded body"),
    "none": (),
}
_AXES_OF_TRIAD = ((0, VERMILION), (1, GREEN), (2, BLUE))


def plot(
    tree: MultibodyTree,
    q: npt.ArrayLike | None = None,
    ax: Any = None,
    *,
    names: Names = "all",
    frames: bool = False,
    ground: bool = True,
) -> Any:
    """Draw a tree as a stick figure, with matplotlib.

    Lines run from joint to joint, and from the last joint of a branch to the mass centre of its body. Round
    dots are joints, with a short line along the axis of those that have one; squares are joints that
    translate along one; the cross is the mass centre of the model. All axes have the same scale.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (num_positions,) or (..., num_positions), optional
        A configuration, by default the default one. Of several, the last is drawn in full, and the others as
        shadows, the earlier the fainter.
    ax : mpl_toolkits.mplot3d.Axes3D, optional
        The axes to draw in; by default those of a new figure of ``matplotlib.pyplot``.
    names : {"all", "joints", "bodies", "none"}, optional
        The names to write: those of the moving joints and the bodies that they carry, only of these joints,
        of all bodies, or none. Names do not overlap in any view; those without room are left out.
    frames : bool, optional
        Draw the frames of the bodies: x, y and z in red, green and blue.
    ground : bool, optional
        Draw the plane through the origin of World normal to gravity, if there is gravity.

    Returns
    -------
    mpl_toolkits.mplot3d.Axes3D
        ``ax.figure.savefig("robot.png")`` saves the picture.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed: ``pip install "multibodytree[plot]"``.
    NotFinalizedError
        Before ``finalize()``.
    ShapeError, ArgumentValueError, ArgumentTypeError
        When an argument is invalid.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> ax = mbt.plot(tree, tree.random_positions(rng=1))  # doctest: +SKIP
    """
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
    if names not in get_args(Names):
        raise ArgumentValueError(f"names: expected one of {', '.join(get_args(Names))}, got {quote(names)}")
    frames, ground = as_bool(frames, "frames"), as_bool(ground, "ground")
    configurations = as_configurations(tree, q, "plot")
    if not len(configurations):
        raise ArgumentValueError("q: expected at least one configuration, got none")
    import_matplotlib("plot")
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(figsize=_SIZE, layout="constrained").add_subplot(projection="3d")
    elif not hasattr(ax, "get_zlim"):
        raise ArgumentTypeError(
            f"ax: expected axes of three dimensions, got {type(ax).__name__}: "
            'figure.add_subplot(projection="3d") makes some'
        )
    is_empty = not ax.has_data()
    figures = [calc_stick_figure(tree, row) for row in configurations]
    last = figures[-1]
    points = np.concatenate([figure.points for figure in figures])
    size = max(figure.size for figure in figures)
    for figure, darkness in zip(figures, np.linspace(_FAINTEST, 1.0, len(figures) + 1)[1:], strict=True):
        _draw_figure(ax, figure, size, float(darkness))
    if frames:
        _draw_frames(ax, tree, configurations[-1], size)
    if last.mass_centre is not None:
        ax.plot(
            *last.mass_centre[:, np.newaxis], "x", color="black", markersize=7, mew=1.6, gid="mass centre"
        )
    if ground:
        points = np.concatenate([points, _draw_ground(ax, tree, points, size)])
    _set_view(ax, points, size, is_empty=is_empty)
    _write_names(ax, last, names)
    return ax


def _draw_figure(ax: Any, figure: StickFigure, size: float, darkness: float) -> None:
    alpha = {"alpha": darkness}
    _draw_lines(ax, figure.bones, gid="bones", color=BLUE, linewidth=3.0, solid_capstyle="round", **alpha)
    _draw_lines(ax, figure.slides, gid="slides", color=GREY, linewidth=1.5, linestyle=(0, (3, 1.5)), **alpha)
    half = 0.5 * _LENGTH_OF_AXIS * size * figure.axes
    has_axis = figure.axes.any(axis=1)
    spans = np.stack([figure.joints - half, figure.joints + half], axis=1)[has_axis]
    _draw_lines(ax, spans, gid="axes", color=VERMILION, linewidth=1.5, **alpha)
    edge = {"color": VERMILION, "markeredgecolor": "white", "markeredgewidth": 0.8}
    for gid, which, marker, width in (
        ("prismatic joints", figure.is_prismatic, "s", 8),
        ("joints", ~figure.is_prismatic, "o", 6),
    ):
        ax.plot(*figure.joints[which].T, marker, gid=gid, markersize=width, zorder=5, **edge, **alpha)


def _draw_lines(ax: Any, lines: FloatArray, **style: Any) -> None:
    """Draw lines, shape (n, 2, 3), as a single line with gaps."""
    gaps = np.full((len(lines), 1, 3), np.nan)
    ax.plot(*np.concatenate([lines, gaps], axis=1).reshape(-1, 3).T, **style)


def _draw_frames(ax: Any, tree: MultibodyTree, q: FloatArray, size: float) -> None:
    context = tree.create_default_context()
    context.q = q
    X_WB = tree.eval_position_kinematics(context).X_WB
    for axis, color in _AXES_OF_TRIAD:
        ends = X_WB[:, :3, 3] + _LENGTH_OF_TRIAD * size * X_WB[:, :3, axis]
        lines = np.stack([X_WB[:, :3, 3], ends], axis=1)
        _draw_lines(ax, lines, gid=f"frames {'xyz'[axis]}", color=color, linewidth=1.2)


def _draw_ground(ax: Any, tree: MultibodyTree, points: FloatArray, size: float) -> FloatArray:
    """Draw a grid of round lengths, and return its corners."""
    gravity = tree.gravity_field
    g_W = np.zeros(3) if gravity is None else gravity.gravity_vector
    if not g_W.any():
        return np.empty((0, 3))
    # Two axes of the plane: those of World if gravity is along the third.
    normal = -g_W / np.linalg.norm(g_W)
    x = np.eye(3)[np.argmin(np.round(np.abs(normal), 9))]
    x = x - normal * (normal @ x)
    x /= np.linalg.norm(x)
    y = np.cross(normal, x)
    spacing = _round_length(size / 6.0)
    (x0, x1), (y0, y1) = ((float((points @ e).min()), float((points @ e).max())) for e in (x, y))
    xs, ys = (
        spacing * np.arange(np.floor(a / spacing - 0.25), np.ceil(b / spacing + 0.25) + 1)
        for a, b in ((min(x0, 0.0), max(x1, 0.0)), (min(y0, 0.0), max(y1, 0.0)))
    )
    lines = [(s * x + ys[0] * y, s * x + ys[-1] * y) for s in xs]
    lines += [(xs[0] * x + s * y, xs[-1] * x + s * y) for s in ys]
    grid = np.array(lines)
    _draw_lines(ax, grid, gid="ground", color=GREY, linewidth=0.6, alpha=0.5, zorder=0)
    corners: FloatArray = grid.reshape(-1, 3)
    return corners


def _round_length(length: float) -> float:
    """Return a length rounded up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * next(digit for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= 0.999 * length))


def _set_view(ax: Any, points: FloatArray, size: float, *, is_empty: bool) -> None:
    """Give all axes the same scale, and cut nothing off."""
    low, high = points.min(axis=0) - _MARGIN * size, points.max(axis=0) + _MARGIN * size
    if not is_empty:  # Earlier contents stay in view.
        limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
        low, high = np.minimum(low, limits[:, 0]), np.maximum(high, limits[:, 1])
    # A plane figure gets some depth.
    missing = np.maximum(0.35 * size - (high - low), 0.0) / 2.0
    low, high = low - missing, high + missing
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_zlim(low[2], high[2])
    ax.set_box_aspect(high - low, zoom=_ZOOM)
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    ax.set_zlabel("z [m]")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.pane.set_visible(False)
        # Far apart: short axes have little room.
        axis.set_major_locator(_make_locator(size))
    ax.grid(False)


def _make_locator(size: float) -> Any:
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(_round_length(size / 4.0))


def _write_names(ax: Any, figure: StickFigure, names: Names) -> None:
    from mbt.plotting.names import NamesInView

    kinds = _KINDS_OF_NAMES[names]
    chosen = [name for name in figure.names if name.kind in kinds]
    colors = {"joint": VERMILION, "body": BLUE, "welded body": BLUE}
    ax.add_artist(NamesInView(chosen, figure.bones, colors))
