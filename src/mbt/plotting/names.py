"""Names in a three-dimensional picture, placed anew for every view, so that they do not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.text import Text
from mpl_toolkits.mplot3d import proj3d

from mbt.math.arrays import FloatArray
from mbt.tree.pictures.labels import place_labels
from mbt.tree.pictures.stick_figure import Name

__all__ = ["NamesInView"]

_LONGEST = 28
_FONT_SIZE = 8.0
# Names get a line to their points if their distance exceeds this multiple of their height.
_FAR = 1.2


class NamesInView(Artist):
    """Names next to points in space.

    Attributes
    ----------
    names : tuple of Name
        The texts, and their points.
    placed : dict of str to Bbox
        The boxes, in pixels, of the names that found room in the last drawing, by their text.
    """

    def __init__(self, names: list[Name], lines: FloatArray, colors: dict[str, str]) -> None:
        super().__init__()
        self.names = tuple(names)
        self.placed: dict[str, Any] = {}
        self._lines = lines
        self._colors = colors
        self.set_zorder(10)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Write the names for which there is room."""
        if not self.get_visible() or not self.names:
            return
        ax: Any = self.axes
        texts = [
            Text(
                0, 0, shorten_name(name.text), fontsize=_FONT_SIZE, color=self._colors[name.kind],
                figure=ax.figure, style="normal" if name.kind == "joint" else "italic",
            )
            for name in self.names
        ]  # fmt: skip
        boxes = [text.get_window_extent(renderer) for text in texts]
        points = self._project(np.array([name.point for name in self.names]))
        lines = self._project(self._lines.reshape(-1, 3)).reshape(-1, 2, 2)
        frame = ax.figure.bbox
        sizes = np.array([[box.width, box.height] for box in boxes])
        bounds = (frame.x0 + 2, frame.y0 + 2, frame.x1 - 2, frame.y1 - 2)
        corners = place_labels(points, sizes, lines, bounds)
        self.placed = {}
        for name, text, box, point, corner in zip(self.names, texts, boxes, points, corners, strict=True):
            if corner is None:
                continue
            place = box.translated(*(corner - [box.x0, box.y0]))
            self.placed[name.text] = place
            text.set_position(tuple(np.array(text.get_position()) + corner - [box.x0, box.y0]))
            nearest = np.clip(point, [place.x0, place.y0], [place.x1, place.y1])
            if np.linalg.norm(nearest - point) > _FAR * box.height:
                leader = Line2D(
                    *np.array([point, nearest]).T, color=self._colors[name.kind], linewidth=0.5, alpha=0.7
                )
                leader.set_figure(ax.figure)
                leader.draw(renderer)
            text.draw(renderer)
        self.stale = False

    def _project(self, points: FloatArray) -> FloatArray:
        """Return points in pixels, projected by the view of the axes."""
        ax: Any = self.axes
        x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
        pixels: FloatArray = ax.transData.transform(np.stack([x, y], axis=-1))
        return pixels


def shorten_name(name: str) -> str:
    """Return a short name on one line, with dollar signs escaped, which would begin mathematics."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name).replace("$", r"\$")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]}…{line[-_LONGEST // 2 + 1 :]}"
