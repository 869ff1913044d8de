"""The formulas of docs/conventions.md are those of the code."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from support.joint_types import AXIS, JOINT_TYPES, add_joint_of_type, add_random_body, random_state

PAGE = (Path(__file__).parents[1] / "docs" / "conventions.md").read_text(encoding="utf-8")
# Joint -> the cells of its row: q, v, R_FM, p_FoMo_F.
ROWS = {
    cells[0].strip("` "): [cell.strip() for cell in cells[1:5]]
    for cells in (line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| `"))
    if cells[0].strip("` ").endswith("Joint")
}
CLASSES = {class_name: kind for kind, (class_name, _, _) in JOINT_TYPES.items()}
WITH_FORMULA = [name for name, cells in ROWS.items() if "`" in cells[2]]


def _rotation(axis: Any) -> Any:
    """Return the rotation about an axis as a function of the angle, by Rodrigues' formula."""
    K = np.cross(np.eye(3), np.asarray(axis, dtype=float))

    def R(angle: float) -> np.ndarray:
        return np.asarray(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K)

    return R


def _quaternion(q: np.ndarray) -> np.ndarray:
    """Return the rotation by 2 acos(w) about (x, y, z)."""
    w, *xyz = q / np.linalg.norm(q)
    sine = np.linalg.norm(xyz)
    return np.asarray(_rotation(np.array(xyz) / sine)(2.0 * math.atan2(sine, w)))


def _names(q: np.ndarray, kind: str) -> dict[str, Any]:
    arguments = JOINT_TYPES[kind][1]()
    return {
        **{f"R_{name}": _rotation(axis) for name, axis in zip("xyz", np.eye(3), strict=True)},
        "R_axis": _rotation(AXIS),
        "R_quaternion": _quaternion,
        "axis": np.array(AXIS),
        "screw_pitch": arguments.get("screw_pitch"),
        "pi": math.pi,
        "q": q,
    }


def _pose(name: str, q: np.ndarray) -> np.ndarray:
    """Return X_FM by the formulas of the page."""
    names = _names(q, CLASSES[name])
    rotation, translation = (eval(cell.strip("`"), {}, names) for cell in ROWS[name][2:])
    X_FM = np.eye(4)
    X_FM[:3, :3] = np.eye(3) if np.ndim(rotation) == 0 else rotation
    X_FM[:3, 3] = translation
    return X_FM


def _joint(kind: str, is_reversed: bool) -> tuple[mbt.MultibodyTree, mbt.Joint, mbt.Context]:
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    body = add_random_body(tree, rng, "body")
    joint = add_joint_of_type(tree, kind, "joint", tree.world_body, body, rng, is_reversed=is_reversed)
    tree.finalize()
    return tree, joint, random_state(tree, rng)


def test_every_joint_has_its_row() -> None:
    joints = {name for name in mbt.__all__ if name.endswith("Joint") and name != "Joint"}
    assert set(ROWS) == joints == set(CLASSES)
    assert len(WITH_FORMULA) == len(joints) - 2  # the weld and the path


def test_every_force_element_has_its_row() -> None:
    elements = {
        thing
        for thing in (getattr(mbt, name) for name in mbt.__all__)
        if isinstance(thing, type) and issubclass(thing, mbt.ForceElement) and thing is not mbt.ForceElement
    }
    assert len(elements) >= 7
    energy = PAGE[PAGE.index("## Energy and power") : PAGE.index("## Reaction forces")]
    instances = PAGE[PAGE.index("## Model instances") :]
    for element in elements:
        for section in (energy, instances):
            rows = [line for line in section.splitlines() if line.startswith("|")]
            assert any(f"`{element.__name__}`" in row for row in rows), element


@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("name", WITH_FORMULA)
def test_pose(name: str, is_reversed: bool) -> None:
    tree, joint, context = _joint(CLASSES[name], is_reversed)
    X_FM = tree.calc_relative_transform(context, joint.frame_on_parent, joint.frame_on_child)
    np.testing.assert_allclose(X_FM, _pose(name, context.q), atol=1e-14)


@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("name", WITH_FORMULA)
def test_velocity(name: str, is_reversed: bool) -> None:
    """V_FM is the rate of the formulas along qdot = N v, and v is as on the page."""
    tree, joint, context = _joint(CLASSES[name], is_reversed)
    v, qdot = context.v, tree.map_velocity_to_qdot(context, context.v)
    h = 1e-3
    X = {k: _pose(name, context.q + k * h * qdot) for k in (-2, -1, 0, 1, 2)}
    rate = (8 * (X[1] - X[-1]) - (X[2] - X[-2])) / (12 * h)
    W = rate[:3, :3] @ X[0][:3, :3].T
    V_FM = [W[2, 1], W[0, 2], W[1, 0], *rate[:3, 3]]
    actual = joint.frame_on_child.calc_spatial_velocity(context, joint.frame_on_parent, joint.frame_on_parent)
    np.testing.assert_allclose(actual, V_FM, atol=1e-10)
    meaning = re.findall(r"\w+", ROWS[name][1])
    if meaning == ["qdot"]:
        np.testing.assert_array_equal(qdot, v)
    else:
        parts = {"w_FM": actual[:3], "v_FMo": actual[3:]}
        np.testing.assert_allclose(np.concatenate([parts[word] for word in meaning]), v, atol=1e-14)
