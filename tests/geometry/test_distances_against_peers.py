"""Distances that have a closed form beside those of Coal and MuJoCo, for random pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.shapes import random_q, random_shape, scene_of, sides_of

pytestmark = pytest.mark.oracle

CLOSED = [
    *((kind, other) for kind in ("sphere", "capsule") for other in ("sphere", "capsule", "plane", "box")),
    ("sphere", "cylinder"), ("plane", "box"), ("plane", "cylinder"), ("plane", "ellipsoid"),
]  # fmt: skip


def of_coal(coal: Any, shape: mbt.Shape) -> Any:
    size = shape.size
    make = {
        "sphere": coal.Sphere,
        "capsule": coal.Capsule,
        "box": coal.Box,
        "cylinder": coal.Cylinder,
        "ellipsoid": coal.Ellipsoid,
        "plane": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
    }
    return make[shape.kind](*size)


@pytest.mark.parametrize("kinds", CLOSED, ids="-".join)
def test_coal(kinds: tuple[str, str]) -> None:
    """Where shapes overlap, Coal's depth is never less: on curved shapes its method ends early."""
    coal = pytest.importorskip("coal", reason="needs the `oracle` extra")
    rng = np.random.default_rng(21)
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    compared = 0
    for _ in range(10):
        scene = scene_of(*(random_shape(kind, rng) for kind in kinds))
        q = random_q(scene, rng, 60, 1.5)
        d, _, _, n_W = scene.distances(q, witness=True)
        (a, X_WA), (b, X_WB) = sides_of(scene, q)
        theirs_a, theirs_b = of_coal(coal, a), of_coal(coal, b)
        for k in range(len(q)):
            result = coal.DistanceResult()
            coal.distance(
                theirs_a, coal.Transform3s(X_WA[k, :3, :3], X_WA[k, :3, 3]),
                theirs_b, coal.Transform3s(X_WB[k, :3, :3], X_WB[k, :3, 3]), request, result,
            )  # fmt: skip
            if d[k, 0] > 1e-6:
                assert abs(result.min_distance - d[k, 0]) <= 1e-9
                if d[k, 0] > 1e-2:
                    np.testing.assert_allclose(result.normal, n_W[k, 0], atol=1e-6)
                compared += 1
            else:
                assert result.min_distance <= d[k, 0] + 1e-6
    assert compared > 50


@pytest.mark.parametrize("kinds", CLOSED, ids="-".join)
def test_mujoco(kinds: tuple[str, str]) -> None:
    """By `mj_geomDistance`, where shapes are apart; of some also where they overlap."""
    mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
    rng = np.random.default_rng(22)
    is_exact = "plane" in kinds or set(kinds) <= {"sphere", "capsule"} or kinds == ("sphere", "box")
    compared = 0
    for _ in range(5):
        scene = scene_of(*(random_shape(kind, rng) for kind in kinds))
        q = random_q(scene, rng, 60, 1.5)
        inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        parts = [
            _geom(shape, name) if shape.kind == "plane"
            else f"<body><freejoint/>{inertia}{_geom(shape, name)}</body>"
            for (shape, _), name in zip(sides_of(scene, q), scene.pairs[0], strict=True)
        ]  # fmt: skip
        model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(parts)}</worldbody></mujoco>")
        data, ends = mujoco.MjData(model), np.zeros(6)
        first, second = (model.geom(name).id for name in scene.pairs[0])
        d = scene.distances(q)[:, 0]
        for x, wanted in zip(q, d, strict=True):
            # Quaternions come first there, too, but behind places.
            data.qpos[:] = np.concatenate([np.roll(part, 3) for part in x.reshape(-1, 7)])
            mujoco.mj_kinematics(model, data)
            if wanted > 0.0 or is_exact:
                got = mujoco.mj_geomDistance(model, data, first, second, 100.0, ends)
                # Its own collision functions report nothing beyond a margin for some pairs.
                assert abs(got - wanted) <= (1e-9 if is_exact else 1e-5)
                compared += 1
    assert compared > 50


def _geom(shape: mbt.Shape, name: str) -> str:
    X = shape.X_BG
    w = mbt.math.matrix_to_quaternion(X[:3, :3])
    size = {
        "sphere": shape.size,
        "ellipsoid": shape.size,
        "box": [0.5 * x for x in shape.size],
        "plane": [1, 1, 1],
    }.get(shape.kind) or [shape.size[0], 0.5 * shape.size[1]]

    def text(numbers: Any) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    pose = f'pos="{text(X[:3, 3])}" quat="{text(w)}"'
    return f'<geom name="{name}" type="{shape.kind}" {pose} size="{text(size)}"/>'
