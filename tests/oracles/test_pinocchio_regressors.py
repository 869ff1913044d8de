"""Regressors and pseudo-inertias against Pinocchio, on URDF made from random models."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.build import layout_of
from support.quantities import QUANTITIES, assert_close, random_state
from support.reference import Reference
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

# Seed, number of bodies. Without welds between bodies, which Pinocchio would merge.
MODELS = [(31, 2), (32, 5), (33, 12)]


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(("seed", "num_bodies"), MODELS)
def test_same_regressors(seed: int, num_bodies: int, base: str) -> None:
    """Column by column; Pinocchio's velocities are T v, its forces T^-T tau."""
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    from support.pinocchio_peer import PinocchioPeer

    model = urdf_model(seed, num_bodies, ("revolute", "prismatic"), base=base, actuated=0.0)
    urdf = to_urdf(model)
    tree = mbt.load_model(urdf, base=base)  # type: ignore[arg-type]
    layout = layout_of(tree)
    peer, reference = PinocchioPeer(urdf, model, layout), Reference(model, layout)
    # The joint of a body, after "universe", carries the body itself.
    columns = [
        slice(10 * (j - 1), 10 * j)
        for body in sorted(tree.bodies[1:], key=lambda body: body.node_index)
        for j in [peer.model.frames[peer.model.getFrameId(body.name, pin.BODY)].parentJoint]
        if j > 0
    ]
    moving = [b for b in range(tree.num_bodies - 1) if not _is_welded_to_world(tree, b + 1)]
    for k in range(3):
        state = random_state(reference, np.random.default_rng(k))
        context = tree.create_default_context()
        context.q, context.v = state.q, state.v
        scale = QUANTITIES["inverse_dynamics"].scale(reference, state)

        def ours(Y: np.ndarray) -> np.ndarray:
            return np.concatenate([Y[..., 10 * b : 10 * b + 10] for b in moving], axis=-1)

        def theirs(Y: np.ndarray) -> np.ndarray:
            return np.concatenate([Y[..., column] for column in columns], axis=-1)

        T = peer.T(state.q)
        q, v, a = peer.q(state.q), T @ state.v, T @ state.vdot + peer.Tdot_v(state.q, state.v)
        # Pinocchio returns a matrix of one row as a vector.
        Y = pin.computeJointTorqueRegressor(peer.model, peer.data, q, v, a).reshape(tree.num_velocities, -1)
        assert_close(
            ours(tree.calc_inverse_dynamics_regressor(context, state.vdot)), T.T @ theirs(Y), 20 * scale
        )
        KE = pin.computeKineticEnergyRegressor(peer.model, peer.data, q, v)
        assert_close(ours(tree.calc_kinetic_energy_regressor(context)), theirs(KE), 20 * scale)
        PE = pin.computePotentialEnergyRegressor(peer.model, peer.data, q)
        assert_close(ours(tree.calc_potential_energy_regressor(context)), theirs(PE), 20 * scale)
        pi = np.concatenate([inertia.toDynamicParameters() for inertia in peer.model.inertias[1:]])
        assert_close(ours(tree.get_inertial_parameters()), theirs(pi), float(np.abs(pi).max()))


def _is_welded_to_world(tree: mbt.MultibodyTree, node: int) -> bool:
    [body] = [body for body in tree.bodies if body.node_index == node]
    J = tree.calc_jacobian_spatial_velocity(
        tree.create_default_context(), "v", body.body_frame, np.zeros(3), tree.world_frame, tree.world_frame
    )
    return not J.any()


def test_same_pseudo_inertia() -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    rng = np.random.default_rng(0)
    for _ in range(20):
        M = mbt.SpatialInertia.solid_box_with_mass(rng.uniform(0.1, 5), *rng.uniform(0.1, 1, 3))
        M = M.re_express(mbt.math.rpy_to_matrix(rng.normal(size=3))).shift(rng.normal(size=3))
        pi = mbt.math.calc_inertial_parameters(M)
        J = pin.Inertia.FromDynamicParameters(pi).toPseudoInertia().toMatrix()
        size = float(np.abs(J).max())
        assert_close(mbt.math.calc_pseudo_inertia(M), J, size)
        there = pin.PseudoInertia.FromMatrix(J).toDynamicParameters()
        assert_close(pi, there, 2 * size)
