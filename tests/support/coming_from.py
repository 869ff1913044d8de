"""The tables of docs/coming_from: their rows, the names used in them, and comparisons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional

PAGES = Path(__file__).parents[2] / "docs" / "coming_from"
Names = dict[str, Any]

ARM = mbt.models.model_path("mbt_arm").read_text(encoding="utf-8")


def rows_of(page: str) -> list[Any]:
    """Return the heading and the code of the first two cells of each row with code.

    Rows under "What is where" have the terms of two libraries, not code.
    """
    rows, heading = [], ""
    for number, line in enumerate((PAGES / page).read_text(encoding="utf-8").splitlines(), start=1):
        heading = line[3:] if line.startswith("## ") else heading
        cells = re.fullmatch(r"\| `(.+?)` \| `(.+?)` \|", line)
        if cells and heading != "What is where":
            rows.append(pytest.param(heading, *cells.groups(), id=f"line{number}"))
    return rows


def arm() -> str:
    """Return an arm that all libraries read alike: no damping, rotors, base mass or unbounded joints."""
    text = ARM
    for unlike in ("<transmission.*?</transmission>", "<dynamics[^>]*/>"):
        text = re.sub(unlike, "", text, flags=re.DOTALL)
    text = re.sub("<inertial>.*?</inertial>", "", text, count=1, flags=re.DOTALL)
    return text.replace('"continuous"', '"revolute"').replace(
        'velocity="6"', 'lower="-3" upper="3" velocity="6"'
    )


def common(tree: mbt.MultibodyTree, q: np.ndarray | None = None, v: np.ndarray | None = None) -> Names:
    """Return a tree with a state of it, under the names in the tables."""
    rng = np.random.default_rng(0)
    positions, velocities, a, tau = rng.uniform(-1.0, 1.0, (4, tree.num_velocities))
    q, v = positions if q is None else q, velocities if v is None else v
    context = tree.create_default_context()
    context.q, context.v = q, v
    R, X = mbt.math.rpy_to_matrix([0.1, 0.2, 0.3]), mbt.math.make_pose([1, 2, 3], rpy=[0.3, 0.1, 0.2])
    names = {"tree": tree, "context": context, "q": q, "v": v, "a": a, "tau": tau, "world": tree.world_frame}
    return {
        "np": np,
        "mbt": mbt,
        "F": functional,
        "R": R,
        "X": X,
        "p": X[:3, 3],
        "swap": [3, 4, 5, 0, 1, 2],
        **names,
    }


def evaluate(code: str, names: Names) -> Any:
    """Run the statements of a cell, and return the value of its last expression."""
    *statements, expression = code.split("; ")
    for statement in statements:
        exec(statement, names)
    return eval(expression, names)


def assert_same(peer: Any, ours: Any) -> None:
    """Check that numbers agree to rounding, several results one by one, and names exactly."""
    if isinstance(peer, tuple):
        for one, other in zip(peer, ours, strict=True):
            assert_same(one, other)
    elif isinstance(peer, list) and isinstance(peer[0], str):
        assert peer == ours
    else:
        scale = max(1.0, np.abs(peer).max()) if np.size(peer) else 1.0
        np.testing.assert_allclose(ours, peer, rtol=0, atol=1e-11 * scale, strict=np.ndim(peer) > 0)
