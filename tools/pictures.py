"""Draw the pictures in the README and on the first page of the documentation: `python tools/pictures.py`.

One is animated: the quadruped of `examples`, simulated by mbt. The other shows figures from
`docs/benchmarks.md`, and needs matplotlib.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import mbt

mpl.use("svg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "examples"))
quadruped = importlib.import_module("quadruped_on_servos")
OURS, PEERS = "#0b6e99", "#b8c0c8"
FPS = 20
FORWARD = np.array([0.35, 0.85, -0.28])  # viewing direction, in World
RIGHT = np.cross(FORWARD, [0, 0, 1])
RIGHT /= np.linalg.norm(RIGHT)
DOWN = np.cross(FORWARD, RIGHT)
DOWN /= np.linalg.norm(DOWN)
SCALE, CENTRE = 330.0, np.array([330.0, 232.0])  # [pixels/m], the origin of World [pixels]


def make_lines(tree: mbt.MultibodyTree, q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the lines to draw for each part of the quadruped, as points in World, (frames, points, 3)."""
    X_WB = mbt.functional.body_poses(tree, q)
    x, y, z = 0.25, 0.125, 0.06
    top = [[-x, -y, z], [x, -y, z], [x, y, z], [-x, y, z], [-x, -y, z]]
    near = [[-x, -y, z], [x, -y, z], [x, -y, -z], [-x, -y, -z], [-x, -y, z]]
    back = [[-x, -y, z], [-x, y, z], [-x, y, -z], [-x, -y, -z], [-x, -y, z]]
    rows = {body.name: X_WB[:, body.node_index] for body in tree.bodies}

    def place(name: str, points: Any) -> np.ndarray:
        return np.array(points) @ np.swapaxes(rows[name][:, :3, :3], 1, 2) + rows[name][:, None, :3, 3]

    lines = {}
    for side in ("left", "right"):
        for end in ("front", "hind"):
            foot = place(f"{end}_{side}_shin", [[0, 0, 0], [0, 0, -quadruped.LINK]])
            lines[f"{side} {end}"] = np.concatenate([place(f"{end}_{side}_thigh", [[0, 0, 0]]), foot], axis=1)
        if side == "left":
            lines |= {f"trunk {i}": place("trunk", face) for i, face in enumerate((top, back, near))}
    return lines


def write_moving_picture(path: Path, seconds: float = 6.0, force: float = 120.0) -> None:
    """Write a picture of a quadruped that trots and is pushed; any browser animates it without a script."""
    tree = quadruped.build()
    q = quadruped.trot(tree, seconds, force)
    every = round(1 / (FPS * quadruped.DT))
    q = q[:-1:every].copy()
    q[:, 4:6] -= q[:1, 4:6]
    times = np.arange(len(q)) / FPS
    # Shown longer than they act, so that they can be seen.
    pushes = np.array([quadruped.push_at(time, force) for time in times])
    for i in range(len(times) - 1, 0, -1):
        last = pushes[max(0, i - 5) : i + 1]
        pushes[i] = last[np.argmax(np.abs(last).sum(axis=1))]
    trunk = mbt.functional.body_poses(tree, q)[:, 1, :3, 3]
    lines = make_lines(tree, q)
    lines["push"] = np.stack([trunk - pushes / 250.0, trunk], axis=1)
    ground = [[[i / 4, -1, 0], [i / 4, 1, 0]] for i in range(-4, 5)]
    ground += [[[-1, i / 4, 0], [1, i / 4, 0]] for i in range(-4, 5)]

    projection = np.column_stack([RIGHT, DOWN])

    def points(line: Any) -> str:
        return " ".join(f"{x:.0f},{y:.0f}" for x, y in CENTRE + SCALE * np.asarray(line) @ projection)

    text = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 300" fill="none" stroke-linecap="round" '
        'stroke-linejoin="round">',
        "<title>A quadruped trots on its servos, and is pushed from behind and from the side</title>",
        f'<g stroke="{PEERS}" stroke-width="0.6">',
        *(f'<polyline points="{points(line)}"/>' for line in ground),
        "</g>",
    ]
    for name, line in lines.items():
        colour = "#d95f02" if name == "push" else "#5fa8c4" if name.startswith("left") else OURS
        fill = f' fill="{PEERS}" fill-opacity="0.85"' if name.startswith("trunk") else ""
        style = f'stroke="{colour}" stroke-width="{3 if fill else 6}"{fill}'
        style += ' stroke-linecap="butt"' if name == "push" else ""  # so that nothing shows without a push
        values = ";".join(points(frame) for frame in line)
        play = f'dur="{seconds}s" repeatCount="indefinite" values="{values}"'
        text += [f'<polyline {style} points="{points(line[0])}">']
        text += [f'<animate attributeName="points" {play}/></polyline>']
    path.write_text("\n".join([*text, "</svg>\n"]), encoding="utf-8")


def figures_of(section: str, function: str, model: str) -> dict[str, float]:
    """Return microseconds by library from a table of docs/benchmarks.md."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    text = page[page.index(f"## {section}\n") :]
    [header] = re.findall(r"^\| function \| model \|(.+)\|$", text, flags=re.MULTILINE)[:1]
    [row] = re.findall(rf"^\| {function} \| {model} \|(.+)\|$", text, flags=re.MULTILINE)[:1]
    names, cells = ([cell.strip() for cell in line.split("|")] for line in (header, row))
    times = {name: float(cell) for name, cell in zip(names, cells, strict=True) if cell and "/" not in name}
    return {name: times[name] for name in times if name != "mbt Context"}


def draw_bars(axes: Any, times: dict[str, float], title: str) -> None:
    """Draw times as bars, the shortest first."""
    names = sorted(times, key=times.__getitem__)
    bars = axes.barh(
        names, [times[name] for name in names], color=[OURS if name == "mbt" else PEERS for name in names]
    )
    axes.bar_label(bars, [f"{times[name]:.2f}" for name in names], padding=3)
    axes.margins(x=0.14)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    axes.tick_params(left=False, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)


def main() -> None:
    """Write the pictures, which are identical if the figures are."""
    write_moving_picture(DOCS / "_static" / "quadruped.svg")
    mpl.rcParams |= {"svg.hashsalt": "mbt", "font.size": 11, "axes.titlesize": 11}
    figure, (one, batch) = plt.subplots(1, 2, figsize=(10, 2.6), layout="constrained")
    draw_bars(one, figures_of("Single calls from Python", "forward dynamics", "humanoid"), "µs for one state")
    draw_bars(batch, figures_of("Batches", "forward dynamics", "humanoid"), "µs per state, batches of 4096")
    figure.suptitle("forward dynamics of a humanoid, called from Python", x=0.01, ha="left", fontsize=12)
    figure.savefig(DOCS / "_static" / "overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
