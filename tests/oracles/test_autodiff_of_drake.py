"""Gradients of Drake's AutoDiffXd, on mbt's own models and on random URDF."""

# mypy: disable-error-code="arg-type"
# (the stubs of pydrake use an array type that no NumPy array has)

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from mbt.models import model_path
from support.description import Array
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

ARM = ("revolute", "revolute", "prismatic", "weld")
Base = Literal["fixed", "floating"]
CASES: dict[str, tuple[int | None, Base]] = {
    "mbt_arm": (None, "fixed"),
    "mbt_arm_floating": (None, "floating"),
    "random": (3, "fixed"),
    "random_floating": (4, "floating"),
}


class Pair:
    """A tree with derivatives and a plant of AutoDiffXd, whose variables are q, v and a third input."""

    def __init__(self, seed: int | None, base: Base) -> None:
        pytest.importorskip("pydrake", reason="needs the `oracle` extra")
        from pydrake.autodiffutils import AutoDiffXd, InitializeAutoDiff
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces_

        if seed is None:
            urdf = model_path("mbt_arm").read_text(encoding="utf-8")
        else:
            urdf = to_urdf(urdf_model(seed, 8, ARM, base=base, actuated=0.5))
        self.tree = mbt.load_model(urdf, base=base)
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(urdf, "urdf")
        if base == "fixed":
            for joint in self.tree.joints:
                if joint.parent_body is self.tree.world_body and joint.num_velocities == 0:
                    child = plant.GetBodyByName(joint.child_body.name)
                    plant.WeldFrames(plant.world_frame(), child.body_frame())
        plant.Finalize()
        nq, nv = self.tree.num_positions, self.tree.num_velocities
        assert (plant.num_positions(), plant.num_velocities()) == (nq, nv)
        # Drake's order of coordinates, as indices into ours.
        self.q_order, self.v_order = np.zeros(nq, int), np.zeros(nv, int)
        for joint in self.tree.joints:
            if joint.num_velocities:
                theirs = plant.GetJointByName(joint.name)
                for i in range(joint.num_positions):
                    self.q_order[theirs.position_start() + i] = joint.position_start + i
                for i in range(joint.num_velocities):
                    self.v_order[theirs.velocity_start() + i] = joint.velocity_start + i
        rng = np.random.default_rng(5)
        self.q = self.tree.random_positions(rng)
        self.v, self.x = rng.normal(size=(2, nv))
        self.ad = self.tree.to_autodiff()
        self.c: Any = self.ad.create_default_context()
        self.c.q, self.c.v, self.variable = initialize(self.q, self.v, self.x)
        self.plant: Any = plant.ToAutoDiffXd()
        self.d: Any = self.plant.CreateDefaultContext()
        # Drake's variables are in our order, so its gradients are too.
        y = InitializeAutoDiff(np.concatenate([self.q, self.v, self.x])).ravel()
        self.plant.SetPositions(self.d, y[:nq][self.q_order])
        self.plant.SetVelocities(self.d, y[nq : nq + nv][self.v_order])
        self.their_x = y[nq + nv :][self.v_order]
        self.forces: Any = MultibodyForces_[AutoDiffXd](self.plant)

    def compare(self, got: AutoDiffArray, theirs: Any, *rows: Array) -> None:
        """Compare with `theirs`, whose axes are in Drake's order; `rows` holds our index of each entry."""
        from pydrake.autodiffutils import ExtractGradient, ExtractValue

        theirs = np.asarray(theirs)
        value = ExtractValue(theirs.reshape(-1, 1)).reshape(theirs.shape)
        gradient = ExtractGradient(theirs.reshape(-1, 1)).reshape(*theirs.shape, -1)
        mine, slopes = got.value, got.derivatives
        for axis, order in enumerate(rows):
            mine, slopes = np.take(mine, order, axis), np.take(slopes, order, axis)
        for a, b in ((mine, value), (slopes, gradient)):
            scale = 1.0 + np.max(np.abs(b))
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * scale)


@cache
def pair_of(name: str) -> Pair:
    return Pair(*CASES[name])


@pytest.fixture(params=CASES)
def pair(request: pytest.FixtureRequest) -> Pair:
    return pair_of(request.param)


def test_inverse_dynamics(pair: Pair) -> None:
    theirs = pair.plant.CalcInverseDynamics(pair.d, pair.their_x, pair.forces)
    pair.compare(pair.ad.calc_inverse_dynamics(pair.c, pair.variable), theirs, pair.v_order)


def test_inverse_dynamics_with_gravity_and_damping(pair: Pair) -> None:
    pair.plant.CalcForceElementsContribution(pair.d, pair.forces)
    theirs = pair.plant.CalcInverseDynamics(pair.d, pair.their_x, pair.forces)
    got = pair.ad.calc_inverse_dynamics(pair.c, pair.variable, include_force_elements=True)
    pair.compare(got, theirs, pair.v_order)


def test_forward_dynamics(pair: Pair) -> None:
    pair.plant.get_applied_generalized_force_input_port().FixValue(pair.d, pair.their_x)
    theirs = pair.plant.EvalTimeDerivatives(pair.d).CopyToVector()[len(pair.q) :]
    pair.compare(pair.ad.calc_forward_dynamics(pair.c, pair.variable), theirs, pair.v_order)


def test_mass_matrix(pair: Pair) -> None:
    theirs = pair.plant.CalcMassMatrix(pair.d)
    pair.compare(pair.ad.calc_mass_matrix(pair.c), theirs, pair.v_order, pair.v_order)


def test_poses_and_velocities(pair: Pair) -> None:
    for body in pair.ad.bodies[1:]:
        theirs = pair.plant.GetBodyByName(body.name)
        X_WB = pair.plant.EvalBodyPoseInWorld(pair.d, theirs)
        if body.inboard_mobilizer is None or not _moves(body):
            continue
        pair.compare(body.eval_pose_in_world(pair.c)[:3], X_WB.GetAsMatrix34())
        V_WB = pair.plant.EvalBodySpatialVelocityInWorld(pair.d, theirs)
        pair.compare(body.eval_spatial_velocity_in_world(pair.c), V_WB.get_coeffs())


def _moves(body: mbt.RigidBody) -> bool:
    """Return whether a body moves: constants have no gradient in Drake."""
    mobilizer = body.inboard_mobilizer
    while mobilizer is not None:
        if mobilizer.num_velocities:
            return True
        mobilizer = mobilizer.inboard_body.inboard_mobilizer
    return False


def test_energies(pair: Pair) -> None:
    theirs = [pair.plant.CalcPotentialEnergy(pair.d), pair.plant.CalcKineticEnergy(pair.d)]
    got = np.stack([pair.ad.calc_potential_energy(pair.c), pair.ad.calc_kinetic_energy(pair.c)])
    assert isinstance(got, AutoDiffArray)
    pair.compare(got, np.array(theirs))


def test_analytic_derivatives(pair: Pair) -> None:
    """With respect to positions: along the velocities, so Drake's gradients times N."""
    from pydrake.autodiffutils import ExtractGradient

    context = pair.tree.create_default_context()
    context.q, context.v = pair.q, pair.v
    nq, nv = len(pair.q), len(pair.v)
    N = pair.tree.make_velocity_to_qdot_map(context)
    pair.plant.CalcForceElementsContribution(pair.d, pair.forces)
    theirs = ExtractGradient(pair.plant.CalcInverseDynamics(pair.d, pair.their_x, pair.forces))
    wanted = (theirs[:, :nq] @ N, theirs[:, nq : nq + nv], theirs[:, nq + nv :])
    for got, by in zip(
        pair.tree.calc_inverse_dynamics_derivatives(context, pair.x, include_force_elements=True),
        wanted,
        strict=True,
    ):
        scale = 1.0 + np.max(np.abs(by))
        np.testing.assert_allclose(got[pair.v_order], by, rtol=0, atol=1e-11 * scale)
