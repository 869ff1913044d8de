"""Equalities of MuJoCo as constraints, against MuJoCo's residuals."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.constraints import equations_of
from support.mjcf_texts import EQUALITIES, LUMP, TWO_FREE_BODIES

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import compile_text, random_state  # noqa: E402

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize(("equality", "num_equations"), EQUALITIES)
def test_residuals(equality: str, num_equations: int) -> None:
    """For rotations MuJoCo has the sine of half the angle, where the rotation vector has the angle."""
    model = compile_text(TWO_FREE_BODIES.format(equality))
    tree = mbt.interop.from_mujoco(model)
    (constraint,) = tree.constraints
    assert constraint.num_equations == num_equations
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    data, context, rng = mujoco.MjData(model), tree.create_default_context(), np.random.default_rng(3)
    for _ in range(3):
        data.qpos[:], data.qvel[:] = random_state(model, rng)
        mujoco.mj_forward(model, data)
        context.q = coordinates.q_from_mujoco(data.qpos)
        errors = equations_of(tree, context).errors
        distance, half_sine = np.linalg.norm(data.efc_pos[:3]), np.linalg.norm(data.efc_pos[3:])
        np.testing.assert_allclose(np.linalg.norm(errors[-3:]), distance, rtol=1e-12)
        if num_equations == 6:
            angle = np.linalg.norm(errors[:3])
            np.testing.assert_allclose(np.sin(angle / 2.0), half_sine, rtol=1e-12)


# Equalities that hold at the default poses of the bodies.
HOLDING = [equality for equality, _ in EQUALITIES if "relpose" not in equality and "site" not in equality]


@pytest.mark.parametrize("equality", HOLDING)
def test_velocities_that_they_allow(equality: str) -> None:
    """Both Jacobians have the same null space."""
    model = compile_text(TWO_FREE_BODIES.format(equality))
    tree = mbt.interop.from_mujoco(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    data, context = mujoco.MjData(model), tree.create_default_context()
    mujoco.mj_forward(model, data)
    context.q = coordinates.q_from_mujoco(data.qpos)
    assert np.abs(equations_of(tree, context).errors).max() < 1e-14
    theirs = data.efc_J.reshape(-1, model.nv)[: data.ne]
    T = coordinates.v_from_mujoco(np.tile(data.qpos, (model.nv, 1)), np.eye(model.nv)).T
    ours = equations_of(tree, context).J @ T
    assert np.linalg.matrix_rank(np.vstack([ours, theirs])) == np.linalg.matrix_rank(ours) == len(ours)


def test_sites_are_their_frames() -> None:
    tree = mbt.interop.from_mujoco(compile_text(TWO_FREE_BODIES.format('<weld site1="sa" site2="sb"/>')))
    weld = tree.get_constraint_by_name("equality_0")
    assert weld.frame_A is tree.get_frame_by_name("sa")
    assert weld.frame_B is tree.get_frame_by_name("sb")


def test_names_and_order() -> None:
    text = f"""<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/>{LUMP}
    <body name="b" pos=".3 0 0"><joint name="k" axis="0 1 0"/>{LUMP}</body></body></worldbody>
    <equality><connect body1="b" anchor="0 0 .2"/><joint name="gears" joint1="j" joint2="k"/>
    <weld name="equality_0" body1="b" active="false"/></equality></mujoco>"""
    tree = mbt.interop.from_mujoco(compile_text(text))
    assert [each.name for each in tree.constraints] == ["gears", "equality_0"]
    assert tree.parse_reports[0].ignored == {"equality that is not active": 1}
    np.testing.assert_allclose(equations_of(tree, tree.create_default_context()).errors, 0.0, atol=1e-15)
