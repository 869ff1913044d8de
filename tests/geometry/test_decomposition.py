"""Meshes cut into convex parts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mbt
from support.shapes import BODY

CORNERS = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)]


def write_bracket(folder: Path) -> mbt.Shape:
    """Return an L, 2 by 2 by 1, whose inner corner is at (1, 1); written at a tenth of a metre, mirrored."""
    vertices = [(x, y, z) for z in (0.0, 1.0) for x, y in CORNERS]
    top = [(6, 7, 8), (6, 8, 9), (6, 9, 10), (6, 10, 11)]
    faces = [*top, *((a - 6, c - 6, b - 6) for a, b, c in top)]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (folder / "bracket.obj").write_text("\n".join(lines), encoding="utf-8")
    X = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.3, -0.4, 1.0])
    rough = mbt.Surface(friction=0.3)
    look: Any = {"color": [1, 0, 0, 1], "contact_bits": (1, 3), "surface": rough}
    return mbt.Shape(
        "mesh", [0.1, -0.1, 0.1], X, mesh="bracket.obj", folder=str(folder), name="bracket", **look
    )


def check_parts(parts: tuple[mbt.Shape, ...], whole: mbt.Shape, tolerance: float) -> None:
    """Check that a ball has the same distances to the parts as to the two boxes that fill the L."""
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", BODY)).add_collision(mbt.Shape("sphere", [0.01]))
    tree.finalize()
    boxes = [
        mbt.Shape("box", size, whole.X_BG @ mbt.math.make_pose(p))
        for size, p in (([0.2, 0.1, 0.1], [0.1, -0.05, 0.05]), ([0.1, 0.2, 0.1], [0.05, -0.1, 0.05]))
    ]
    mine = mbt.CollisionModel(tree, obstacles=parts, hulls=True)
    exact = mbt.CollisionModel(tree, obstacles=boxes)
    rng = np.random.default_rng(4)
    points = rng.uniform([-0.1, -0.3, -0.1], [0.3, 0.1, 0.2], (200, 3))
    points[0] = [0.15, -0.15, 0.05]  # in the corner that the hull of the whole would fill
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0], (200, 1))
    q[:, 4:] = points @ whole.X_BG[:3, :3].T + whole.X_BG[:3, 3]
    d, wanted = (scene.distances(q).min(axis=1) for scene in (mine, exact))
    outside = wanted > 0.0
    assert outside[0]
    assert 20 < outside.sum() < 200
    np.testing.assert_allclose(d[outside], wanted[outside], atol=tolerance)


class StandIn(SimpleNamespace):
    """Stands in for CoACD, with meshes whose parts are known."""

    def __init__(self) -> None:
        super().__init__(set_log_level=lambda level: None)

    @staticmethod
    def Mesh(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return vertices, faces

    @staticmethod
    def run_coacd(mesh: Any, threshold: float) -> list[list[np.ndarray]]:
        vertices, faces = mesh
        assert threshold == 0.1
        # The volume by the divergence theorem is that of the L: faces point outwards.
        a, b, c = vertices[faces].transpose(1, 0, 2)
        assert np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0 == pytest.approx(3e-3)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        grid = np.stack(np.meshgrid(*np.array([low, high]).T, indexing="ij"), axis=-1).reshape(-1, 3)
        parts = []
        for axis in (0, 1):
            part = grid.copy()
            part[:, axis] = np.where(abs(part[:, axis]) > 0.1, 0.5 * part[:, axis], part[:, axis])
            parts.append([part, np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5]])])
        return parts


def test_parts_stand_where_the_mesh_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trimesh")
    pytest.importorskip("scipy")
    monkeypatch.setitem(sys.modules, "coacd", StandIn())  # type: ignore[arg-type]
    whole = write_bracket(tmp_path)
    parts = mbt.decompose_mesh(whole, tmp_path / "new" / "parts", threshold=0.1)
    assert [part.name for part in parts] == ["bracket_0", "bracket_1"]
    assert [path.name for path in sorted((tmp_path / "new" / "parts").iterdir())] == [
        "bracket_0.obj",
        "bracket_1.obj",
    ]
    for part in parts:
        assert (part.color, part.contact_bits, part.surface) == (
            whole.color,
            whole.contact_bits,
            whole.surface,
        )
    check_parts(parts, whole, 1e-7)  # OBJ has single precision in trimesh


@pytest.mark.engine
def test_parts_of_coacd(tmp_path: Path) -> None:
    pytest.importorskip("coacd")
    whole = write_bracket(tmp_path)
    parts = mbt.decompose_mesh(whole, tmp_path)
    assert len(parts) == 2
    check_parts(parts, whole, 2e-4)


def test_wrong_meshes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trimesh")
    whole = write_bracket(tmp_path)
    monkeypatch.setitem(sys.modules, "coacd", None)  # type: ignore[arg-type]
    with pytest.raises(mbt.MissingPackageError, match=r"multibodytree\[decomposition\]"):
        mbt.decompose_mesh(whole, tmp_path)
    monkeypatch.setitem(sys.modules, "coacd", StandIn())  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentValueError, match="shape: expected a mesh, got a sphere"):
        mbt.decompose_mesh(mbt.Shape("sphere", [0.1]), tmp_path)
    for threshold in (0.0, 1.5, np.nan):
        with pytest.raises(mbt.ArgumentValueError, match="threshold: expected"):
            mbt.decompose_mesh(whole, tmp_path, threshold=threshold)
    with pytest.raises(mbt.ArgumentTypeError, match="path: expected the path"):
        mbt.decompose_mesh(whole, 3)  # type: ignore[arg-type]
    (tmp_path / "cloud.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n", encoding="utf-8")
    with pytest.raises(mbt.ParseError, match="the mesh"):
        mbt.decompose_mesh(mbt.Shape("mesh", mesh="cloud.obj", folder=str(tmp_path)), tmp_path)
    with pytest.raises(mbt.ArgumentValueError, match=r"folder: .* cannot be made"):
        mbt.decompose_mesh(whole, tmp_path / "cloud.obj" / "parts", threshold=0.1)
