"""Constraints against MuJoCo's equalities, which are soft, as these become stiff."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.mjcf_texts import LUMP

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import compile_text  # noqa: E402

pytestmark = pytest.mark.oracle

TEXT = f"""<mujoco><option gravity="0.5 -0.3 -9.81" integrator="RK4" timestep="1e-3" iterations="200"
tolerance="1e-14"><flag contact="disable"/></option><worldbody>
<body name="a" pos="0 0 1" euler="20 30 40"><joint name="j" axis="0 1 0"/>{LUMP}
<body name="b" pos=".3 0 0"><joint name="k" axis="0 1 .3"/>{LUMP}
<body name="c" pos=".3 0 .1"><joint type="ball"/>{LUMP}</body></body></body>
<body name="d" pos="1 0 1" euler="-20 30 10"><freejoint/>{LUMP}</body>
</worldbody><equality><{{}} solref="{{:g}} 1" solimp="{{:g}} {{:g}}"/></equality></mujoco>"""

EQUALITIES = {
    "connect": 'connect body1="c" body2="d" anchor=".3 .1 .2"',
    "connect to World": 'connect body1="d" anchor=".3 .1 .2"',
    "weld": 'weld body1="c" body2="d"',
    "weld to World": 'weld body1="d"',
    "joint": 'joint joint1="j" joint2="k" polycoef="0 1.5 0 0 0"',
}


class Pair:
    """A model of two limbs with an equality, at its reference, and its tree."""

    def __init__(self, name: str, time_constant: float, impedance: float) -> None:
        self.model = compile_text(TEXT.format(EQUALITIES[name], time_constant, impedance, impedance))
        self.tree = mbt.interop.from_mujoco(self.model)
        self.coordinates = mbt.interop.MujocoCoordinates(self.tree, self.model)
        self.data = mujoco.MjData(self.model)
        self.context = self.tree.create_default_context()
        self.context.q = self.coordinates.q_from_mujoco(self.data.qpos)
        np.testing.assert_allclose(self.tree.calc_constraint_errors(self.context), 0.0, atol=1e-14)

    def ours(self, vector: Any) -> Any:
        """Return velocities or generalized forces in the tree's coordinates: the same rotation maps both."""
        return self.coordinates.v_from_mujoco(self.data.qpos, vector)


@pytest.mark.parametrize("name", EQUALITIES)
def test_accelerations_and_forces_at_rest(name: str) -> None:
    """The error is that of a soft constraint: proportional to (1 - d) / d, for an impedance d."""
    errors, force_errors = [], []
    for impedance in (0.999, 0.9999):
        pair = Pair(name, 0.02, impedance)
        data, tree, context = pair.data, pair.tree, pair.context
        data.qfrc_applied[:] = np.random.default_rng(0).normal(size=pair.model.nv)
        mujoco.mj_forward(pair.model, data)
        tau = pair.ours(data.qfrc_applied)
        vdot, multipliers = tree.calc_constrained_forward_dynamics(context, tau)
        forces = tree.calc_constraint_jacobian(context).T @ multipliers
        errors.append(np.abs(pair.ours(data.qacc) - vdot).max() / np.abs(vdot).max())
        force_errors.append(np.abs(pair.ours(data.qfrc_constraint) - forces).max() / np.abs(forces).max())
    for soft, stiff in (errors, force_errors):
        assert stiff < min(3e-2, 0.15 * soft)


@pytest.mark.parametrize("name", EQUALITIES)
def test_trajectories(name: str) -> None:
    """MuJoCo omits Jdot v from the acceleration of a constraint; the effect fades with the time constant."""
    errors = []
    for time_constant in (2e-2, 1e-2):
        pair = Pair(name, time_constant, 0.9999)
        model, data, tree, context = pair.model, pair.data, pair.tree, pair.context
        J = tree.calc_constraint_jacobian(context)
        v = 2.0 * np.random.default_rng(1).normal(size=tree.num_velocities)
        context.v = v - np.linalg.pinv(J) @ (J @ v)
        data.qvel[:] = pair.coordinates.v_to_mujoco(context.q, context.v)
        for _ in range(300):
            mujoco.mj_step(model, data)
        rest = np.zeros((300, tree.num_velocities))
        q, _ = functional.rollout(tree, context.q, context.v, rest, 1e-3, method="rk4")
        end = pair.coordinates.q_from_mujoco(data.qpos)
        errors.append(np.abs(tree.difference_positions(q[-1], end)).max())
        assert np.abs(tree.difference_positions(q[0], end)).max() > 0.5
    assert errors[1] < min(3e-5, errors[0] / 2.0)
