"""Every entry of the position and velocity caches, from the poses and velocities of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.case import Case, get_case
from support.description import Array
from support.quantities import assert_close
from support.random_trees import CATALOGUE
from support.reference import cross_matrix, inverse


def _mobilizers(case: Case) -> list[tuple[int, int, Any, Any, slice]]:
    """Per joint: rows of inboard and outboard body, their frames X_PF and X_BM, velocities."""
    rows = []
    for joint, is_reversed in case.reference.outward:
        ends = [(joint.parent, joint.X_PF), (joint.child, joint.X_BM)]
        (inboard, X_PF), (outboard, X_BM) = reversed(ends) if is_reversed else ends
        X_PF, X_BM = (np.eye(4) if X is None else X for X in (X_PF, X_BM))
        reference = case.reference
        rows.append((reference.row(inboard), reference.row(outboard), X_PF, X_BM, reference.v_slice(joint)))
    return rows


def _shifted(V: Array, p: Array) -> Array:
    """Velocity at a point displaced by p on the same rigid body; rows of V or one V."""
    return np.concatenate([V[..., :3], V[..., 3:] + np.cross(V[..., :3], p)], axis=-1)


def _rotated(R: Array, V: Array) -> Array:
    return np.concatenate([V[..., :3] @ R.T, V[..., 3:] @ R.T], axis=-1)


@pytest.mark.parametrize("model", CATALOGUE)
def test_positions(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    pc = case.tree.eval_position_kinematics(case.context(state))
    X_WB = case.reference.poses(state.q)
    length = case.reference.length_scale(state.q)
    assert_close(pc.X_WB, X_WB, length, "X_WB")
    for P, B, X_PF, X_BM, _ in _mobilizers(case):
        X_PB = inverse(X_WB[P]) @ X_WB[B]
        assert_close(pc.X_PB[B], X_PB, length, "X_PB")
        assert_close(pc.X_FM[B], inverse(X_PF) @ X_PB @ X_BM, length, "X_FM")
    for frame in case.tree.frames:
        # Frames that joints create are not named in the description; they are checked against their defaults.
        assert_close(pc.X_BF[frame.index], frame.get_fixed_pose_in_body_frame(), length, frame.name)
    for offset in case.model.frames:
        frame = case.tree.get_frame_by_name(offset.name)
        assert_close(pc.X_BF[frame.index], case.reference.frame(offset.name)[1], length, offset.name)


@pytest.mark.parametrize("model", CATALOGUE)
def test_motion_axes(model: str) -> None:
    """H_FM v and H_PB_W v are the velocities across each mobilizer: of M in F, and of Bo in P."""
    case, state = get_case(model), get_case(model).state()
    pc = case.tree.eval_position_kinematics(case.context(state))
    X_WB, J = case.reference.poses(state.q), case.reference.jacobians(state.q)
    length = case.reference.length_scale(state.q)
    for P, B, X_PF, X_BM, vs in _mobilizers(case):
        X_WF, X_WM = X_WB[P] @ X_PF, X_WB[B] @ X_BM
        H_PB_W = J[B][:, vs].T - _shifted(J[P][:, vs].T, X_WB[B, :3, 3] - X_WB[P, :3, 3])
        H_PM_W = _shifted(H_PB_W, X_WM[:3, 3] - X_WB[B, :3, 3])
        assert_close(pc.H_PB_W[vs], H_PB_W, length, "H_PB_W")
        assert_close(pc.H_FM[vs], _rotated(X_WF[:3, :3].T, H_PM_W), length, "H_FM")


@pytest.mark.parametrize("model", CATALOGUE)
def test_velocities(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    vc = case.tree.eval_velocity_kinematics(case.context(state))
    X_WB, V_WB = case.reference.poses(state.q), case.reference.velocities(state.q, state.v)
    scale = case.reference.length_scale(state.q) * float(np.abs(state.v).sum())
    assert_close(vc.V_WB, V_WB, scale, "V_WB")
    for P, B, *_ in _mobilizers(case):
        V_PB_W = V_WB[B] - _shifted(V_WB[P], X_WB[B, :3, 3] - X_WB[P, :3, 3])
        assert_close(vc.V_PB_W[B], V_PB_W, scale, "V_PB_W")
        assert_close(vc.V_PB[B], _rotated(X_WB[P, :3, :3].T, V_PB_W), scale, "V_PB")


@pytest.mark.parametrize("model", CATALOGUE)
def test_inertias(model: str) -> None:
    """com_W from Bo, and M_Bo_W = [I, m c x; -m c x, m 1] about Bo, both in World."""
    case, state = get_case(model), get_case(model).state()
    pc = case.tree.eval_position_kinematics(case.context(state))
    X_WB = case.reference.poses(state.q)
    assert_close(pc.com_W[0], np.zeros(3), 0.0, "World")
    for body in case.model.bodies:
        i, R_WB = case.reference.row(body.name), X_WB[case.reference.row(body.name), :3, :3]
        c = R_WB @ body.com
        mc = body.mass * cross_matrix(c)
        about_Bo = R_WB @ body.I_BBcm_B @ R_WB.T - mc @ cross_matrix(c)
        M = np.block([[about_Bo, mc], [-mc, body.mass * np.eye(3)]])
        assert_close(pc.com_W[i], c, 1.0, "com_W")
        assert_close(pc.M_Bo_W[i], M, body.mass, "M_Bo_W")
