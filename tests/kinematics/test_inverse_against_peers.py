"""Successes of inverse kinematics, checked with Pinocchio's forward kinematics."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path

pytestmark = pytest.mark.oracle


def test_successes_are_what_pinocchio_sees() -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    text = model_path("mbt_arm").read_text(encoding="utf-8")
    tree, model = mbt.load_model(text), pin.buildModelFromXML(text)
    data, frame = model.createData(), model.getFrameId("tool")
    names = [joint.name for joint in tree.joints if joint.num_positions]
    lower, upper = (np.array(limit) for limit in (tree.position_lower_limits, tree.position_upper_limits))
    rng = np.random.default_rng(4)

    def forward(q: np.ndarray) -> np.ndarray:
        x = np.empty(model.nq)
        for name, angle in zip(names, q, strict=True):
            joint = model.joints[model.getJointId(name)]
            # Pinocchio represents unlimited revolute joints by cosine and sine.
            x[joint.idx_q : joint.idx_q + joint.nq] = (
                [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
            )
        pin.framesForwardKinematics(model, data, x)
        return np.array(data.oMf[frame].homogeneous)

    low, high = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
    goals = np.array([forward(rng.uniform(low, high)) for _ in range(300)])
    found = functional.inverse_kinematics(tree, "tool", goals, seeds=128)
    assert found.success.mean() >= 0.999
    for x, goal in zip(found.q[found.success], goals[found.success], strict=True):
        assert np.all((x >= lower) & (x <= upper))
        error = pin.SE3(forward(x)).actInv(pin.SE3(goal))
        assert np.linalg.norm(error.translation) <= 1e-4
        assert np.linalg.norm(pin.log3(error.rotation)) <= 1e-3


def test_best_compromises_are_those_of_scipy() -> None:
    """Goals out of reach: SciPy, from many starts, finds nothing nearer."""
    optimize = pytest.importorskip("scipy.optimize")
    tree = mbt.load_model(model_path("mbt_arm"))
    rng = np.random.default_rng(5)
    limits = tree.position_lower_limits, tree.position_upper_limits
    low, high = (np.clip(limit, -np.pi, np.pi) for limit in limits)
    goals = rng.normal(size=(3, 3))
    goals *= 2.0 / np.linalg.norm(goals, axis=1, keepdims=True)
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    found = ik.solve([goals], seeds=64)
    assert not found.success.any()
    for x, goal, error in zip(found.q, goals, found.error, strict=True):
        best = min(
            optimize.least_squares(
                lambda q, goal=goal: goal - functional.frame_pose(tree, q, "tool")[:3, 3],
                rng.uniform(low, high),
                lambda q: -functional.frame_jacobian(tree, q, "tool")[3:],
                limits,
                xtol=1e-12,
                ftol=1e-12,
                gtol=1e-12,
            ).cost
            for _ in range(12)
        )
        assert np.all((x >= limits[0]) & (x <= limits[1]))
        assert np.linalg.norm(error) <= np.sqrt(2.0 * best) + 1e-6


def test_which_compromise_is_the_best_shows_late() -> None:
    """A pose out of reach whose best two compromises differ by 6e-5: stopping early gives the wrong one."""
    optimize = pytest.importorskip("scipy.optimize")
    tree = mbt.load_model(model_path("mbt_arm"))
    rng = np.random.default_rng(7)
    limits = tree.position_lower_limits, tree.position_upper_limits
    low, high = (np.clip(limit, -np.pi, np.pi) for limit in limits)
    goal = functional.frame_pose(tree, rng.uniform(low, high, (5, 6))[4], "tool").copy()
    goal[:3, 3] *= 2.5 / np.linalg.norm(goal[:3, 3])
    ik = mbt.InverseKinematics(tree)
    ik.add_pose("tool")
    found = ik.solve([goal], seeds=128)
    assert not found.success
    assert np.all((found.q >= limits[0]) & (found.q <= limits[1]))
    best = min(
        optimize.least_squares(
            lambda q: functional.pose_error(tree, q, "tool", goal),
            rng.uniform(low, high),
            lambda q: functional.pose_error(tree, q, "tool", goal, jacobian=True)[1],
            limits,
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
        ).cost
        for _ in range(8)
    )
    assert np.linalg.norm(found.error) <= np.sqrt(2.0 * best) + 1e-6


def walker() -> str:
    """Two legs of three joints on a trunk; the toes of one foot mimic its ankle."""
    inertial = (
        '<inertial><origin xyz="0.01 0.02 -0.1"/><mass value="{}"/>'
        '<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links, joints = [f'<link name="trunk">{inertial.format(8)}</link>'], []
    for side, y in (("left", 0.15), ("right", -0.15)):
        inboard = "trunk"
        for name, axis, place in (
            ("hip", "1 0 0", f"0 {y} -0.2"),
            ("knee", "0 1 0", "0 0 -0.3"),
            ("ankle", "0 1 0", "0 0 -0.3"),
            ("toes", "0 1 0", "0.1 0 -0.05"),
        ):
            part = f"{side}_{name}"
            mimic = (
                f'<mimic joint="{side}_ankle_joint" multiplier="-0.5" offset="0.1"/>'
                if name == "toes"
                else ""
            )
            links.append(f'<link name="{part}">{inertial.format(1)}</link>')
            joints.append(
                f'<joint name="{part}_joint" type="revolute"><parent link="{inboard}"/><child link="{part}"/>'
                f'<origin xyz="{place}"/><axis xyz="{axis}"/>{mimic}'
                '<limit lower="-1.1" upper="0.9" effort="10" velocity="3"/></joint>'
            )
            inboard = part
    return f'<robot name="walker">{"".join(links + joints)}</robot>'


def test_limits_mimics_and_several_tasks_are_what_pinocchio_sees() -> None:
    """A free base with tasks for feet, trunk and centre of mass, and joints that mimic others."""
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    text = walker()
    with pytest.warns(mbt.ModelWarning, match="mimics"):
        tree = mbt.load_model(text, base="floating")
    assert tree.num_constraints == 2
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data = model.createData()
    names = [joint.name for joint in tree.joints if joint.num_positions == 1]
    assert model.nq == tree.num_positions == 7 + len(names)

    def see(q: np.ndarray) -> dict[str, np.ndarray]:
        x = np.empty(model.nq)
        x[:7] = [*q[4:7], *q[1:4], q[0]]
        for name, angle in zip(names, q[7:], strict=True):
            x[model.joints[model.getJointId(name)].idx_q] = angle
        pin.framesForwardKinematics(model, data, x)
        seen = {
            name: np.array(data.oMf[model.getFrameId(name)].homogeneous)
            for name in ("trunk", "left_toes", "right_toes")
        }
        return seen | {"center": np.array(pin.centerOfMass(model, data, x))}

    ik = mbt.InverseKinematics(tree)
    ik.add_orientation("trunk")
    for foot in ("left_toes", "right_toes"):
        ik.add_position(foot)
    ik.add_center_of_mass("xy")
    rng = np.random.default_rng(3)
    count = 0
    for _ in range(40):
        q = np.zeros(tree.num_positions)
        q[:4] = [1.0, *0.3 * rng.normal(size=3)]
        q[:4] /= np.linalg.norm(q[:4])
        q[4:7] = 0.3 * rng.normal(size=3)
        q[7:] = rng.uniform(-1.0, 0.8, len(names))
        for side in ("left", "right"):
            ankle, toes = (7 + names.index(f"{side}_{part}_joint") for part in ("ankle", "toes"))
            q[toes] = 0.1 - 0.5 * q[ankle]
        goal = see(q)
        found = ik.solve(
            [
                goal["trunk"][:3, :3],
                goal["left_toes"][:3, 3],
                goal["right_toes"][:3, 3],
                goal["center"][:2],
            ]
        )
        if not found.success:
            continue
        count += 1
        seen = see(found.q)
        assert np.linalg.norm(pin.log3(seen["trunk"][:3, :3].T @ goal["trunk"][:3, :3])) <= 1e-3
        for foot in ("left_toes", "right_toes"):
            assert np.linalg.norm(seen[foot][:3, 3] - goal[foot][:3, 3]) <= 1e-4
        assert np.linalg.norm((seen["center"] - goal["center"])[:2]) <= 1e-4
        assert np.all((found.q[7:] >= -1.1) & (found.q[7:] <= 0.9))
        assert abs(np.linalg.norm(found.q[:4]) - 1.0) < 1e-12
        for side in ("left", "right"):
            ankle, toes = (7 + names.index(f"{side}_{part}_joint") for part in ("ankle", "toes"))
            assert abs(found.q[toes] - 0.1 + 0.5 * found.q[ankle]) < 1e-7
    assert count >= 39
