"""Draw the picture of the README and of the first page of the documentation: `python tools/pictures.py`.

On the left a chain falls, simulated by mbt; on the right figures of `docs/benchmarks.md`. Needs matplotlib.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import mbt

mpl.use("svg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
OURS, PEERS = "#0b6e99", "#b8c0c8"
LINKS, LENGTH = 12, 0.1


def make_chain() -> mbt.MultibodyTree:
    """Return a chain of rods that hangs on World, lightly damped."""
    tree = mbt.MultibodyTree()
    rod = mbt.SpatialInertia.solid_box_with_mass(0.1, LENGTH, 0.01, 0.01).shift([-LENGTH / 2, 0, 0])
    inboard, X_PF = tree.world_body, None
    for i in range(LINKS):
        link = tree.add_body(mbt.RigidBody(f"link{i}", rod))
        tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, X_PF, link, None, axis=[0, 1, 0], damping=2e-5)
        inboard, X_PF = link, mbt.math.make_pose([LENGTH, 0, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def draw_fall(axes: Any) -> None:
    """Draw where the chain is every 40 ms, from light to dark."""
    tree = make_chain()
    fall = mbt.simulate(tree, tree.create_default_context(), duration=0.92, dt=5e-4, method="rk4", every=8)
    X_WB = mbt.functional.body_poses(tree, fall.q)[:, 1:]
    tips = X_WB @ [LENGTH, 0, 0, 1]
    points = np.concatenate([X_WB[:, :1, :3, 3], tips[..., :3]], axis=1)
    shown = points[::10]
    colours = mpl.colormaps["viridis_r"](np.linspace(0.05, 1, len(shown)))
    for line, colour in zip(shown, colours, strict=True):
        axes.plot(line[:, 0], line[:, 2], "-o", color=colour, linewidth=1.4, markersize=2.4)
    axes.plot(tips[:, -1, 0], tips[:, -1, 2], color="#d95f02", linewidth=1.2)
    axes.plot(0, 0, "s", color="black", markersize=6)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(f"a chain of {LINKS} rods falls", loc="left")


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
    """Write the picture, the same whenever numbers are the same."""
    mpl.rcParams |= {"svg.hashsalt": "mbt", "font.size": 11, "axes.titlesize": 11}
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.1, 1])
    draw_fall(left.subplots())
    one, batch = right.subplots(2, 1, height_ratios=[5, 4])
    draw_bars(one, figures_of("Single calls from Python", "forward dynamics", "humanoid"), "µs for one state")
    draw_bars(batch, figures_of("Batches", "forward dynamics", "humanoid"), "µs a state, of a batch of 4096")
    right.suptitle("forward dynamics of a humanoid, called from Python", x=0.02, ha="left", fontsize=12)
    figure.savefig(DOCS / "_static" / "overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
