"""The tables about PyBullet: both cells of each row give the same numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.coming_from import Names, arm, assert_same, common, evaluate, rows_of

import mbt

pytestmark = pytest.mark.oracle

TOOL = """<link name="tool"><inertial><mass value="0.1"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>"""


@pytest.fixture
def pybullet() -> Iterator[Any]:
    pybullet = pytest.importorskip("pybullet", reason="needs the `oracle` extra")
    pybullet.connect(pybullet.DIRECT)
    yield pybullet
    pybullet.disconnect()


def pybullet_names(pybullet: Any, folder: Path) -> Names:
    """Return the names that the tables about PyBullet use."""
    text = arm().replace('<link name="tool"/>', TOOL)
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    pybullet.setGravity(0, 0, -9.81)
    pybullet.setTimeStep(0.001)
    robot = pybullet.loadURDF(str(path), useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE)
    joints = range(pybullet.getNumJoints(robot))
    movable = [j for j in joints if pybullet.getJointInfo(robot, j)[2] != pybullet.JOINT_FIXED]
    names = common(mbt.load_model(text))
    for j, q, v, tau in zip(movable, names["q"], names["v"], names["tau"], strict=True):
        pybullet.resetJointState(robot, j, q, v)
        pybullet.setJointMotorControl2(robot, j, pybullet.VELOCITY_CONTROL, force=0)
        pybullet.setJointMotorControl2(robot, j, pybullet.TORQUE_CONTROL, force=tau)
    for j in (-1, *joints):
        pybullet.changeDynamics(robot, j, linearDamping=0, angularDamping=0, jointDamping=0)
    names |= {"lq": list(names["q"]), "lv": list(names["v"]), "la": list(names["a"])}
    names |= {"link": joints[-1], "tool": names["tree"].get_frame_by_name("tool")}
    return names | {"pybullet": pybullet, "robot": robot, "movable": movable}


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("pybullet.md"))
def test_row_about_pybullet(pybullet: Any, tmp_path: Path, heading: str, theirs: str, ours: str) -> None:
    names = pybullet_names(pybullet, tmp_path)
    peer, mine = evaluate(theirs, names), evaluate(ours, names)
    if heading == "Poses":  # in single precision, as the page states
        np.testing.assert_allclose(np.array(peer), mine, rtol=0, atol=2e-7)
    else:
        assert_same(np.array(peer) if isinstance(peer, tuple) else peer, mine)


def test_defaults_of_pybullet(pybullet: Any, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(), encoding="utf-8")
    robot, tree = pybullet.loadURDF(str(path)), mbt.load_model(path)
    last = pybullet.getNumJoints(robot) - 1
    assert pybullet.getPhysicsEngineParameters()["fixedTimeStep"] == pytest.approx(1 / 240)
    assert pybullet.getPhysicsEngineParameters()["gravityAccelerationZ"] == 0.0
    assert pybullet.getDynamicsInfo(robot, last)[0] == 1.0  # of a link without inertia
    assert tree.get_body_by_name("tool").default_mass == 0.0
    turret = tree.get_body_by_name("turret").default_spatial_inertia.calc_central_inertia()
    assert not np.isclose(pybullet.getDynamicsInfo(robot, 0)[2][0], turret[0, 0])
    pybullet.resetJointState(robot, 1, 0.0, 1.0)
    pybullet.stepSimulation()
    assert abs(pybullet.getJointState(robot, 1)[1]) < 1e-3  # the default motor stops it

    # The base is free, and slows down.
    pybullet.resetSimulation()
    ball = pybullet.createMultiBody(1.0, pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1))
    pybullet.resetBaseVelocity(ball, [1, 0, 0])
    for _ in range(240):
        pybullet.stepSimulation()
    assert 0.9 < pybullet.getBaseVelocity(ball)[0][0] < 0.97
    assert inspect.signature(mbt.load_model).parameters["base"].default != "floating"
