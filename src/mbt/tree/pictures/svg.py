"""Pictures of trees, and lines over time, as SVG inside HTML: without scripts or external resources.

Text and thin lines have the colour of the surrounding text, so pictures suit light and dark pages.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbt.tree.pictures.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from mbt.tree.pictures.labels import place_labels
from mbt.tree.pictures.stick_figure import calc_stick_figure
from mbt.tree.pictures.topology import lay_out_topology

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.pictures.stick_figure import StickFigure

__all__ = ["MAX_BODIES", "draw_lines_over_time", "draw_stick_figure", "draw_topology"]

#: Notebooks show no picture of larger trees: it would be a blot.
MAX_BODIES = 200
# A drawing of the topology with more bodies is wider than a page.
_MAX_BODIES_OF_TOPOLOGY = 80

_WIDTH, _HEIGHT, _EDGE = 460.0, 340.0, 24.0
_FONT_SIZE = 10.0
_LETTER = 0.6
_LONGEST = 24
# Direction of view: turned about z, then down [rad].
_AZIMUTH, _ELEVATION = math.radians(-60.0), math.radians(22.0)

# Dark blue is lost on a dark page. With four kinds of dashes 20 lines differ.
_CYCLE = (SKY, VERMILION, GREEN, PURPLE, ORANGE)
_DASHES = ("", "6 2", "2 2", "7 2 2 2")
_MAX_SAMPLES = 240


def draw_stick_figure(tree: MultibodyTree) -> str:
    """Return a finalized tree at its default positions as SVG; nothing if it cannot be drawn."""
    if tree.scalar_type.name != "double" or not 1 < tree.num_bodies <= MAX_BODIES:
        return ""
    try:
        figure = calc_stick_figure(tree, tree.default_positions)
    except Exception:  # Users' frames may raise errors: nothing is drawn then.
        return ""
    if not np.isfinite(figure.points).all() or np.ptp(figure.points, axis=0).max() == 0.0:
        return ""
    return _draw_figure(figure)


def _draw_figure(figure: StickFigure) -> str:
    flat = _project(figure.points)
    low, high = flat.min(axis=0), flat.max(axis=0)
    span = np.maximum(high - low, 1e-9)
    scale = float(min((_WIDTH - 2 * _EDGE) / span[0], (_HEIGHT - 2 * _EDGE) / span[1]))
    middle = (low + high) / 2.0

    def place(points: FloatArray) -> FloatArray:
        """Return pixels, y downwards."""
        xy: FloatArray = (_project(points) - middle) * [scale, -scale] + [_WIDTH / 2, _HEIGHT / 2]
        return xy

    bones = place(figure.bones.reshape(-1, 3)).reshape(-1, 2, 2)
    slides = place(figure.slides.reshape(-1, 3)).reshape(-1, 2, 2)
    joints = place(figure.joints)
    parts = [
        _lines(bones, f'stroke="{SKY}" stroke-width="4" stroke-linecap="round"'),
        _lines(slides, 'stroke="currentColor" stroke-width="1" stroke-dasharray="3 2"'),
    ]
    for (x, y), is_prismatic in zip(joints, figure.is_prismatic, strict=True):
        if is_prismatic:
            parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{VERMILION}"/>')
        else:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{VERMILION}"/>')
    parts += _write_names(figure, place, bones)
    return _svg(_WIDTH, _HEIGHT, parts, "stick figure at the default positions")


def _project(points: FloatArray) -> FloatArray:
    """Return points, (n, 3), in parallel projection: to the right and upwards, (n, 2)."""
    c, s = math.cos(_AZIMUTH), math.sin(_AZIMUTH)
    right = np.array([-s, c, 0.0])
    up = np.array([-c * math.sin(_ELEVATION), -s * math.sin(_ELEVATION), math.cos(_ELEVATION)])
    xy: FloatArray = np.stack([points @ right, points @ up], axis=-1)
    return xy


def _write_names(
    figure: StickFigure, place: Callable[[FloatArray], FloatArray], bones: FloatArray
) -> list[str]:
    names = [name for name in figure.names if name.kind == "joint"]
    if not names:
        return []
    texts = [_clip(name.text) for name in names]
    points = place(np.array([name.point for name in names]))
    sizes = np.array([[_LETTER * _FONT_SIZE * len(text), _FONT_SIZE] for text in texts])
    # Places count upwards, pixels downwards.
    flip = np.array([1.0, -1.0])
    corners = place_labels(points * flip, sizes, bones * flip, (2.0, -_HEIGHT + 2.0, _WIDTH - 2.0, -2.0))
    parts = []
    for text, point, size, corner in zip(texts, points, sizes, corners, strict=True):
        if corner is None:
            continue
        x, y = corner * flip
        nearest = np.clip(point, [x, y - size[1]], [x + size[0], y])
        if np.linalg.norm(nearest - point) > 1.2 * _FONT_SIZE:
            parts.append(_lines(np.array([[point, nearest]]), 'stroke="currentColor" stroke-width="0.5"'))
        parts.append(_text(x, y - 0.2 * _FONT_SIZE, text))
    return parts


def draw_topology(tree: MultibodyTree) -> str:
    """Return the topology of a finalized tree as SVG; nothing if it is too large."""
    if not 1 < tree.num_bodies <= _MAX_BODIES_OF_TOPOLOGY:
        return ""
    picture = lay_out_topology(tree, "draw_topology")
    size = _FONT_SIZE
    width, height = size * (picture.width + 1.0), size * (picture.height + 1.0)

    def across(x: float) -> float:
        return size * (x + 0.5)

    def down(y: float) -> float:
        return height - size * (y + 2.0)

    thin = 'stroke="currentColor" stroke-width="1" fill="none" opacity="0.6"'
    parts = []
    for edge in picture.edges:
        upper, lower = picture.boxes[edge.inboard], picture.boxes[edge.outboard]
        x0, y0, x, y = across(upper.x + upper.width), down(upper.y), across(edge.x), down(lower.y)
        parts.append(f'<path d="M{x0:.1f} {y0:.1f}H{x:.1f}V{y:.1f}" {thin}/>')
        color = SKY if edge.color == BLUE else edge.color  # Dark blue is lost on a dark page.
        dash = ' stroke-dasharray="5 3"' if edge.is_dashed else ""
        end = across(lower.x)
        parts.append(f'<path d="M{x:.1f} {y:.1f}H{end:.1f}" stroke="{color}" stroke-width="2"{dash}/>')
        middle = 0.5 * (x + end)
        parts.append(_text(middle, y - 3.0, edge.name, anchor="middle", scale=0.85))
        parts.append(_text(middle, y + 9.5, edge.kind, anchor="middle", scale=0.85, opacity=0.65))
    for box in picture.boxes:
        parts.append(_box(across(box.x), down(box.y) - 0.85 * size, size * box.width, 1.7 * size, 'rx="3"'))
        parts.append(_text(across(box.x + 0.5 * box.width), down(box.y) + 3.5, box.text, anchor="middle"))
    return _svg(width, height, parts, "topology")


def draw_lines_over_time(
    time: FloatArray, values: FloatArray, names: Sequence[str], title: str, *, width: float = 560.0
) -> str:
    """Return lines over time as SVG, with the least and greatest value, and names beside the lines.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Times [s].
    values : ndarray, shape (n, m)
        One column per line; values that are not finite are left out.
    names : sequence of str
        One per line.
    title : str
        The quantity, with its unit.
    """
    keep = np.unique(np.linspace(0, len(time) - 1, min(len(time), _MAX_SAMPLES)).astype(int))
    t, y = time[keep], values[keep]
    finite = y[np.isfinite(y)]
    if len(t) < 2 or not finite.size or t[-1] == t[0]:
        return ""
    low, high = float(finite.min()), float(finite.max())
    spread = high - low if high > low else 1.0
    height = max(110.0, 14.0 * len(names) + 24.0)
    left, right, top, bottom = 60.0, width - 150.0, 18.0, height - 16.0
    x = left + (right - left) * (t - t[0]) / (t[-1] - t[0])
    parts = [
        _box(left, top, right - left, bottom - top, 'opacity="0.6"'),
        _text(left, top - 6.0, title),
        _text(left - 4.0, top + 8.0, f"{high:.4g}", anchor="end", scale=0.9),
        _text(left - 4.0, bottom, f"{low:.4g}", anchor="end", scale=0.9),
        _text(left, bottom + 12.0, f"{t[0] + 0.0:.4g}", anchor="middle", scale=0.9),
        _text(right, bottom + 12.0, f"{t[-1]:.4g} s", anchor="middle", scale=0.9),
    ]
    for i, name in enumerate(names):
        dash = _DASHES[i % len(_DASHES)]
        style = f'fill="none" stroke="{_CYCLE[i % len(_CYCLE)]}" stroke-width="1.6"'
        style += f' stroke-dasharray="{dash}"' if dash else ""
        rows = np.isfinite(y[:, i])
        pixels = bottom - 4.0 - (bottom - top - 8.0) * (y[:, i] - low) / spread
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[rows], pixels[rows], strict=True))
        parts.append(f'<polyline points="{points}" {style}/>')
        row = top + 8.0 + 14.0 * i
        parts.append(f'<path d="M{right + 8:.1f} {row - 3:.1f}h22" {style}/>')
        parts.append(_text(right + 36.0, row, _clip(name, 18), scale=0.9))
    return _svg(width, height, parts, title)


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(label)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto" font-family="sans-serif" font-size="{_FONT_SIZE:.0f}">'
        f"{''.join(parts)}</svg>"
    )


def _lines(lines: FloatArray, style: str) -> str:
    path = "".join(f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" for a, b in lines)
    return f'<path d="{path}" fill="none" {style}/>' if path else ""


def _box(x: float, y: float, width: float, height: float, style: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="none" stroke="currentColor" stroke-width="0.8" {style}/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", scale: float = 1.0, opacity: float = 1.0
) -> str:
    more = "" if scale == 1.0 else f' font-size="{scale * _FONT_SIZE:.1f}"'
    more += "" if opacity == 1.0 else f' opacity="{opacity:g}"'
    more += "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor"{more}>{html.escape(text)}</text>'


def _clip(text: str, longest: int = _LONGEST) -> str:
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[1 - longest // 2 :]}"
